package db_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
)

// BenchmarkReads reads from a database with few ended runs and one with many (AP_BENCH_ENDED, 50000), and ten thousand open
// runs each: no read may cost more there.
func BenchmarkReads(b *testing.B) {
	many := 50_000
	if s := os.Getenv("AP_BENCH_ENDED"); s != "" {
		var err error
		many, err = strconv.Atoi(s)
		require.NoError(b, err)
	}
	for _, ended := range []int{1000, many} {
		dir := b.TempDir()
		d, err := db.Open(context.Background(), dir, db.Options{})
		require.NoError(b, err)
		publish(b, d)
		generate(b, d, 0, ended, false)
		generate(b, d, ended, 10_000, true)
		require.NoError(b, d.Close())
		began := time.Now()
		d, err = db.Open(context.Background(), dir, db.Options{})
		require.NoError(b, err)
		b.Logf("%d ended runs: opened in %v", ended, time.Since(began))
		for name, read := range map[string]func(server.Reader) (int, error){
			"get_work": func(r server.Reader) (int, error) {
				rows, err := r.Ready(server.ReadyQuery{Limit: 20})
				return len(rows), err
			},
			"inbox": func(r server.Reader) (int, error) {
				rows, err := r.Items(server.ItemQuery{Person: "mira@example.com", Groups: []string{"finance", "legal", "operators"}, Limit: 20})
				return len(rows), err
			},
			"get_run": func(r server.Reader) (int, error) {
				row, err := r.Run(runID(ended / 2))
				if err != nil {
					return 0, err
				}
				entries, err := r.Entries(row.ID, 0, 0)
				return len(entries), err
			},
			"list_runs": func(r server.Reader) (int, error) {
				rows, err := r.Runs(server.RunQuery{Process: "supplier", Limit: 20})
				return len(rows), err
			},
			"list_runs of an input": func(r server.Reader) (int, error) {
				rows, err := r.Runs(server.RunQuery{State: run.RunEnded, Inputs: map[string]string{"number": fmt.Sprint(ended / 2)}, Limit: 20})
				return len(rows), err
			},
			"counts": func(r server.Reader) (int, error) {
				c, err := r.Counts()
				return c.OpenItems, err
			},
		} {
			b.Run(fmt.Sprintf("%s/ended=%d", name, ended), func(b *testing.B) {
				for b.Loop() {
					require.NoError(b, d.Read(context.Background(), func(r server.Reader) error {
						n, err := read(r)
						if err == nil && n == 0 {
							err = errors.New("nothing was read")
						}
						return err
					}))
				}
			})
		}
		require.NoError(b, d.Close())
	}
}

func runID(n int) string { return fmt.Sprintf("r_%026d", n) }

// generate writes n runs of nine entries each. Open ones have a ready step and a work item.
func generate(tb testing.TB, d *db.DB, from, n int, open bool) {
	tb.Helper()
	for n > 0 {
		part := min(n, 500)
		require.NoError(tb, d.Write(context.Background(), func(w server.Writer) error {
			for i := from; i < from+part; i++ {
				p := firstEntry(runID(i))
				p.Run.StartedAt = epoch.Add(time.Duration(i) * time.Second)
				p.Run.State = run.RunEnded
				p.Inputs = map[string]string{"number": fmt.Sprint(i)}
				var entries []run.Entry
				for range 9 {
					e := nextEntry(&p)[0]
					e.Data = payload
					entries = append(entries, e)
				}
				if open {
					p.Run.State = run.RunActive
					p.Ready = []server.ReadyRow{{RunID: p.Run.ID, StepID: "a", Process: "supplier", Since: p.Run.StartedAt}}
					p.Items = []server.ItemRow{{ID: "w_" + p.Run.ID, RunID: p.Run.ID, StepID: "b", Process: "supplier",
						Group: []string{"finance", "legal", "board"}[i%3], OpenedAt: p.Run.StartedAt, Search: "supplier b please approve"}}
				}
				if err := w.Append(p, entries, nil); err != nil {
					return err
				}
			}
			return nil
		}))
		from, n = from+part, n-part
	}
}

