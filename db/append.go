package db

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

// projection is a run's stored projection as the writer remembers it: enough to write only what changes.
type projection struct {
	row   server.RunRow
	ready []server.ReadyRow
	items []server.ItemRow
}

// maxRemembered is the size in bytes up to which the writer remembers a projection.
const maxRemembered = 8 << 10

// remember keeps a projection for the run's next write. What is remembered is right until another process writes (look)
// or the transaction is rolled back (rollback): both forget everything.
func (w *writer) remember(p *projection) {
	size := len(p.row.Inputs)
	for _, i := range p.items {
		size += 200 + len(i.Search)
	}
	if size > maxRemembered {
		w.known.Remove(p.row.ID)
		return
	}
	w.known.Add(p.row.ID, p)
}

// Run returns the projection of a run, from memory if it can.
func (t *tx) Run(id string) (server.RunRow, error) {
	if p, ok := t.w.known.Get(id); ok {
		return p.row, nil
	}
	return t.reader.Run(id)
}

// Append writes entries and the projection after them: of the rows only those that change.
func (t *tx) Append(p server.Projection, entries []run.Entry, notices []server.Notice) error {
	if err := checkAppend(p, entries); err != nil {
		return err
	}
	id := p.Run.ID
	now := &projection{row: p.Run, ready: p.Ready, items: p.Items}
	old := &projection{}
	var err error
	if entries[0].Seq == 1 {
		err = t.start(p)
	} else if old, err = t.before(id, entries[0].Seq-1); err == nil {
		now.row, err = t.update(old.row, p.Run)
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, err := t.exec(sqlPutEntry, id, e.Seq, ms(e.At), e.Type, e.V, e.By, e.Hash, string(e.Data)); err != nil {
			return fmt.Errorf("journal of run %s: %w", id, err)
		}
	}
	if err := t.putReady(old.ready, p.Ready); err != nil {
		return fmt.Errorf("ready steps of run %s: %w", id, err)
	}
	if err := t.putItems(old.items, p.Items); err != nil {
		return fmt.Errorf("work items of run %s: %w", id, err)
	}
	for _, n := range notices {
		if _, err := t.exec(sqlPutNotice, assignee(n.Group, n.Person), ms(n.At), n.ID, n.Kind, n.RunID, n.StepID,
			n.ItemID); err != nil {
			return fmt.Errorf("notice of run %s: %w", id, err)
		}
	}
	t.w.remember(now)
	return nil
}

// checkAppend refuses what can't be a run's next entries and the projection after them.
func checkAppend(p server.Projection, entries []run.Entry) error {
	id := p.Run.ID
	if len(entries) == 0 {
		return fmt.Errorf("append to run %s: no entries", id)
	}
	for i, e := range entries {
		if e.Seq != entries[0].Seq+i || e.Seq < 1 {
			return fmt.Errorf("append to run %s: entry %d follows entry %d", id, e.Seq, entries[0].Seq+i-1)
		}
	}
	if last := entries[len(entries)-1]; p.Run.Seq != last.Seq || string(p.Run.Head) != string(last.Hash) {
		return fmt.Errorf("append to run %s: the projection is that of entry %d, the last entry is %d", id, p.Run.Seq, last.Seq)
	}
	for _, r := range p.Ready {
		if r.RunID != id {
			return fmt.Errorf("append to run %s: a ready step of run %s", id, r.RunID)
		}
	}
	for _, i := range p.Items {
		if i.RunID != id || (i.Group == "") == (i.Person == "") {
			return fmt.Errorf("append to run %s: work item %s is of run %s, group %q and person %q", id, i.ID, i.RunID, i.Group,
				i.Person)
		}
	}
	return nil
}

