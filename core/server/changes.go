package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// Change is one difference in run data between two moments.
type Change struct {
	StepID string
	// Field is "output.total", "summary", "decision", "evidence", …; empty when the whole record came or went.
	Field string
	// Before and After are JSON values; nil where there was or is none.
	Before, After json.RawMessage
	By            string
	At            time.Time
}

// Changes says what changed in a run's data since the snapshot a page showed, oldest first; ok is false when the run
// never had that snapshot.
func (s *Server) Changes(ctx context.Context, id Identity, runID, snapshot string) (changes []Change, ok bool, err error) {
	if id.Kind == Nobody {
		return nil, false, errNobody
	}
	err = s.store.Read(ctx, func(r Reader) error {
		changes, ok = nil, false
		c, err := s.advanced(r, runID)
		if err != nil {
			return err
		}
		entries, err := r.Entries(runID, 0, c.row.Seq)
		if err != nil {
			return fmt.Errorf("reading the journal of run %s: %w", runID, err)
		}
		entries = append(entries, run.Seal(runID, c.row.Seq, c.row.Head, c.fired)...)
		changes, ok, err = changesSince(c.doc, entries, snapshot)
		return err
	})
	return changes, ok, storeError(err)
}

// changesSince folds to the last entry after which run data had that snapshot, and compares its data with the data now.
func changesSince(doc *process.Document, entries []run.Entry, snapshot string) ([]Change, bool, error) {
	var now, then *run.State
	var gone map[int]run.Event // by step, the event that took its record away since then
	for _, e := range entries {
		next, err := run.Apply(doc, now, e.Event)
		if err != nil {
			return nil, false, fmt.Errorf("folding entry %d: %w", e.Seq, err)
		}
		if next.Snapshot(doc) == snapshot {
			then, gone = next, map[int]run.Event{}
		} else if then != nil {
			for i := range next.Steps {
				if now.Steps[i].Current != nil && next.Steps[i].Current == nil {
					gone[i] = e.Event
				}
			}
		}
		now = next
	}
	if then == nil {
		return nil, false, nil
	}
	var changes []Change
	for i := range now.Steps {
		found, err := recordChanges(then.Steps[i].Current, now.Steps[i].Current)
		if err != nil {
			return nil, false, fmt.Errorf("comparing step %s: %w", doc.Steps[i].ID, err)
		}
		by, at := gone[i].By, gone[i].At
		if r := now.Steps[i].Current; r != nil {
			by, at = r.By, r.At
		}
		for _, c := range found {
			c.StepID, c.By, c.At = doc.Steps[i].ID, by, at
			changes = append(changes, c)
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return a.At.Compare(b.At) })
	return changes, true, nil
}

// recordChanges compares two records of one step, either of which may be nil.
func recordChanges(before, after *run.Record) ([]Change, error) {
	if before == nil && after == nil || before == after {
		return nil, nil
	}
	was, err := recordFields(before)
	if err != nil {
		return nil, err
	}
	is, err := recordFields(after)
	if err != nil {
		return nil, err
	}
	if before == nil || after == nil {
		c := Change{}
		if c.Before, err = whole(was); err != nil {
			return nil, err
		}
		c.After, err = whole(is)
		return []Change{c}, err
	}
	var changes []Change
	for _, f := range was {
		if value := is.get(f.name); !bytes.Equal(value, f.value) {
			changes = append(changes, Change{Field: f.name, Before: f.value, After: value})
		}
	}
	for _, f := range is {
		if was.get(f.name) == nil {
			changes = append(changes, Change{Field: f.name, After: f.value})
		}
	}
	if len(changes) > 0 {
		return changes, nil
	}
	// The same again: what changed is when, and perhaps by whom.
	if before.By != after.By {
		changes = append(changes, Change{Field: "by", Before: quoted(before.By), After: quoted(after.By)})
	}
	if !before.At.Equal(after.At) {
		changes = append(changes, Change{Field: "at", Before: quoted(run.Time(before.At).String()), After: quoted(run.Time(after.At).String())})
	}
	return changes, nil
}

// recordField is one field of a record, an output field by itself.
type recordField struct {
	name  string
	value json.RawMessage
}

type recordFieldList []recordField

func (l recordFieldList) get(name string) json.RawMessage {
	for _, f := range l {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

func recordFields(r *run.Record) (recordFieldList, error) {
	var list recordFieldList
	if r == nil {
		return nil, nil
	}
	text := func(name, value string) {
		if value != "" {
			list = append(list, recordField{name, quoted(value)})
		}
	}
	text("decision", r.Decision)
	text("note", r.Note)
	text("summary", r.Summary)
	if len(r.Output) > 0 {
		dec := jsontext.NewDecoder(bytes.NewBuffer(r.Output))
		if _, err := dec.ReadToken(); err != nil {
			return nil, err
		}
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			field := "output." + name.String()
			value, err := dec.ReadValue()
			if err != nil {
				return nil, err
			}
			list = append(list, recordField{field, json.RawMessage(value.Clone())})
		}
	}
	if len(r.Evidence) > 0 {
		b, err := marshal(r.Evidence)
		if err != nil {
			return nil, err
		}
		list = append(list, recordField{"evidence", b})
	}
	text("next", r.Next)
	text("reason", r.Reason)
	return list, nil
}

// whole is a record as one JSON object of its fields; nil for none.
func whole(fields recordFieldList) (json.RawMessage, error) {
	if fields == nil {
		return nil, nil
	}
	var m members
	for _, f := range fields {
		m.add(f.name, f.value)
	}
	return marshal(m)
}

func quoted(s string) json.RawMessage {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		b, _ = json.Marshal(s) // replaces what is not UTF-8
	}
	return b
}
