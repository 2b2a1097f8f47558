package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

func testJournal(t *testing.T, open Open) {
	t.Run("KeepsEntriesAsTheyWere", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		p := newRun("r_1", "supplier", epoch)
		want := []run.Entry{{
			Event: run.Event{Type: "RunStarted", V: 3, At: epoch.Add(7 * time.Millisecond), By: "mira@example.com",
				Data: json.RawMessage(`{"inputs": {"total": 48000.00, "note": "zwölf – ☃ \u0007", "big": 9007199254740993}}`)},
			Seq: 1, Hash: p.Run.Head,
		}}
		b.write(func(w server.Writer) error { return w.Append(p, want, nil) })
		require.Equal(t, want, read(b, func(r server.Reader) ([]run.Entry, error) { return r.Entries("r_1", 0, 0) }))
	})

	t.Run("ReadsAPartOfTheJournal", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		p := newRun("r_1", "supplier", epoch)
		p.Run.Seq, p.Run.Head = 10, hash("r_110")
		b.start(p)
		b.start(newRun("r_2", "supplier", epoch))
		part := func(after, until int) []string {
			return ids(read(b, func(r server.Reader) ([]run.Entry, error) { return r.Entries("r_1", after, until) }),
				func(e run.Entry) string { return fmt.Sprint(e.Seq) })
		}
		require.Len(t, part(0, 0), 10)
		require.Equal(t, []string{"9", "10"}, part(8, 0))
		require.Equal(t, []string{"4", "5"}, part(3, 5))
		require.Empty(t, part(10, 0))
		require.Empty(t, read(b, func(r server.Reader) ([]run.Entry, error) { return r.Entries("nothing", 0, 0) }))
	})

	t.Run("RefusesEntriesThatDontFollow", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		p := newRun("r_1", "supplier", epoch)
		b.start(p)
		second := next(p, func(*server.Projection) {})
		b.append(second)
		for name, p := range map[string]server.Projection{
			"a start of a run that is there": p,
			"an entry that is there":         second,
			"an entry after a gap":           next(next(second, func(*server.Projection) {}), func(*server.Projection) {}),
		} {
			err := b.Write(b.ctx, func(w server.Writer) error { return w.Append(p, entries("r_1", p.Run.Seq, 1, epoch), nil) })
			require.ErrorIs(t, err, server.ErrConflict, name)
		}
		missing := next(newRun("r_2", "supplier", epoch), func(*server.Projection) {})
		require.ErrorIs(t, b.Write(b.ctx, func(w server.Writer) error { return w.Append(missing, entries("r_2", 2, 1, epoch), nil) }),
			server.ErrNotFound)
		require.Len(t, read(b, func(r server.Reader) ([]run.Entry, error) { return r.Entries("r_1", 0, 0) }), 2)
	})

	t.Run("RefusesWhatIsNotTheProjectionOfTheLastEntry", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		good := newRun("r_1", "supplier", epoch)
		for name, change := range map[string]func(*server.Projection) []run.Entry{
			"no entries":     func(*server.Projection) []run.Entry { return nil },
			"another number": func(p *server.Projection) []run.Entry { p.Run.Seq = 2; return entries("r_1", 1, 1, epoch) },
			"another hash":   func(p *server.Projection) []run.Entry { p.Run.Head = hash("x"); return entries("r_1", 1, 1, epoch) },
			"a gap between entries": func(p *server.Projection) []run.Entry {
				return append(entries("r_1", 1, 1, epoch), entries("r_1", 3, 1, epoch)...)
			},
			"another run's row": func(p *server.Projection) []run.Entry {
				p.Ready = []server.ReadyRow{{RunID: "r_2", StepID: "draft", Process: "supplier"}}
				return entries("r_1", 1, 1, epoch)
			},
			"an item for nobody": func(p *server.Projection) []run.Entry {
				p.Items = []server.ItemRow{{ID: "w_1", RunID: "r_1", StepID: "draft", Process: "supplier"}}
				return entries("r_1", 1, 1, epoch)
			},
		} {
			p := good
			list := change(&p)
			require.Error(t, b.Write(b.ctx, func(w server.Writer) error { return w.Append(p, list, nil) }), name)
		}
		require.Empty(t, read(b, func(r server.Reader) ([]string, error) { return r.RunIDs("", 10) }))
	})

	t.Run("ReplacesTheProjection", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		projection := func() server.Projection {
			return read(b, func(r server.Reader) (server.Projection, error) { return r.Projection("r_1") })
		}
		p := newRun("r_1", "supplier", epoch)
		p.Inputs = map[string]string{"total": "48000", "vendor": `"Ada & Söhne"`}
		p.Ready = []server.ReadyRow{{RunID: "r_1", StepID: "a", Process: "supplier", Since: epoch},
			{RunID: "r_1", StepID: "b", Process: "supplier", Since: epoch}}
		b.start(p)
		require.Equal(t, p, projection())

		claimed := next(p, func(p *server.Projection) {
			p.Ready = p.Ready[1:]
			p.Run.NextTimer = ptr(at(10))
			p.Items = []server.ItemRow{{ID: "w_1", RunID: "r_1", StepID: "c", Process: "supplier", Group: "finance", OpenedAt: at(1),
				Due: ptr(at(60)), Search: "supplier c"},
				{ID: "w_2", RunID: "r_1", StepID: "d", Process: "supplier", Person: "mira@example.com", OpenedAt: at(1), Escalated: true,
					Test: true}}
		})
		b.append(claimed)
		claimed.Inputs = p.Inputs
		require.Equal(t, claimed, projection())

		ended := next(claimed, func(p *server.Projection) {
			p.Run.State, p.Run.Outcome, p.Run.NextTimer = run.RunEnded, "approved", nil
			p.Ready, p.Items = nil, nil
		})
		b.append(ended)
		ended.Inputs = p.Inputs
		require.Equal(t, ended, projection())
	})

	t.Run("AnEntryThatFailedLeavesNothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		p := newRun("r_1", "supplier", epoch)
		p.Ready = []server.ReadyRow{{RunID: "r_1", StepID: "a", Process: "supplier", Since: epoch}}
		b.start(p)
		refused := errors.New("refused")
		lost := next(p, func(p *server.Projection) { p.Ready = nil })
		require.ErrorIs(t, b.Write(b.ctx, func(w server.Writer) error {
			if err := w.Append(lost, entries("r_1", 2, 1, at(1)), nil); err != nil {
				return err
			}
			return refused
		}), refused)
		kept := next(p, func(p *server.Projection) {
			p.Ready = []server.ReadyRow{{RunID: "r_1", StepID: "a", Process: "supplier", Since: at(3)}}
		})
		b.append(kept)
		got := read(b, func(r server.Reader) (server.Projection, error) { return r.Projection("r_1") })
		require.Equal(t, kept.Ready, got.Ready)
	})

	t.Run("OneWriteAppendsTwice", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		p := newRun("r_1", "supplier", epoch)
		second := next(p, func(p *server.Projection) {
			p.Ready = []server.ReadyRow{{RunID: "r_1", StepID: "a", Process: "supplier", Since: epoch}}
		})
		b.write(func(w server.Writer) error {
			if err := w.Append(p, entries("r_1", 1, 1, epoch), nil); err != nil {
				return err
			}
			return w.Append(second, entries("r_1", 2, 1, epoch), nil)
		})
		require.Equal(t, 2, read(b, func(r server.Reader) (server.RunRow, error) { return r.Run("r_1") }).Seq)
	})

	t.Run("WritesNoticesWithTheEntries", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		p := newRun("r_1", "supplier", epoch)
		p.Items = []server.ItemRow{{ID: "w_1", RunID: "r_1", StepID: "c", Process: "supplier", Group: "finance", OpenedAt: epoch}}
		notices := []server.Notice{
			{ID: "n_1", Kind: "assigned", RunID: "r_1", StepID: "c", ItemID: "w_1", Group: "finance", At: at(1)},
			{ID: "n_2", Kind: "ended", RunID: "r_1", Person: "mira@example.com", At: at(2)},
			{ID: "n_3", Kind: "overdue", RunID: "r_1", StepID: "c", ItemID: "w_1", Group: "finance", At: at(2)},
			{ID: "n_4", Kind: "overdue", RunID: "r_1", StepID: "c", ItemID: "w_1", Group: "operators", At: at(3)},
		}
		b.write(func(w server.Writer) error { return w.Append(p, entries("r_1", 1, 1, epoch), notices) })
		list := func(q server.NoticeQuery) []server.NoticeRow {
			return read(b, func(r server.Reader) ([]server.NoticeRow, error) { return r.Notices(q) })
		}
		row := func(i int, open bool) server.NoticeRow {
			return server.NoticeRow{Notice: notices[i], Process: "supplier", State: run.RunActive, Open: open}
		}
		mine := server.NoticeQuery{Person: "mira@example.com", Groups: []string{"finance"}, Limit: 10}
		require.Equal(t, []server.NoticeRow{row(2, true), row(1, false), row(0, true)}, list(mine))
		require.Equal(t, []server.NoticeRow{row(2, true)}, list(server.NoticeQuery{Groups: []string{"finance"}, Limit: 1}))
		require.Empty(t, list(server.NoticeQuery{Limit: 10}))

		p = next(p, func(p *server.Projection) {
			p.Items = nil
			p.Run.State, p.Run.Outcome = run.RunEnded, "declined"
		})
		b.write(func(w server.Writer) error { return w.Append(p, entries("r_1", 2, 1, epoch), nil) })
		for _, n := range list(mine) {
			require.Equal(t, []any{run.RunEnded, "declined", false}, []any{n.State, n.Outcome, n.Open}, "a notice says what became of its run")
		}
	})
}