// start writes the rows of a new run.
func (t *tx) start(p server.Projection) error {
	r := p.Run
	_, err := t.exec(sqlPutRun, r.ID, r.Process, r.Version, string(r.Mode), string(r.State), r.Outcome, r.StartedBy,
		ms(r.StartedAt), ms(r.UpdatedAt), msOrNull(r.NextTimer), r.Seq, r.Head)
	if isConstraint(err) {
		var n int
		if t.get(&n, sqlHasRun, r.ID) == nil && n > 0 {
			return fmt.Errorf("start run %s: %w", r.ID, server.ErrConflict)
		}
	}
	if err != nil {
		return fmt.Errorf("start run %s: %w", r.ID, err)
	}
	values, err := json.Marshal(p.Inputs)
	if err != nil {
		return fmt.Errorf("inputs of run %s: %w", r.ID, err)
	}
	if _, err := t.exec(sqlPutStart, r.ID, string(r.Inputs), string(values)); err != nil {
		return fmt.Errorf("inputs of run %s: %w", r.ID, err)
	}
	for field, value := range p.Inputs {
		if _, err := t.exec(sqlPutInput, inputKey(r.Process, field, value), ms(r.StartedAt), r.ID); err != nil {
			return fmt.Errorf("inputs of run %s: %w", r.ID, err)
		}
	}
	return nil
}

// before returns the stored projection, whose last entry has to be number seq.
func (t *tx) before(id string, seq int) (*projection, error) {
	old, ok := t.w.known.Get(id)
	if !ok {
		old = &projection{}
		var err error
		if old.row, err = t.reader.Run(id); err != nil {
			return nil, err
		}
		if old.ready, err = t.readyOf(id); err != nil {
			return nil, err
		}
		if old.items, err = t.itemsOf(id); err != nil {
			return nil, err
		}
	}
	if old.row.Seq != seq {
		return nil, fmt.Errorf("append entry %d to run %s after entry %d: %w", seq+1, id, old.row.Seq, server.ErrConflict)
	}
	return old, nil
}

// update writes what may change of a run, and returns the row as it then is.
func (t *tx) update(old, now server.RunRow) (server.RunRow, error) {
	row := old
	row.State, row.Outcome, row.UpdatedAt, row.NextTimer, row.Seq, row.Head = now.State, now.Outcome, now.UpdatedAt,
		now.NextTimer, now.Seq, now.Head
	state, timer := row.State != old.State, nullMS(row.NextTimer) != nullMS(old.NextTimer)
	args := []any{row.ID, old.Seq, old.Head, ms(row.UpdatedAt), row.Seq, row.Head, row.Outcome}
	if state {
		args = append(args, string(row.State))
	}
	if timer {
		args = append(args, msOrNull(row.NextTimer))
	}
	err := t.one(sqlUpdateRun[[2]bool{state, timer}], args...)
	if errors.Is(err, server.ErrNotFound) {
		err = server.ErrConflict
	}
	if err != nil {
		return row, fmt.Errorf("append to run %s: %w", row.ID, err)
	}
	return row, nil
}

func (t *tx) putReady(old, now []server.ReadyRow) error {
	for _, r := range old {
		if !containsRow(now, r, sameReady) {
			if _, err := t.exec(sqlDelReady, r.RunID, r.StepID); err != nil {
				return err
			}
		}
	}
	for _, r := range now {
		if !containsRow(old, r, sameReady) {
			if _, err := t.exec(sqlPutReady, r.RunID, r.StepID, r.Process, ms(r.Since)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tx) putItems(old, now []server.ItemRow) error {
	for _, i := range old {
		if !containsRow(now, i, sameItem) {
			if _, err := t.exec(sqlDelItem, i.RunID, i.ID); err != nil {
				return err
			}
		}
	}
	for _, i := range now {
		if containsRow(old, i, sameItem) {
			continue
		}
		if _, err := t.exec(sqlPutItem, i.RunID, i.ID, i.StepID, i.Process, assignee(i.Group, i.Person), ms(i.OpenedAt),
			msOrNull(i.Due), i.Escalated, i.Test, i.Search); err != nil {
			return err
		}
	}
	return nil
}

func containsRow[T any](rows []T, row T, same func(a, b T) bool) bool {
	for _, r := range rows {
		if same(r, row) {
			return true
		}
	}
	return false
}

func sameReady(a, b server.ReadyRow) bool {
	return a.RunID == b.RunID && a.StepID == b.StepID && a.Process == b.Process && ms(a.Since) == ms(b.Since)
}

func sameItem(a, b server.ItemRow) bool {
	return a.ID == b.ID && a.StepID == b.StepID && a.Process == b.Process && a.Group == b.Group && a.Person == b.Person &&
		ms(a.OpenedAt) == ms(b.OpenedAt) && nullMS(a.Due) == nullMS(b.Due) && a.Escalated == b.Escalated && a.Test == b.Test &&
		a.Search == b.Search
}
