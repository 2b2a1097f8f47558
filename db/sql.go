package db

import (
	"strconv"
	"strings"
)

// All SQL of the store, except the migrations and a few PRAGMAs. Lists begin after a key: `(a, b) > (?, ?)` on an index.
//
// A parameter that SQLite's planner would look at is written `+?`. Without the plus it would plan the statement again with
// every value, which costs more than running it (a test finds the ones that are missing).

const (
	sqlProcessCols    = `SELECT name, draft_hash, draft_source, draft_at, latest FROM processes `
	sqlProcess        = sqlProcessCols + `WHERE name = +?`
	sqlLatest         = `SELECT latest FROM processes WHERE name = +?`
	sqlProcesses      = sqlProcessCols + `WHERE name > +? ORDER BY name LIMIT +?`
	sqlNames          = `SELECT name FROM processes ORDER BY name`
	sqlPublishedNames = `SELECT name FROM processes WHERE latest > 0 ORDER BY name`
	sqlPublished      = sqlProcessCols + `WHERE latest > 0 AND name > +? ORDER BY name LIMIT +?`
	sqlPutDraft       = `INSERT INTO processes (name, draft_hash, draft_source, draft_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET draft_hash = excluded.draft_hash, draft_source = excluded.draft_source,
		draft_at = excluded.draft_at`
	sqlSetLatest = `UPDATE processes SET latest = ?2 WHERE name = ?1 AND latest = ?2 - 1`

	sqlVersionCols   = `SELECT process, number, hash, source, published_at, published_by FROM versions `
	sqlVersion       = sqlVersionCols + `WHERE process = +? AND number = +?`
	sqlLatestVersion = sqlVersionCols + `WHERE process = +? ORDER BY number DESC LIMIT 1`
	sqlVersions      = sqlVersionCols + `WHERE process = +? ORDER BY number DESC`
	sqlPutVersion    = `INSERT INTO versions (process, number, hash, source, published_at, published_by)
		VALUES (?, ?, ?, ?, ?, ?)`

	sqlBindings = `SELECT role, group_name FROM bindings WHERE process = +?`
	sqlBind     = `INSERT INTO bindings (process, role, group_name) VALUES (?, ?, ?)
		ON CONFLICT (process, role) DO UPDATE SET group_name = excluded.group_name`

	sqlGroups = `SELECT group_name, email FROM members UNION ALL SELECT DISTINCT group_name, '' FROM bindings
		ORDER BY 1, 2`
	sqlGroupsOf     = `SELECT group_name FROM members WHERE email = +? ORDER BY group_name`
	sqlAddMember    = `INSERT INTO members (group_name, email) VALUES (?, ?) ON CONFLICT DO NOTHING`
	sqlRemoveMember = `DELETE FROM members WHERE group_name = +? AND email = +?`

	sqlAgentCols = `SELECT name, key_hash, processes, created_at, expires_at, revoked_at, last_used FROM agents `
	sqlAgents    = sqlAgentCols + `ORDER BY name`
	sqlAgentKey  = sqlAgentCols + `WHERE key_hash = +?`
	sqlPutAgent  = `INSERT INTO agents (name, key_hash, processes, created_at, expires_at, revoked_at, last_used)
		VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET key_hash = excluded.key_hash, processes = excluded.processes,
		created_at = excluded.created_at, expires_at = excluded.expires_at, revoked_at = excluded.revoked_at,
		last_used = excluded.last_used`
	sqlRevokeAgent = `UPDATE agents SET revoked_at = ?2 WHERE name = ?1`
	sqlTouchAgent  = `UPDATE agents SET last_used = ?2 WHERE name = ?1`

	sqlSetting    = `SELECT value FROM settings WHERE key = +?`
	sqlSetSetting = `INSERT INTO settings (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`
	// The counts are over open work and don't grow with what has ended.
	sqlCounts = `SELECT (SELECT count(*) FROM items) AS open_items, (SELECT count(*) FROM ready) AS ready_steps,
		(SELECT count(*) FROM runs WHERE state IN ('active', 'waiting')) AS active_runs`

	sqlRun       = `SELECT ` + runCols + ` FROM runs r JOIN run_starts s ON s.run_id = r.id WHERE r.id = +?`
	sqlRunIDs    = `SELECT id FROM runs WHERE id > +? ORDER BY id LIMIT +?`
	sqlDueRuns   = `SELECT id FROM runs WHERE next_timer <= +? ORDER BY next_timer, id LIMIT +?`
	sqlNextTimer = `SELECT next_timer FROM runs WHERE next_timer > +? ORDER BY next_timer, id LIMIT 1`
	sqlEntries   = `SELECT seq, at, type, v, actor, hash, data FROM journal WHERE run_id = +? AND seq > +? AND seq <= +?
		ORDER BY seq`
	sqlReadyOf    = `SELECT run_id, step_id, process, since FROM ready WHERE run_id = +? ORDER BY step_id`
	sqlItemsOf    = `SELECT ` + itemCols + ` FROM items WHERE run_id = +? ORDER BY id`
	sqlInputsOf   = `SELECT input_values FROM run_starts WHERE run_id = +?`
	sqlHasInput   = `SELECT count(*) FROM run_inputs WHERE key = +? AND started_at = +? AND run_id = +?`
	sqlProbeState = `SELECT count(*) FROM (SELECT 1 FROM runs WHERE process = +? AND state = +? LIMIT +?)`
	sqlProbeInput = `SELECT count(*) FROM (SELECT 1 FROM run_inputs WHERE key = +? LIMIT +?)`
	sqlRequest    = `SELECT id, tool, args, actor, run_id, seq, at, ref FROM requests WHERE id = +?`
	sqlUploadCols = `SELECT id, sha256, bytes, file_name, content_type, actor, at FROM uploads `
	sqlUpload     = sqlUploadCols + `WHERE id = +?`
	sqlUploads    = sqlUploadCols + `WHERE id > +? ORDER BY id LIMIT +?`

	sqlHasRun = `SELECT count(*) FROM runs WHERE id = +?`
	sqlPutRun = `INSERT INTO runs (id, process, version, mode, state, outcome, started_by, started_at, updated_at,
		next_timer, seq, head) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlPutStart = `INSERT INTO run_starts (run_id, inputs, input_values) VALUES (?, ?, ?)`
	sqlPutInput = `INSERT INTO run_inputs (key, started_at, run_id) VALUES (?, ?, ?)`
	sqlPutEntry = `INSERT INTO journal (run_id, seq, at, type, v, actor, hash, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	sqlDelReady = `DELETE FROM ready WHERE run_id = +? AND step_id = +?`
	sqlPutReady = `INSERT INTO ready (run_id, step_id, process, since) VALUES (?, ?, ?, ?)`
	sqlDelItem  = `DELETE FROM items WHERE run_id = +? AND id = +?`
	sqlPutItem  = `INSERT INTO items (run_id, id, step_id, process, assignee, opened_at, due, escalated, test, search)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlPutNotice = `INSERT INTO notices (assignee, at, id, kind, run_id, step_id, item_id) VALUES (?, ?, ?, ?, ?, ?, ?)`

	sqlPutRequest = `INSERT INTO requests (id, tool, args, actor, run_id, seq, at, ref) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	sqlPutUpload  = `INSERT INTO uploads (id, sha256, bytes, file_name, content_type, actor, at) VALUES (?, ?, ?, ?, ?, ?, ?)`

	sqlFindSession = `SELECT data FROM sessions WHERE token_hash = +? AND expires_at > +?`
	sqlPutSession  = `INSERT INTO sessions (token_hash, data, expires_at) VALUES (?, ?, ?)
		ON CONFLICT (token_hash) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at`
	sqlDelSession     = `DELETE FROM sessions WHERE token_hash = +?`
	sqlExpireSessions = `DELETE FROM sessions WHERE token_hash IN (SELECT token_hash FROM sessions WHERE expires_at <= +?
		ORDER BY expires_at LIMIT 1000)`

	sqlBegin      = `BEGIN`
	sqlBeginWrite = `BEGIN IMMEDIATE`
	sqlCommit     = `COMMIT`
	sqlRollback   = `ROLLBACK`

	sqlDataVersion = `PRAGMA data_version`
)

const (
	runCols = `r.id, r.process, r.version, r.mode, r.state, r.outcome, r.started_by, r.started_at, r.updated_at,
		r.next_timer, r.seq, r.head, s.inputs`
	itemCols = `run_id, id, step_id, process, assignee, opened_at, due, escalated, test, search`
)

// sqlUpdateRun sets what changes of a run, by whether its state and its timer change: an index entry costs more than the
// row, so an indexed column is touched only if it changes.
var sqlUpdateRun = map[[2]bool]string{
	{false, false}: updateRun + whereRun,
	{true, false}:  updateRun + `, state = ?8` + whereRun,
	{false, true}:  updateRun + `, next_timer = ?8` + whereRun,
	{true, true}:   updateRun + `, state = ?8, next_timer = ?9` + whereRun,
}

const (
	updateRun = `UPDATE runs SET updated_at = ?4, seq = ?5, head = ?6, outcome = ?7`
	whereRun  = ` WHERE id = ?1 AND seq = ?2 AND head = ?3`
)

// query builds a statement and its arguments together.
type query struct {
	strings.Builder
	args []any
}

// arg adds an argument and returns its placeholder.
func (q *query) arg(v any) string {
	q.args = append(q.args, v)
	return "+?" + strconv.Itoa(len(q.args))
}

// mergeWidth is the most lists that one statement merges. SQLite merges ordered selects of a UNION ALL row by row, so a
// page costs its own rows and not those of all lists.
const mergeWidth = 16

// merged writes one select per key, joined to one ordered list. The number of selects is rounded up to a power of two with
// copies of none, a key that no row has, so that few different statements are ever prepared.
func (q *query) merged(keys []string, none string, order string, limit int, sel func(key string)) {
	n := 1
	for n < len(keys) {
		n *= 2
	}
	for i := range n {
		key := none
		if i < len(keys) {
			key = keys[i]
		}
		if i > 0 {
			q.WriteString(" UNION ALL ")
		}
		sel(q.arg(key))
	}
	q.WriteString(" ORDER BY " + order + " LIMIT " + q.arg(limit))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
