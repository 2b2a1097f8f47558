package db

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"time"

	"github.com/gofrs/flock"
	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var embedded embed.FS

// migrations are the files of the schema, numbered from 1 without gaps.
func (d *DB) migrations() (fs.FS, error) {
	if d.opts.migrations != nil {
		return d.opts.migrations, nil
	}
	return fs.Sub(embedded, "migrations")
}

// applicationID marks the file as ours (PRAGMA application_id).
const applicationID = 0x41505342

// migrate brings the schema to the newest version. Processes that start at once take turns; a schema is never changed
// under a running server.
func (d *DB) migrate(ctx context.Context) error {
	files, err := d.migrations()
	if err != nil {
		return err
	}
	newest, err := newestMigration(files)
	if err != nil {
		return err
	}
	file := d.path(databaseFile)
	if err := createFile(file); err != nil { // SQLite would let other users read it
		return fmt.Errorf("open %s: %w; make it writable for the user that runs ap", file, err)
	}
	pool, err := sqlx.Open("sqlite3", dsn(file, d.opts.BusyTimeout, url.Values{"_journal_mode": {"WAL"}}))
	if err != nil {
		return fmt.Errorf("open %s: %w", file, err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(2)
	version, err := schemaVersion(ctx, pool)
	if err != nil {
		return fmt.Errorf("open %s: %w", file, err)
	}
	if version == newest {
		return nil
	}
	lock := flock.New(d.path(schemaFile), flock.SetPermissions(0o600))
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := lock.TryLockContext(wait, 10*time.Millisecond); err != nil {
		return fmt.Errorf("wait for another process to prepare %s: %w", file, err)
	}
	defer lock.Unlock()
	if version, err = schemaVersion(ctx, pool); err != nil {
		return fmt.Errorf("open %s: %w", file, err)
	}
	switch {
	case version == newest:
		return nil
	case version > newest:
		return fmt.Errorf("%s was written by a newer version of ap (schema %d; this version knows up to %d): run that version, or use "+
			"a backup made before it", file, version, newest)
	case version > 0:
		if other, ok := d.serving(); ok {
			return fmt.Errorf("%s has to be brought from schema %d to %d, and %s is using it: stop that server first", file, version,
				newest, other)
		}
	}
	if err := applyMigrations(ctx, pool.DB, files); err != nil {
		return fmt.Errorf("bring %s from schema %d to %d: %w", file, version, newest, err)
	}
	if err := syncDir(d.dir); err != nil {
		return fmt.Errorf("open %s: %w", file, err)
	}
	d.opts.Logger.Info("schema applied", "file", file, "from", version, "to", newest)
	return nil
}

func applyMigrations(ctx context.Context, pool *sql.DB, files fs.FS) error {
	p, err := goose.NewProvider(goose.DialectSQLite3, pool, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	if _, err := pool.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return classify(err)
	}
	_, err = p.Up(ctx)
	return classify(err)
}

// newestMigration is the number of the last migration this program has.
func newestMigration(files fs.FS) (int64, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return 0, err
	}
	return goose.NumericComponent(names[len(names)-1])
}

// schemaVersion is the number of the last migration that was applied, 0 for a new file. A database of something else is an
// error.
func schemaVersion(ctx context.Context, pool *sqlx.DB) (int64, error) {
	var tables int
	if err := pool.GetContext(ctx, &tables, `SELECT count(*) FROM sqlite_master`); err != nil {
		return 0, classify(err)
	}
	if tables == 0 {
		return 0, nil
	}
	var id int64
	if err := pool.GetContext(ctx, &id, `PRAGMA application_id`); err != nil {
		return 0, classify(err)
	}
	if id != applicationID {
		return 0, errors.New("this is the database of another program: name a directory of its own with --data")
	}
	var version sql.NullInt64
	err := pool.GetContext(ctx, &version, `SELECT max(version_id) FROM goose_db_version WHERE is_applied`)
	return version.Int64, classify(err)
}
