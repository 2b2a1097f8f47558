package db_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
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
