package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
)

// hold keeps the database locked for writing, as another process would, until the returned function is called.
func hold(t *testing.T, dir string) (release func()) {
	t.Helper()
	pool, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "ap.db")+"?_busy_timeout=5000")
	require.NoError(t, err)
	conn, err := pool.Conn(context.Background())
	require.NoError(t, err)
	_, err = conn.ExecContext(context.Background(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	return func() {
		_, err := conn.ExecContext(context.Background(), "ROLLBACK")
		require.NoError(t, errors.Join(err, conn.Close(), pool.Close()))
	}
}

func set(key, value string) func(server.Writer) error {
	return func(w server.Writer) error { return w.SetSetting(key, value) }
}

func TestAWriteWaitsForAnotherProcess(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir(), db.Options{})
	release := hold(t, d.Dir())
	done := make(chan error, 1)
	go func() { done <- d.Write(context.Background(), set("a", "1")) }()
	require.Empty(t, setting(t, d, "a"), "readers don't wait")
	release()
	require.NoError(t, <-done)
	require.Equal(t, "1", setting(t, d, "a"))
}

func TestAWriteThatWaitedTooLongIsBusy(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir(), db.Options{BusyTimeout: 30 * time.Millisecond})
	release := hold(t, d.Dir())
	errs := make([]error, 10)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = d.Write(context.Background(), set(fmt.Sprint(i), "1")) })
	}
	wg.Wait()
	for _, err := range errs {
		require.ErrorIs(t, err, server.ErrBusy)
		require.ErrorContains(t, err, "another process is writing")
	}
	require.ErrorIs(t, d.Writable(), server.ErrBusy)
	release()
	require.NoError(t, d.Writable())
	require.NoError(t, d.Write(context.Background(), set("0", "2")))
	require.Equal(t, "2", setting(t, d, "0"))
	require.Empty(t, setting(t, d, "probe"), "a probe keeps nothing")
}

// Whoever waits for the write lock keeps the others from asking for it (turn.go).
func TestWritersTakeTurns(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir(), db.Options{})
	turn := flock.New(filepath.Join(d.Dir(), "write.lock"))
	ok, err := turn.TryLock()
	require.NoError(t, err)
	require.True(t, ok)
	var free atomic.Bool
	done := make(chan error, 1)
	go func() {
		err := d.Write(context.Background(), set("a", "1"))
		if err == nil && !free.Load() {
			err = errors.New("it was not this process's turn")
		}
		done <- err
	}()
	select {
	case err := <-done:
		require.NoError(t, err)
		require.Fail(t, "the write didn't wait for its turn")
	case <-time.After(50 * time.Millisecond):
	}
	free.Store(true)
	require.NoError(t, turn.Unlock())
	require.NoError(t, <-done)
}

func TestCloseFinishesTheWritesThatWait(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir, db.Options{})
	working, finish := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		first <- d.Write(context.Background(), func(w server.Writer) error {
			close(working)
			<-finish
			return w.SetSetting("first", "1")
		})
	}()
	<-working
	closed := make(chan error, 1)
	go func() { closed <- d.Close() }()
	close(finish)
	require.NoError(t, <-first)
	require.NoError(t, <-closed)
	require.ErrorIs(t, d.Write(context.Background(), set("late", "1")), db.ErrClosed)
	require.NoError(t, d.Close(), "closing twice is closing once")
	require.Equal(t, "1", setting(t, open(t, dir, db.Options{}), "first"))
}

func TestARecordNeverChanges(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir(), db.Options{})
	publish(t, d)
	p := firstEntry("r_1")
	list := nextEntry(&p)
	require.NoError(t, d.Write(context.Background(), func(w server.Writer) error {
		return errors.Join(w.Append(p, list, nil), w.PutRequest(server.Request{ID: "q", Tool: "t", Args: []byte("a"), At: epoch}),
			w.PutUpload(server.Upload{ID: "f", SHA256: fmt.Sprintf("%064d", 0), At: epoch}))
	}))
	pool, err := sql.Open("sqlite3", "file:"+filepath.Join(d.Dir(), "ap.db")+"?_recursive_triggers=1&_busy_timeout=5000")
	require.NoError(t, err)
	defer pool.Close()
	for _, q := range []string{
		`UPDATE journal SET data = '{}'`,
		`UPDATE journal SET seq = 2`,
		`DELETE FROM journal`,
		`INSERT OR REPLACE INTO journal (run_id, seq, at, type, v, actor, hash, data) VALUES ('r_1', 1, 0, '', 1, '', '', '')`,
		`UPDATE versions SET source = 'other'`,
		`DELETE FROM versions`,
		`INSERT OR REPLACE INTO versions (process, number, hash, source, published_at, published_by)
			VALUES ('supplier', 1, '', '', 0, '')`,
		`UPDATE requests SET seq = 5`,
		`DELETE FROM requests`,
		`INSERT OR REPLACE INTO requests (id, tool, args, actor, run_id, seq, at) VALUES ('q', '', '', '', '', 0, 0)`,
		`UPDATE run_starts SET inputs = '{}'`,
		`DELETE FROM run_starts`,
		`UPDATE uploads SET sha256 = ''`,
		`DELETE FROM uploads`,
	} {
		_, err := pool.Exec(q)
		require.Error(t, err, q)
		require.Regexp(t, "append-only|never change", err.Error(), q)
	}
}
