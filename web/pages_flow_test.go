package web_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/web"
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

func TestOperatorReturnsAnEscalatedStep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.start(b.person(joe), "pay-invoice", run.Live, `{"invoice":"INV-7","amount":10.50,"supplier":"Contoso"}`)
	b.call(bot, "escalate", map[string]any{"token": b.claim(runID, "match_order"), "note": "Two orders have this number."})
	w := b.browse()
	w.signIn(olga, "/inbox")
	w.sees("Agents need help")
	w.follow("Pay invoice›Match order")
	w.sees("Two orders have this number.")
	w.press("Return to agent")
	require.Contains(t, w.alert(), "note: required")
	w.fill("Note", "It is the order from March.")
	w.press("Return to agent")
	w.sees("Returned to the agent, with your note.")
	data := b.call(bot, "claim", map[string]any{"runId": runID, "stepId": "match_order"})
	require.Contains(t, data["handoff"], "returned")
}

func TestOperatorCompletesAnEscalatedStep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.start(b.person(joe), "pay-invoice", run.Live, `{"invoice":"INV-7","amount":10.50,"supplier":"Contoso"}`)
	b.call(bot, "escalate", map[string]any{"token": b.claim(runID, "match_order"), "note": "Two orders have this number."})
	w := b.browse()
	w.signIn(olga, "/items/"+b.openItem(runID))
	w.fill("orderNumber", "4599")
	w.press("Complete")
	require.Contains(t, w.alert(), "output.differences: missing")
	eval[bool](w, `document.querySelector("[name='none.differences']").click() || true`)
	w.press("Complete")
	w.sees("Completed. What you entered is on record.")
	require.JSONEq(t, `{"orderNumber":"4599","differences":[]}`, string(b.stepData(runID, "match_order")["output"]))
}

func TestFailingARunNeedsANote(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.compared()
	w := b.browse()
	w.signIn(mira, "/items/"+b.openItem(runID))
	w.press("Fail run")
	require.Contains(t, w.alert(), "note: required")
	w.fill("Note", "The department is being closed.")
	w.press("Fail run")
	w.sees("The run has failed.")
	require.Equal(t, "failed", *b.view(runID).Run.Outcome)
}

// welcome is a run of welcome-colleague: two items wait at once, one of them for Mira by name.
func (b *bundle) welcome() (runID, plan, desk string) {
	b.t.Helper()
	runID = b.start(b.person(olga), "welcome-colleague", run.Test, `{"name":"Ada Lovelace","firstDay":"2027-01-04","firstDayAt":"2027-01-04T09:00:00+01:00","mentor":"Mira@Example.com"}`)
	for _, i := range b.view(runID).WorkItems {
		switch i.StepID {
		case "plan":
			plan = i.ID
		case "desk":
			desk = i.ID
		}
	}
	return runID, plan, desk
}

// finishDesk lets Joe complete the desk beside any browser.
func (b *bundle) finishDesk(runID, desk string) {
	b.t.Helper()
	id := b.person(joe)
	page, err := b.srv.ItemPage(context.Background(), id, desk)
	require.NoError(b.t, err)
	_, err = b.srv.Decide(context.Background(), id, server.DecideArgs{
		RunID: runID, WorkItemID: desk, Snapshot: page.Open.Snapshot, Decision: "completed", RequestID: uuid.NewString(),
		Output:   json.RawMessage(`{"room":"4.21"}`),
		Evidence: []run.Evidence{{Kind: "file", Ref: b.upload(id, "desk.png", "image/png", png)}},
	})
	require.NoError(b.t, err)
}

func TestStaleDecisionShowsWhatChangedAndKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID, plan, desk := b.welcome()
	w := b.browse()
	w.signIn(mira, "/items/"+plan)
	w.sees("TEST")
	w.fill("agenda", "09:00 Coffee\n10:00 Tour of the house")
	b.finishDesk(runID, desk)
	w.sees("Something here changed while you had it open.")
	w.press("Complete")
	alert := w.alert()
	require.Contains(t, alert, "This changed while you had it open")
	require.Contains(t, alert, "Desk")
	require.Contains(t, alert, "4.21")
	require.Contains(t, alert, joe)
	require.Equal(t, "09:00 Coffee\n10:00 Tour of the house", eval[string](w, byRole("textbox", "agenda")+".value"))
	require.Empty(t, b.stepData(runID, "plan"), "nothing was decided")
	w.press("Complete")
	w.sees("Completed. What you entered is on record.")
	require.JSONEq(t, `{"agenda":["09:00 Coffee","10:00 Tour of the house"]}`, string(b.stepData(runID, "plan")["output"]))

	initiator := b.browse()
	initiator.signIn(olga, "/items/"+b.openItem(runID))
	require.ElementsMatch(t, []string{"Desk", "Plan"}, eval[[]string](initiator, `[...document.querySelectorAll(".said-card h2 > span:first-child")].map((e) => e.textContent)`),
		"every branch that led here is told")
}

