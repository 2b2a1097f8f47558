package storetest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

func runIDs(b *bundle, q server.RunQuery) []string {
	b.t.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	return ids(read(b, func(r server.Reader) ([]server.RunRow, error) { return r.Runs(q) }),
		func(r server.RunRow) string { return r.ID })
}

func testRuns(t *testing.T, open Open) {
	t.Run("ReturnsARunAsItWasWritten", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		p := newRun("r_1", "supplier", epoch)
		p.Run.Mode, p.Run.State, p.Run.Outcome, p.Run.NextTimer = run.Test, run.RunEnded, "approved", ptr(at(5))
		b.start(p)
		require.Equal(t, p.Run, read(b, func(r server.Reader) (server.RunRow, error) { return r.Run("r_1") }))
		require.Equal(t, []server.RunRow{p.Run}, read(b, func(r server.Reader) ([]server.RunRow, error) {
			return r.Runs(server.RunQuery{Limit: 1})
		}))
		_, err := tryRead(b, func(r server.Reader) (server.RunRow, error) { return r.Run("r_2") })
		require.ErrorIs(t, err, server.ErrNotFound)
		_, err = tryRead(b, func(r server.Reader) (server.Projection, error) { return r.Projection("r_2") })
		require.ErrorIs(t, err, server.ErrNotFound)
	})

	t.Run("ListsByProcessStateAndInputs", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		states := []run.RunState{run.RunActive, run.RunWaiting, run.RunEnded, run.RunCancelled}
		type key struct {
			process string
			state   run.RunState
			vendor  string
			urgent  string
		}
		keys := map[string]key{}
		var all []string
		for i := range 64 {
			k := key{[]string{"supplier", "hiring"}[i%2], states[i/2%4], []string{`"ada"`, `"bo"`}[i/8%2], []string{"true", "false"}[i/16%2]}
			id := fmt.Sprintf("r_%02d", i)
			p := newRun(id, k.process, at(i/3)) // three runs at the same time each
			p.Run.State = k.state
			p.Inputs = map[string]string{"vendor": k.vendor, "urgent": k.urgent}
			b.start(p)
			keys[id] = k
			all = append([]string{id}, all...)
		}
		for _, process := range []string{"", "supplier", "hiring", "nothing"} {
			for _, state := range append([]run.RunState{"", "nothing"}, states...) {
				for _, inputs := range []map[string]string{nil, {"vendor": `"ada"`}, {"urgent": "true", "vendor": `"bo"`}, {"vendor": `"cy"`},
					{"nothing": "1"}} {
					want := []string{}
					for _, id := range all {
						k := keys[id]
						if (process == "" || process == k.process) && (state == "" || state == k.state) && inputs["nothing"] == "" &&
							(inputs["vendor"] == "" || inputs["vendor"] == k.vendor) && (inputs["urgent"] == "" || inputs["urgent"] == k.urgent) {
							want = append(want, id)
						}
					}
					q := server.RunQuery{Process: process, State: state, Inputs: inputs}
					require.Equal(t, want, runIDs(b, q), "%v", q)
				}
			}
		}
	})

	t.Run("PagesWithoutGapOrRepeat", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		for i := range 30 {
			p := newRun(fmt.Sprintf("r_%02d", i), "supplier", at(i/7))
			if i%2 == 0 {
				p.Run.State = run.RunEnded
			}
			b.start(p)
		}
		for name, q := range map[string]server.RunQuery{"all": {}, "by process": {Process: "supplier"}, "by state": {State: run.RunEnded},
			"by input": {Inputs: map[string]string{"total": "48000"}}} {
			want := runIDs(b, q)
			require.NotEmpty(t, want, name)
			var got []string
			q.Limit = 4
			for {
				page := read(b, func(r server.Reader) ([]server.RunRow, error) { return r.Runs(q) })
				if len(page) == 0 {
					break
				}
				require.LessOrEqual(t, len(page), 4)
				got = append(got, ids(page, func(r server.RunRow) string { return r.ID })...)
				q.AfterStarted, q.AfterID = page[len(page)-1].StartedAt, page[len(page)-1].ID
			}
			require.Equal(t, want, got, name)
		}
	})

	t.Run("AStateThatChangesMovesTheRun", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		p := newRun("r_1", "supplier", epoch)
		b.start(p)
		b.append(next(p, func(p *server.Projection) { p.Run.State = run.RunWaiting }))
		require.Empty(t, runIDs(b, server.RunQuery{State: run.RunActive}))
		require.Equal(t, []string{"r_1"}, runIDs(b, server.RunQuery{State: run.RunWaiting, Process: "supplier"}))
	})

	t.Run("AnInputsValueIsFoundWhateverItsLength", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		long, err := json.Marshal(string(make([]byte, 100_000)))
		require.NoError(t, err)
		p := newRun("r_1", "supplier", epoch)
		p.Inputs = map[string]string{"a": string(long), "ab": `"c"`, "": "1"}
		b.start(p)
		require.Equal(t, []string{"r_1"}, runIDs(b, server.RunQuery{Inputs: map[string]string{"a": string(long)}}))
		require.Equal(t, []string{"r_1"}, runIDs(b, server.RunQuery{Inputs: map[string]string{"": "1"}}))
		require.Empty(t, runIDs(b, server.RunQuery{Inputs: map[string]string{"a": `b"c"`}}))
	})

	t.Run("AsksForAnyNumberOfInputs", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		p := newRun("r_1", "supplier", epoch)
		p.Inputs = map[string]string{}
		for i := range 3000 {
			p.Inputs[fmt.Sprint("field-", i)] = fmt.Sprint(i)
		}
		b.start(p)
		b.start(newRun("r_2", "supplier", epoch))
		require.Equal(t, []string{"r_1"}, runIDs(b, server.RunQuery{Inputs: p.Inputs, Process: "supplier"}))
		require.Equal(t, []string{"r_1"}, runIDs(b, server.RunQuery{Inputs: p.Inputs, State: run.RunActive}))
		p.Inputs["field-2999"] = "0"
		require.Empty(t, runIDs(b, server.RunQuery{Inputs: p.Inputs}))
	})

	t.Run("ListsDueRunsEarliestFirst", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		due := func(now time.Time, limit int) []string {
			return read(b, func(r server.Reader) ([]string, error) { return r.DueRuns(now, limit) })
		}
		timer := func() *time.Time { return read(b, func(r server.Reader) (*time.Time, error) { return r.NextTimer() }) }
		require.Nil(t, timer())
		b.start(newRun("r_0", "supplier", epoch))
		require.Nil(t, timer())
		for i, minute := range []int{30, 10, 20} {
			p := newRun(fmt.Sprint("r_", i+1), "supplier", epoch)
			p.Run.NextTimer = ptr(at(minute))
			b.start(p)
		}
		require.Equal(t, ptr(at(10)), timer())
		require.Empty(t, due(at(9), 10))
		require.Equal(t, []string{"r_2"}, due(at(10), 10))
		require.Equal(t, []string{"r_2", "r_3", "r_1"}, due(at(60), 10))
		require.Equal(t, []string{"r_2", "r_3"}, due(at(60), 2))

		p := newRun("r_2", "supplier", epoch)
		b.append(next(p, func(p *server.Projection) { p.Run.NextTimer = nil }))
		require.Equal(t, []string{"r_3", "r_1"}, due(at(60), 10))
		require.Equal(t, ptr(at(20)), timer())
	})

	t.Run("ListsAllRunIDs", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		for _, id := range []string{"r_b", "r_a", "r_c"} {
			b.start(newRun(id, "supplier", epoch))
		}
		require.Equal(t, []string{"r_a", "r_b"}, read(b, func(r server.Reader) ([]string, error) { return r.RunIDs("", 2) }))
		require.Equal(t, []string{"r_c"}, read(b, func(r server.Reader) ([]string, error) { return r.RunIDs("r_b", 2) }))
	})

	t.Run("CountsOpenWork", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		for i, state := range []run.RunState{run.RunActive, run.RunWaiting, run.RunEnded, run.RunCancelled} {
			p := newRun(fmt.Sprint("r_", i), "supplier", epoch)
			p.Run.State = state
			if state == run.RunActive {
				p.Ready = []server.ReadyRow{{RunID: p.Run.ID, StepID: "a", Process: "supplier", Since: epoch}}
			}
			if state == run.RunWaiting {
				p.Items = []server.ItemRow{{ID: "w_1", RunID: p.Run.ID, StepID: "b", Process: "supplier", Group: "finance", OpenedAt: epoch}}
			}
			b.start(p)
		}
		require.Equal(t, server.Counts{OpenItems: 1, ReadySteps: 1, ActiveRuns: 2},
			read(b, func(r server.Reader) (server.Counts, error) { return r.Counts() }))
	})
}
