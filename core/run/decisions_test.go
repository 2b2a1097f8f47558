package run_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

func TestS4_EachKindOfItemAcceptsItsDecisions(t *testing.T) {
	t.Parallel()
	setups := map[string]struct {
		b         func(*testing.T) *bundle
		by        string
		decisions []string
	}{
		"task": {func(t *testing.T) *bundle {
			return setup(t, task("a", "finance"), finish("done")).start()
		}, mira, []string{"completed", "failed"}},
		"approval": {func(t *testing.T) *bundle {
			return setup(t, approve("a", "finance", ""), finish("done")).start()
		}, mira, []string{"approved", "rejected", "failed"}},
		"escalated agent step": {func(t *testing.T) *bundle {
			b := setup(t, agent("a"), finish("done")).start()
			require.NoError(t, b.do(escalate(b.claim("a", ana), ana, "Can't.")))
			return b
		}, ops, []string{"returned", "completed", "failed"}},
	}
	after := map[string]string{
		"completed": "done done", "approved": "done done", "rejected": "done -", "returned": "ready -", "failed": "failed -",
	}
	for name, s := range setups {
		for _, decision := range []string{"completed", "approved", "rejected", "returned", "failed"} {
			t.Run(name+" "+decision, func(t *testing.T) {
				t.Parallel()
				b := s.b(t)
				require.Equal(t, s.decisions, b.view().WorkItems[0].Decide.Decisions)
				d := b.decision("a", s.by, decision)
				err := b.do(d)
				for _, allowed := range s.decisions {
					if decision == allowed {
						require.NoError(t, err)
						require.Equal(t, after[decision], b.states())
						require.Empty(t, b.st.OpenItems())
						item, _ := b.st.FindItem(d.ItemID)
						require.Equal(t, decision, item.Decided.Decision)
						require.Equal(t, s.by, item.Decided.By)
						return
					}
				}
				refused(t, err, run.Invalid, "decision: not one of "+join(s.decisions))
				require.Len(t, b.st.OpenItems(), 1)
			})
		}
	}
}

func TestS4_DecisionArguments(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		d      run.Decision
		issues []string
	}{
		{"unknown decision", run.Decision{Decision: "ok"}, []string{"decision: not one of completed, approved, rejected, returned, failed"}},
		{"completed alone", run.Decision{Decision: "completed"}, nil},
		{"approved alone", run.Decision{Decision: "approved"}, nil},
		{"approved with a note", run.Decision{Decision: "approved", Note: p("Fine.")}, nil},
		{"completed with a note", run.Decision{Decision: "completed", Note: p("x")}, []string{"note: not allowed with completed"}},
		{"rejected without a note", run.Decision{Decision: "rejected"}, []string{"note: required"}},
		{"returned with a blank note", run.Decision{Decision: "returned", Note: p("\u2003")}, []string{"note: required"}},
		{"failed with an empty note", run.Decision{Decision: "failed", Note: p("")}, []string{"note: required"}},
		{"approved with everything of completed", run.Decision{Decision: "approved", Submission: run.Submission{
			Output: json.RawMessage(`{}`), Evidence: []run.Evidence{}, Summary: p(""), Next: p("a"), Reason: p("b"),
		}}, []string{
			"output: not allowed with approved", "evidence: not allowed with approved", "summary: not allowed with approved",
			"next: not allowed with approved", "reason: not allowed with approved",
		}},
		{"rejected with next and no note", run.Decision{Decision: "rejected", Submission: run.Submission{Next: p("a")}},
			[]string{"next: not allowed with rejected", "note: required"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.issues, run.CheckDecision(c.d))
			if c.issues == nil {
				return
			}
			b := setup(t, approve("a", "finance", ""), finish("done")).start()
			require.NoError(t, b.do(run.Cancel{By: ops, Operator: true, Reason: "Stop."}))
			refused(t, b.do(c.d), run.Invalid, c.issues...)
		})
	}
}

