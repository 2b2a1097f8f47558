package run_test

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
)

func sealed(t *testing.T) []run.Entry {
	b := setup(t, agent("a"), finish("done")).start().work("a", `{}`)
	entries := run.Seal("r_1", 0, nil, b.events[:2])
	return append(entries, run.Seal("r_1", 2, entries[1].Hash, b.events[2:])...)
}

func TestSealChainsTheEntriesOfARun(t *testing.T) {
	t.Parallel()
	var prev []byte
	for i, e := range sealed(t) {
		require.Equal(t, i+1, e.Seq)
		require.Len(t, e.Hash, 32)
		require.True(t, run.Verify("r_1", prev, e))
		prev = e.Hash
	}
}

func TestVerifyFindsEveryChange(t *testing.T) {
	t.Parallel()
	entries := sealed(t)
	changes := map[string]func(*run.Entry){
		"type":    func(e *run.Entry) { e.Type = "StepFailed" },
		"version": func(e *run.Entry) { e.V++ },
		"time":    func(e *run.Entry) { e.At = e.At.Add(time.Millisecond) },
		"author":  func(e *run.Entry) { e.By = bob },
		"data":    func(e *run.Entry) { e.Data = append([]byte(" "), e.Data...) },
		"number":  func(e *run.Entry) { e.Seq++ },
		"hash":    func(e *run.Entry) { e.Hash = append([]byte{e.Hash[0] ^ 1}, e.Hash[1:]...) },
		"a byte moved from one part to the next": func(e *run.Entry) {
			e.Type, e.By = e.Type[:len(e.Type)-1], e.Type[len(e.Type)-1:]+e.By
		},
	}
	for name, change := range changes {
		e := entries[2]
		require.True(t, run.Verify("r_1", entries[1].Hash, e))
		change(&e)
		require.False(t, run.Verify("r_1", entries[1].Hash, e), name)
	}
	require.False(t, run.Verify("r_1", entries[0].Hash, entries[2]), "an entry left out")
	require.False(t, run.Verify("r_2", nil, entries[0]), "an entry of another run")
	require.False(t, run.Verify("r_1", nil, entries[2]), "a run cut off at the front")
}

// The hash of a stored entry must never come out differently.
func TestSealStaysAsItIs(t *testing.T) {
	t.Parallel()
	e := run.Seal("r_1", 0, nil, []run.Event{{Type: "StepReadied", V: 1, At: t0, By: "server", Data: []byte(`{"step":"a"}`)}})
	require.Equal(t, "23fd3236a15a34dcc39981db772db25ad0d21571fdd8468512c51a7f1c2337d1", hex.EncodeToString(e[0].Hash))
}