func TestADecisionOnAnUnknownSnapshotIsStale(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.compared()
	w := b.browse()
	w.signIn(mira, "/items/"+b.openItem(runID))
	eval[bool](w, `(document.querySelector("[name=snapshot]").value = "made up") !== ""`)
	w.press("Approve")
	require.Contains(t, w.alert(), "What the page showed before isn't known any more.")
	w.press("Approve")
	w.sees("Approved. Your decision is on record.")
}

func TestEnterInATextFieldDecidesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.compared()
	b.decide(mira, runID, func(a *server.DecideArgs) { a.Decision = "approved" })
	w := b.browse()
	for _, scripts := range []bool{true, false} {
		w.scripts(scripts)
		w.signIn(joe, "/items/"+b.openItem(runID))
		eval[bool](w, "window.leaving = true")
		w.fill("total", "58200.00"+kb.Enter)
		w.fill("UTC offset", kb.Enter)
		require.True(t, eval[bool](w, "window.leaving"), "the page is still the same")
		w.press("Sign out")
		w.sees("You are signed out of this server.")
	}
}

func TestAnActionOnARunOutlivesTheSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.compared()
	w := b.browse()
	w.signIn(olga, "/runs/"+runID)
	w.fill("Reason", "The budget is gone.")
	w.forgetCookies()
	w.press("Cancel run")
	w.signInHere(olga)
	w.until("location.pathname === " + quote("/runs/"+runID))
	require.Equal(t, "The budget is gone.", eval[string](w, byRole("textbox", "Reason")+".value"))
	require.Equal(t, run.RunWaiting, b.view(runID).Run.State)
}

func TestFirstLoadIsLight(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 60 {
		b.start(b.person(mira), "welcome-colleague", run.Live, `{"name":"Ada Lovelace","firstDay":"2027-01-04","firstDayAt":"2027-01-04T09:00:00+01:00","mentor":"mira@example.com"}`)
	}
	w := b.browse()
	w.signIn(mira, "/processes")
	for _, path := range []string{"/inbox", "/runs", "/items/" + b.itemFor(mira)} {
		w.forgetCache()
		w.open(path)
		weight := eval[int](w, `performance.getEntries().filter((e) => e.transferSize !== undefined && !e.name.endsWith("/events")).reduce((sum, e) => sum + e.transferSize, 0)`)
		require.Less(t, weight, 100<<10, path)
		require.Greater(t, weight, 10<<10, "%s: something was counted", path)
	}
}

// itemFor is the oldest item that waits for a person.
func (b *bundle) itemFor(email string) string {
	b.t.Helper()
	page, err := b.srv.Inbox(context.Background(), b.person(email), server.InboxQuery{Limit: 1})
	require.NoError(b.t, err)
	require.NotEmpty(b.t, page.Items)
	return page.Items[0].Item.ID
}

func TestDoubleClickDecidesOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, scripts := range []bool{true, false} {
		runID := b.compared()
		w := b.browse()
		w.signIn(mira, "/items/"+b.openItem(runID))
		w.scripts(scripts)
		w.open("/items/" + b.openItem(runID))
		w.leave(chromedp.DoubleClick(chromedp.CSS(w.find("button", "Approve"))))
		w.sees("Approved")
		w.until("!document.querySelector('[role=alert]')")
		require.Equal(t, 1, b.events(runID, "StepCompleted", "choose"))
	}
}

// events counts the journal entries of a type about a step.
func (b *bundle) events(runID, kind, step string) int {
	b.t.Helper()
	page, err := b.srv.RunPage(context.Background(), b.person(olga), runID)
	require.NoError(b.t, err)
	n := 0
	for _, e := range page.Entries {
		if e.Type == kind && strings.Contains(string(e.Data), `"step":"`+step+`"`) {
			n++
		}
	}
	return n
}

