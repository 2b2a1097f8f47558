package db

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

type runRow struct {
	ID        string        `db:"id"`
	Process   string        `db:"process"`
	Version   int           `db:"version"`
	Mode      string        `db:"mode"`
	State     string        `db:"state"`
	Outcome   string        `db:"outcome"`
	StartedBy string        `db:"started_by"`
	StartedAt int64         `db:"started_at"`
	UpdatedAt int64         `db:"updated_at"`
	NextTimer sql.NullInt64 `db:"next_timer"`
	Seq       int           `db:"seq"`
	Head      []byte        `db:"head"`
	Inputs    []byte        `db:"inputs"`
}

func (r runRow) row() server.RunRow {
	row := server.RunRow{ID: r.ID, Process: r.Process, Version: r.Version, Mode: run.Mode(r.Mode), State: run.RunState(r.State),
		Outcome: r.Outcome, StartedBy: r.StartedBy, StartedAt: fromMS(r.StartedAt), UpdatedAt: fromMS(r.UpdatedAt),
		Seq: r.Seq, Head: r.Head, NextTimer: fromNullMS(r.NextTimer)}
	if len(r.Inputs) > 0 {
		row.Inputs = json.RawMessage(r.Inputs)
	}
	return row
}

// runStates are the states of runs: the index keeps each apart, and a list of all merges them.
var runStates = []run.RunState{run.RunActive, run.RunWaiting, run.RunEnded, run.RunCancelled}

const (
	// probe is how many rows of a list are counted to find the shortest.
	probe = 1000
	// maxProbes is how many inputs' lists are.
	maxProbes = 8
)

// Runs lists runs by one of several lists that are each in order: those of a process and a state, and those of each
// input's value. The shortest is walked, and the others only looked into.
func (r reader) Runs(q server.RunQuery) ([]server.RunRow, error) {
	rows, err := r.runs(q)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return convert(rows, runRow.row), nil
}

func (r reader) runs(q server.RunQuery) ([]runRow, error) {
	if q.State != "" && !slices.Contains(runStates, q.State) {
		return nil, nil
	}
	if q.Process == "" && len(q.Inputs) > 0 {
		return r.runsOfAll(q)
	}
	var keys [][]byte
	for _, field := range slices.Sorted(maps.Keys(q.Inputs)) {
		keys = append(keys, inputKey(q.Process, field, q.Inputs[field]))
	}
	walk, err := r.shortest(q, keys)
	if err != nil {
		return nil, err
	}
	var b query
	if walk < 0 {
		b.runsByState(q, keys)
	} else {
		keys[0], keys[walk] = keys[walk], keys[0]
		b.runsByInput(q, keys)
	}
	var rows []runRow
	err = r.all(&rows, b.String(), b.args...)
	return rows, err
}

// runsOfAll finds runs by their inputs in each process, and merges what it finds.
func (r reader) runsOfAll(q server.RunQuery) ([]runRow, error) {
	var names []string
	if err := r.all(&names, sqlPublishedNames); err != nil {
		return nil, err
	}
	var rows []runRow
	for _, q.Process = range names {
		part, err := r.runs(q)
		if err != nil {
			return nil, err
		}
		rows = append(rows, part...)
	}
	slices.SortFunc(rows, func(a, b runRow) int { return compare(b.StartedAt, a.StartedAt, b.ID, a.ID) })
	return head(rows, q.Limit), nil
}

// shortest returns the index of the input with the fewest runs, or -1 when fewer runs are in the state asked for.
func (r reader) shortest(q server.RunQuery, keys [][]byte) (int, error) {
	if len(keys) == 0 {
		return -1, nil
	}
	if len(keys) == 1 && q.State == "" {
		return 0, nil
	}
	best, least := -1, math.MaxInt
	if q.State != "" {
		if err := r.get(&least, sqlProbeState, q.Process, string(q.State), probe); err != nil {
			return 0, err
		}
	}
	for i, key := range keys[:min(len(keys), maxProbes)] {
		var n int
		if err := r.get(&n, sqlProbeInput, key, probe); err != nil {
			return 0, err
		}
		if n < least {
			best, least = i, n
		}
	}
	return best, nil
}

func (b *query) runsByState(q server.RunQuery, keys [][]byte) {
	started, id := b.before(q)
	states := runStates
	if q.State != "" {
		states = []run.RunState{q.State}
	}
	var process string
	if q.Process != "" {
		process = b.arg(q.Process)
	}
	has := b.hasInputs("r.started_at", "r.id", keys)
	for i, state := range states {
		if i > 0 {
			b.WriteString(" UNION ALL ")
		}
		b.WriteString("SELECT " + runCols + " FROM runs r CROSS JOIN run_starts s WHERE s.run_id = r.id AND ")
		if process != "" {
			b.WriteString("r.process = " + process + " AND ")
		}
		b.WriteString("r.state = '" + string(state) + "' AND (r.started_at, r.id) < (" + started + ", " + id + ")" + has)
	}
	b.WriteString(" ORDER BY started_at DESC, id DESC LIMIT " + b.arg(q.Limit))
}

