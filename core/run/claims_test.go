package run_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

const lease = 10 * time.Minute

func TestS3_ClaimGivesOneCallerTheStepForTheLease(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), finish("done")).start()
	ref := b.claim("a", ana)
	require.Equal(t, run.ClaimRef{Claim: 1, Lease: 1}, ref)
	require.Equal(t, t0.Add(lease), b.st.Claims[0].ExpiresAt)
	require.Equal(t, "claimed -", b.states())
	require.Equal(t, t0.Add(lease), *b.st.NextTimer(b.doc))
}

func TestS3_ClaimErrors(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), agent("b"), task("c", "finance"), finish("done")).start()
	refused(t, b.do(run.Claim{StepID: "b", By: ana}), run.Conflict, run.IssueNotReady)
	refused(t, b.do(run.Claim{StepID: "zz", By: ana}), run.NotFound)
	refused(t, b.do(run.Claim{StepID: "c", By: ana}), run.Forbidden)
	refused(t, b.do(run.Claim{StepID: "done", By: ana}), run.Forbidden)
	b.claim("a", ana)
	refused(t, b.do(run.Claim{StepID: "a", By: ana}), run.Conflict, run.IssueClaimedByYou)
	refused(t, b.do(run.Claim{StepID: "a", By: bob}), run.Conflict, run.IssueClaimedByOther)
	b.pass(lease)
	ref := b.claim("a", bob)
	require.NoError(t, b.do(run.Submit{Ref: ref, By: bob, Submission: submission(`{}`)}))
	refused(t, b.do(run.Claim{StepID: "a", By: ana}), run.Conflict, run.IssueNotReady)
	require.Len(t, b.st.Claims, 2)
}

func TestS3_ALeaseIsLiveUntilItsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), finish("done")).start()
	ref := b.claim("a", ana)
	b.pass(lease - time.Millisecond)
	require.Equal(t, "claimed -", b.states())
	b.later(time.Millisecond)
	refused(t, b.do(run.Submit{Ref: ref, By: ana, Submission: submission(`{}`)}), run.Stale)
	require.Equal(t, "ready -", b.states(), "the refused write still sees that the lease ended")
	require.Equal(t, []string{"LeaseEnded"}, b.types(3))
	require.Equal(t, t0.Add(lease), b.events[3].At)
	require.Equal(t, t0, b.st.Steps[0].ReadyAt, "readySince is the attempt's, not the lease's")
}

func TestS3_RenewKillsTheOldToken(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), finish("done")).start()
	old := b.claim("a", ana)
	b.pass(5 * time.Minute)
	require.NoError(t, b.do(run.Renew{Ref: old, By: ana}))
	renewed := b.result.Ref
	require.Equal(t, run.ClaimRef{Claim: 1, Lease: 2}, renewed)
	require.Equal(t, t0.Add(5*time.Minute+lease), b.st.Claims[0].ExpiresAt)
	refused(t, b.do(run.Renew{Ref: old, By: ana}), run.Stale)
	refused(t, b.do(run.Submit{Ref: old, By: ana, Submission: submission(`{}`)}), run.Stale)
	refused(t, b.do(run.Escalate{Ref: old, By: ana, Note: "x"}), run.Stale)
	b.pass(lease - time.Minute)
	require.NoError(t, b.do(run.Submit{Ref: renewed, By: ana, Submission: submission(`{}`)}))
}

