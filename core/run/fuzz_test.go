package run_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// eventful is a run in which every type of event has happened, and its journal.
func eventful(t tester) (*process.Document, []run.Event) {
	doc := document(
		within(output(agent("a"), field("ok", process.Boolean)), time.Hour), approve("b", "finance", "a"),
		parallel("fork", "x", "y"), timeout(waitFor("e", "paid"), time.Hour, "w"), wait("w", time.Hour), task("last", "inputs.boss"), finish("done"),
		next(waitFor("x", "paid"), process.Join), next(agent("y"), process.Join),
	)
	doc.Inputs = process.Fields{optional(field("boss", process.Person))}
	b := setupDoc(t, doc).start()
	b.send("paid", `{"n":1}`)
	ref := b.claim("a", ana)
	require.NoError(t, b.do(run.Renew{Ref: ref, By: ana, Progress: p("Half.")}))
	b.pass(lease)
	ref = b.claim("a", ana)
	require.Error(t, b.do(submit(ref, ana, submission(`{}`))))
	require.NoError(t, b.do(escalate(ref, ana, "Can't.")))
	b.pass(2*time.Hour).decide("a", ops, run.Returned).work("a", `{"ok":true}`)
	b.decide("b", mira, run.Rejected).work("a", `{"ok":true}`).decide("b", mira, run.Approved)
	b.work("y", `{}`).pass(time.Hour).pass(time.Hour)
	require.Equal(t, "failed", b.st.Outcome)
	return doc, b.events
}

func TestEveryTypeOfEventHappens(t *testing.T) {
	t.Parallel()
	_, events := eventful(t)
	seen := map[string]bool{}
	for _, ev := range events {
		seen[ev.Type] = true
		require.Equal(t, 1, ev.V)
		require.True(t, json.Valid(ev.Data))
	}
	for _, typ := range []string{
		run.EventRunStarted, run.EventStepReadied, run.EventStepClaimed, run.EventLeaseRenewed, run.EventLeaseEnded,
		run.EventSubmissionRefused, run.EventStepCompleted, run.EventStepRejected, run.EventStepRewound, run.EventStepEscalated,
		run.EventStepReturned, run.EventStepFailed, run.EventStepOverdue, run.EventWaitStarted, run.EventEventHeld,
		run.EventEventConsumed, run.EventForkStarted, run.EventForkJoined, run.EventRunEnded,
	} {
		require.True(t, seen[typ], typ)
	}
}

// Any entry left out, or any entry applied twice, or out of turn, is an error or at least no panic.
func TestApplyToADamagedJournal(t *testing.T) {
	t.Parallel()
	doc, events := eventful(t)
	for skip := range events {
		var st *run.State
		for i, ev := range events {
			if i == skip {
				continue
			}
			next, err := run.Apply(doc, st, ev)
			if err != nil {
				require.Regexp(t, `^event \w+ can't follow: `, err.Error())
				break
			}
			st = next
		}
	}
	var st *run.State
	for _, ev := range events {
		for _, other := range events {
			if next, err := run.Apply(doc, st, other); err == nil {
				use(doc, next)
			}
		}
		next, err := run.Apply(doc, st, ev)
		require.NoError(t, err)
		st = next
	}
	entries := run.Seal("r_1", 0, nil, events)
	_, err := run.Fold(doc, nil, append(entries[:5:5], entries[6:]...))
	require.ErrorContains(t, err, "folding entry ")
}

func TestApplyRefusesWhatANewerServerWrote(t *testing.T) {
	t.Parallel()
	doc, events := eventful(t)
	st, err := run.Apply(doc, nil, events[0])
	require.NoError(t, err)
	ev := events[1]
	ev.V = 2
	_, err = run.Apply(doc, st, ev)
	require.ErrorContains(t, err, "newer")
	ev.V, ev.Type = 1, "StepPraised"
	_, err = run.Apply(doc, st, ev)
	require.ErrorContains(t, err, `"StepPraised" is unknown`)
	ev = events[1]
	ev.Data = json.RawMessage(`{"step":`)
	_, err = run.Apply(doc, st, ev)
	require.Error(t, err)
	_, err = run.Apply(doc, nil, events[1])
	require.ErrorContains(t, err, "has not started")
	_, err = run.Apply(doc, st, events[0])
	require.ErrorContains(t, err, "has started already")
}

// use does with a state what a server does: none of it may panic, whatever journal the state came from.
func use(doc *process.Document, st *run.State) {
	now := st.UpdatedAt.Add(time.Minute)
	env := run.Env{Now: now, Operators: "operators", Lease: lease, RunDataBytes: 1000, Groups: map[string]string{}}
	run.NewView(doc, st, run.ViewOptions{Now: now, FileURL: func(ref string, _ time.Time) string { return ref }})
	run.Ready(doc, st, now)
	st.NextTimer(doc)
	events, after := run.Advance(doc, st, env)
	run.Notices(doc, st, after, events, "operators")
	for _, s := range doc.Steps {
		run.Decide(doc, st, run.Claim{StepID: s.ID, By: ana}, env)
	}
	for i := range st.Claims {
		ref := run.ClaimRef{Claim: i + 1, Lease: st.Claims[i].Lease}
		run.Decide(doc, st, submit(ref, st.Claims[i].By, submission(`{"ok":true}`)), env)
		run.Decide(doc, st, escalate(ref, st.Claims[i].By, "x"), env)
	}
	for _, item := range st.OpenItems() {
		for _, d := range []string{run.Completed, run.Approved, run.Rejected, run.Returned, run.Failed} {
			c := run.Decision{ItemID: item.ID, Snapshot: st.Snapshot(doc), Decision: d, By: item.Person, Human: true, Groups: []string{item.Group}}
			if d != run.Completed && d != run.Approved {
				c.Note = p("x")
			}
			run.Decide(doc, st, c, env)
		}
	}
	run.Decide(doc, st, run.SendEvent{By: ana, Allowed: true, Name: "paid"}, env)
	run.Decide(doc, st, run.Cancel{By: ops, Operator: true, Reason: "x"}, env)
}

// FuzzApply applies two hostile events after part of a real journal.
func FuzzApply(f *testing.F) {
	doc, events := eventful(f)
	for i, ev := range events {
		f.Add(i, ev.Type, ev.By, ev.At.UnixMilli(), []byte(ev.Data), events[len(events)-1-i].Type, []byte(events[len(events)-1-i].Data))
	}
	f.Fuzz(func(_ *testing.T, prefix int, typ, by string, ms int64, data []byte, typ2 string, data2 []byte) {
		var st *run.State
		for i := 0; i < prefix && i < len(events); i++ {
			st, _ = run.Apply(doc, st, events[i])
		}
		for _, ev := range []run.Event{
			{Type: typ, V: 1, At: time.UnixMilli(ms), By: by, Data: data},
			{Type: typ2, V: 1, At: time.UnixMilli(ms), By: by, Data: data2},
		} {
			next, err := run.Apply(doc, st, ev)
			if err != nil {
				continue
			}
			st = next
			use(doc, st)
		}
	})
}
