package run_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
)

func TestLarge(t *testing.T) {
	var steps []process.Step
	const n = 8000
	var entries []string
	var branches []process.Step
	for i := range n {
		id := fmt.Sprintf("b%d", i)
		entries = append(entries, id)
		branches = append(branches, next(wait(id, time.Minute), process.Join))
	}
	steps = append(steps, agent("a"), parallel("fork", entries...), approve("c", "finance", "a"), finish("done"))
	doc := document(append(steps, branches...)...)
	b := setupDoc(t, doc)
	b.env.RunDataBytes = 0
	s := time.Now()
	b.start()
	b.work("a", `{}`)
	t.Log("fork", time.Since(s))
	s = time.Now()
	b.pass(time.Hour)
	t.Log("join", time.Since(s))
	s = time.Now()
	b.decide("c", mira, "rejected")
	t.Log("rework", time.Since(s))
	require.Len(t, b.st.Steps, n+4)
}