func TestSendingAFormTwiceAtOnceDecidesOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.compared()
	w := b.browse()
	w.signIn(mira, "/items/"+b.openItem(runID))
	eval[bool](w, `(() => {
		const form = document.querySelector("[data-decide]");
		const send = () => { const body = new FormData(form); body.append("decision", "approved"); return fetch(form.action, {method: "POST", body}).then((r) => r.text()); };
		Promise.all([send(), send(), send()]).then((pages) => { window.answers = pages.map((p) => p.includes("Approved") && !p.includes('role="alert"')); });
		return true;
	})()`)
	w.until("window.answers")
	require.Equal(t, []bool{true, true, true}, eval[[]bool](w, "window.answers"), "each answer is that of the one decision")
	require.Equal(t, 1, b.events(runID, "StepCompleted", "choose"))
}

func TestTwoPeopleRaceForOneItem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.srv.AddMembers(context.Background(), "buyer", []string{olga}))
	runID := b.compared()
	item := b.openItem(runID)
	first, second := b.browse(), b.browse()
	first.signIn(mira, "/items/"+item)
	second.signIn(olga, "/items/"+item)
	second.fill("Note", "I would rather take Fabrikam.")
	first.press("Approve")
	first.sees("Approved. Your decision is on record.")
	second.sees(mira + " decided this meanwhile.")
	second.press("Reject")
	alert := second.alert()
	require.Contains(t, alert, "Something else happened first")
	require.Contains(t, alert, "I would rather take Fabrikam.", "what was typed can still be copied")
	second.sees("by " + mira)
	require.Equal(t, `"approved"`, string(b.stepData(runID, "choose")["decision"]))
}

func TestAFormOutlivesItsSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.compared()
	item := "/items/" + b.openItem(runID)
	w := b.browse()
	w.signIn(mira, item)
	w.fill("Note", "Ask Fabrikam again — they owe us an answer.")
	w.forgetCookies()
	w.press("Reject")
	w.signInHere(mira)
	w.until("location.pathname === " + quote(item))
	w.sees("You had to sign in meanwhile.")
	require.Equal(t, "Ask Fabrikam again — they owe us an answer.", eval[string](w, byRole("textbox", "Note")+".value"))
	require.Empty(t, b.stepData(runID, "choose"), "nothing was decided before the sign-in")
	w.press("Reject")
	w.sees("Rejected. Your decision and your note are on record.")
}

func TestOnlyFilesAreLostWithASession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.compared()
	b.decide(mira, runID, func(a *server.DecideArgs) { a.Decision = "approved" })
	file := filepath.Join(t.TempDir(), "confirmation.txt")
	require.NoError(t, os.WriteFile(file, []byte("confirmed"), 0o600))
	item := "/items/" + b.openItem(runID)
	w := b.browse()
	w.scripts(false)
	w.signIn(joe, item)
	w.attach("Evidence file", file)
	w.fill("orderNumber", "4711")
	w.forgetCookies()
	w.press("Complete")
	w.signInHere(joe)
	w.until("location.pathname === " + quote(item))
	w.sees("Only files have to be chosen again.")
	require.Equal(t, "4711", eval[string](w, byRole("textbox", "orderNumber")+".value"))
}

func TestADecisionMayNeedAFreshSignIn(t *testing.T) {
	t.Parallel()
	b := setupWith(t, func(o *web.Options) { o.OIDC.DecideMaxAge = time.Nanosecond })
	runID := b.compared()
	w := b.browse()
	w.signIn(mira, "/items/"+b.openItem(runID))
	w.fill("Note", "Fine with me.")
	w.press("Approve")
	w.signInHere(mira)
	w.sees("You had to sign in meanwhile.")
	require.Equal(t, "Fine with me.", eval[string](w, byRole("textbox", "Note")+".value"))
	require.Empty(t, b.stepData(runID, "choose"))
}

func TestAFormIsNotShownToSomebodyElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.srv.AddMembers(context.Background(), "buyer", []string{olga}))
	item := "/items/" + b.openItem(b.compared())
	w := b.browse()
	w.signIn(mira, item)
	w.fill("Note", "Between us: Fabrikam is cheaper.")
	w.forgetCookies()
	w.press("Reject")
	w.signInHere(olga)
	w.until("location.pathname === " + quote(item))
	require.Empty(t, eval[string](w, byRole("textbox", "Note")+".value"))
}

