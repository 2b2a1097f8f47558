package db

import (
	"context"
	"database/sql"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/core/server/storetest"
)

// TestEveryStatement runs the whole suite, collects every statement that the store prepares, and looks at how SQLite runs
// each.
func TestEveryStatement(t *testing.T) {
	t.Parallel()
	statements := collectStatements(t)
	for name, q := range constants(t) {
		require.Contains(t, statements, q, "the suite never uses %s", name)
	}
	conn, prepares := watched(t)

	for _, q := range statements {
		if !reads.MatchString(q) {
			continue // BEGIN and the like
		}
		for _, step := range plan(t, conn, q) {
			if strings.Contains(step, "SCAN") {
				assert.Truef(t, mayScan(q, step), "%s\nin %s", step, q)
			}
			if strings.Contains(step, "TEMP B-TREE") {
				assert.True(t, strings.Contains(q, "due <=") || q == sqlGroups, "%s\nin %s", step, q)
			}
		}
		assert.Zero(t, preparedAgain(t, conn, prepares, q), "SQLite prepares this at every use: %s", q)
	}
}

// collectStatements returns the text of every statement, sorted.
func collectStatements(t *testing.T) []string {
	var mu sync.Mutex
	seen := map[string]bool{}
	opts := Options{prepared: func(q string) {
		mu.Lock()
		defer mu.Unlock()
		seen[q] = true
	}}
	t.Run("suite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) server.Store {
			d, err := Open(context.Background(), t.TempDir(), opts)
			require.NoError(t, err)
			t.Cleanup(func() { _ = d.Close() })
			return d
		})
	})
	d, err := Open(context.Background(), t.TempDir(), opts)
	require.NoError(t, err)
	defer d.Close()
	s := d.Sessions()
	require.NoError(t, s.Commit("token", []byte("data"), time.Now().Add(time.Hour)))
	_, _, err = s.Find("token")
	require.NoError(t, err)
	require.NoError(t, s.Delete("token"))
	changes, end := d.Changes()
	defer end()
	require.NoError(t, d.Write(context.Background(), func(w server.Writer) error { return w.SetSetting("a", "1") }))
	<-changes
	return slices.Sorted(maps.Keys(seen))
}

// constants are the whole statements among the constants of sql.go.
func constants(t *testing.T) map[string]string {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "sql.go", nil, 0)
	require.NoError(t, err)
	conf := types.Config{Error: func(error) {}} // what it imports isn't found, and isn't needed
	pkg, _ := conf.Check("db", fset, []*ast.File{file}, nil)
	found := map[string]string{}
	for _, name := range pkg.Scope().Names() {
		c, ok := pkg.Scope().Lookup(name).(*types.Const)
		if !ok || !strings.HasPrefix(name, "sql") || strings.HasSuffix(name, "Cols") {
			continue
		}
		found[name] = constant.StringVal(c.Val())
	}
	require.Greater(t, len(found), 50)
	return found
}

// watched returns a connection to a new database, and counts what SQLite asks for when it prepares a statement.
func watched(t *testing.T) (*sql.Conn, *atomic.Int64) {
	d, err := Open(context.Background(), t.TempDir(), Options{})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	var prepares atomic.Int64
	name := "sqlite3-" + t.Name()
	sql.Register(name, &sqlite3.SQLiteDriver{ConnectHook: func(c *sqlite3.SQLiteConn) error {
		c.RegisterAuthorizer(func(int, string, string, string) int {
			prepares.Add(1)
			return sqlite3.SQLITE_OK
		})
		return nil
	}})
	pool, err := sql.Open(name, dsn(d.path(databaseFile), 0, nil))
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	conn, err := pool.Conn(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn, &prepares
}

func plan(t *testing.T, conn *sql.Conn, q string) []string {
	stmt, err := conn.PrepareContext(context.Background(), "EXPLAIN QUERY PLAN "+q)
	require.NoError(t, err, q)
	defer stmt.Close()
	rows, err := stmt.Query(arguments(q, 1)...)
	require.NoError(t, err, q)
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
		steps = append(steps, detail)
	}
	require.NoError(t, rows.Err())
	return steps
}

// preparedAgain uses a statement with changing arguments, and returns how often SQLite had to prepare it again.
func preparedAgain(t *testing.T, conn *sql.Conn, prepares *atomic.Int64, q string) int64 {
	ctx := context.Background()
	_, err := conn.ExecContext(ctx, "BEGIN")
	require.NoError(t, err)
	defer func() {
		_, err := conn.ExecContext(ctx, "ROLLBACK")
		require.NoError(t, err)
	}()
	stmt, err := conn.PrepareContext(ctx, q)
	require.NoError(t, err, q)
	defer stmt.Close()
	var before int64
	for i := range 4 {
		if i == 1 {
			before = prepares.Load()
		}
		rows, err := stmt.Query(arguments(q, i)...)
		if err != nil {
			continue // such as a row that refers to nothing: it ran
		}
		for rows.Next() {
		}
		require.NoError(t, rows.Close())
	}
	return prepares.Load() - before
}

var reads = regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE) `)

var numbered = regexp.MustCompile(`\?(\d+)`)

// arguments makes as many arguments as a statement takes.
func arguments(q string, value int) []any {
	n := strings.Count(q, "?")
	if m := numbered.FindAllString(q, -1); m != nil {
		n = len(slices.Compact(slices.Sorted(slices.Values(m))))
	}
	args := make([]any, n)
	for i := range args {
		args[i] = value
	}
	return args
}

// mayScan says whether a statement may walk the whole of a table: those that list all of what only an admin adds to, and
// the counts of open work.
func mayScan(q, step string) bool {
	switch {
	case q == sqlGroups, q == sqlAgents, q == sqlNames, q == sqlPublishedNames:
		return true
	case q == sqlCounts:
		return strings.Contains(step, "items") || strings.Contains(step, "ready") || step == "SCAN CONSTANT ROW"
	}
	return strings.HasPrefix(step, "SCAN (subquery") || strings.HasSuffix(step, "VALUES CLAUSE") ||
		strings.HasPrefix(step, "SCAN k VIRTUAL TABLE")
}
