package db

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/jmoiron/sqlx"
)

// partial ends the name of a database that is still being copied.
const partial = ".partial"

// Backup writes a whole data directory into dir, which must be empty or absent: the database as of one moment, every file
// that it names, and the secret. Others go on reading and writing. Using the copy as the data directory restores it.
//
// A file that is missing or damaged doesn't keep the rest from being copied; the error names each.
func (d *DB) Backup(ctx context.Context, dir string) error {
	if err := emptyDir(dir); err != nil {
		return fmt.Errorf("back up to %s: %w", dir, err)
	}
	if err := d.backup(ctx, dir); err != nil {
		return fmt.Errorf("back up to %s: %w", dir, err)
	}
	return nil
}

func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return errors.New("the directory is not empty: name one that is empty or doesn't exist")
	}
	return nil
}

func (d *DB) backup(ctx context.Context, dir string) error {
	copied := filepath.Join(dir, databaseFile+partial)
	if err := d.vacuumInto(ctx, copied); err != nil {
		return errors.Join(fmt.Errorf("copy the database: %w", err), os.Remove(copied))
	}
	// The copy names only files that were stored before it was made.
	damaged, err := d.copyFiles(ctx, copied, filepath.Join(dir, filesDir))
	if err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(dir, secretFile), d.secret); err != nil {
		return fmt.Errorf("copy the secret: %w", err)
	}
	if err := os.Rename(copied, filepath.Join(dir, databaseFile)); err != nil {
		return err
	}
	if err := errors.Join(syncDir(dir), syncDir(filepath.Dir(filepath.Clean(dir)))); err != nil {
		return err
	}
	if len(damaged) > 0 {
		return fmt.Errorf("everything was copied but %d files that are not as they were stored: %w", len(damaged),
			errors.Join(damaged...))
	}
	return nil
}

// vacuumInto copies the database as of one moment, on a connection of its own.
func (d *DB) vacuumInto(ctx context.Context, file string) error {
	pool, err := sqlx.Open("sqlite3", dsn(d.path(databaseFile), d.opts.BusyTimeout, nil))
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := createFile(file); err != nil {
		return err
	}
	if _, err := pool.ExecContext(ctx, `VACUUM INTO ?`, file); err != nil {
		if damage := classify(err); errors.Is(damage, ErrDamaged) {
			return damage
		}
		return err // about the disk of the copy, not the data directory's
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// copyFiles copies the files that the copied database names, and returns what is wrong with the ones it could not copy.
func (d *DB) copyFiles(ctx context.Context, database, dir string) (damaged []error, err error) {
	to, err := openFiles(dir)
	if err != nil {
		return nil, err
	}
	defer to.bucket.Close()
	pool, err := sqlx.Open("sqlite3", dsn(database, d.opts.BusyTimeout, nil))
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	c, err := connect(ctx, pool, readerCache)
	if err != nil {
		return nil, err
	}
	defer c.close()
	for after := ""; ; {
		uploads, err := reader{c}.Uploads(after, 1000)
		if err != nil || len(uploads) == 0 {
			return damaged, err
		}
		for _, u := range uploads {
			if err := d.copyFile(ctx, to, u.SHA256); errors.As(err, new(*damagedFile)) {
				damaged = append(damaged, fmt.Errorf("upload %s: %w", u.ID, err))
			} else if err != nil {
				return damaged, fmt.Errorf("copy upload %s: %w", u.ID, err)
			}
			after = u.ID
		}
	}
}

// damagedFile says what is wrong with a stored file.
type damagedFile struct{ err error }

func (e *damagedFile) Error() string { return e.err.Error() }
func (e *damagedFile) Unwrap() error { return e.err }

func (d *DB) copyFile(ctx context.Context, to *files, sum string) error {
	r, err := d.files.Open(ctx, sum)
	if err != nil {
		return &damagedFile{err}
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		return &damagedFile{err}
	}
	if got := sha256.Sum256(content); hex.EncodeToString(got[:]) != sum {
		return &damagedFile{fmt.Errorf("file %s: its content has changed", sum)}
	}
	return to.Put(ctx, sum, content)
}

// createFile makes an empty file that only its owner may read, if there is none.
func createFile(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func writeSynced(file string, content []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}
