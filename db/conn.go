package db

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/mattn/go-sqlite3"
)

// maxStatements bounds the prepared statements of a connection. Filters make more different ones than are in use at a time.
const maxStatements = 150

// conn is one connection, used by one goroutine at a time, with the statements it has prepared.
type conn struct {
	c     *sqlx.Conn
	stmts map[string]*sqlx.Stmt
	// prepared, if not nil, is told the text of every statement.
	prepared func(string)
}

// dsn names the database file with the settings every connection has.
func dsn(path string, busy time.Duration, more url.Values) string {
	q := url.Values{
		"_busy_timeout": {strconv.Itoa(int(busy.Milliseconds()))},
		"_foreign_keys": {"1"},
		// Without it, INSERT OR REPLACE would pass by the triggers that keep records as they are.
		"_recursive_triggers": {"1"},
		"_synchronous":        {"FULL"},
		"_mutex":              {"no"},
	}
	for k, v := range more {
		q[k] = v
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// connect opens one connection of pool and keeps it.
func connect(ctx context.Context, pool *sqlx.DB, cacheKiB int) (*conn, error) {
	c, err := pool.Connx(ctx)
	if err != nil {
		return nil, classify(err)
	}
	// What undoes a single statement stays in memory too. Where an fsync alone stops at the disk's cache (macOS), go on.
	if _, err := c.ExecContext(ctx, fmt.Sprintf("PRAGMA cache_size = -%d; PRAGMA temp_store = MEMORY; PRAGMA fullfsync = 1; "+
		"PRAGMA checkpoint_fullfsync = 1", cacheKiB)); err != nil {
		c.Close()
		return nil, classify(err)
	}
	return &conn{c: c, stmts: map[string]*sqlx.Stmt{}}, nil
}

func (c *conn) close() error {
	c.forget()
	return c.c.Close()
}

func (c *conn) forget() {
	for _, s := range c.stmts {
		s.Close()
	}
	clear(c.stmts)
}

// stmt returns the prepared statement of a text. Statements run without a context: each is short, and a context that can
// end costs a goroutine per call.
func (c *conn) stmt(q string) (*sqlx.Stmt, error) {
	if s, ok := c.stmts[q]; ok {
		return s, nil
	}
	if len(c.stmts) >= maxStatements {
		c.forget()
	}
	if c.prepared != nil {
		c.prepared(q)
	}
	s, err := c.c.PreparexContext(context.Background(), q)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", strings.Join(strings.Fields(q), " "), classify(err))
	}
	c.stmts[q] = s
	return s, nil
}

func (c *conn) exec(q string, args ...any) (sql.Result, error) {
	s, err := c.stmt(q)
	if err != nil {
		return nil, err
	}
	res, err := s.Exec(args...)
	return res, classify(err)
}

// get scans the one row of a query into dest; without one it is ErrNotFound.
func (c *conn) get(dest any, q string, args ...any) error {
	s, err := c.stmt(q)
	if err != nil {
		return err
	}
	return classify(s.Get(dest, args...))
}

// all scans every row of a query into the slice dest points at.
func (c *conn) all(dest any, q string, args ...any) error {
	s, err := c.stmt(q)
	if err != nil {
		return err
	}
	return classify(s.Select(dest, args...))
}

// inTransaction says whether a transaction is still open: SQLite ends it by itself on some errors.
func (c *conn) inTransaction() bool {
	open := false
	_ = c.c.Raw(func(dc any) error {
		open = !dc.(*sqlite3.SQLiteConn).AutoCommit()
		return nil
	})
	return open
}

// ms and its inverses are how times are stored.
func ms(t time.Time) int64 { return t.UnixMilli() }

func msOrNull(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UnixMilli()
}

func nullMS(t *time.Time) sql.NullInt64 {
	if t == nil {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: true}
}

func fromMS(n int64) time.Time { return time.UnixMilli(n).UTC() }

func fromNullMS(n sql.NullInt64) *time.Time {
	if !n.Valid {
		return nil
	}
	t := fromMS(n.Int64)
	return &t
}
