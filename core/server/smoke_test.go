package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server/servertest"
)

func TestARunFromStartToFinish(t *testing.T) {
	f := servertest.New(t)
	f.Publish(review, nil)
	worker, editor := servertest.Agent("worker"), servertest.Person("mira@example.com", "editor")
	v := f.Begin(editor, "review", servertest.Args{"topic": "bees"})
	require.Equal(t, "active", v.Run.State)
	c := f.Take(worker, v.Run.ID, "write")
	v = f.Finish(worker, c.Token, servertest.Args{"title": "Bees"})
	require.Equal(t, "waiting", v.Run.State)
	require.Len(t, v.WorkItems, 1)
	v = servertest.Into[servertest.View](t, f.DecideItem(editor, v.WorkItems[0], "approved", nil))
	require.Equal(t, "ended", v.Run.State)
	require.Equal(t, "published", *v.Run.Outcome)
	problems, err := f.Verify(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, problems)
}
