package run_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

func TestS5_WaitRunsFromBecomingReady(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), wait("w", 3*24*time.Hour), agent("b"), finish("done")).start()
	b.later(time.Hour).work("a", `{}`)
	require.Equal(t, "done waiting - -", b.states())
	require.Equal(t, t0.Add(73*time.Hour), *b.st.NextTimer(b.doc))
	b.pass(72*time.Hour - time.Millisecond)
	require.Equal(t, "done waiting - -", b.states())
	b.pass(time.Millisecond)
	require.Equal(t, "done done ready -", b.states())
}

func TestS5_WaitUntil(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		value string
		wake  time.Time
	}{
		"in time":                      {`"2026-10-06T12:00:00+02:00"`, t0.Add(time.Hour)},
		"past: at once":                {`"2020-01-01T00:00:00Z"`, t0},
		"small letters, a leap second": {`"2026-12-31t23:59:60z"`, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)},
		"never early":                  {`"2026-10-06T09:00:00.0001Z"`, t0.Add(time.Millisecond)},
		"the last time there is":       {`"9999-12-31T23:59:59.9999-23:59"`, time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)},
		"a year before the first":      {`"0000-01-01T00:00:00+23:59"`, t0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := document(output(agent("a"), optional(field("when", process.Datetime))), waitUntil("w", "steps.a.output.when"), finish("done"))
			b := setupDoc(t, doc).start().work("a", `{"when":`+c.value+`}`)
			if c.wake.Equal(t0) {
				require.Equal(t, run.RunEnded, b.st.State)
				require.Equal(t, t0, b.st.Steps[1].Current.At)
				return
			}
			require.Equal(t, c.wake, *b.st.NextTimer(b.doc))
		})
	}
}

func TestS5_WaitUntilNothingFailsTheRun(t *testing.T) {
	t.Parallel()
	doc := document(output(agent("a"), optional(field("when", process.Datetime))), waitUntil("w", "steps.a.output.when"), finish("done"))
	b := setupDoc(t, doc).start().work("a", `{}`)
	require.Equal(t, "done failed -", b.states())
	require.Equal(t, "failed", b.st.Outcome)
	require.Equal(t, "server", b.st.Ended.By)
	require.Equal(t, "No time to wait until: steps.a.output.when has no value.", *b.st.Ended.Note)
}

func TestS5_AnEventCompletesItsWait(t *testing.T) {
	t.Parallel()
	b := setup(t, waitFor("w", "paid"), agent("a"), finish("done")).start()
	require.Equal(t, "", b.send("other", ""), "held")
	require.Equal(t, "waiting - -", b.states())
	require.NoError(t, b.do(run.SendEvent{By: ops, Allowed: true, Name: "paid", Data: json.RawMessage(`{"n": 48000.00}`)}))
	require.Equal(t, "w", b.result.ConsumedBy)
	require.Equal(t, "done ready -", b.states())
	require.JSONEq(t, `{"output":{"n":48000.00},"by":"ops@example.com","at":"2026-10-06T09:00:00.000Z","history":[]}`, b.stepData("w"))
	require.Len(t, b.st.Held, 1)
}

func TestS5_HeldEventsAreConsumedOldestFirst(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), waitFor("w1", "paid"), waitFor("w2", "paid"), waitFor("w3", "paid"), finish("done")).start()
	require.Equal(t, "", b.send("paid", `{"n":1}`))
	require.Equal(t, "", b.later(time.Minute).send("other", ""))
	require.Equal(t, "", b.send("paid", `{"n":2}`))
	b.later(time.Minute).work("a", `{}`)
	require.Equal(t, "done done done waiting -", b.states(), "each delivery satisfies one wait")
	require.JSONEq(t, `{"output":{"n":1},"by":"agent:ana","at":"2026-10-06T09:02:00.000Z","history":[]}`, b.stepData("w1"))
	require.Contains(t, b.stepData("w2"), `{"n":2}`)
	require.Len(t, b.st.Held, 1)
	require.Equal(t, "w3", b.send("paid", ""))
	require.Empty(t, b.st.Held, "discarded with the run's end")
}