// The checks in the order of protocol.md 4: each case breaks the rule that is named and every one after it.
func TestS4_DecisionChecksComeInOrder(t *testing.T) {
	t.Parallel()
	steps := []process.Step{task("a", "finance"), approve("b", "finance", ""), finish("done")}
	wrong := func(itemID string) run.Decision {
		return run.Decision{ItemID: itemID, Snapshot: "old", Decision: "returned", By: ana, Note: p("x")}
	}

	t.Run("run ended", func(t *testing.T) {
		t.Parallel()
		b := setup(t, steps...).start().decide("a", mira, run.Completed)
		require.NoError(t, b.do(run.Cancel{By: ops, Operator: true, Reason: "Stop."}))
		for _, id := range []string{"r_1_w1", "r_1_w2", "r_1_w9"} {
			refused(t, b.do(wrong(id)), run.Conflict, run.IssueRunEnded)
		}
	})
	t.Run("already decided", func(t *testing.T) {
		t.Parallel()
		b := setup(t, steps...).start().decide("a", mira, run.Completed)
		refused(t, b.do(wrong("r_1_w1")), run.Conflict, run.IssueAlreadyDecided)
	})
	t.Run("not found", func(t *testing.T) {
		t.Parallel()
		b := setup(t, steps...).start()
		refused(t, b.do(wrong("r_1_w9")), run.NotFound)
	})
	t.Run("stale", func(t *testing.T) {
		t.Parallel()
		b := setup(t, steps...).start()
		refused(t, b.do(wrong("r_1_w1")), run.Stale)
	})
	t.Run("forbidden to whatever is not a person", func(t *testing.T) {
		t.Parallel()
		b := setup(t, steps...).start()
		d := wrong("r_1_w1")
		d.Snapshot = b.st.Snapshot(b.doc)
		refused(t, b.do(d), run.Forbidden)
		d.By, d.Groups, d.Decision, d.Note = "agent:CLIENT/"+mira, groupsOf[mira], "completed", nil
		refused(t, b.do(d), run.Forbidden)
	})
	t.Run("forbidden outside the assignment", func(t *testing.T) {
		t.Parallel()
		b := setup(t, steps...).start()
		d := wrong("r_1_w1")
		d.Snapshot, d.By, d.Human, d.Groups = b.st.Snapshot(b.doc), ops, true, groupsOf[ops]
		refused(t, b.do(d), run.Forbidden)
	})
	t.Run("a decision the item doesn't accept", func(t *testing.T) {
		t.Parallel()
		b := setup(t, steps...).start()
		d := wrong("r_1_w1")
		d.Snapshot, d.By, d.Human, d.Groups = b.st.Snapshot(b.doc), mira, true, groupsOf[mira]
		refused(t, b.do(d), run.Invalid, "decision: not one of completed, failed")
	})
	t.Run("not accepted", func(t *testing.T) {
		t.Parallel()
		b := setup(t, steps...).start()
		d := b.decision("a", mira, run.Completed)
		d.Output = json.RawMessage(`{"x":1}`)
		refused(t, b.do(d), run.NotAccepted, "output.x: not declared")
	})
}

func TestS4_AssignmentOfAWorkItem(t *testing.T) {
	t.Parallel()
	doc := document(
		output(task("role", "finance"), optional(field("x.who", process.Person))),
		task("starter", "initiator"), task("input", "inputs.boss"), task("earlier", "steps.role.output.x.who"), finish("done"),
	)
	doc.Inputs = process.Fields{optional(field("boss", process.Person))}
	b := setupDoc(t, doc).start(`{"boss":"Omar@Example.com"}`)

	require.Equal(t, run.Assignment{Group: "g_finance"}, b.view().WorkItems[0].AssignedTo)
	d := b.decision("role", mira, run.Completed)
	d.Output = json.RawMessage(`{"x.who":"ops@example.com"}`)
	require.NoError(t, b.do(d), "any member of the group decides")
	require.Equal(t, run.Assignment{Person: mira}, b.view().WorkItems[0].AssignedTo)
	refused(t, b.do(b.decision("starter", omar, run.Completed)), run.Forbidden)
	b.decide("starter", mira, run.Completed)
	require.Equal(t, run.Assignment{Person: "Omar@Example.com"}, b.view().WorkItems[0].AssignedTo)
	b.decide("input", omar, run.Completed) // compared case-insensitively
	require.Equal(t, run.Assignment{Person: ops}, b.view().WorkItems[0].AssignedTo, "a field's name may hold dots")
	b.decide("earlier", ops, run.Completed)
	require.Equal(t, run.RunEnded, b.st.State)
}

