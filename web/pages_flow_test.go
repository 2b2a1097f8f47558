package web_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

func TestApproverRejectsThenApproves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.compared()
	w := b.browse()
	w.signIn(mira, "/inbox")
	w.sees("Choose supplier")
	w.sees("RFQ-2026-014")
	w.follow("Choose supplier›Choose")
	w.sees("Approve the recommended supplier at this price.")
	w.sees("58200.00")

	w.press("Reject")
	require.Contains(t, w.alert(), "note: required")
	w.fill("Note", "Price the assembly for Contoso too.")
	w.press("Reject")
	w.sees("Rejected. Your decision and your note are on record.")
	require.Equal(t, `"Price the assembly for Contoso too."`, string(b.stepData(runID, "choose")["note"]))

	b.compare(runID, "Contoso Office", "57900.50")
	w.open("/inbox")
	w.follow("Choose supplier›Choose")
	w.sees("Sent back before")
	w.sees("changed")
	w.press("Approve")
	w.sees("Approved. Your decision is on record.")
	require.Equal(t, `"approved"`, string(b.stepData(runID, "choose")["decision"]))
	require.Equal(t, `"`+mira+`"`, string(b.stepData(runID, "choose")["by"]))
}

func TestPersonCompletesATaskWithEveryKindOfField(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.compared()
	b.decide(mira, runID, func(a *server.DecideArgs) { a.Decision = "approved" })
	dir := t.TempDir()
	confirmation := filepath.Join(dir, "confirmation.txt")
	require.NoError(t, os.WriteFile(confirmation, []byte("Order 4711 is confirmed.\n"), 0o600))

	w := b.browse()
	w.signIn(joe, "/items/"+b.openItem(runID))
	w.press("Complete")
	alert := w.alert()
	for _, issue := range []string{
		"output.orderNumber: missing", "output.total: missing", "output.status: missing", "output.owner: missing", "output.insured: missing",
		"output.remarks: missing", "evidence: file required", "next: required, one of ordered, stopped", "reason: required",
	} {
		require.Contains(t, alert, issue, "all issues come at once")
	}
	w.fill("orderNumber", "4711")
	w.fill("total", "58,200")
	w.choose("status", "confirmed")
	w.set("date", "deliveryDate", "2026-11-20")
	w.set("datetime", "orderedAt", "2026-10-06T14:30")
	w.fill("UTC offset", "+02:00")
	w.fill("owner", "joe@example.com")
	w.choose("insured", "true")
	w.fill("remarks", "Ring the bell twice\nSecond floor")
	w.fill("deliveryAddress", "street: Hafenstr. 1\ncity: Hamburg\nfloor: 2")
	w.attach("Evidence file", confirmation)
	w.choose("Next step", "ordered")
	w.fill("Reason", "The supplier confirmed by mail.")
	w.press("Complete")
	require.Contains(t, w.alert(), "output.total: expected number")
	require.Equal(t, "58,200", eval[string](w, byRole("textbox", "total")+".value"), "what was typed is kept")
	require.Equal(t, "4711", eval[string](w, byRole("textbox", "orderNumber")+".value"))
	w.sees("confirmation.txt")

	w.fill("total", "58200.00")
	w.press("Complete")
	w.sees("Completed. What you entered is on record.")
	view := b.view(runID)
	require.Equal(t, run.RunEnded, view.Run.State)
	require.Equal(t, "ordered", *view.Run.Outcome)
	require.JSONEq(t, `{"orderNumber":"4711","total":58200.00,"status":"confirmed","deliveryDate":"2026-11-20","orderedAt":"2026-10-06T14:30:00+02:00",
		"owner":"joe@example.com","insured":true,"remarks":["Ring the bell twice","Second floor"],
		"deliveryAddress":{"street":"Hafenstr. 1","city":"Hamburg","floor":2}}`, string(b.stepData(runID, "order")["output"]))
	require.Contains(t, string(b.stepData(runID, "order")["output"]), "58200.00", "digits stay as typed")
}
