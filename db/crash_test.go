package db_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
)

// childRuns moves sixteen runs on at once, for ever, and says so for each entry that was acknowledged. Every entry leaves
// one ready step named for it, and records a request.
func childRuns(d *db.DB) error {
	var mu sync.Mutex
	errs := make(chan error)
	for i := range 16 {
		go func() {
			for n := 0; ; n++ {
				p := firstEntry(fmt.Sprintf("r_%d_%d_%d", os.Getpid(), i, n))
				for range 20 {
					list := nextEntry(&p)
					list[0].Data = json.RawMessage(`"` + strings.Repeat("x", rand.IntN(3000)) + `"`)
					p.Ready = []server.ReadyRow{{RunID: p.Run.ID, StepID: fmt.Sprint("s", p.Run.Seq), Process: "supplier", Since: epoch}}
					err := d.Write(context.Background(), func(w server.Writer) error {
						return errors.Join(w.Append(p, list, nil), w.PutRequest(server.Request{ID: fmt.Sprint(p.Run.ID, "-", p.Run.Seq), Tool: "t",
							Args: p.Run.Head, RunID: p.Run.ID, Seq: p.Run.Seq, At: epoch}))
					})
					if err != nil {
						errs <- err
						return
					}
					mu.Lock()
					fmt.Println(p.Run.ID, p.Run.Seq)
					mu.Unlock()
				}
			}
		}()
	}
	return <-errs
}

// TestCrash kills a process that writes, at random moments. AP_CRASH_ROUNDS sets how often (10).
func TestCrash(t *testing.T) {
	t.Parallel()
	rounds := 10
	if s := os.Getenv("AP_CRASH_ROUNDS"); s != "" {
		var err error
		rounds, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	dir := t.TempDir()
	d := open(t, dir, db.Options{})
	publish(t, d)
	require.NoError(t, d.Close())

	acknowledged := map[string]int{}
	for range rounds {
		c := start(t, "runs", dir)
		after := time.Duration(rand.IntN(150)) * time.Millisecond
		timer := time.AfterFunc(time.Hour, func() {})
		for first := true; ; first = false {
			line, ok := c.line()
			if !ok {
				break
			}
			if first {
				timer = time.AfterFunc(after, func() { _ = c.cmd.Process.Kill() })
			}
			var id string
			var seq int
			_, err := fmt.Sscan(line, &id, &seq)
			if err == nil {
				acknowledged[id] = max(acknowledged[id], seq)
			}
		}
		timer.Stop()
		require.Error(t, c.cmd.Wait())
		require.Empty(t, c.errs.String())
		checkAfterCrash(t, dir, acknowledged)
	}
	t.Logf("%d runs", len(acknowledged))
	require.NotEmpty(t, acknowledged)
}

// checkAfterCrash opens the directory as a server would: what was acknowledged is there, and nothing is there by half.
func checkAfterCrash(t *testing.T, dir string, acknowledged map[string]int) {
	t.Helper()
	d := open(t, dir, db.Options{})
	defer d.Close()
	require.NoError(t, d.Read(context.Background(), func(r server.Reader) error {
		for after := ""; ; {
			ids, err := r.RunIDs(after, 1000)
			if err != nil || len(ids) == 0 {
				return err
			}
			for _, id := range ids {
				after = id
				checkRun(t, r, id, acknowledged[id])
			}
		}
	}))
	for id := range acknowledged {
		require.NotZero(t, projectionOf(t, d, id).Run.Seq, id)
	}
	pool, err := sql.Open("sqlite3", "file:"+dir+"/ap.db")
	require.NoError(t, err)
	defer pool.Close()
	var ok string
	require.NoError(t, pool.QueryRow("PRAGMA integrity_check").Scan(&ok))
	require.Equal(t, "ok", ok)
}

func checkRun(t *testing.T, r server.Reader, id string, acknowledged int) {
	t.Helper()
	entries, err := r.Entries(id, 0, 0)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(entries), acknowledged, id)
	want := firstEntry(id)
	for _, e := range entries {
		require.Equal(t, nextEntry(&want)[0].Hash, e.Hash)
		req, err := r.Request(fmt.Sprint(id, "-", e.Seq))
		require.NoError(t, err)
		require.Equal(t, e.Hash, req.Args)
	}
	_, err = r.Request(fmt.Sprint(id, "-", len(entries)+1))
	require.ErrorIs(t, err, server.ErrNotFound)
	p, err := r.Projection(id)
	require.NoError(t, err)
	require.Equal(t, len(entries), p.Run.Seq)
	require.Equal(t, entries[len(entries)-1].Hash, p.Run.Head)
	require.Equal(t, run.RunActive, p.Run.State)
	require.Len(t, p.Ready, 1)
	require.Equal(t, fmt.Sprint("s", len(entries)), p.Ready[0].StepID)
}