func TestS4_AnItemKeepsItsGroup(t *testing.T) {
	t.Parallel()
	b := setup(t, task("a", "finance"), task("b", "finance"), finish("done")).start()
	b.env.Groups = map[string]string{"finance": "g_legal"}
	b.decide("a", mira, run.Completed)
	require.Equal(t, "g_legal", b.item("b").Group, "later items follow the new binding")
	refused(t, b.do(b.decision("b", mira, run.Completed)), run.Forbidden)
	b.decide("b", omar, run.Completed)
}

func TestS4_APersonThatResolvesToNothingFailsTheRun(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"input": "inputs.boss", "never reached": "steps.z.output.who"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := document(
				routes(agent("a"), "b", "z"), task("b", path), finish("done"),
				next(output(agent("z"), field("who", process.Person)), "done"),
			)
			doc.Inputs = process.Fields{optional(field("boss", process.Person))}
			b := setupDoc(t, doc).start()
			ref := b.claim("a", ana)
			sub := submission(`{}`)
			sub.Next, sub.Reason = p("b"), p("Because.")
			b.later(time.Minute)
			require.NoError(t, b.do(submit(ref, ana, sub)))
			require.Equal(t, "done failed - -", b.states())
			require.Equal(t, run.RunEnded, b.st.State)
			require.Equal(t, "failed", b.st.Outcome)
			note := "No one to assign this step to: " + path + " has no value."
			require.Equal(t, &run.Ended{By: "server", At: b.env.Now, Note: &note}, b.st.Ended)
			require.JSONEq(t, `{"decision":"failed","note":"`+note+`","by":"server","at":"2026-10-06T09:01:00.000Z","history":[]}`, b.stepData("b"))
		})
	}
}

func TestS4_FailedEndsTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t, task("a", "finance"), finish("done")).start()
	b.decide("a", mira, run.Failed)
	require.Equal(t, "failed -", b.states())
	require.Equal(t, "failed", b.st.Outcome)
	require.Equal(t, &run.Ended{By: mira, At: t0, Note: p("Because of a.")}, b.st.Ended)
	require.JSONEq(t, `{"decision":"failed","note":"Because of a.","by":"mira@example.com","at":"2026-10-06T09:00:00.000Z","history":[]}`, b.stepData("a"))
}

func TestS4_RejectedWithoutOnRejectEndsTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t, approve("a", "finance", ""), finish("done")).start()
	b.decide("a", mira, run.Rejected)
	require.Equal(t, "done -", b.states())
	require.Equal(t, run.RunEnded, b.st.State)
	require.Equal(t, "rejected", b.st.Outcome)
	require.Equal(t, &run.Ended{By: mira, At: t0, Note: p("Because of a.")}, b.st.Ended)
	require.JSONEq(t, `{"decision":"rejected","note":"Because of a.","by":"mira@example.com","at":"2026-10-06T09:00:00.000Z","history":[]}`, b.stepData("a"))
}

func TestS4_TheFirstDecisionWins(t *testing.T) {
	t.Parallel()
	b := setup(t, approve("a", "finance", ""), task("b", "finance"), finish("done")).start()
	second := b.decision("a", omar, run.Rejected)
	b.decide("a", mira, run.Approved)
	refused(t, b.do(second), run.Conflict, run.IssueAlreadyDecided)
	require.Equal(t, "done waiting -", b.states())
}

