package db_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
)

func TestOneServerServesADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir, db.Options{})
	first := start(t, "serve", dir)
	require.Equal(t, "locked", first.mustLine())

	_, err := d.LockServe("http://127.0.0.1:9090")
	require.EqualError(t, err, fmt.Sprintf("ap serve (process %d) at http://127.0.0.1:8080 serves the data directory %s already: "+
		"stop it first, or name another directory with --data", first.cmd.Process.Pid, dir))
	url, ok := d.ServingAt()
	require.True(t, ok)
	require.Equal(t, "http://127.0.0.1:8080", url)

	// Other uses of the directory go on.
	require.NoError(t, d.Write(context.Background(), func(w server.Writer) error { return w.SetSetting("a", "1") }))

	// A server that was killed leaves nothing behind.
	require.NoError(t, first.cmd.Process.Kill())
	_ = first.cmd.Wait()
	_, ok = d.ServingAt()
	require.False(t, ok)
	unlock, err := d.LockServe("http://127.0.0.1:9090")
	require.NoError(t, err)
	unlock()
	unlock, err = d.LockServe("http://127.0.0.1:9090")
	require.NoError(t, err)
	unlock()
}
