package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// browser is a headless Chromium with a profile of its own.
type browser struct {
	t   testing.TB
	ctx context.Context
}

// newBrowser starts a browser. Without Chromium the test is skipped, and fails where CI is set.
func newBrowser(t testing.TB) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" && os.Getenv("CI") != "" {
		require.FailNow(t, "there is no Chromium for the browser tests")
	}
	if path == "" {
		t.Skip("skipped: there is no Chromium for the browser tests")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true), chromedp.WindowSize(1100, 1400))
	allocator, cancelAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() { cancel(); cancelAllocator() })
	b := &browser{t: t, ctx: ctx}
	// The first run starts the program, and its context is the browser's life: it gets no timeout.
	require.NoError(t, chromedp.Do(ctx))
	return b
}

// do runs actions, which have half a minute together.
func (b *browser) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		require.FailNow(b.t, what, "%v\nthe page is:\n%s", err, b.text())
	}
}

// text is what the page shows.
func (b *browser) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.title + "\n" + (document.body ? document.body.innerText : "")`))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return text
}

func (b *browser) open(url string) {
	b.t.Helper()
	b.do("opening "+url, chromedp.Navigate(url))
}

// fill types into the empty text box with that label.
func (b *browser) fill(label, value string) {
	b.t.Helper()
	xpath := fmt.Sprintf(`//*[@id=//label[starts-with(normalize-space(.),%q)]/@for] | //label[starts-with(normalize-space(.),%q)]//*[self::input or self::textarea]`, label, label)
	b.do("filling "+label, chromedp.WaitVisible(xpath), chromedp.SendKeys(xpath, value))
}

// press presses the button of that name.
func (b *browser) press(name string) {
	b.t.Helper()
	xpath := fmt.Sprintf(`//button[normalize-space(.)=%q]`, name)
	b.leave("pressing "+name, xpath)
}

// leave clicks what leads to another page, and waits until that is there: going elsewhere meanwhile would be called off.
func (b *browser) leave(what, xpath string) {
	b.t.Helper()
	b.do(what, chromedp.WaitVisible(xpath))
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("window.leaving = true"))
	require.NoError(b.t, err, what)
	b.do(what, chromedp.Click(xpath))
	require.Eventually(b.t, func() bool {
		ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
		defer cancel()
		arrived, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`!window.leaving && document.readyState === "complete"`))
		return err == nil && arrived
	}, 30*time.Second, 50*time.Millisecond, "%s led nowhere", what)
}

// follow follows the link in the first row of a list that contains the text.
func (b *browser) follow(text string) {
	b.t.Helper()
	xpath := fmt.Sprintf(`//main//li[contains(normalize-space(.),%q)]//a`, text)
	b.leave("following "+text, xpath)
}

// see waits until the page shows all of the texts, whatever their case.
func (b *browser) see(texts ...string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		page := strings.ToLower(b.text())
		for _, text := range texts {
			if !strings.Contains(page, strings.ToLower(text)) {
				return false
			}
		}
		return true
	}, 15*time.Second, 50*time.Millisecond, "the page has not all of %q", texts)
}

// count counts the elements that a CSS selector finds.
func (b *browser) count(selector string) int {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	n, err := chromedp.Run(ctx, chromedp.Evaluate[int](fmt.Sprintf(`document.querySelectorAll(%q).length`, selector)))
	require.NoError(b.t, err)
	return n
}

// links are the addresses of the page's links that contain a part.
func (b *browser) links(part string) []string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	links, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](fmt.Sprintf(`[...document.querySelectorAll("a")].map(a => a.href).filter(h => h.includes(%q))`, part)))
	require.NoError(b.t, err)
	return links
}

// signIn signs in at the dev issuer, which has been or will be asked for on the way to a page.
func (b *browser) signIn(email string) {
	b.t.Helper()
	b.fill("E-mail", email)
	b.press("Sign in")
	b.see("Inbox")
}
