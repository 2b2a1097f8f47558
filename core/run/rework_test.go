package run_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

func TestS4_RejectionReturnsToOnReject(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), within(agent("b"), time.Hour), agent("c"), approve("d", "finance", "b"), finish("done")).start()
	b.work("a", `{}`).later(time.Minute).work("b", `{}`).work("c", `{}`)
	b.later(time.Minute).decide("d", mira, run.Rejected)
	require.Equal(t, "done ready - - -", b.states())
	require.Equal(t, b.env.Now, b.st.Steps[1].ReadyAt)
	require.Equal(t, b.env.Now.Add(time.Hour), *b.st.Steps[1].Due, "fresh due")
	require.JSONEq(t, `{"decision":"rejected","note":"Because of d.","by":"mira@example.com","at":"2026-10-06T09:02:00.000Z","history":[]}`,
		b.stepData("d"), "the rejection stays current")
	old := `{"output":{},"summary":"Done.","evidence":[],"by":"agent:ana","at":"2026-10-06T09:01:00.000Z"}`
	require.JSONEq(t, `{"history":[`+old+`]}`, b.stepData("b"))
	require.JSONEq(t, `{"history":[`+old+`]}`, b.stepData("c"))
	require.Contains(t, b.stepData("a"), `"history":[]`, "a step before the target stands")

	b.work("b", `{}`).work("c", `{}`)
	require.Equal(t, "done done done waiting -", b.states())
	require.Contains(t, b.stepData("d"), `"decision":"rejected"`, "until the approval completes again")
	b.decide("d", mira, run.Rejected)
	require.JSONEq(t, `{"decision":"rejected","note":"Because of d.","by":"mira@example.com","at":"2026-10-06T09:02:00.000Z",
		"history":[{"decision":"rejected","note":"Because of d.","by":"mira@example.com","at":"2026-10-06T09:02:00.000Z"}]}`, b.stepData("d"))
	require.Len(t, b.st.Steps[1].History, 2)

	b.work("b", `{}`).work("c", `{}`).decide("d", mira, run.Approved)
	require.Len(t, b.st.Steps[3].History, 2)
	require.Equal(t, "approved", b.st.Steps[3].Current.Decision)
	require.Equal(t, run.RunEnded, b.st.State)
}

func TestS4_AKeptRejectionMovesToTheHistoryWhenTheApprovalFails(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), approve("b", "finance", "a"), finish("done")).start()
	b.work("a", `{}`).decide("b", mira, run.Rejected).work("a", `{}`).decide("b", mira, run.Failed)
	require.Equal(t, "failed", b.st.Steps[1].Current.Decision)
	require.Len(t, b.st.Steps[1].History, 1)
	require.Equal(t, "rejected", b.st.Steps[1].History[0].Decision)
}

func TestS4_AnotherApprovalsRejectionRewindsTheKeptOne(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), approve("b", "finance", "a"), approve("c", "finance", "a"), finish("done")).start()
	b.work("a", `{}`).decide("b", mira, run.Rejected).work("a", `{}`).decide("b", mira, run.Approved).decide("c", mira, run.Rejected)
	require.Equal(t, "ready - - -", b.states())
	require.Nil(t, b.st.Steps[1].Current)
	require.Len(t, b.st.Steps[1].History, 2)
	b.work("a", `{}`).decide("b", omar, run.Rejected)
	require.Equal(t, "rejected", b.st.Steps[2].Current.Decision, "c's rejection came before a's completion and stays")
}

// Steps that were completed on a way round the target: only what is reachable from the target is rewound.
func TestS4_ATargetNeverCompletedRewindsWhatIsReachable(t *testing.T) {
	t.Parallel()
	b := setup(t,
		routes(agent("a"), "b", "fix"), next(agent("b"), "c"), next(agent("fix"), "c"), agent("c"), approve("d", "finance", "fix"), finish("done"),
	).start()
	ref := b.claim("a", ana)
	sub := submission(`{}`)
	sub.Next, sub.Reason = p("b"), p("Because.")
	require.NoError(t, b.do(submit(ref, ana, sub)))
	b.work("b", `{}`).work("c", `{}`).decide("d", mira, run.Rejected)
	require.Equal(t, "done done ready - - -", b.states(), "a and b stand, c is rewound")
	require.Len(t, b.st.Steps[3].History, 1)
	require.NotNil(t, b.st.Steps[1].Current)
	b.work("fix", `{}`).work("c", `{}`).decide("d", mira, run.Approved)
	require.Equal(t, run.RunEnded, b.st.State)
}

