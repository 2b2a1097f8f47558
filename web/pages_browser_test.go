package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// findChromium returns the browser that the tests drive.
var findChromium = sync.OnceValue(func() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
})

// needChromium skips where there is no browser, and fails where there has to be one.
func needChromium(t testing.TB) string {
	t.Helper()
	path := findChromium()
	if path == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("no Chromium found, and CI is set: install Chromium")
		}
		t.Skip("no Chromium found: browser tests are skipped")
	}
	return path
}

// patience is how long a page has for what a test waits for.
const patience = time.Minute

// browser is one window that shares no cookie with another.
type browser struct {
	t   testing.TB
	url string
	ctx context.Context
}

// chromium is the one browser process of the tests; end stops it.
var chromium struct {
	once sync.Once
	ctx  context.Context
	err  error
	end  func()
}

func startChromium(path string) {
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WindowSize(1280, 900), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("no-first-run", true), chromedp.Flag("lang", "en-US"))
	alloc, endAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, end := chromedp.NewContext(alloc)
	chromium.ctx, chromium.err = ctx, chromedp.Do(ctx)
	chromium.end = func() {
		_ = chromedp.Cancel(ctx)
		end()
		endAlloc()
	}
}

func TestMain(m *testing.M) {
	status := m.Run()
	if chromium.end != nil {
		chromium.end()
	}
	os.Exit(status)
}

// browse opens a window on the bundle's server that shares nothing with any other.
func (b *bundle) browse() *browser {
	b.t.Helper()
	path := needChromium(b.t)
	chromium.once.Do(func() { startChromium(path) })
	require.NoError(b.t, chromium.err)
	ctx, end := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext())
	b.t.Cleanup(end)
	w := &browser{t: b.t, url: b.url, ctx: ctx}
	require.NoError(b.t, chromedp.Do(ctx))
	w.watch()
	w.size(1280, 900)
	return w
}

// watch fails the test for whatever the browser complains about: a script's error, a breach of the content security
// policy. A refused form's status is no complaint.
func (w *browser) watch() {
	w.t.Helper()
	var mu sync.Mutex
	var complaints []string
	complain := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		complaints = append(complaints, fmt.Sprintf(format, args...))
	}
	require.NoError(w.t, chromedp.Listen(w.ctx, func(event any) {
		switch e := event.(type) {
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
				complain("the browser says: %s (%s)", e.Entry.Text, e.Entry.URL)
			}
		case *runtime.EventExceptionThrown:
			complain("a script failed: %s", e.ExceptionDetails.Text)
		}
	}))
	_, err := chromedp.Call(w.ctx, log.Enable, cdp.Empty{})
	require.NoError(w.t, err)
	w.t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		require.Empty(w.t, complaints)
	})
}

func (w *browser) size(width, height int64) {
	w.t.Helper()
	_, err := chromedp.Call(w.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 500,
	})
	require.NoError(w.t, err)
}

