package run_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
)

// States share what they can. Two decisions on one state must not find each other's changes in it, however long the
// lists have grown.
func TestStatesShareNothingThatChanges(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), approve("b", "finance", "a"), finish("done")).start()
	type kept struct {
		st   *run.State
		data string
	}
	var states []kept
	do := func(cmd run.Command) {
		before := b.st
		require.NoError(t, b.do(cmd))
		states = append(states, kept{b.st, string(b.st.FreshData(b.doc))})
		elsewhere := b.env
		elsewhere.Now = elsewhere.Now.Add(time.Minute)
		require.NoError(t, run.Decide(b.doc, before, cmd, elsewhere).Err)
	}
	for range 12 {
		do(run.SendEvent{By: ana, Allowed: true, Name: "other"})
		do(run.Claim{StepID: "a", By: ana})
		do(submit(b.result.Ref, ana, submission(`{}`)))
		do(b.decision("b", mira, run.Rejected))
	}
	for _, s := range states {
		require.Equal(t, s.data, string(s.st.FreshData(b.doc)))
		for i, c := range s.st.Claims {
			require.Equal(t, t0.Add(lease), c.ExpiresAt, "claim %d", i+1)
		}
		for _, h := range s.st.Held {
			require.Equal(t, t0, h.At)
		}
		for _, item := range s.st.Items {
			require.Equal(t, t0, item.OpenedAt)
		}
	}
}
