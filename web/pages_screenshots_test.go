package web_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

// scene is a server with something in every state, for pictures and for looking at every page.
type scene struct {
	*bundle
	// pages are the pages worth a look, by name: whose they are and where.
	pages []scenePage
}

type scenePage struct {
	name, person, path string
	// then does something on the page first.
	then func(w *browser)
}

func setScene(t testing.TB) *scene {
	t.Helper()
	b := setup(t)
	s := &scene{bundle: b}
	person := b.person
	require.NoError(t, b.srv.AddMembers(context.Background(), "operators", []string{mira}))

	paid := b.start(person(joe), "pay-invoice", run.Live, `{"invoice":"INV-2026-0071","amount":1250.50,"supplier":"Contoso Office"}`)
	b.submit(paid, "match_order", `{"orderNumber":"4599","differences":[]}`, nil)
	b.decide(mira, paid, func(a *server.DecideArgs) { a.Decision = "approved" })
	late := b.start(person(joe), "pay-invoice", run.Live, `{"invoice":"INV-2026-0088","amount":18740.00,"supplier":"Fabrikam"}`)
	b.submit(late, "match_order", `{"orderNumber":"4655","differences":["Two chairs were delivered later"]}`, nil)
	b.advance(30 * time.Hour)

	stuck := b.start(person(joe), "pay-invoice", run.Live, `{"invoice":"INV-2026-0093","amount":930.00,"supplier":"Tailspin Toys"}`)
	b.call(bot, "escalate", map[string]any{"token": b.claim(stuck, "match_order"),
		"note": "The order number on the invoice exists twice in the purchasing system, with different suppliers. I can't tell which one is meant."})

	again := b.compared()
	b.decide(mira, again, func(a *server.DecideArgs) {
		a.Decision, a.Note = "rejected", ptr("Contoso leaves out assembly. Price it in, then compare again, and say what the single warehouse means for us.")
	})
	b.advance(3 * time.Hour)
	b.compare(again, "Contoso Office", "57900.50")
	b.advance(44 * time.Hour)

	soon := b.start(person(joe), "pay-invoice", run.Live, `{"invoice":"INV-2026-0101","amount":48000.00,"supplier":"Northwind Interiors"}`)
	b.submit(soon, "match_order", `{"orderNumber":"4711","differences":[]}`, nil)
	welcome := b.start(person(mira), "welcome-colleague", run.Test, `{"name":"Ada Lovelace","firstDay":"2026-12-07","firstDayAt":"2026-12-07T09:00:00+01:00","mentor":"mira@example.com"}`)
	b.advance(40 * time.Minute)
	ordering := b.compared()
	b.decide(mira, ordering, func(a *server.DecideArgs) { a.Decision = "approved" })
	fresh := b.compared()
	b.advance(2 * time.Minute)

	b.publish(revised(t), map[string]string{"buyer": "buyer", "purchasing": "purchasing"})
	item := func(runID string) string { return "/items/" + b.openItem(runID) }
	plan := ""
	for _, i := range b.view(welcome).WorkItems {
		if i.StepID == "plan" {
			plan = "/items/" + i.ID
		}
	}
	decided := item(soon)
	s.pages = []scenePage{
		{"inbox", mira, "/inbox", nil},
		{"inbox-empty", "nobody@example.com", "/inbox", nil},
		{"item", mira, item(again), nil},
		{"item-task", joe, item(ordering), nil},
		{"item-refused", joe, item(ordering), func(w *browser) { w.press("Complete") }},
		{"item-stale", joe, item(ordering), func(w *browser) {
			eval[bool](w, `(document.querySelector("[name=snapshot]").value = "") === ""`)
			w.press("Complete")
		}},
		{"item-list", mira, plan, nil},
		{"item-escalation", mira, item(stuck), nil},
		{"item-not-mine", joe, item(fresh), nil},
		{"item-decided", mira, decided, func(w *browser) { w.press("Approve") }},
		{"run", mira, "/runs/" + again, nil},
		{"run-parallel", mira, "/runs/" + welcome, nil},
		{"run-ended", mira, "/runs/" + paid, nil},
		{"runs", mira, "/runs", nil},
		{"processes", mira, "/processes", nil},
		{"process", mira, "/processes/choose-supplier", nil},
		{"version-changes", mira, "/processes/choose-supplier/versions/2?from=1", nil},
		{"start", mira, "/processes/welcome-colleague/start", nil},
		{"not-found", mira, "/items/no-such-item", nil},
		{"sign-in", "", "/login?next=" + url.QueryEscape("/inbox"), nil},
		{"signed-out", "", "/signed-out", nil},
	}
	return s
}

// revised is choose-supplier with a small change.
func revised(t testing.TB) string {
	source, err := os.ReadFile(filepath.Join("testdata", "processes", "choose-supplier", "PROCESS.md"))
	require.NoError(t, err)
	text := string(source)
	require.Contains(t, text, "due: 3d")
	return replaceOnce(replaceOnce(text, "due: 3d", "due: 5d"), "A quote older than 30 days", "A quote older than 14 days")
}

// TestScreenshots takes a picture of every page, narrow and wide, light and dark, into the folder AP_SCREENSHOTS names:
// NAME.png is wide and light.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("AP_SCREENSHOTS")
	if dir == "" {
		t.Skip("AP_SCREENSHOTS names no folder: no pictures are taken")
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	s := setScene(t)
	browsers := map[string]*browser{}
	for _, p := range s.pages {
		w := browsers[p.person]
		if w == nil {
			w = s.browse()
			browsers[p.person] = w
			if p.person != "" {
				w.signIn(p.person, "/runs")
			}
		}
		w.size(1280, 900)
		w.open(p.path)
		if p.then != nil {
			p.then(w)
		}
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 390} {
				w.scheme(scheme)
				w.size(width, 900)
				name := p.name
				if width == 390 {
					name += "-narrow"
				}
				if scheme == "dark" {
					name += "-dark"
				}
				require.LessOrEqual(t, eval[int64](w, "document.documentElement.scrollWidth"), width, "%s scrolls sideways", name)
				w.picture(filepath.Join(dir, name+".png"), name != "item" && name != "inbox")
			}
		}
		w.scheme("light")
	}
}

// picture takes a picture of the page, the whole of it or what is in view.
func (w *browser) picture(path string, whole bool) {
	w.t.Helper()
	shot := chromedp.CaptureScreenshot()
	if whole {
		shot = chromedp.FullScreenshot(100)
	}
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, shot)
	require.NoError(w.t, err)
	require.NoError(w.t, os.WriteFile(path, picture, 0o644))
	fmt.Println(path)
}
