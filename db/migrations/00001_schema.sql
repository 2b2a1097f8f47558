-- +goose Up

-- Times are milliseconds since 1970, UTC. Hashes are raw bytes. JSON and source text are kept as they came.

CREATE TABLE processes (
    name         TEXT    NOT NULL PRIMARY KEY,
    draft_hash   TEXT    NOT NULL,
    draft_source BLOB    NOT NULL,
    draft_at     INTEGER NOT NULL,
    latest       INTEGER NOT NULL DEFAULT 0 -- the latest version's number, 0 when nothing is published
);
CREATE INDEX processes_published ON processes (name) WHERE latest > 0;

CREATE TABLE versions (
    process      TEXT    NOT NULL REFERENCES processes (name),
    number       INTEGER NOT NULL,
    hash         TEXT    NOT NULL,
    source       BLOB    NOT NULL,
    published_at INTEGER NOT NULL,
    published_by TEXT    NOT NULL,
    PRIMARY KEY (process, number)
);

CREATE TABLE bindings (
    process    TEXT NOT NULL REFERENCES processes (name),
    role       TEXT NOT NULL,
    group_name TEXT NOT NULL,
    PRIMARY KEY (process, role)
) WITHOUT ROWID;

CREATE TABLE members (
    group_name TEXT NOT NULL,
    email      TEXT NOT NULL,
    PRIMARY KEY (group_name, email)
) WITHOUT ROWID;
CREATE INDEX members_email ON members (email, group_name);

CREATE TABLE agents (
    name       TEXT    NOT NULL PRIMARY KEY,
    key_hash   BLOB    NOT NULL UNIQUE,
    processes  TEXT, -- a JSON list of names; NULL is no limit
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used  INTEGER
);

-- The projection of each run: what lists show without folding the journal. A row changes with nearly every write, so
-- what never changes and may be long is kept beside it, in run_starts.
CREATE TABLE runs (
    id         TEXT    NOT NULL PRIMARY KEY,
    process    TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    mode       TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    outcome    TEXT    NOT NULL,
    started_by TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    next_timer INTEGER,
    seq        INTEGER NOT NULL, -- the number of the last journal entry
    head       BLOB    NOT NULL, -- the hash of the last journal entry
    FOREIGN KEY (process, version) REFERENCES versions (process, number)
) WITHOUT ROWID;
-- A list of all states merges these in state order, so no list needs an index of its own.
CREATE INDEX runs_state ON runs (state, started_at, id);
CREATE INDEX runs_process ON runs (process, state, started_at, id);
CREATE INDEX runs_timer ON runs (next_timer, id) WHERE next_timer IS NOT NULL;

CREATE TABLE run_starts (
    run_id       TEXT NOT NULL PRIMARY KEY,
    inputs       TEXT NOT NULL, -- as they were sent
    input_values TEXT NOT NULL  -- a JSON object: the canonical JSON of each input, as a string
) WITHOUT ROWID;

-- Finds runs by an input's value: key is a hash over the process, the field and its canonical value.
CREATE TABLE run_inputs (
    key        BLOB    NOT NULL,
    started_at INTEGER NOT NULL,
    run_id     TEXT    NOT NULL,
    PRIMARY KEY (key, started_at, run_id)
) WITHOUT ROWID;

-- The journal: the only source of truth about runs. Rows stand in the order in which they were written, so that the runs
-- of one transaction share pages.
CREATE TABLE journal (
    run_id TEXT    NOT NULL,
    seq    INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    type   TEXT    NOT NULL,
    v      INTEGER NOT NULL,
    actor  TEXT    NOT NULL,
    hash   BLOB    NOT NULL,
    data   TEXT    NOT NULL,
    PRIMARY KEY (run_id, seq)
);

-- Agent steps that can be claimed now.
CREATE TABLE ready (
    run_id  TEXT    NOT NULL,
    step_id TEXT    NOT NULL,
    process TEXT    NOT NULL,
    since   INTEGER NOT NULL,
    PRIMARY KEY (run_id, step_id)
) WITHOUT ROWID;
CREATE INDEX ready_since ON ready (since, run_id, step_id, process);
CREATE INDEX ready_process ON ready (process, since, run_id, step_id);

-- Open work items. assignee is "g:GROUP" or "p:EMAIL".
CREATE TABLE items (
    run_id    TEXT    NOT NULL,
    id        TEXT    NOT NULL,
    step_id   TEXT    NOT NULL,
    process   TEXT    NOT NULL,
    assignee  TEXT    NOT NULL,
    opened_at INTEGER NOT NULL,
    due       INTEGER,
    escalated INTEGER NOT NULL,
    test      INTEGER NOT NULL,
    search    TEXT    NOT NULL,
    PRIMARY KEY (run_id, id)
) WITHOUT ROWID;
CREATE INDEX items_inbox ON items (assignee, opened_at, id, process, test);
CREATE INDEX items_due ON items (assignee, due, opened_at, id) WHERE due IS NOT NULL;

-- The outbox.
CREATE TABLE notices (
    assignee TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    id       TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    run_id   TEXT    NOT NULL,
    step_id  TEXT    NOT NULL,
    item_id  TEXT    NOT NULL,
    PRIMARY KEY (assignee, at, id)
) WITHOUT ROWID;

-- Recorded writes, by the caller's request id.
CREATE TABLE requests (
    id     TEXT    NOT NULL PRIMARY KEY,
    tool   TEXT    NOT NULL,
    args   BLOB    NOT NULL,
    actor  TEXT    NOT NULL,
    run_id TEXT    NOT NULL,
    seq    INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    ref    TEXT
);

CREATE TABLE uploads (
    id           TEXT    NOT NULL PRIMARY KEY,
    sha256       BLOB    NOT NULL,
    bytes        INTEGER NOT NULL,
    file_name    TEXT    NOT NULL,
    content_type TEXT    NOT NULL,
    actor        TEXT    NOT NULL,
    at           INTEGER NOT NULL
) WITHOUT ROWID;

-- Browser sessions, by a hash of their token.
CREATE TABLE sessions (
    token_hash BLOB    NOT NULL PRIMARY KEY,
    data       BLOB    NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE settings (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- What has been recorded stays as it was recorded.

-- +goose StatementBegin
CREATE TRIGGER journal_no_update BEFORE UPDATE ON journal BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER journal_no_delete BEFORE DELETE ON journal BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER versions_no_update BEFORE UPDATE ON versions BEGIN
    SELECT RAISE(ABORT, 'a published version never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER versions_no_delete BEFORE DELETE ON versions BEGIN
    SELECT RAISE(ABORT, 'a published version never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER requests_no_update BEFORE UPDATE ON requests BEGIN
    SELECT RAISE(ABORT, 'a recorded request never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER requests_no_delete BEFORE DELETE ON requests BEGIN
    SELECT RAISE(ABORT, 'a recorded request never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER run_starts_no_update BEFORE UPDATE ON run_starts BEGIN
    SELECT RAISE(ABORT, 'the inputs of a run never change');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER uploads_no_update BEFORE UPDATE ON uploads BEGIN
    SELECT RAISE(ABORT, 'an upload never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER run_starts_no_delete BEFORE DELETE ON run_starts BEGIN
    SELECT RAISE(ABORT, 'the inputs of a run never change');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER uploads_no_delete BEFORE DELETE ON uploads BEGIN
    SELECT RAISE(ABORT, 'an upload never changes');
END;
-- +goose StatementEnd