// scheme is "light" or "dark".
func (w *browser) scheme(name string) {
	w.t.Helper()
	_, err := chromedp.Call(w.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
	require.NoError(w.t, err)
}

// scripts switches JavaScript of pages on or off.
func (w *browser) scripts(on bool) {
	w.t.Helper()
	_, err := chromedp.Call(w.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
	require.NoError(w.t, err)
}

func (w *browser) forgetCookies() {
	w.t.Helper()
	_, err := chromedp.Call(w.ctx, network.ClearBrowserCookies, cdp.Empty{})
	require.NoError(w.t, err)
}

func (w *browser) forgetCache() {
	w.t.Helper()
	_, err := chromedp.Call(w.ctx, network.ClearBrowserCache, cdp.Empty{})
	require.NoError(w.t, err)
}

// do runs steps with patience.
func (w *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		w.t.Fatalf("%v\npage %s:\n%s", err, w.location(), w.text())
	}
}

func (w *browser) open(path string) {
	w.t.Helper()
	w.do(chromedp.Navigate(w.url + path))
	w.until("document.readyState === 'complete'")
}

// eval evaluates an expression in the page.
func eval[T any](w *browser, expression string) T {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	require.NoError(w.t, err, expression)
	return v
}

func (w *browser) location() string {
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	at, _ := chromedp.Run(ctx, chromedp.Location())
	return at
}

// text is what the page says.
func (w *browser) text() string {
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body ? document.body.innerText : ''"))
	return text
}

// until waits for an expression to be true in whatever page is there by then.
func (w *browser) until(expression string) {
	w.t.Helper()
	end := time.Now().Add(patience)
	for {
		ctx, cancel := context.WithTimeout(w.ctx, patience)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		cancel()
		if err == nil && ok {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("never true: %s (%v)\npage %s:\n%s", expression, err, w.location(), w.text())
		}
		time.Sleep(40 * time.Millisecond)
	}
}

// sees waits for a text on the page.
func (w *browser) sees(text string) {
	w.t.Helper()
	w.until("document.body && document.body.innerText.includes(" + quote(text) + ")")
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// byRole is an expression for the visible element of a role with that accessible name: what assistive technology finds.
func byRole(role, name string) string {
	return fmt.Sprintf(`(() => {
		const tags = {button: "button, input[type=submit]", textbox: "textarea, input:not([type]), input[type=text], input[type=email], input[type=search]",
			link: "a[href]", radio: "input[type=radio]", checkbox: "input[type=checkbox]", file: "input[type=file]",
			combobox: "select", date: "input[type=date]", datetime: "input[type=datetime-local]"}[%[1]s];
		const visible = (e) => e.getClientRects().length > 0;
		const label = (e) => e.getAttribute("aria-label") || (e.labels && e.labels.length ? [...e.labels].map((l) => l.textContent).join(" ") : e.textContent);
		const clean = (s) => s.replace(/\s+/g, " ").trim();
		const found = [...document.querySelectorAll(tags)].filter((e) => visible(e) && clean(label(e)) === %[2]s);
		return found.length === 1 ? found[0] : null;
	})()`, quote(role), quote(name))
}

// find waits for an element by role and name and marks it, so that a selector finds it.
func (w *browser) find(role, name string) string {
	w.t.Helper()
	w.until(byRole(role, name))
	return eval[string](w, `(() => { const e = `+byRole(role, name)+`; for (const m of document.querySelectorAll("[data-found]")) m.removeAttribute("data-found"); e.setAttribute("data-found", "1"); return "[data-found]"; })()`)
}

// press clicks a button that sends a form, and waits for the next page.
func (w *browser) press(name string) {
	w.t.Helper()
	w.leave(chromedp.Click(chromedp.CSS(w.find("button", name))))
}

func (w *browser) follow(name string) {
	w.t.Helper()
	w.leave(chromedp.Click(chromedp.CSS(w.find("link", name))))
}

// leave does what leads to another page and waits for it.
func (w *browser) leave(step chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	eval[bool](w, "window.leaving = true")
	w.do(step)
	w.until("!window.leaving && document.readyState === 'complete'")
}

// fill types into a textbox.
func (w *browser) fill(name, text string) {
	w.t.Helper()
	sel := chromedp.CSS(w.find("textbox", name))
	eval[bool](w, `(document.querySelector("[data-found]").value = "") === ""`)
	w.do(chromedp.SendKeys(sel, text))
}

func (w *browser) set(role, name, value string) {
	w.t.Helper()
	w.find(role, name)
	eval[bool](w, `(() => { const e = document.querySelector("[data-found]"); e.value = `+quote(value)+`; return e.dispatchEvent(new Event("change", {bubbles: true})); })()`)
}

// choose clicks a radio button of a group.
func (w *browser) choose(group, value string) {
	w.t.Helper()
	expression := fmt.Sprintf(`[...document.querySelectorAll("fieldset")].filter((f) => f.querySelector("legend").textContent.trim() === %s).flatMap((f) => [...f.querySelectorAll("input")]).find((i) => i.value === %s)`, quote(group), quote(value))
	w.until(expression)
	eval[bool](w, "("+expression+").click() || true")
}

func (w *browser) attach(label string, files ...string) {
	w.t.Helper()
	w.do(chromedp.SetUploadFiles(chromedp.CSS(w.find("file", label)), files))
}

// signIn signs in through the dev issuer and comes back to the page that was asked for.
func (w *browser) signIn(email, page string) {
	w.t.Helper()
	w.open(page)
	w.signInHere(email)
	w.until("location.pathname + location.search === " + quote(page))
}

func (w *browser) signInHere(email string) {
	w.t.Helper()
	w.fill("E-mail", email)
	w.press("Sign in")
}

// alert is the text of the page's refusal.
func (w *browser) alert() string {
	w.t.Helper()
	w.until(`document.querySelector("[role=alert]")`)
	return eval[string](w, `document.querySelector("[role=alert]").innerText`)
}