func TestS3_TokensThatAreNoLongerCurrent(t *testing.T) {
	t.Parallel()
	uses := map[string]func(run.ClaimRef, string) run.Command{
		"renew":    func(ref run.ClaimRef, by string) run.Command { return run.Renew{Ref: ref, By: by} },
		"submit":   func(ref run.ClaimRef, by string) run.Command { return submit(ref, by, submission(`{}`)) },
		"escalate": func(ref run.ClaimRef, by string) run.Command { return escalate(ref, by, "Can't.") },
	}
	ends := map[string]func(*bundle, run.ClaimRef){
		"lease ended": func(b *bundle, _ run.ClaimRef) { b.pass(lease) },
		"claim replaced": func(b *bundle, _ run.ClaimRef) {
			b.pass(lease)
			b.claim("a", ana)
		},
		"submitted": func(b *bundle, ref run.ClaimRef) {
			require.NoError(b.t, b.do(submit(ref, ana, submission(`{}`))))
		},
		"escalated": func(b *bundle, ref run.ClaimRef) { require.NoError(b.t, b.do(escalate(ref, ana, "Can't."))) },
	}
	for use, command := range uses {
		for end, happen := range ends {
			t.Run(use+" after "+end, func(t *testing.T) {
				t.Parallel()
				b := setup(t, agent("a"), agent("b"), finish("done")).start()
				ref := b.claim("a", ana)
				happen(b, ref)
				before := len(b.events)
				refused(t, b.do(command(ref, ana)), run.Stale)
				refused(t, b.do(command(ref, bob)), run.Forbidden)
				require.Len(t, b.events, before)
			})
		}
		t.Run(use+" by another identity", func(t *testing.T) {
			t.Parallel()
			b := setup(t, agent("a"), finish("done")).start()
			refused(t, b.do(command(b.claim("a", ana), bob)), run.Forbidden)
			require.Equal(t, "claimed -", b.states())
		})
		t.Run(use+" with a claim of a time after the restored backup", func(t *testing.T) {
			t.Parallel()
			b := setup(t, agent("a"), finish("done")).start()
			refused(t, b.do(command(run.ClaimRef{Claim: 1, Lease: 1}, ana)), run.Stale)
			b.claim("a", ana)
			refused(t, b.do(command(run.ClaimRef{Claim: 1, Lease: 2}, ana)), run.Stale)
			refused(t, b.do(command(run.ClaimRef{Claim: 2, Lease: 1}, ana)), run.Stale)
			refused(t, b.do(command(run.ClaimRef{}, ana)), run.Stale)
			refused(t, b.do(command(run.ClaimRef{Claim: -1, Lease: -1}, ana)), run.Stale)
		})
		t.Run(use+" after the run ended", func(t *testing.T) {
			t.Parallel()
			b := setup(t, agent("a"), finish("done")).start()
			ref := b.claim("a", ana)
			require.NoError(t, b.do(run.Cancel{By: ops, Operator: true, Reason: "Stop."}))
			refused(t, b.do(command(ref, ana)), run.Conflict, run.IssueRunEnded)
			refused(t, b.do(command(ref, bob)), run.Conflict, run.IssueRunEnded)
		})
	}
}

func TestS3_HandoffHoldsTheProgressOfALeaseThatEnded(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), finish("done")).start()
	handoff := func() *run.HandoffView { return run.HandoffOf(b.st, 0) }
	require.Nil(t, handoff(), "a first attempt has none")

	ref := b.claim("a", ana)
	require.NoError(t, b.do(run.Renew{Ref: ref, By: ana, Progress: p("Half done.")}))
	ref = b.result.Ref
	require.NoError(t, b.do(run.Renew{Ref: ref, By: ana, Progress: p("  ")}))
	ref = b.result.Ref
	require.NoError(t, b.do(run.Renew{Ref: ref, By: ana}))
	require.Equal(t, "Half done.", b.st.Claims[0].Progress, "kept on the step while claimed")
	require.Nil(t, handoff(), "it is the claimant's until the lease ends")

	b.pass(lease)
	require.Equal(t, &run.HandoffView{Progress: "Half done."}, handoff())

	b.claim("a", bob)
	b.pass(lease)
	require.Equal(t, &run.HandoffView{Progress: "Half done."}, handoff(), "a later lease without progress keeps it")

	ref = b.claim("a", bob)
	require.NoError(t, b.do(run.Renew{Ref: ref, By: bob, Progress: p("Nearly done.")}))
	b.pass(lease)
	require.Equal(t, &run.HandoffView{Progress: "Nearly done."}, handoff())

	ref = b.claim("a", ana)
	require.NoError(t, b.do(run.Escalate{Ref: ref, By: ana, Note: "Can't."}))
	require.Nil(t, handoff(), "an escalation drops it, and nothing to say is null")
}