// runsByInput walks the runs of the first input.
func (b *query) runsByInput(q server.RunQuery, keys [][]byte) {
	started, id := b.before(q)
	b.WriteString("SELECT " + runCols + " FROM run_inputs i CROSS JOIN runs r CROSS JOIN run_starts s" +
		" WHERE i.key = " + b.arg(keys[0]) + " AND (i.started_at, i.run_id) < (" + started + ", " + id + ")" +
		b.hasInputs("i.started_at", "i.run_id", keys[1:]) + " AND r.id = i.run_id AND s.run_id = i.run_id")
	if q.State != "" {
		b.WriteString(" AND r.state = " + b.arg(string(q.State)))
	}
	b.WriteString(" ORDER BY i.started_at DESC, i.run_id DESC LIMIT " + b.arg(q.Limit))
}

func (b *query) before(q server.RunQuery) (started, id string) {
	at := int64(math.MaxInt64)
	if q.AfterID != "" || !q.AfterStarted.IsZero() {
		at = ms(q.AfterStarted)
	}
	return b.arg(at), b.arg(q.AfterID)
}

// hasInputs asks for a run that has all keys. They are one argument, so that the statement is the same for any number.
func (b *query) hasInputs(started, id string, keys [][]byte) string {
	if len(keys) == 0 {
		return ""
	}
	list := make([]string, len(keys))
	for i, key := range keys {
		list[i] = `"` + hex.EncodeToString(key) + `"`
	}
	return " AND NOT EXISTS (SELECT 1 FROM json_each(" + b.arg("["+strings.Join(list, ",")+"]") + ") k WHERE NOT EXISTS " +
		"(SELECT 1 FROM run_inputs x WHERE x.key = unhex(k.value) AND x.started_at = " + started + " AND x.run_id = " + id + "))"
}

// inputKey is what runs are found by: a hash over the process, the field and the value's canonical JSON. Each is
// preceded by its length, so that no two inputs run together.
func inputKey(process, field, value string) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s%d:%s%s", len(process), process, len(field), field, value)
	return h.Sum(nil)[:16]
}

type readyRow struct {
	RunID   string `db:"run_id"`
	StepID  string `db:"step_id"`
	Process string `db:"process"`
	Since   int64  `db:"since"`
}

func (r readyRow) row() server.ReadyRow {
	return server.ReadyRow{RunID: r.RunID, StepID: r.StepID, Process: r.Process, Since: fromMS(r.Since)}
}

func (r reader) Ready(q server.ReadyQuery) ([]server.ReadyRow, error) {
	processes := q.Processes
	if q.Process != "" {
		if processes != nil && !slices.Contains(processes, q.Process) {
			return nil, nil
		}
		processes = []string{q.Process}
	}
	if processes != nil {
		processes = slices.Compact(slices.Sorted(slices.Values(processes)))
		if len(processes) == 0 {
			return nil, nil
		}
	}
	var rows []readyRow
	for chunk := range chunks(processes) {
		var b query
		after := "(" + b.arg(ms(q.After.Since)) + ", " + b.arg(q.After.RunID) + ", " + b.arg(q.After.StepID) + ")"
		const order = "since, run_id, step_id"
		sel := "SELECT run_id, step_id, process, since FROM ready WHERE (" + order + ") > " + after
		if processes == nil {
			b.WriteString(sel + " ORDER BY " + order + " LIMIT " + b.arg(q.Limit))
		} else {
			b.merged(chunk, "", order, q.Limit, func(process string) { b.WriteString(sel + " AND process = " + process) })
		}
		var part []readyRow
		if err := r.all(&part, b.String(), b.args...); err != nil {
			return nil, fmt.Errorf("list ready steps: %w", err)
		}
		rows = append(rows, part...)
	}
	if len(processes) > mergeWidth {
		slices.SortFunc(rows, func(a, b readyRow) int {
			return compare(a.Since, b.Since, a.RunID, b.RunID, a.StepID, b.StepID)
		})
	}
	return convert(head(rows, q.Limit), readyRow.row), nil
}

type itemRow struct {
	RunID     string        `db:"run_id"`
	ID        string        `db:"id"`
	StepID    string        `db:"step_id"`
	Process   string        `db:"process"`
	Assignee  string        `db:"assignee"`
	OpenedAt  int64         `db:"opened_at"`
	Due       sql.NullInt64 `db:"due"`
	Escalated bool          `db:"escalated"`
	Test      bool          `db:"test"`
	Search    string        `db:"search"`
}

