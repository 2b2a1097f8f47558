package db

import (
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

// reader is a server.Reader on one connection. The lists are in lists.go.
type reader struct{ *conn }

type processRow struct {
	Name        string `db:"name"`
	DraftHash   string `db:"draft_hash"`
	DraftSource []byte `db:"draft_source"`
	DraftAt     int64  `db:"draft_at"`
	Latest      int    `db:"latest"`
}

func (r processRow) row() server.ProcessRow {
	return server.ProcessRow{Name: r.Name, DraftHash: r.DraftHash, DraftSource: r.DraftSource, DraftAt: fromMS(r.DraftAt),
		Latest: r.Latest}
}

func (r reader) Processes(published bool, after string, limit int) ([]server.ProcessRow, error) {
	q := sqlProcesses
	if published {
		q = sqlPublished
	}
	var rows []processRow
	if err := r.all(&rows, q, after, limit); err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	return convert(rows, processRow.row), nil
}

func (r reader) Process(name string) (server.ProcessRow, error) {
	var row processRow
	if err := r.get(&row, sqlProcess, name); err != nil {
		return server.ProcessRow{}, fmt.Errorf("process %s: %w", name, err)
	}
	return row.row(), nil
}

func (r reader) ProcessNames(published bool) ([]string, error) {
	q := sqlNames
	if published {
		q = sqlPublishedNames
	}
	names := []string{}
	if err := r.all(&names, q); err != nil {
		return nil, fmt.Errorf("names of processes: %w", err)
	}
	return names, nil
}

func (r reader) Latest(process string) (int, error) {
	var latest int
	if err := r.get(&latest, sqlLatest, process); err != nil {
		return 0, fmt.Errorf("latest version of %s: %w", process, err)
	}
	return latest, nil
}

type versionRow struct {
	Process     string `db:"process"`
	Number      int    `db:"number"`
	Hash        string `db:"hash"`
	Source      []byte `db:"source"`
	PublishedAt int64  `db:"published_at"`
	PublishedBy string `db:"published_by"`
}

func (r versionRow) row() server.Version {
	return server.Version{Process: r.Process, Number: r.Number, Hash: r.Hash, Source: r.Source,
		PublishedAt: fromMS(r.PublishedAt), PublishedBy: r.PublishedBy}
}

func (r reader) Version(process string, number int) (server.Version, error) {
	var row versionRow
	var err error
	if number == 0 {
		err = r.get(&row, sqlLatestVersion, process)
	} else {
		err = r.get(&row, sqlVersion, process, number)
	}
	if err != nil {
		return server.Version{}, fmt.Errorf("version %d of %s: %w", number, process, err)
	}
	return row.row(), nil
}

func (r reader) Versions(process string) ([]server.Version, error) {
	var rows []versionRow
	if err := r.all(&rows, sqlVersions, process); err != nil {
		return nil, fmt.Errorf("list versions of %s: %w", process, err)
	}
	return convert(rows, versionRow.row), nil
}

func (r reader) Bindings(process string) (map[string]string, error) {
	var rows []struct {
		Role  string `db:"role"`
		Group string `db:"group_name"`
	}
	if err := r.all(&rows, sqlBindings, process); err != nil {
		return nil, fmt.Errorf("bindings of %s: %w", process, err)
	}
	m := make(map[string]string, len(rows))
	for _, row := range rows {
		m[row.Role] = row.Group
	}
	return m, nil
}

func (r reader) Run(id string) (server.RunRow, error) {
	var row runRow
	if err := r.get(&row, sqlRun, id); err != nil {
		return server.RunRow{}, fmt.Errorf("run %s: %w", id, err)
	}
	return row.row(), nil
}

func (r reader) Entries(runID string, after, until int) ([]run.Entry, error) {
	if until == 0 {
		until = math.MaxInt64
	}
	s, err := r.stmt(sqlEntries)
	if err != nil {
		return nil, err
	}
	rows, err := s.Query(runID, after, until)
	if err != nil {
		return nil, fmt.Errorf("journal of run %s: %w", runID, classify(err))
	}
	defer rows.Close()
	var entries []run.Entry
	for rows.Next() {
		var e run.Entry
		var at int64
		if err := rows.Scan(&e.Seq, &at, &e.Type, &e.V, &e.By, &e.Hash, (*[]byte)(&e.Data)); err != nil {
			return nil, fmt.Errorf("journal of run %s: %w", runID, classify(err))
		}
		e.At = fromMS(at)
		entries = append(entries, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("journal of run %s: %w", runID, classify(err))
	}
	return entries, nil
}

func (r reader) Projection(runID string) (server.Projection, error) {
	var p server.Projection
	var err error
	if p.Run, err = r.Run(runID); err != nil {
		return p, err
	}
	if p.Ready, err = r.readyOf(runID); err != nil {
		return p, err
	}
	if p.Items, err = r.itemsOf(runID); err != nil {
		return p, err
	}
	var values string
	if err := r.get(&values, sqlInputsOf, runID); err != nil {
		return p, fmt.Errorf("inputs of run %s: %w", runID, err)
	}
	if err := json.Unmarshal([]byte(values), &p.Inputs); err != nil {
		return p, fmt.Errorf("inputs of run %s: %w", runID, err)
	}
	// An input counts as stored only if the run is found by it.
	for field, value := range p.Inputs {
		var n int
		if err := r.get(&n, sqlHasInput, inputKey(p.Run.Process, field, value), ms(p.Run.StartedAt), runID); err != nil {
			return p, fmt.Errorf("inputs of run %s: %w", runID, err)
		}
		if n == 0 {
			delete(p.Inputs, field)
		}
	}
	return p, nil
}

func (r reader) readyOf(runID string) ([]server.ReadyRow, error) {
	var rows []readyRow
	if err := r.all(&rows, sqlReadyOf, runID); err != nil {
		return nil, fmt.Errorf("ready steps of run %s: %w", runID, err)
	}
	return convert(rows, readyRow.row), nil
}

func (r reader) itemsOf(runID string) ([]server.ItemRow, error) {
	var rows []itemRow
	if err := r.all(&rows, sqlItemsOf, runID); err != nil {
		return nil, fmt.Errorf("work items of run %s: %w", runID, err)
	}
	return convert(rows, itemRow.row), nil
}

func (r reader) DueRuns(now time.Time, limit int) ([]string, error) {
	var ids []string
	if err := r.all(&ids, sqlDueRuns, ms(now), limit); err != nil {
		return nil, fmt.Errorf("list due runs: %w", err)
	}
	return ids, nil
}

func (r reader) NextTimer() (*time.Time, error) {
	var n int64
	err := r.get(&n, sqlNextTimer, int64(math.MinInt64))
	if errors.Is(err, server.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("next timer: %w", err)
	}
	t := fromMS(n)
	return &t, nil
}

func (r reader) RunIDs(after string, limit int) ([]string, error) {
	var ids []string
	if err := r.all(&ids, sqlRunIDs, after, limit); err != nil {
		return nil, fmt.Errorf("list run ids: %w", err)
	}
	return ids, nil
}

func (r reader) Request(id string) (server.Request, error) {
	var q server.Request
	s, err := r.stmt(sqlRequest)
	if err != nil {
		return q, err
	}
	var at int64
	var ref []byte
	err = classify(s.QueryRow(id).Scan(&q.ID, &q.Tool, &q.Args, &q.By, &q.RunID, &q.Seq, &at, &ref))
	if errors.Is(err, server.ErrNotFound) {
		return q, server.ErrNotFound
	}
	if err != nil {
		return q, fmt.Errorf("request: %w", err)
	}
	q.At, q.Ref = fromMS(at), ref
	return q, nil
}

type uploadRow struct {
	ID          string `db:"id"`
	SHA256      []byte `db:"sha256"`
	Bytes       int64  `db:"bytes"`
	FileName    string `db:"file_name"`
	ContentType string `db:"content_type"`
	Actor       string `db:"actor"`
	At          int64  `db:"at"`
}

func (r uploadRow) row() server.Upload {
	return server.Upload{ID: r.ID, SHA256: hex.EncodeToString(r.SHA256), Bytes: r.Bytes, FileName: r.FileName,
		ContentType: r.ContentType, By: r.Actor, At: fromMS(r.At)}
}

func (r reader) Upload(id string) (server.Upload, error) {
	var row uploadRow
	if err := r.get(&row, sqlUpload, id); err != nil {
		return server.Upload{}, fmt.Errorf("upload %s: %w", id, err)
	}
	return row.row(), nil
}

func (r reader) Uploads(after string, limit int) ([]server.Upload, error) {
	var rows []uploadRow
	if err := r.all(&rows, sqlUploads, after, limit); err != nil {
		return nil, fmt.Errorf("list uploads: %w", err)
	}
	return convert(rows, uploadRow.row), nil
}

func (r reader) Groups() (map[string][]string, error) {
	var rows []struct {
		Group string `db:"group_name"`
		Email string `db:"email"`
	}
	if err := r.all(&rows, sqlGroups); err != nil {
		return nil, fmt.Errorf("list groups: %w", err)
	}
	m := map[string][]string{}
	for _, row := range rows {
		members := m[row.Group]
		if row.Email != "" {
			members = append(members, row.Email)
		}
		m[row.Group] = members
	}
	return m, nil
}

func (r reader) GroupsOf(email string) ([]string, error) {
	var groups []string
	if err := r.all(&groups, sqlGroupsOf, email); err != nil {
		return nil, fmt.Errorf("groups of %s: %w", email, err)
	}
	return groups, nil
}

type agentRow struct {
	Name      string         `db:"name"`
	KeyHash   []byte         `db:"key_hash"`
	Processes sql.NullString `db:"processes"`
	CreatedAt int64          `db:"created_at"`
	ExpiresAt sql.NullInt64  `db:"expires_at"`
	RevokedAt sql.NullInt64  `db:"revoked_at"`
	LastUsed  sql.NullInt64  `db:"last_used"`
}

func (r agentRow) row() (server.AgentRow, error) {
	a := server.AgentRow{Name: r.Name, KeyHash: r.KeyHash, CreatedAt: fromMS(r.CreatedAt), ExpiresAt: fromNullMS(r.ExpiresAt),
		RevokedAt: fromNullMS(r.RevokedAt), LastUsed: fromNullMS(r.LastUsed)}
	if r.Processes.Valid {
		if err := json.Unmarshal([]byte(r.Processes.String), &a.Processes); err != nil {
			return a, fmt.Errorf("processes of agent %s: %w", r.Name, err)
		}
	}
	return a, nil
}

func (r reader) Agents() ([]server.AgentRow, error) {
	var rows []agentRow
	if err := r.all(&rows, sqlAgents); err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	agents := make([]server.AgentRow, len(rows))
	for i, row := range rows {
		var err error
		if agents[i], err = row.row(); err != nil {
			return nil, err
		}
	}
	return agents, nil
}

func (r reader) AgentByKey(hash []byte) (server.AgentRow, error) {
	var row agentRow
	if err := r.get(&row, sqlAgentKey, hash); err != nil {
		return server.AgentRow{}, fmt.Errorf("agent by key: %w", err)
	}
	return row.row()
}

func (r reader) Setting(key string) (string, error) {
	var value string
	err := r.get(&value, sqlSetting, key)
	if err != nil && !errors.Is(err, server.ErrNotFound) {
		return "", fmt.Errorf("setting %s: %w", key, err)
	}
	return value, nil
}

func (r reader) Counts() (server.Counts, error) {
	var row struct {
		OpenItems  int `db:"open_items"`
		ReadySteps int `db:"ready_steps"`
		ActiveRuns int `db:"active_runs"`
	}
	if err := r.get(&row, sqlCounts); err != nil {
		return server.Counts{}, fmt.Errorf("counts: %w", err)
	}
	return server.Counts(row), nil
}

func convert[R, T any](rows []R, f func(R) T) []T {
	if len(rows) == 0 {
		return nil
	}
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = f(r)
	}
	return out
}