func TestEverythingWorksWithoutJavaScript(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.compared()
	file := filepath.Join(t.TempDir(), "confirmation.txt")
	require.NoError(t, os.WriteFile(file, []byte("confirmed"), 0o600))
	w := b.browse()
	w.size(390, 844)
	w.scripts(false)
	w.signIn(mira, "/inbox")
	w.follow("Choose supplier›Choose")
	w.press("Approve")
	w.sees("Approved. Your decision is on record.")
	w.press("Sign out")
	w.sees("You are signed out of this server.") // the way there leads over the identity provider

	w.signIn(joe, "/items/"+b.openItem(runID))
	w.attach("Evidence file", file)
	w.fill("orderNumber", "4711")
	w.press("Complete")
	require.Contains(t, w.alert(), "output.total: missing")
	w.sees("confirmation.txt")
	require.NotContains(t, w.alert(), "evidence", "the file was kept")
	w.fill("total", "58200.00")
	w.choose("status", "pending")
	w.set("date", "deliveryDate", "2026-11-20")
	w.set("datetime", "orderedAt", "2026-10-06T14:30")
	w.fill("owner", joe)
	w.choose("insured", "false")
	w.fill("remarks", "none worth telling")
	w.choose("Next step", "ordered")
	w.fill("Reason", "Confirmed.")
	w.press("Complete")
	w.sees("Completed. What you entered is on record.")
	require.Contains(t, string(b.stepData(runID, "order")["evidence"]), "sha256")
}

func TestStartingARunFromItsForm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.browse()
	w.signIn(mira, "/processes")
	w.follow("Choose supplier")
	w.sees("sourcing")
	w.follow("Start a run")
	w.press("Start run")
	require.Contains(t, w.alert(), "inputs.reference: missing")
	w.fill("reference", "RFQ-9")
	w.fill("need", "Chairs")
	w.fill("budget", "900.10")
	w.set("date", "neededBy", "2027-01-31")
	w.choose("Mode", "test")
	w.press("Start run")
	w.sees("The run has started.")
	w.sees("TEST")
	runID := strings.TrimPrefix(eval[string](w, "location.pathname"), "/runs/")
	require.Contains(t, string(b.view(runID).Data), `"budget":900.10`)
	require.Equal(t, run.Test, b.view(runID).Run.Mode)
}

func TestOperatorCancelsARunAndSendsEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.compared()
	w := b.browse()
	w.signIn(mira, "/runs/"+runID)
	require.False(t, eval[bool](w, byRole("button", "Cancel run")+" !== null"), "only operators cancel")
	w = b.browse()
	w.signIn(olga, "/runs/"+runID)
	w.fill("Event", "Not a name")
	w.press("Send event")
	w.sees("Not sent")
	w.fill("Event", "price_changed")
	w.press("Send event")
	w.sees("The event is held until a step waits for it.")
	w.press("Cancel run")
	require.Contains(t, w.alert(), "Not cancelled")
	w.fill("Reason", "The budget is gone.")
	w.press("Cancel run")
	w.sees("The run is cancelled.")
	w.sees("The budget is gone.")
	require.Equal(t, run.RunCancelled, b.view(runID).Run.State)
}

func TestMovingTheClockOfADevServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID, _, _ := b.welcome()
	w := b.browse()
	w.signIn(mira, "/runs/"+runID)
	w.fill("Forward by", "yesterday")
	w.press("Move the clock")
	require.Contains(t, w.alert(), "The clock was not moved")
	w.fill("Forward by", "4d")
	w.press("Move the clock")
	w.sees("24 h overdue")
}

func TestInboxFiltersLiveInTheAddress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.compared()
	b.welcome()
	w := b.browse()
	w.signIn(mira, "/inbox")
	rows := "document.querySelectorAll('#list [data-item]').length"
	w.until(rows + " === 2")
	w.do(chromedp.SendKeys(chromedp.CSS("#search"), "recommended supplier"))
	w.until(rows + " === 1 && location.search === '?q=recommended+supplier'")
	w.open("/inbox?mode=test")
	w.until(rows + " === 1")
	w.sees("Welcome colleague")
	w.open("/inbox?group=buyer")
	w.sees("Choose supplier")
	w.until(rows + " === 1")
	w.open("/inbox?process=pay-invoice")
	w.sees("Nothing matches")
	w.follow("Show everything that waits for you")
	w.until(rows + " === 2")
}

func TestInboxSaysWhatIsNewAndMovesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.compared()
	w := b.browse()
	w.signIn(mira, "/inbox")
	rows := "document.querySelectorAll('#list [data-item]').length"
	w.until(rows + " === 1")
	b.compared()
	w.sees("1 new item: show")
	require.Equal(t, 1, eval[int](w, rows), "nothing moves by itself")
	b.decide(mira, first, func(a *server.DecideArgs) { a.Decision = "approved" })
	w.sees("no longer waiting")
	require.Equal(t, 1, eval[int](w, rows))
	eval[bool](w, byRole("button", "1 new item: show")+".click() || true")
	w.until(rows + " === 1 && !document.querySelector('.gone')")
}

