package server

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// foldedRun is a cached state with the hash of the entry it was folded up to. A run's head names its whole journal, so a
// state is used only where the head stored with the run is the same: one left over from a write that was undone can do
// no harm.
type foldedRun struct {
	state *run.State
	head  []byte
	bytes int // of the journal, the state's weight
}

// entryWeight is what a state weighs for each entry beside the entry's data.
const entryWeight = 300

// versionKey names a published version. Versions never change, so their documents are cached for good.
type versionKey struct {
	process string
	number  int
}

// document returns the parsed document of a published version (0 is the latest).
func (s *Server) document(r Reader, name string, number int) (*process.Document, int, error) {
	if number != 0 {
		if doc, ok := s.documents.get(versionKey{name, number}); ok {
			return doc, number, nil
		}
	}
	v, err := r.Version(name, number)
	if err != nil {
		return nil, 0, err
	}
	key := versionKey{name, v.Number}
	if doc, ok := s.documents.get(key); ok {
		return doc, v.Number, nil
	}
	doc, err := parseStored(v.Source)
	if err != nil {
		return nil, 0, fmt.Errorf("version %d of %s: %w", v.Number, name, err)
	}
	s.documents.put(key, doc, len(v.Source))
	return doc, v.Number, nil
}

// parseStored parses a source that was accepted when it was stored.
func parseStored(source []byte) (*process.Document, error) {
	doc, issues := process.Parse(source, process.Options{})
	if doc == nil {
		return nil, fmt.Errorf("the stored PROCESS.md doesn't parse: %v", errorLines(issues))
	}
	return doc, nil
}

// folded returns a run's document and its state as stored, folding as little of the journal as it can.
func (s *Server) folded(r Reader, row RunRow) (*process.Document, foldedRun, error) {
	doc, _, err := s.document(r, row.Process, row.Version)
	if err != nil {
		return nil, foldedRun{}, fmt.Errorf("loading the process of run %s: %w", row.ID, err)
	}
	cached, ok := s.states.get(row.ID)
	if ok && bytes.Equal(cached.head, row.Head) {
		return doc, cached, nil
	}
	next, err := s.foldOn(r, doc, row, cached)
	if err != nil {
		return nil, foldedRun{}, err
	}
	s.states.put(row.ID, next, next.bytes)
	return doc, next, nil
}

// foldOn folds a run's journal up to row, from the cached state if the journal goes on from there.
func (s *Server) foldOn(r Reader, doc *process.Document, row RunRow, from foldedRun) (foldedRun, error) {
	if from.state != nil && from.state.Seq < row.Seq {
		entries, err := r.Entries(row.ID, from.state.Seq, row.Seq)
		if err != nil {
			return foldedRun{}, fmt.Errorf("reading the journal of run %s: %w", row.ID, err)
		}
		if len(entries) > 0 && run.Verify(row.ID, from.head, entries[0]) {
			return fold(doc, row, from, entries)
		}
	}
	entries, err := r.Entries(row.ID, 0, row.Seq)
	if err != nil {
		return foldedRun{}, fmt.Errorf("reading the journal of run %s: %w", row.ID, err)
	}
	return fold(doc, row, foldedRun{}, entries)
}

// fold applies entries and checks that they end where the run's row says.
func fold(doc *process.Document, row RunRow, from foldedRun, entries []run.Entry) (foldedRun, error) {
	st, err := run.Fold(doc, from.state, entries)
	if err != nil {
		return foldedRun{}, fmt.Errorf("run %s: %w", row.ID, err)
	}
	from.state = st
	for _, e := range entries {
		from.head, from.bytes = e.Hash, from.bytes+len(e.Data)+entryWeight
	}
	if from.state == nil || from.state.Seq != row.Seq || !bytes.Equal(from.head, row.Head) {
		return foldedRun{}, fmt.Errorf("the journal of run %s doesn't end where its row says: see `ap verify`", row.ID)
	}
	return from, nil
}

// foldTo returns a run's state as of one entry of its journal.
func (s *Server) foldTo(r Reader, runID string, seq int) (*process.Document, *run.State, error) {
	row, err := r.Run(runID)
	if err != nil {
		return nil, nil, fmt.Errorf("reading run %s: %w", runID, err)
	}
	if row.Seq == seq {
		doc, now, err := s.folded(r, row)
		return doc, now.state, err
	}
	doc, _, err := s.document(r, row.Process, row.Version)
	if err != nil {
		return nil, nil, fmt.Errorf("loading the process of run %s: %w", runID, err)
	}
	entries, err := r.Entries(runID, 0, seq)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the journal of run %s: %w", runID, err)
	}
	st, err := run.Fold(doc, nil, entries)
	if err != nil {
		return nil, nil, fmt.Errorf("run %s: %w", runID, err)
	}
	if st == nil || st.Seq != seq {
		return nil, nil, fmt.Errorf("the journal of run %s has no entry %d: see `ap verify`", runID, seq)
	}
	return doc, st, nil
}

// env is what a decision needs from outside the run. Time never goes back within a run, whatever the machine's clock
// does.
func (s *Server) env(st *run.State, groups map[string]string) run.Env {
	return run.Env{
		Now:          s.now(st),
		Groups:       groups,
		Operators:    s.opts.Operators,
		Lease:        s.opts.Lease,
		RunDataBytes: s.opts.RunDataBytes,
	}
}

// now is the time for a run: the clock's, or the run's own where that is later.
func (s *Server) now(st *run.State) time.Time {
	now := s.opts.Clock.Now()
	if st != nil && now.Before(st.UpdatedAt) {
		return st.UpdatedAt
	}
	return now
}

// current is a run as a read sees it: every timer that has passed is applied, though perhaps not yet stored.
type current struct {
	row   RunRow
	doc   *process.Document
	state *run.State
	// fired are the events of timers that are not stored yet.
	fired []run.Event
	now   time.Time
}

// advanced reads a run and applies what is past due, without waiting for the writer.
func (s *Server) advanced(r Reader, runID string) (current, error) {
	row, err := r.Run(runID)
	if errors.Is(err, ErrNotFound) {
		return current{}, unknownRun(runID)
	}
	if err != nil {
		return current{}, fmt.Errorf("reading run %s: %w", runID, err)
	}
	doc, stored, err := s.folded(r, row)
	if err != nil {
		return current{}, err
	}
	c := current{row: row, doc: doc, state: stored.state, now: s.now(stored.state)}
	if row.NextTimer == nil || row.NextTimer.After(c.now) {
		return c, nil
	}
	groups, err := s.groups(r, doc)
	if err != nil {
		return current{}, err
	}
	env := s.env(stored.state, groups)
	env.Now = c.now
	c.fired, c.state = run.Advance(doc, stored.state, env)
	return c, nil
}
