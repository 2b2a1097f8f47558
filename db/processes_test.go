package db_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
)

func setting(t *testing.T, d *db.DB, key string) string {
	t.Helper()
	var value string
	require.NoError(t, d.Read(context.Background(), func(r server.Reader) (err error) {
		value, err = r.Setting(key)
		return err
	}))
	return value
}

func TestProcessesWriteTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir, db.Options{})
	other := start(t, "count", dir)
	theirs := 0
	other.mustLine()
	theirs++

	// This process commits without a pause while the other writes one at a time.
	var ours atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := d.Write(context.Background(), increment("count")); err != nil {
					t.Error(err)
					return
				}
				ours.Add(1)
			}
		})
	}
	var slowest time.Duration
	for range 20 {
		micros, err := strconv.ParseInt(other.mustLine(), 10, 64)
		require.NoError(t, err)
		slowest = max(slowest, time.Duration(micros)*time.Microsecond)
		theirs++
	}
	close(stop)
	wg.Wait()
	require.NoError(t, other.stdin.Close())
	for {
		if _, ok := other.line(); !ok {
			break
		}
		theirs++
	}
	require.NoError(t, other.cmd.Wait(), other.errs.String())
	require.Equal(t, fmt.Sprint(int(ours.Load())+theirs), setting(t, d, "count"))
	require.Less(t, slowest, 5*time.Second, "a process that writes little has to get its turn")
	t.Logf("this process %d writes, the other %d, its slowest in %v", ours.Load(), theirs, slowest)
}

func TestTellsOfTheCommitsOfOtherProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir, db.Options{})
	changes, end := d.Changes()
	defer end()
	other := start(t, "count", dir)
	other.mustLine()
	select {
	case <-changes:
	case <-time.After(20 * time.Second):
		require.Fail(t, "the other process's commit went unnoticed")
	}
	require.NotEmpty(t, setting(t, d, "count"))
	other.end()
}

// A run that another process has moved on is read again, not written by what is remembered of it.
func TestForgetsWhatAnotherProcessChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := open(t, dir, db.Options{}), open(t, dir, db.Options{})
	publish(t, one)
	p := firstEntry("r_1")
	p.Ready = []server.ReadyRow{{RunID: "r_1", StepID: "a", Process: "supplier", Since: p.Run.StartedAt}}
	appendNext(t, one, &p)
	p.Ready = []server.ReadyRow{{RunID: "r_1", StepID: "b", Process: "supplier", Since: p.Run.StartedAt}}
	appendNext(t, two, &p)
	p.Ready = []server.ReadyRow{{RunID: "r_1", StepID: "c", Process: "supplier", Since: p.Run.StartedAt}}
	appendNext(t, one, &p)
	for _, d := range []*db.DB{one, two} {
		require.NoError(t, d.Write(context.Background(), func(w server.Writer) error {
			row, err := w.Run("r_1")
			require.NoError(t, err)
			require.Equal(t, 3, row.Seq)
			return nil
		}))
		require.Equal(t, p.Ready, projectionOf(t, d, "r_1").Ready)
	}
}

func TestProcessesOpenAndCloseAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/new"
	var children []*child
	for range 6 {
		children = append(children, start(t, "open", dir))
	}
	secrets := map[string]bool{}
	for _, c := range children {
		secrets[c.mustLine()] = true
		c.end()
	}
	require.Len(t, secrets, 1, "all processes have to use the same secret")
}