func TestS4_TheSnapshotChangesExactlyWhenRunDataDoes(t *testing.T) {
	t.Parallel()
	b := setup(t, parallel("fork", "a", "b"), finish("done"),
		next(within(agent("a"), time.Minute), process.Join), next(approve("b", "finance", "b2"), process.Join), next(agent("b2"), "b")).start()
	first := b.st.Snapshot(b.doc)
	same := func() { t.Helper(); require.Equal(t, first, b.st.Snapshot(b.doc)) }

	ref := b.claim("a", ana)
	same()
	require.NoError(t, b.do(run.Renew{Ref: ref, By: ana, Progress: p("Half.")}))
	same()
	ref = b.result.Ref
	refused(t, b.do(submit(ref, ana, submission(`{"x":1}`))), run.NotAccepted, "output.x: not declared")
	same()
	b.pass(time.Minute)
	require.True(t, b.st.Steps[2].Overdue)
	same()
	b.send("paid", `{"n":1}`)
	same()
	require.NoError(t, b.do(escalate(ref, ana, "Can't.")))
	same()
	b.decide("a", ops, run.Returned)
	same()

	held := b.decision("b", mira, run.Approved)
	b.work("a", `{}`)
	require.NotEqual(t, first, b.st.Snapshot(b.doc))
	refused(t, b.do(held), run.Stale)
	held.Snapshot = b.view().WorkItems[0].Snapshot
	require.NoError(t, b.do(held), "the same decision with a fresh snapshot")
}

func TestS4_ReturnedKeepsTheAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t, within(agent("a"), time.Hour), finish("done")).start()
	require.NoError(t, b.do(escalate(b.claim("a", ana), ana, "Can't.")))
	b.later(30*time.Minute).decide("a", ops, run.Returned)
	ready := run.Ready(b.doc, b.st, b.env.Now)
	require.Len(t, ready, 1)
	require.Equal(t, t0, ready[0].Since)
	require.Equal(t, t0.Add(time.Hour), *ready[0].Due)
	require.Equal(t, "Because of a.", ready[0].Handoff.Returned.Note)
}

func TestS4_AnOperatorCompletesAnEscalatedStep(t *testing.T) {
	t.Parallel()
	b := setup(t, routes(output(agent("a"), field("ok", process.Boolean)), "b", "done"), agent("b"), finish("done")).start()
	require.NoError(t, b.do(escalate(b.claim("a", ana), ana, "Can't.")))
	d := b.decision("a", ops, run.Completed)
	refused(t, b.do(d), run.NotAccepted, "output.ok: missing", "next: required, one of b, done", "reason: required")
	require.Equal(t, []string{"output.ok: missing", "next: required, one of b, done", "reason: required"}, b.view().WorkItems[0].Handoff.Issues)
	d.Output, d.Next, d.Reason = json.RawMessage(`{"ok":true}`), p("b"), p("Because.")
	require.NoError(t, b.do(d))
	require.Equal(t, "done ready -", b.states())
	require.JSONEq(t, `{"output":{"ok":true},"evidence":[],"next":"b","reason":"Because.","by":"ops@example.com",
		"at":"2026-10-06T09:00:00.000Z","history":[]}`, b.stepData("a"))
}

func TestS4_DueRunsFromBecomingReady(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), within(approve("b", "finance", "a"), time.Hour), finish("done")).start()
	b.later(10*time.Minute).work("a", `{}`)
	due := t0.Add(70 * time.Minute)
	require.Equal(t, due, time.Time(*b.view().WorkItems[0].Due))
	step := b.view().Steps[1]
	require.Equal(t, due, time.Time(*step.Due))
	require.False(t, *step.Overdue)

	b.pass(time.Hour)
	require.True(t, *b.view().Steps[1].Overdue)
	before := len(b.events)
	b.pass(time.Hour)
	require.Len(t, b.events, before, "overdue is recorded once")

	b.decide("b", mira, run.Rejected).work("a", `{}`)
	require.Equal(t, b.env.Now.Add(time.Hour), time.Time(*b.view().Steps[1].Due), "a repeat has a fresh due")
	require.False(t, *b.view().Steps[1].Overdue)
	require.Nil(t, b.view().Steps[0].Due)
	b.decide("b", mira, run.Approved)
	require.Nil(t, b.view().Steps[1].Due, "a finished step shows none")
}