func TestS4_ATargetThatKeepsItsRejectionIsMeasuredByWhatFollows(t *testing.T) {
	t.Parallel()
	b := setup(t, routes(agent("a"), "b", "c"), approve("b", "finance", "a"), approve("c", "finance", "b"), finish("done")).start()
	route := func(to string) {
		sub := submission(`{}`)
		sub.Next, sub.Reason = p(to), p("Because.")
		require.NoError(t, b.do(submit(b.claim("a", ana), ana, sub)))
	}
	route("b")
	b.decide("b", mira, run.Rejected)
	route("c")
	b.decide("c", mira, run.Rejected)
	require.Equal(t, "done waiting - -", b.states(), "what came before the target stands")
	require.Nil(t, b.st.Steps[1].Current)
	require.Len(t, b.st.Steps[1].History, 1)
	require.Equal(t, "rejected", b.st.Steps[2].Current.Decision)
}

func TestS4_AnApprovalMayRejectToItself(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), approve("b", "finance", "b"), finish("done")).start().work("a", `{}`)
	first := b.item("b").ID
	b.decide("b", mira, run.Rejected)
	require.Equal(t, "done waiting -", b.states())
	require.NotEqual(t, first, b.item("b").ID)
	require.Equal(t, "rejected", b.st.Steps[1].Current.Decision)
	b.decide("b", mira, run.Approved)
	require.Len(t, b.st.Steps[1].History, 1)
	require.Equal(t, run.RunEnded, b.st.State)
}

func TestS4_ReworkReachesWaitsAndFinishesAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), wait("w", time.Hour), waitFor("e", "paid"), approve("d", "finance", "a"), finish("done")).start()
	b.work("a", `{}`).pass(time.Hour).send("paid", `{"n":1}`)
	b.decide("d", mira, run.Rejected)
	require.Equal(t, "ready - - - -", b.states())
	require.JSONEq(t, `{"history":[{"output":{"n":1},"by":"agent:ana","at":"2026-10-06T10:00:00.000Z"}]}`, b.stepData("e"))
	b.work("a", `{}`).pass(time.Hour)
	require.Equal(t, "done done waiting - -", b.states(), "one delivery satisfied one wait")
}

func TestS4_StepRewoundNamesItsSteps(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), agent("b"), approve("c", "finance", "a"), finish("done")).start()
	b.work("a", `{}`).work("b", `{}`)
	before := len(b.events)
	b.decide("c", mira, run.Rejected)
	require.Equal(t, []string{"StepRejected", "StepRewound", "StepReadied"}, b.types(before))
	payload, err := b.events[before+1].Payload()
	require.NoError(t, err)
	require.Equal(t, run.RewoundPayload{Step: "c", To: "a", Steps: []string{"a", "b"}}, payload)
	require.Equal(t, mira, b.events[before+1].By)
}

func TestS1_5_ForkAndJoin(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), parallel("fork", "x", "y"), agent("z"), finish("done"),
		next(within(agent("x"), time.Hour), process.Join),
		next(task("y", "finance"), "y2"), next(agent("y2"), process.Join)).start()
	before := len(b.events)
	b.work("a", `{}`)
	require.Equal(t, "done waiting - - ready waiting -", b.states(), "every entry is ready in the same write")
	require.Equal(t, []string{"StepClaimed", "StepCompleted", "ForkStarted", "StepReadied", "StepReadied"}, b.types(before))
	require.NotNil(t, b.st.Steps[4].Due)
	b.work("x", `{}`)
	require.Equal(t, "done waiting - - done waiting -", b.states(), "a branch that joins early waits")
	require.Equal(t, run.RunWaiting, b.st.State)
	b.decide("y", mira, run.Completed)
	require.Equal(t, "done waiting - - done done ready", b.states())
	b.work("y2", `{}`)
	require.Equal(t, "done done ready - done done done", b.states(), "joined and on in the same write")
	require.NotContains(t, b.data(), `"fork"`, "a parallel step records nothing")
	b.work("z", `{}`)
	require.Equal(t, run.RunEnded, b.st.State)
}

// Entries that are over at once must not join before the others have begun.
func TestS1_5_BranchesThatEndAtOnce(t *testing.T) {
	t.Parallel()
	doc := document(waitFor("first", "go"), parallel("fork", "x", "y", "z"), finish("done"),
		next(waitFor("x", "paid"), process.Join), next(wait("y", 0), process.Join), next(waitUntil("z", "inputs.t"), process.Join))
	doc.Inputs = process.Fields{field("t", process.Datetime)}
	b := setupDoc(t, doc).start(`{"t":"2020-01-01T00:00:00Z"}`)
	b.send("paid", "")
	require.Equal(t, "first", b.send("go", ""))
	require.Equal(t, "done done done done done done", b.states())
	require.Equal(t, run.RunEnded, b.st.State)
}

