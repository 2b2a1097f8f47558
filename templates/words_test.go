package templates

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for name, words := range map[string]string{
		"check_vendor": "Check vendor", "check-vendor": "Check vendor", "checkVendor": "Check vendor", "vendorID": "Vendor ID",
		"IBANCheck": "IBAN check", "q1_report": "Q1 report", "a": "A", "": "", "___": "___", "größe": "Größe", "URL": "URL",
		"order2Number": "Order2 number", "two words": "Two words",
	} {
		require.Equal(t, words, Words(name), name)
	}
}

func TestHintStartEndsItsSentence(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Per year, in euros.", hintStart("Per year, in euros", NumberControl))
	require.Equal(t, "How many?", hintStart("How many?", NumberControl))
	require.Equal(t, "The name", hintStart("The name", TextControl))
}

func TestMarkedSaysWhetherSomethingIsShownAsChanged(t *testing.T) {
	t.Parallel()
	require.False(t, marked([]Record{{Fields: []Member{{Name: "a"}}}, {}}))
	require.True(t, marked([]Record{{}, {Fields: []Member{{Name: "a"}, {Name: "b", Changed: true}}}}))
	require.True(t, marked([]Record{{Fields: []Member{{Name: "a", New: true}}}}))
}

func TestStepsOfARunReadAsSentences(t *testing.T) {
	t.Parallel()
	wakes := time.Date(2026, 12, 8, 0, 0, 0, 0, time.UTC)
	var page strings.Builder
	run := Run{Steps: []RunStep{{ID: "terms", Kind: process.WaitFor, State: "waiting", Wakes: &wakes}}}
	require.NoError(t, RunPage(Chrome{Now: wakes.Add(-time.Hour)}, run).Render(t.Context(), &page))
	require.NotContains(t, page.String(), " ,")
}

func TestBytes(t *testing.T) {
	t.Parallel()
	for n, text := range map[int64]string{0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1.0 KB", 48213: "48.2 KB", 999_960: "1.0 MB", 10 << 20: "10.5 MB", 5e12: "5.0 TB"} {
		require.Equal(t, text, Bytes(n))
	}
}

func TestLineCutsAtAWord(t *testing.T) {
	t.Parallel()
	require.Equal(t, "one two three", Line("one\n two\t three ", 20))
	require.Equal(t, "one two…", Line("one two three four", 12))
	require.Equal(t, "ääää…", Line(strings.Repeat("ä", 100), 5))
	require.Empty(t, Line("", 5))
}

func TestParagraphsUnwrapWhatWasWrappedByHand(t *testing.T) {
	t.Parallel()
	wrapped := "Send the same requirements to the three named\nsuppliers. Obtain one quote from each.\nAttach all three.\n\n- first\n- second one\n  goes on\n1. third"
	require.Equal(t, [][]string{
		{"Send the same requirements to the three named suppliers. Obtain one quote from each.", "Attach all three."},
		{"- first", "- second one goes on", "1. third"},
	}, Paragraphs(wrapped))
	require.Empty(t, Paragraphs(" \n\n"))
}

func TestCodeSpans(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"Put it into ", "answer", "."}, codeSpans("Put it into `answer`."))
	require.Equal(t, []string{"a ", "b", " c ` d"}, codeSpans("a `b` c ` d"))
	require.Equal(t, []string{"it`s"}, codeSpans("it`s"))
	require.Equal(t, []string{""}, codeSpans(""))
}

func TestOverridesAreMadeVisible(t *testing.T) {
	t.Parallel()
	require.Equal(t, "invoice⟨RLO⟩fdp.exe", Plain("invoice\u202efdp.exe"))
	require.Equal(t, "שלום", Plain("שלום"))
}

func TestPlainTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 6, 12, 0, 0, 0, time.UTC)
	for after, text := range map[time.Duration]string{
		-30 * time.Second: "due now", 30 * time.Second: "due now", 20 * time.Minute: "due in 20 min", 3 * time.Hour: "due in 3 h",
		89 * time.Minute: "due in 89 min", 47 * time.Hour: "due in 47 h", 49 * time.Hour: "due in 2 days", -5 * time.Minute: "5 min overdue",
		-50 * time.Hour: "2 days overdue",
	} {
		require.Equal(t, text, Due(now.Add(after), now), "%s", after)
	}
	require.Equal(t, "just now", Ago(now.Add(-time.Second), now))
	require.Equal(t, "5 h ago", Ago(now.Add(-5*time.Hour), now))
	require.Equal(t, "6 Aug 2026", Ago(now.AddDate(0, -2, 0), now))
	require.Equal(t, "in 3 days", Ago(now.Add(80*time.Hour), now))
	require.Equal(t, "Tue 6 Oct 2026, 12:00 UTC", Exact(now))
	require.True(t, Soon(now.Add(time.Hour), now))
	require.False(t, Soon(now.Add(25*time.Hour), now))
	require.False(t, Soon(now.Add(-time.Hour), now))
	require.Equal(t, "3 days", Span(72*time.Hour))
	require.Equal(t, "90 min", Span(90*time.Minute))
}

func TestProseKeepsSpacesAroundCode(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, Prose("Put `a<b` into\n`answer`, then stop.").Render(t.Context(), &b))
	require.Equal(t, `<p dir="auto">Put <code>a&lt;b</code> into <code>answer</code>, then stop.</p>`, b.String())
}

func TestNoticesReadAsSentences(t *testing.T) {
	t.Parallel()
	for text, n := range map[string]Notice{
		"New for you: Approve payment of Pay invoice":     {Kind: "assigned", Process: "pay-invoice", Step: "approve_payment", State: "waiting"},
		"Overdue: Approve payment of Pay invoice":         {Kind: "overdue", Process: "pay-invoice", Step: "approve_payment", State: "ended", Outcome: "paid"},
		"An agent needs help: Match order of Pay invoice": {Kind: "escalated", Process: "pay-invoice", Step: "match_order", State: "waiting"},
		"Ended: Pay invoice, paid in full":                {Kind: "ended", Process: "pay-invoice", State: "ended", Outcome: "paid_in_full"},
		"Cancelled: Pay invoice":                          {Kind: "ended", Process: "pay-invoice", State: "cancelled"},
	} {
		require.Equal(t, text, n.Text())
	}
}

func TestNewsShowsAFewLinesAndFoldsTheRest(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 10, 6, 8, 0, 0, 0, time.UTC)
	render := func(news ...Notice) string {
		var page strings.Builder
		require.NoError(t, newsList(news, at.Add(72*time.Hour)).Render(t.Context(), &page))
		return page.String()
	}
	require.Empty(t, render(), "no news is nothing at all")
	one := Notice{Kind: "overdue", Process: "<b>pay</b>", Step: "\u202eapprove", URL: "/items/r_1_w1", At: at}
	page := render(one)
	require.Contains(t, page, "News</h2>")
	require.Contains(t, page, `href="/items/r_1_w1"`)
	require.Contains(t, page, `title="Tue 6 Oct 2026, 08:00 UTC"`)
	require.Contains(t, page, ">3 days ago</time>")
	require.Contains(t, page, "&lt;b&gt;pay")
	require.NotContains(t, page, "\u202e")
	require.NotContains(t, page, "<details")
	require.Contains(t, render(one, one, one, one, one), "Show the other 2<")
}