func TestKeysOfTheInbox(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.compared()
	b.welcome()
	w := b.browse()
	w.signIn(mira, "/inbox")
	press := func(key string) { w.do(chromedp.KeyEvent(key)) }
	at := "[...document.querySelectorAll('[data-open]')].indexOf(document.activeElement)"
	press("j")
	w.until(at + " === 0")
	press("j")
	w.until(at + " === 1")
	press("k")
	w.until(at + " === 0")
	press("?")
	w.until("document.querySelector('#shortcuts').open")
	eval[bool](w, "document.querySelector('[data-shortcuts-on]').click() || document.querySelector('#shortcuts').close() || true")
	press("j")
	require.Equal(t, 0, eval[int](w, at), "shortcuts can be switched off")
	eval[bool](w, "document.querySelector('[data-shortcuts-on]').click() || true")
	press("/")
	w.until("document.activeElement.id === 'search'")
	press("j")
	require.Contains(t, eval[string](w, "document.querySelector('#search').value"), "j", "typing is typing")
	w.open("/inbox")
	press("j")
	w.leave(chromedp.KeyEvent(kb.Enter))
	w.sees("Your decision")
	w.leave(chromedp.KeyEvent("u"))
	require.Equal(t, "/inbox", eval[string](w, "location.pathname"))
}

func TestPagesThatAreNotForThePerson(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.compared()
	w := b.browse()
	w.signIn(joe, "/items/"+b.openItem(runID))
	w.sees("This isn't yours to decide")
	w.sees("It waits for the group buyer")
	w.open("/items/nothing")
	w.sees("There is no such page")
	w.open("/runs/nothing")
	w.sees("There is no such page")
	w.open("/processes/chose-supplier")
	w.sees("did you mean choose-supplier?")
}

func TestEvidenceIsPreviewedAndOpensForAsLongAsThePage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.compared()
	w := b.browse()
	w.signIn(mira, "/items/"+b.openItem(runID))
	eval[bool](w, `(() => { for (const d of document.querySelectorAll(".preview")) d.querySelector("summary").click(); return true; })()`)
	w.sees("Contoso: assembly excluded.")
	w.until(`document.querySelector("iframe[title='Preview of quote-northwind.pdf']")`)
	again := eval[string](w, `document.querySelector("a[data-again]").dataset.again`)
	// A preview still on its way would come too late, and its refusal be framed.
	eval[bool](w, `(() => { for (const f of document.querySelectorAll("iframe")) f.remove(); return true; })()`)
	b.advance(time.Hour) // longer than a signed link lives
	status := eval[int](w, `(() => { const r = new XMLHttpRequest(); r.open("GET", `+quote(again)+`, false); r.send(); return r.status; })()`)
	require.Equal(t, 200, status)
	w.open("/runs/" + runID + "/files/nothing")
	w.sees("There is no such file")
}

func TestFilesAreDroppedIntoTheForm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.compared()
	b.decide(mira, runID, func(a *server.DecideArgs) { a.Decision = "approved" })
	w := b.browse()
	w.signIn(joe, "/items/"+b.openItem(runID))
	eval[bool](w, `(() => {
		const data = new DataTransfer();
		data.items.add(new File(["one"], "one.txt", {type: "text/plain"}));
		data.items.add(new File(["two"], "two.txt", {type: "text/plain"}));
		data.items.add(new File([new Uint8Array(11 << 20)], "huge.bin"));
		return document.querySelector("[data-drop]").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true})) || true;
	})()`)
	w.until(`document.querySelectorAll("[name=kept]:checked").length === 2`)
	w.sees("larger than the limit, not uploaded.")
	w.fill("orderNumber", "4711")
	w.press("Complete")
	require.NotContains(t, w.alert(), "evidence")
	w.until(`document.querySelectorAll("[name=kept]:checked").length === 2`)
}

func TestAnItemOfARunThatEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.compared()
	item := b.openItem(runID)
	_, err := b.srv.Cancel(context.Background(), b.person(olga), runID, "The budget is gone.", uuid.NewString())
	require.NoError(t, err)
	w := b.browse()
	w.signIn(mira, "/items/"+item)
	w.sees("Nothing to decide any more")
	w.sees("The run was cancelled.")
	w.sees("The budget is gone.")
}