func TestS1_5_JoinIsAnOrdinaryIDWithoutParallel(t *testing.T) {
	t.Parallel()
	b := setup(t, next(agent("a"), "join"), agent("join"), finish("done")).start().work("a", `{}`)
	require.Equal(t, "done ready -", b.states())
}

func TestS1_5_ReworkIntoAParallelStep(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), parallel("fork", "x", "y"), agent("z"), approve("ok", "finance", "fork"), finish("done"),
		next(agent("x"), "x2"), next(agent("x2"), process.Join), next(within(task("y", "finance"), time.Hour), process.Join)).start()
	b.work("a", `{}`).work("x", `{}`).work("x2", `{}`).decide("y", mira, run.Completed).work("z", `{}`)
	require.Equal(t, "done done done waiting - done done done", b.states())
	b.later(time.Minute).decide("ok", mira, run.Rejected)
	require.Equal(t, "done waiting - - - ready - waiting", b.states(), "every branch rewinds and every entry is ready again")
	for _, id := range []string{"x", "x2", "y", "z"} {
		require.NotContains(t, b.stepData(id), `"history":[]`, id)
		require.Nil(t, b.st.Steps[b.doc.Index(id)].Current, id)
	}
	require.Equal(t, b.env.Now.Add(time.Hour), *b.st.Steps[7].Due)
	require.Equal(t, "rejected", b.st.Steps[3].Current.Decision)
	b.work("x", `{}`).work("x2", `{}`).decide("y", mira, run.Completed).work("z", `{}`).decide("ok", mira, run.Approved)
	require.Equal(t, run.RunEnded, b.st.State)
}

func TestS1_5_ReworkToBeforeAParallelStepRewindsTheRegion(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), parallel("fork", "x", "y"), approve("ok", "finance", "a"), finish("done"),
		next(agent("x"), process.Join), next(agent("y"), process.Join)).start()
	b.work("a", `{}`).work("x", `{}`).work("y", `{}`).decide("ok", mira, run.Rejected)
	require.Equal(t, "ready - - - - -", b.states())
	b.work("a", `{}`)
	require.Equal(t, "done waiting - - ready ready", b.states())
}

func TestS1_5_ReworkToAfterAParallelStepLeavesIt(t *testing.T) {
	t.Parallel()
	b := setup(t, parallel("fork", "x", "y"), agent("z"), approve("ok", "finance", "z"), finish("done"),
		next(agent("x"), process.Join), next(agent("y"), process.Join)).start()
	b.work("x", `{}`).work("y", `{}`).work("z", `{}`).decide("ok", mira, run.Rejected)
	require.Equal(t, "done ready - - done done", b.states())
}

func TestS1_5_ReworkInsideABranchTouchesNoSibling(t *testing.T) {
	t.Parallel()
	b := setup(t, parallel("fork", "x", "y"), finish("done"),
		next(agent("x"), "x2"), next(agent("x2"), "xok"), next(approve("xok", "finance", "x"), process.Join),
		next(agent("y"), "y2"), next(agent("y2"), process.Join)).start()
	b.work("x", `{}`).work("y", `{}`).work("x2", `{}`).work("y2", `{}`)
	require.Equal(t, "waiting - done done waiting done done", b.states())
	b.decide("xok", mira, run.Rejected)
	require.Equal(t, "waiting - ready - - done done", b.states())
	require.NotNil(t, b.st.Steps[5].Current)
	require.NotNil(t, b.st.Steps[6].Current)
	b.work("x", `{}`).work("x2", `{}`).decide("xok", mira, run.Approved)
	require.Equal(t, run.RunEnded, b.st.State)
}

func TestS1_5_AnEndInABranchCancelsTheOthers(t *testing.T) {
	t.Parallel()
	b := setup(t, parallel("fork", "x", "y"), finish("done"),
		next(agent("x"), process.Join), next(approve("y", "finance", ""), process.Join)).start()
	ref := b.claim("x", ana)
	b.decide("y", mira, run.Rejected)
	require.Equal(t, "cancelled - cancelled done", b.states())
	require.Equal(t, "rejected", b.st.Outcome)
	refused(t, b.do(submit(ref, ana, submission(`{}`))), run.Conflict, run.IssueRunEnded)
}

func TestS1_5_AFailingEntryEndsTheForkAtOnce(t *testing.T) {
	t.Parallel()
	doc := document(parallel("fork", "x", "y"), finish("done"),
		next(task("x", "inputs.boss"), process.Join), next(task("y", "finance"), process.Join))
	doc.Inputs = process.Fields{optional(field("boss", process.Person))}
	b := setupDoc(t, doc).start()
	require.Equal(t, "cancelled - failed -", b.states())
	require.Empty(t, b.view().WorkItems)
}