func TestS3_HandoffHoldsReturnedAndIssues(t *testing.T) {
	t.Parallel()
	b := setup(t, output(agent("a"), field("ok", process.Boolean)), approve("c", "finance", "a"), finish("done")).start()
	handoff := func() *run.HandoffView { return run.HandoffOf(b.st, 0) }

	ref := b.claim("a", ana)
	refused(t, b.do(submit(ref, ana, submission(`{}`))), run.NotAccepted, "output.ok: missing")
	require.Equal(t, &run.HandoffView{Issues: []string{"output.ok: missing"}}, handoff())
	require.Equal(t, "claimed - -", b.states(), "the claim stands")
	before := len(b.events)
	refused(t, b.do(submit(ref, ana, submission(`{}`))), run.NotAccepted, "output.ok: missing")
	require.Len(t, b.events, before, "the same issues again change nothing")
	refused(t, b.do(submit(ref, ana, submission(`{"ok":1}`))), run.NotAccepted, "output.ok: expected boolean")
	require.Equal(t, []string{"output.ok: expected boolean"}, handoff().Issues, "those of the last submission")

	b.later(time.Minute)
	require.NoError(t, b.do(escalate(ref, ana, "No access.")))
	b.later(time.Minute)
	b.decide("a", ops, run.Returned)
	require.Equal(t, &run.HandoffView{
		Issues:   []string{"output.ok: expected boolean"},
		Returned: &run.NoteView{Note: "Because of a.", By: ops, At: run.Time(t0.Add(2 * time.Minute))},
	}, handoff())

	b.work("a", `{"ok":true}`)
	require.Nil(t, handoff(), "completing the step clears it")
	b.decide("c", mira, run.Rejected)
	require.Nil(t, handoff(), "rework starts empty")
}

func TestS3_ManyIssuesAreKeptInBounds(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), finish("done")).start()
	ref := b.claim("a", ana)
	var out strings.Builder
	for i := range 2000 {
		out.WriteString(strings.Repeat(",", min(i, 1)) + `"field` + strings.Repeat("x", i%50) + time.Duration(i).String() + `":1`)
	}
	err := b.do(submit(ref, ana, submission("{"+out.String()+"}")))
	var e *run.Error
	require.ErrorAs(t, err, &e)
	require.Len(t, e.Issues, 2000, "the caller gets every issue")
	kept := run.HandoffOf(b.st, 0).Issues
	require.Regexp(t, `^and \d+ more$`, kept[len(kept)-1])
	require.Less(t, len(strings.Join(kept, "")), 17<<10)
}

func TestS3_EscalateHandsTheStepToTheOperators(t *testing.T) {
	t.Parallel()
	b := setup(t, within(output(agent("a"), field("ok", process.Boolean)), time.Hour), finish("done")).start()
	ref := b.claim("a", ana)
	refused(t, b.do(escalate(ref, ana, " \n")), run.Invalid, "note: required")
	b.later(time.Minute)
	require.NoError(t, b.do(escalate(ref, ana, "No access.")))
	require.Equal(t, "waiting -", b.states())
	items := b.view().WorkItems
	require.Len(t, items, 1)
	require.Equal(t, run.Assignment{Group: "operators"}, items[0].AssignedTo)
	require.Equal(t, &run.NoteView{Note: "No access.", By: ana, At: run.Time(t0.Add(time.Minute))}, items[0].Escalation)
	require.Equal(t, []string{"returned", "completed", "failed"}, items[0].Decide.Decisions)
	require.NotNil(t, items[0].Output)
	require.Equal(t, t0.Add(time.Hour), time.Time(*items[0].Due))
	refused(t, b.do(run.Claim{StepID: "a", By: ana}), run.Conflict, run.IssueNotReady)
}

func TestS3_SubmitNeedsItsArguments(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), finish("done")).start()
	ref := b.claim("a", ana)
	refused(t, b.do(run.Submit{Ref: ref, By: ana}), run.Invalid, "output: required", "summary: required")
	sub := submission(`[]`)
	sub.Evidence = []run.Evidence{{Kind: "photo", Ref: ""}}
	refused(t, b.do(submit(ref, ana, sub)), run.Invalid,
		"output: expected object", "evidence[0].kind: not one of file, link", "evidence[0].ref: required")
	require.Nil(t, run.HandoffOf(b.st, 0))
}
