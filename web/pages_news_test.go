package web

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

const payment = `---
name: pay-invoice
description: A person approves a payment.
steps:
  - id: approve_payment
    person: approver
    approve: Pay this?
    due: 4h
    next: paid
  - id: paid
    finish: paid
---
Body.
`

var newsLine = regexp.MustCompile(`(?s)<li><a href="([^"]+)"><bdi>(.*?)</bdi></a>.*?<time [^>]*>(.*?)</time>`)

// newsOf reads the news of a person's inbox: where each line leads, what it says and how old it is.
func (b *bundle) newsOf(email string) (lines []string) {
	b.t.Helper()
	r, page := b.browser().signIn(email, "/inbox")
	require.Equal(b.t, http.StatusOK, r.StatusCode)
	_, news, found := strings.Cut(page, `id="notices"`)
	if !found {
		return nil
	}
	for _, m := range newsLine.FindAllStringSubmatch(news, -1) {
		lines = append(lines, m[1]+" "+html.UnescapeString(m[2])+" · "+m[3])
	}
	return lines
}

// The notices of the outbox are told to their person and groups and to nobody else, and none is made by a test run
// (protocol.md 4).
func TestTheInboxTellsTheNews(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.publish(payment)
	b.publish(strings.Replace(payment, "pay-invoice", "rehearsal", 1))
	require.Empty(t, b.newsOf("mira@example.com"), "no news is no section")

	mira, err := b.srv.Person(t.Context(), "mira@example.com", nil)
	require.NoError(t, err)
	start := func(name string, mode run.Mode) (runID, itemID string) {
		view, err := b.srv.StartRun(t.Context(), mira, server.StartRunArgs{Process: name, Mode: mode, RequestID: uuid.NewString()})
		require.NoError(t, err)
		return view.Run.ID, view.WorkItems[0].ID
	}
	reject := func(runID, itemID string) {
		page, err := b.srv.ItemPage(t.Context(), mira, itemID)
		require.NoError(t, err)
		note := "Not ours."
		_, err = b.srv.Decide(t.Context(), mira, server.DecideArgs{RunID: runID, WorkItemID: itemID, Snapshot: page.Open.Snapshot,
			Decision: "rejected", Note: &note, RequestID: uuid.NewString()})
		require.NoError(t, err)
	}
	advance := func(d time.Duration) {
		_, err := b.clock.Advance(d)
		require.NoError(t, err)
	}
	_, late := start("pay-invoice", run.Live)
	advance(time.Minute)
	ended, item := start("pay-invoice", run.Live)
	dry, dryItem := start("rehearsal", run.Test)
	start("rehearsal", run.Test)
	advance(5 * time.Hour)
	require.Len(t, b.newsOf("mira@example.com"), 4, "two new and two overdue")
	reject(ended, item)
	reject(dry, dryItem)
	advance(72 * time.Hour)

	require.Equal(t, []string{
		"/runs/" + ended + " Ended: Pay invoice, rejected · 3 days ago",
		"/runs/" + ended + " Overdue: Approve payment of Pay invoice · 3 days ago",
		"/items/" + late + " Overdue: Approve payment of Pay invoice · 3 days ago",
		"/runs/" + ended + " New for you: Approve payment of Pay invoice · 3 days ago",
		"/items/" + late + " New for you: Approve payment of Pay invoice · 3 days ago",
	}, b.newsOf("mira@example.com"))
	require.Empty(t, b.newsOf("joe@example.com"), "who is in no group and started nothing is told nothing")
}