func (r itemRow) row() server.ItemRow {
	row := server.ItemRow{ID: r.ID, RunID: r.RunID, StepID: r.StepID, Process: r.Process, OpenedAt: fromMS(r.OpenedAt),
		Due: fromNullMS(r.Due), Escalated: r.Escalated, Test: r.Test, Search: r.Search}
	row.Group, row.Person = assigned(r.Assignee)
	return row
}

// Items walks the open items of each assignee in order; the filters apply within these.
func (r reader) Items(q server.ItemQuery) ([]server.ItemRow, error) {
	var rows []itemRow
	assignees := assignees(q.Person, q.Groups)
	for chunk := range chunks(assignees) {
		if len(chunk) == 0 {
			break
		}
		var b query
		where := b.itemFilter(q)
		b.merged(chunk, "", "opened_at, id", q.Limit, func(assignee string) {
			b.WriteString("SELECT " + itemCols + " FROM items WHERE assignee = " + assignee + where)
		})
		var part []itemRow
		if err := r.all(&part, b.String(), b.args...); err != nil {
			return nil, fmt.Errorf("list work items: %w", err)
		}
		rows = append(rows, part...)
	}
	if len(assignees) > mergeWidth {
		slices.SortFunc(rows, func(a, b itemRow) int { return compare(a.OpenedAt, b.OpenedAt, a.ID, b.ID) })
	}
	return convert(head(rows, q.Limit), itemRow.row), nil
}

// maxSearchWords bounds a search; each word has to be found.
const maxSearchWords = 8

func (b *query) itemFilter(q server.ItemQuery) string {
	after := "(" + b.arg(ms(q.AfterOpened)) + ", " + b.arg(q.AfterID) + ")"
	var s strings.Builder
	if q.Overdue != nil {
		// Overdue items are few: they are found by their due time, and the unary plus keeps the key from choosing the index.
		s.WriteString(" AND due <= " + b.arg(ms(*q.Overdue)) + " AND (+opened_at, id) > " + after)
	} else {
		s.WriteString(" AND (opened_at, id) > " + after)
	}
	if q.Process != "" {
		s.WriteString(" AND process = " + b.arg(q.Process))
	}
	if q.Mode != "" {
		s.WriteString(" AND test = " + b.arg(btoi(q.Mode == run.Test)))
	}
	words := strings.Fields(strings.ToLower(q.Search))
	for _, word := range words[:min(len(words), maxSearchWords)] {
		s.WriteString(" AND instr(search, " + b.arg(word) + ") > 0")
	}
	return s.String()
}

type noticeRow struct {
	Assignee string `db:"assignee"`
	At       int64  `db:"at"`
	ID       string `db:"id"`
	Kind     string `db:"kind"`
	RunID    string `db:"run_id"`
	StepID   string `db:"step_id"`
	ItemID   string `db:"item_id"`
	Process  string `db:"process"`
	State    string `db:"state"`
	Outcome  string `db:"outcome"`
	Open     bool   `db:"open"`
}

func (r noticeRow) row() server.NoticeRow {
	n := server.NoticeRow{
		Notice:  server.Notice{ID: r.ID, Kind: r.Kind, RunID: r.RunID, StepID: r.StepID, ItemID: r.ItemID, At: fromMS(r.At)},
		Process: r.Process, State: run.RunState(r.State), Outcome: r.Outcome, Open: r.Open,
	}
	n.Group, n.Person = assigned(r.Assignee)
	return n
}

// selectNotices reads each notice's run and item by their keys; CROSS JOIN keeps the notices, which are in order, outermost.
const selectNotices = "SELECT n.assignee AS assignee, n.at AS at, n.id AS id, n.kind AS kind, n.run_id AS run_id, n.step_id AS step_id, " +
	"n.item_id AS item_id, r.process AS process, r.state AS state, r.outcome AS outcome, i.id IS NOT NULL AS open " +
	"FROM notices n CROSS JOIN runs r ON r.id = n.run_id LEFT JOIN items i ON i.run_id = n.run_id AND i.id = n.item_id WHERE n.assignee = "

func (r reader) Notices(q server.NoticeQuery) ([]server.NoticeRow, error) {
	var rows []noticeRow
	assignees := assignees(q.Person, q.Groups)
	for chunk := range chunks(assignees) {
		if len(chunk) == 0 {
			break
		}
		var b query
		b.merged(chunk, "", "at DESC, id DESC", q.Limit, func(assignee string) {
			b.WriteString(selectNotices + assignee)
		})
		var part []noticeRow
		if err := r.all(&part, b.String(), b.args...); err != nil {
			return nil, fmt.Errorf("list notices: %w", err)
		}
		rows = append(rows, part...)
	}
	if len(assignees) > mergeWidth {
		slices.SortFunc(rows, func(a, b noticeRow) int { return compare(b.At, a.At, b.ID, a.ID) })
	}
	return convert(head(rows, q.Limit), noticeRow.row), nil
}
