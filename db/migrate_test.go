package db

import (
	"context"
	"database/sql"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
)

// withMigration is this version's schema and one migration more, as the next version of ap will have it.
func withMigration(t *testing.T, name, content string) fs.FS {
	files := fstest.MapFS{name: {Data: []byte(content)}}
	names, err := fs.Glob(embedded, "migrations/*.sql")
	require.NoError(t, err)
	for _, name := range names {
		data, err := embedded.ReadFile(name)
		require.NoError(t, err)
		files[name[len("migrations/"):]] = &fstest.MapFile{Data: data}
	}
	return files
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	made := func(t *testing.T) string {
		dir := t.TempDir()
		d, err := Open(ctx, dir, Options{})
		require.NoError(t, err)
		require.NoError(t, d.Write(ctx, func(w server.Writer) error { return w.SetSetting("a", "1") }))
		require.NoError(t, d.Close())
		return dir
	}
	next := Options{migrations: withMigration(t, "99999_next.sql", "-- +goose Up\nALTER TABLE settings ADD COLUMN note TEXT;\n")}

	t.Run("BringsAnOlderDatabaseToTheNewestSchema", func(t *testing.T) {
		t.Parallel()
		dir := made(t)
		d, err := Open(ctx, dir, next)
		require.NoError(t, err)
		defer d.Close()
		require.NoError(t, d.Read(ctx, func(r server.Reader) error {
			value, err := r.Setting("a")
			require.Equal(t, "1", value)
			return err
		}))
		_, err = Open(ctx, dir, Options{})
		require.ErrorContains(t, err, "was written by a newer version of ap (schema 99999; this version knows up to")
	})

	t.Run("LeavesTheSchemaOfADirectoryThatIsServed", func(t *testing.T) {
		t.Parallel()
		dir := made(t)
		d, err := Open(ctx, dir, Options{})
		require.NoError(t, err)
		defer d.Close()
		unlock, err := d.LockServe("http://127.0.0.1:8080")
		require.NoError(t, err)
		_, err = Open(ctx, dir, next)
		require.ErrorContains(t, err, "and ap serve (process ")
		require.ErrorContains(t, err, ") at http://127.0.0.1:8080 is using it: stop that server first")
		unlock()
		after, err := Open(ctx, dir, next)
		require.NoError(t, err)
		require.NoError(t, after.Close())
	})

	t.Run("AMigrationThatFailsChangesNothing", func(t *testing.T) {
		t.Parallel()
		dir := made(t)
		broken := Options{migrations: withMigration(t, "99999_next.sql",
			"-- +goose Up\nCREATE TABLE extra (a TEXT);\nINSERT INTO nowhere VALUES (1);\n")}
		_, err := Open(ctx, dir, broken)
		require.ErrorContains(t, err, "to 99999")
		pool, err := sql.Open("sqlite3", "file:"+dir+"/ap.db")
		require.NoError(t, err)
		defer pool.Close()
		var n int
		require.NoError(t, pool.QueryRow("SELECT count(*) FROM sqlite_master WHERE name = 'extra'").Scan(&n))
		require.Zero(t, n)
		d, err := Open(ctx, dir, Options{})
		require.NoError(t, err)
		require.NoError(t, d.Close())
	})
}
