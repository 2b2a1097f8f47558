package run_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// notices are those of what f does.
func (b *bundle) notices(f func()) []run.Notice {
	before, n := b.st, len(b.events)
	f()
	return run.Notices(b.doc, before, b.st, b.events[n:], "operators")
}

func TestS4_NoticesTellWhoIsConcerned(t *testing.T) {
	t.Parallel()
	b := setup(t, within(task("a", "finance"), time.Hour), within(agent("b"), time.Hour), approve("c", "initiator", ""), finish("done"))

	require.Equal(t, []run.Notice{{Kind: run.NoticeAssigned, StepID: "a", ItemID: "r_1_w1", Group: "g_finance", At: t0}},
		b.notices(func() { b.start() }))

	at := t0.Add(time.Hour)
	require.Equal(t, []run.Notice{
		{Kind: run.NoticeOverdue, StepID: "a", ItemID: "r_1_w1", Group: "g_finance", At: at},
		{Kind: run.NoticeOverdue, StepID: "a", ItemID: "r_1_w1", Group: "operators", At: at},
	}, b.notices(func() { b.pass(2 * time.Hour) }), "to the assignee and the operators, once")
	require.Empty(t, b.notices(func() { b.pass(time.Hour) }))

	require.Empty(t, b.notices(func() { b.decide("a", mira, run.Completed) }))
	require.Equal(t, []run.Notice{{Kind: run.NoticeOverdue, StepID: "b", Group: "operators", At: t0.Add(4 * time.Hour)}},
		b.notices(func() { b.pass(time.Hour) }))

	require.Equal(t, []run.Notice{{Kind: run.NoticeEscalated, StepID: "b", ItemID: "r_1_w2", Group: "operators", At: b.env.Now}},
		b.notices(func() { require.NoError(t, b.do(escalate(b.claim("b", ana), ana, "Can't."))) }))

	require.Equal(t, []run.Notice{{Kind: run.NoticeAssigned, StepID: "c", ItemID: "r_1_w3", Person: mira, At: b.env.Now}},
		b.notices(func() { b.decide("b", ops, run.Completed) }))
	require.Equal(t, []run.Notice{{Kind: run.NoticeEnded, Person: mira, At: b.env.Now}},
		b.notices(func() { b.decide("c", mira, run.Approved) }))
}

func TestS4_AnOverdueEscalationIsToldOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, within(agent("a"), time.Hour), finish("done")).start()
	require.NoError(t, b.do(escalate(b.claim("a", ana), ana, "Can't.")))
	require.Equal(t, []run.Notice{{Kind: run.NoticeOverdue, StepID: "a", ItemID: "r_1_w1", Group: "operators", At: t0.Add(time.Hour)}},
		b.notices(func() { b.pass(time.Hour) }))
}

func TestS6_AFailedRunIsToldToTheOperators(t *testing.T) {
	t.Parallel()
	b := setup(t, task("a", "finance"), finish("done"))
	require.NoError(t, b.do(run.Start{RunID: "r_1", By: ana}))
	require.Equal(t, []run.Notice{{Kind: run.NoticeEnded, Group: "operators", At: t0}},
		b.notices(func() { b.decide("a", mira, run.Failed) }))

	b = setup(t, task("a", "finance"), finish("done")).start()
	require.Equal(t, []run.Notice{{Kind: run.NoticeEnded, Person: mira, At: t0}},
		b.notices(func() { require.NoError(t, b.do(run.Cancel{By: ops, Operator: true, Reason: "Stop."})) }))
}

func TestS4_AnItemGoneAtOnceIsNotTold(t *testing.T) {
	t.Parallel()
	doc := document(parallel("fork", "x", "y"), finish("done"), next(task("x", "finance"), process.Join), next(task("y", "inputs.boss"), process.Join))
	doc.Inputs = process.Fields{optional(field("boss", process.Person))}
	b := setupDoc(t, doc)
	require.Equal(t, []run.Notice{{Kind: run.NoticeEnded, Person: mira, At: t0}, {Kind: run.NoticeEnded, Group: "operators", At: t0}},
		b.notices(func() { b.start() }))
}

func TestS4_TestRunsTellNoOne(t *testing.T) {
	t.Parallel()
	b := setup(t, within(task("a", "finance"), time.Hour), finish("done"))
	require.Empty(t, b.notices(func() {
		require.NoError(t, b.do(run.Start{RunID: "r_1", By: mira, Human: true, Test: true}))
		b.pass(time.Hour)
		b.decide("a", mira, run.Failed)
	}))
}
