// Package storetest says once what every database behind server.Store must do. A database's own tests call Run.
package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

// Open opens a new, empty store that the test closes.
type Open func(t *testing.T) server.Store

// Run runs the whole suite: each behaviour is a subtest on a store of its own.
func Run(t *testing.T, open Open) {
	t.Run("Transactions", func(t *testing.T) { t.Parallel(); testTransactions(t, open) })
	t.Run("Processes", func(t *testing.T) { t.Parallel(); testProcesses(t, open) })
	t.Run("Journal", func(t *testing.T) { t.Parallel(); testJournal(t, open) })
	t.Run("Runs", func(t *testing.T) { t.Parallel(); testRuns(t, open) })
	t.Run("Work", func(t *testing.T) { t.Parallel(); testWork(t, open) })
	t.Run("Records", func(t *testing.T) { t.Parallel(); testRecords(t, open) })
	t.Run("People", func(t *testing.T) { t.Parallel(); testPeople(t, open) })
}

// epoch is when the tests begin.
var epoch = time.Date(2026, 10, 6, 9, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return epoch.Add(time.Duration(minutes) * time.Minute) }

// bundle is a store with short hands for what tests do all the time.
type bundle struct {
	t *testing.T
	server.Store
	ctx context.Context
}

// setup returns a fresh store in which version 1 of the processes “supplier” and “hiring” is published.
func setup(t *testing.T, open Open) *bundle {
	t.Helper()
	b := &bundle{t: t, Store: open(t), ctx: context.Background()}
	b.write(func(w server.Writer) error {
		for _, name := range []string{"supplier", "hiring"} {
			if err := w.PutDraft(name, "hash-"+name, []byte("source of "+name), epoch); err != nil {
				return err
			}
			if err := w.PutVersion(server.Version{Process: name, Number: 1, Hash: "hash-" + name, Source: []byte("source of " + name),
				PublishedAt: epoch, PublishedBy: "server"}); err != nil {
				return err
			}
		}
		return nil
	})
	return b
}

func (b *bundle) write(fn func(server.Writer) error) {
	b.t.Helper()
	require.NoError(b.t, b.Write(b.ctx, fn))
}

// read returns what one call of a Reader returns.
func read[T any](b *bundle, fn func(server.Reader) (T, error)) T {
	b.t.Helper()
	v, err := tryRead(b, fn)
	require.NoError(b.t, err)
	return v
}

func tryRead[T any](b *bundle, fn func(server.Reader) (T, error)) (v T, err error) {
	err = b.Read(b.ctx, func(r server.Reader) error {
		var err error
		v, err = fn(r)
		return err
	})
	return v, err
}

// entries makes n entries from number first on, the last at the given time.
func entries(runID string, first, n int, when time.Time) []run.Entry {
	var list []run.Entry
	for seq := first; seq < first+n; seq++ {
		list = append(list, run.Entry{
			Event: run.Event{Type: "StepReadied", V: 1, At: when, By: "agent:robot",
				Data: json.RawMessage(fmt.Sprintf(`{"step":"draft","n":%d.00}`, seq))},
			Seq:  seq,
			Hash: hash(fmt.Sprint(runID, seq)),
		})
	}
	return list
}

func hash(s string) []byte {
	h := sha256.Sum256([]byte(s))
	return h[:]
}

// newRun is the projection of a run after its first entry.
func newRun(id, process string, started time.Time) server.Projection {
	return server.Projection{
		Run: server.RunRow{ID: id, Process: process, Version: 1, Mode: run.Live, State: run.RunActive, StartedBy: "mira@example.com",
			StartedAt: started, UpdatedAt: started, Inputs: json.RawMessage(`{"total": 48000.00}`), Seq: 1, Head: hash(id + "1")},
		Inputs: map[string]string{"total": "48000"},
	}
}

// start writes a new run.
func (b *bundle) start(p server.Projection) {
	b.t.Helper()
	b.write(func(w server.Writer) error {
		return w.Append(p, entries(p.Run.ID, 1, p.Run.Seq, p.Run.UpdatedAt), nil)
	})
}

// next is a projection after one entry more, with what change does to it.
func next(p server.Projection, change func(*server.Projection)) server.Projection {
	p.Run.Seq++
	p.Run.Head = hash(fmt.Sprint(p.Run.ID, p.Run.Seq))
	p.Run.UpdatedAt = p.Run.UpdatedAt.Add(time.Minute)
	p.Inputs = nil
	change(&p)
	return p
}

// append writes the entry that leads to p.
func (b *bundle) append(p server.Projection) {
	b.t.Helper()
	b.write(func(w server.Writer) error { return w.Append(p, entries(p.Run.ID, p.Run.Seq, 1, p.Run.UpdatedAt), nil) })
}

func ids[T any](rows []T, id func(T) string) []string {
	out := []string{}
	for _, r := range rows {
		out = append(out, id(r))
	}
	return out
}

func ptr[T any](v T) *T { return &v }