// BenchmarkRuns writes what complete runs write (start, claim, submit, decide), with no engine above it: each write looks up
// its request and its run, appends two or three entries and records the request.
func BenchmarkRuns(b *testing.B) {
	for _, conc := range []int{1, 64} {
		b.Run(fmt.Sprintf("conc=%d", conc), func(b *testing.B) {
			d, err := db.Open(context.Background(), b.TempDir(), db.Options{})
			require.NoError(b, err)
			defer d.Close()
			publish(b, d)
			b.ReportAllocs()
			b.ResetTimer()
			began := time.Now()
			var next atomic.Int64
			var wg sync.WaitGroup
			for range conc {
				wg.Go(func() {
					for {
						n := next.Add(1)
						if n > int64(b.N) {
							return
						}
						writeRun(b, d, fmt.Sprintf("r_%026d", n), began.Add(time.Duration(n)*time.Millisecond).UTC())
					}
				})
			}
			wg.Wait()
			rate := float64(b.N) / time.Since(began).Seconds()
			b.ReportMetric(rate, "runs/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func publish(tb testing.TB, d *db.DB) {
	tb.Helper()
	require.NoError(tb, d.Write(context.Background(), func(w server.Writer) error {
		return errors.Join(w.PutDraft("supplier", "h", []byte("source"), time.Now()),
			w.PutVersion(server.Version{Process: "supplier", Number: 1, Hash: "h", Source: []byte("source"), PublishedAt: time.Now()}))
	}))
}

var payload = json.RawMessage(`{"output":"` + strings.Repeat("x", 300) + `"}`)

// writeRun writes one complete run.
func writeRun(tb testing.TB, d *db.DB, id string, started time.Time) {
	ready := []server.ReadyRow{{RunID: id, StepID: "draft", Process: "supplier", Since: started}}
	items := []server.ItemRow{{ID: "w_" + id[2:] + "_1", RunID: id, StepID: "approve", Process: "supplier", Group: "finance",
		OpenedAt: started, Search: "supplier approve please approve this"}}
	expires := started.Add(10 * time.Minute)
	p := server.Projection{Run: server.RunRow{ID: id, Process: "supplier", Version: 1, Mode: run.Live, State: run.RunActive,
		StartedBy: "agent:robot", StartedAt: started, UpdatedAt: started, Inputs: json.RawMessage(`{"vendor":"Ada","total":48000.00}`)},
		Inputs: map[string]string{"vendor": `"Ada"`, "total": "48000"}, Ready: ready}
	for step := range 4 {
		var notices []server.Notice
		switch step {
		case 1:
			p.Inputs, p.Ready, p.Run.NextTimer = nil, nil, &expires
		case 2:
			p.Items, p.Run.NextTimer, p.Run.State = items, nil, run.RunWaiting
			notices = []server.Notice{{ID: "n_" + id[2:] + "_1", Kind: "assigned", RunID: id, StepID: "approve", ItemID: items[0].ID,
				Group: "finance", At: started}}
		case 3:
			p.Items, p.Run.State, p.Run.Outcome = nil, run.RunEnded, "approved"
		}
		writeStep(tb, d, &p, 2+step%2, notices)
	}
}

func writeStep(tb testing.TB, d *db.DB, p *server.Projection, n int, notices []server.Notice) {
	var list []run.Entry
	for range n {
		p.Run.Seq++
		h := sha256.Sum256([]byte(fmt.Sprint(p.Run.ID, p.Run.Seq)))
		p.Run.Head = h[:]
		list = append(list, run.Entry{Event: run.Event{Type: "StepCompleted", V: 1, At: p.Run.StartedAt, By: "agent:robot", Data: payload},
			Seq: p.Run.Seq, Hash: p.Run.Head})
	}
	request := fmt.Sprintf("%x", sha256.Sum256(list[0].Hash))[:36]
	err := d.Write(context.Background(), func(w server.Writer) error {
		if _, err := w.Request(request); !errors.Is(err, server.ErrNotFound) {
			return fmt.Errorf("request: %w", err)
		}
		if first := list[0].Seq; first > 1 {
			if row, err := w.Run(p.Run.ID); err != nil || row.Seq != first-1 {
				return fmt.Errorf("run at %d: %w", row.Seq, err)
			}
		}
		if err := w.Append(*p, list, notices); err != nil {
			return err
		}
		return w.PutRequest(server.Request{ID: request, Tool: "submit", Args: p.Run.Head, By: "agent:robot", RunID: p.Run.ID,
			Seq: p.Run.Seq, At: p.Run.UpdatedAt})
	})
	if err != nil {
		tb.Error(err)
	}
}