func TestS5_OneEventOneWait(t *testing.T) {
	t.Parallel()
	b := setup(t, parallel("fork", "x", "y"), finish("done"),
		next(agent("x"), "x2"), next(waitFor("x2", "paid"), process.Join), next(waitFor("y", "paid"), process.Join)).start()
	b.later(time.Minute).work("x", `{}`)
	require.Equal(t, "y", b.send("paid", ""), "the step that has waited longest")
	require.Equal(t, "x2", b.send("paid", ""))
}

func TestS5_Timeout(t *testing.T) {
	t.Parallel()
	b := setup(t, timeout(waitFor("w", "paid"), time.Hour, "late"), next(agent("a"), "done"), agent("late"), finish("done")).start()
	require.Equal(t, t0.Add(time.Hour), *b.st.NextTimer(b.doc))
	b.pass(time.Hour)
	require.Equal(t, "done - ready -", b.states())
	require.Equal(t, "", b.send("paid", ""), "too late: held")
}

func TestS5_AnEventAtTheTimeoutsInstantWins(t *testing.T) {
	t.Parallel()
	steps := []process.Step{timeout(waitFor("w", "paid"), time.Hour, "late"), next(agent("a"), "done"), agent("late"), finish("done")}
	b := setup(t, steps...).start().later(time.Hour)
	require.Equal(t, "w", b.send("paid", ""))
	require.Equal(t, "done ready - -", b.states())

	b = setup(t, steps...).start().later(time.Hour + time.Millisecond)
	require.Equal(t, "", b.send("paid", ""))
	require.Equal(t, "done - ready -", b.states())

	b = setup(t, steps...).start().later(time.Hour)
	require.Equal(t, "", b.send("other", ""))
	require.Equal(t, "done - ready -", b.states(), "another event doesn't hold the timeout back")
}

// A timeout of another wait at the same instant leads to the wait that the event is for.
func TestS5_AnEventHeldAndConsumedInOneWrite(t *testing.T) {
	t.Parallel()
	b := setup(t, timeout(waitFor("w", "other"), time.Hour, "w2"), waitFor("w2", "paid"), finish("done")).start().later(time.Hour)
	b.send("paid", "")
	require.Equal(t, "w2", b.result.ConsumedBy)
	require.Equal(t, run.RunEnded, b.st.State)
}

func TestS5_SendEventChecks(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), finish("done")).start()
	const name = "name: expected a lower-case letter, then at most 63 of a-z, 0-9, _ and -"
	for _, bad := range []string{"", "Paid", "9x", "a b", "é", string(make([]byte, 65))} {
		refused(t, b.do(run.SendEvent{By: ana, Allowed: true, Name: bad}), run.Invalid, name)
	}
	refused(t, b.do(run.SendEvent{By: ana, Allowed: true, Name: "X", Data: json.RawMessage(`[]`)}), run.Invalid, name, "data: expected object")
	refused(t, b.do(run.SendEvent{By: mira, Name: "paid"}), run.Forbidden)
	require.NoError(t, b.do(run.Cancel{By: ops, Operator: true, Reason: "Stop."}))
	refused(t, b.do(run.SendEvent{By: mira, Name: "paid"}), run.Conflict, run.IssueRunEnded)
	refused(t, b.do(run.SendEvent{By: mira, Name: "X"}), run.Invalid, name)
}

func TestS2_TimersFireInOrderAsIfOnTime(t *testing.T) {
	t.Parallel()
	b := setup(t, parallel("fork", "x", "y", "z"), finish("done"),
		next(wait("x", time.Hour), "x2"), next(within(agent("x2"), time.Hour), process.Join),
		next(wait("y", 90*time.Minute), "y2"), next(wait("y2", 15*time.Minute), process.Join),
		next(agent("z"), process.Join)).start()
	b.claim("z", ana)
	before := len(b.events)
	b.pass(7 * 24 * time.Hour)
	type fact struct {
		typ string
		at  time.Duration
	}
	var facts []fact
	for _, ev := range b.events[before:] {
		facts = append(facts, fact{ev.Type, ev.At.Sub(t0)})
		require.Equal(t, "server", ev.By)
	}
	require.Equal(t, []fact{
		{"LeaseEnded", 10 * time.Minute},
		{"StepCompleted", time.Hour}, {"StepReadied", time.Hour},
		{"StepCompleted", 90 * time.Minute}, {"WaitStarted", 90 * time.Minute},
		{"StepCompleted", 105 * time.Minute},
		{"StepOverdue", 2 * time.Hour},
	}, facts)
	require.Equal(t, t0.Add(time.Hour), b.st.Steps[3].ReadyAt)
	require.Equal(t, t0.Add(2*time.Hour), b.st.UpdatedAt)
	require.Nil(t, b.st.NextTimer(b.doc))

	events, st := run.Advance(b.doc, b.st, b.env)
	require.Empty(t, events)
	require.Same(t, b.st, st, "without a timer due, nothing is made")
}

