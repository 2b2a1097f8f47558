package db

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

// projection is what the writer knows of a run's stored projection: enough to write only what changes.
type projection struct {
	state     run.RunState
	nextTimer sql.NullInt64
	seq       int
	head      []byte
	ready     []server.ReadyRow
	items     []server.ItemRow
}

// Append writes entries and the projection after them. What the projection was before comes from the writer's memory if it
// is still what the database holds, which its last entry's number and hash say.
func (t *tx) Append(p server.Projection, entries []run.Entry, notices []server.Notice) error {
	if err := checkAppend(p, entries); err != nil {
		return err
	}
	t.touched = append(t.touched, p.Run.ID)
	old := &projection{}
	var err error
	if entries[0].Seq == 1 {
		err = t.start(p)
	} else if old, err = t.before(p.Run.ID, entries[0].Seq-1); err == nil {
		err = t.update(p, old)
	}
	if err != nil {
		return err
	}
	if err := t.putEntries(p.Run.ID, entries); err != nil {
		return err
	}
	if err := t.putReady(old.ready, p.Ready); err != nil {
		return fmt.Errorf("ready steps of run %s: %w", p.Run.ID, err)
	}
	if err := t.putItems(old.items, p.Items); err != nil {
		return fmt.Errorf("work items of run %s: %w", p.Run.ID, err)
	}
	for _, n := range notices {
		if _, err := t.exec(sqlPutNotice, assignee(n.Group, n.Person), ms(n.At), n.ID, n.Kind, n.RunID, n.StepID,
			n.ItemID); err != nil {
			return fmt.Errorf("notice of run %s: %w", p.Run.ID, err)
		}
	}
	t.w.known.Add(p.Run.ID, &projection{state: p.Run.State, nextTimer: nullMS(p.Run.NextTimer), seq: p.Run.Seq,
		head: p.Run.Head, ready: p.Ready, items: p.Items})
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
		for _, key := range inputKeys(r.Process, field, value) {
			if _, err := t.exec(sqlPutInput, key, ms(r.StartedAt), r.ID); err != nil {
				return fmt.Errorf("inputs of run %s: %w", r.ID, err)
			}
		}
	}
	return nil
}

// before returns the stored projection, whose last entry has to be number seq.
func (t *tx) before(id string, seq int) (*projection, error) {
	if old, ok := t.w.known.Get(id); ok && old.seq == seq {
		return old, nil
	}
	var row struct {
		State     string        `db:"state"`
		NextTimer sql.NullInt64 `db:"next_timer"`
		Seq       int           `db:"seq"`
		Head      []byte        `db:"head"`
	}
	if err := t.get(&row, sqlRunHead, id); err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	if row.Seq != seq {
		return nil, fmt.Errorf("append entry %d to run %s after entry %d: %w", seq+1, id, row.Seq, server.ErrConflict)
	}
	old := &projection{state: run.RunState(row.State), nextTimer: row.NextTimer, seq: row.Seq, head: row.Head}
	var err error
	if old.ready, err = t.readyOf(id); err != nil {
		return nil, err
	}
	if old.items, err = t.itemsOf(id); err != nil {
		return nil, err
	}
	return old, nil
}

func (t *tx) update(p server.Projection, old *projection) error {
	r := p.Run
	state, timer := r.State != old.state, nullMS(r.NextTimer) != old.nextTimer
	args := []any{r.ID, old.seq, old.head, ms(r.UpdatedAt), r.Seq, r.Head, r.Outcome}
	if state {
		args = append(args, string(r.State))
	}
	if timer {
		args = append(args, msOrNull(r.NextTimer))
	}
	res, err := t.exec(sqlUpdateRun(state, timer), args...)
	if err != nil {
		return fmt.Errorf("run %s: %w", r.ID, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("run %s: %w", r.ID, err)
	}
	if n == 1 {
		return nil
	}
	// Another process has written since this one remembered. Look again, once.
	if _, ok := t.w.known.Get(r.ID); ok {
		t.w.known.Remove(r.ID)
		fresh, err := t.before(r.ID, old.seq)
		if err != nil {
			return err
		}
		*old = *fresh
		return t.update(p, old)
	}
	return fmt.Errorf("append to run %s: %w", r.ID, server.ErrConflict)
}

func (t *tx) putEntries(runID string, entries []run.Entry) error {
	for len(entries) > 0 {
		n := min(len(entries), maxEntryRows)
		args := make([]any, 0, 8*maxEntryRows)
		for _, e := range entries[:n] {
			args = append(args, runID, e.Seq, ms(e.At), e.Type, e.V, e.By, e.Hash, string(e.Data))
		}
		if _, err := t.exec(sqlPutEntries[n], args...); err != nil {
			return fmt.Errorf("journal of run %s: %w", runID, err)
		}
		entries = entries[n:]
	}
	return nil
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