// Marks come before moves: a lease and a due time that end as a wait ends the run are still recorded.
func TestS2_TimersOfOneInstant(t *testing.T) {
	t.Parallel()
	doc := document(parallel("fork", "x", "y"), finish("done"),
		next(wait("x", lease), "x2"), next(task("x2", "inputs.boss"), process.Join),
		next(within(agent("y"), lease), process.Join))
	doc.Inputs = process.Fields{optional(field("boss", process.Person))}
	b := setupDoc(t, doc).start()
	b.claim("y", ana)
	before := len(b.events)
	b.pass(lease)
	require.Equal(t, []string{"LeaseEnded", "StepOverdue", "StepCompleted", "StepFailed", "RunEnded"}, b.types(before))
}

func TestS2_TimeNeverGoesBackwards(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), agent("b"), finish("done")).start().later(time.Hour).work("a", `{}`)
	b.env.Now = t0
	b.claim("b", ana)
	require.Equal(t, t0.Add(time.Hour), b.st.UpdatedAt)
	require.Equal(t, t0.Add(time.Hour+lease), b.st.Claims[1].ExpiresAt)
}

func TestS6_CancelEndsEverything(t *testing.T) {
	t.Parallel()
	b := setup(t, parallel("fork", "x", "y", "z", "w"), finish("done"),
		next(agent("x"), process.Join), next(task("y", "finance"), process.Join),
		next(agent("z"), process.Join), next(waitFor("w", "paid"), process.Join)).start()
	ref := b.claim("x", ana)
	b.send("other", `{"n":1}`)
	item := b.item("y").ID
	refused(t, b.do(run.Cancel{By: ops, Operator: true, Reason: " "}), run.Invalid, "reason: required")
	refused(t, b.do(run.Cancel{By: mira, Reason: "Stop."}), run.Forbidden)
	require.NoError(t, b.do(run.Cancel{By: ops, Operator: true, Reason: "Stop."}))
	require.Equal(t, "cancelled - cancelled cancelled cancelled cancelled", b.states())
	require.Equal(t, run.RunCancelled, b.st.State)
	require.Equal(t, &run.Ended{By: ops, At: t0, Note: p("Stop.")}, b.st.Ended)
	view := b.view()
	require.Empty(t, view.WorkItems)
	require.Nil(t, view.Run.Outcome)
	require.Empty(t, b.st.Held)
	require.Nil(t, b.st.NextTimer(b.doc))
	left, _ := b.st.FindItem(item)
	require.True(t, left.Removed)

	before := len(b.events)
	for _, c := range []run.Command{
		run.Claim{StepID: "zz", By: ana}, run.Renew{Ref: ref, By: bob}, submit(ref, bob, submission(`{"x":1}`)), escalate(ref, ana, "x"),
		run.Decision{ItemID: item, Decision: "completed", By: ana}, run.Cancel{By: mira, Reason: "x"}, run.SendEvent{By: mira, Name: "paid"},
	} {
		refused(t, b.do(c), run.Conflict, run.IssueRunEnded)
	}
	b.pass(1000 * time.Hour)
	require.Len(t, b.events, before)
}

func TestS6_TheEndComesBeforeARefusedWrite(t *testing.T) {
	t.Parallel()
	b := setup(t, wait("w", time.Hour), finish("done")).start().later(2 * time.Hour)
	refused(t, b.do(run.Cancel{By: ops, Operator: true, Reason: "Stop."}), run.Conflict, run.IssueRunEnded)
	require.Equal(t, run.RunEnded, b.st.State)
	require.Equal(t, t0.Add(time.Hour), b.st.Ended.At)
}
