package db_test

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
)

func TestOpenMakesADataDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b%3F?#", "ap-data")
	d := open(t, dir, db.Options{})
	require.NoError(t, d.Write(context.Background(), set("a", "1")))
	require.Len(t, d.Secret(), 32)
	for name, mode := range map[string]os.FileMode{"": 0o700, "files": 0o700, "secret.key": 0o600, "ap.db": 0o600,
		"ap.db-wal": 0o600, "ap.db-shm": 0o600, "write.lock": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), name)
	}
	require.NoError(t, d.Close())

	again := open(t, dir, db.Options{MustExist: true})
	require.Equal(t, d.Secret(), again.Secret())
	require.Equal(t, "1", setting(t, again, "a"))
	other := open(t, t.TempDir(), db.Options{})
	require.NotEqual(t, d.Secret(), other.Secret())
}

// Each message says what is wrong, where, and what to do.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, path, content string) {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	made := func(t *testing.T, dir string) {
		require.NoError(t, open(t, dir, db.Options{}).Close())
	}
	exec := func(t *testing.T, dir, q string) {
		pool, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "ap.db"))
		require.NoError(t, err)
		defer pool.Close()
		_, err = pool.Exec(q)
		require.NoError(t, err)
	}
	for name, c := range map[string]struct {
		prepare func(t *testing.T, dir string)
		opts    db.Options
		want    string
	}{
		"a directory that isn't there": {func(t *testing.T, dir string) { require.NoError(t, os.Remove(dir)) }, db.Options{MustExist: true},
			"there is no data directory DIR: make one with `ap import` or `ap serve`, or name yours with --data"},
		"a directory without a database": {func(*testing.T, string) {}, db.Options{MustExist: true},
			"DIR holds no database: make one with `ap import` or `ap serve`, or name your directory with --data"},
		"a file": {func(t *testing.T, dir string) { require.NoError(t, os.Remove(dir)); write(t, dir, "") }, db.Options{},
			"the data directory DIR is not a directory; name another with --data"},
		"a newer database": {func(t *testing.T, dir string) {
			made(t, dir)
			exec(t, dir, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)")
		}, db.Options{}, "DIR/ap.db was written by a newer version of ap (schema 999; this version knows up to 1): " +
			"run that version, or use a backup made before it"},
		"another program's database": {func(t *testing.T, dir string) {
			write(t, dir+"/secret.key", "01234567890123456789012345678901")
			exec(t, dir, "CREATE TABLE t (a)")
		}, db.Options{}, "open DIR/ap.db: this is the database of another program: name a directory of its own with --data"},
		"no database at all": {func(t *testing.T, dir string) {
			write(t, dir+"/secret.key", "01234567890123456789012345678901")
			write(t, dir+"/ap.db", "this is a text and not a database, and long enough to be seen as one by SQLite, which looks at the first "+
				"hundred bytes of a file before it says anything about it")
		}, db.Options{}, "open DIR/ap.db: the database is damaged: stop the server and go on with the latest backup (file is not a database)"},
		"a secret that is gone": {func(t *testing.T, dir string) {
			made(t, dir)
			require.NoError(t, os.Remove(dir+"/secret.key"))
		}, db.Options{}, "DIR/secret.key is missing beside the database: bring it back from a backup; if it is lost, make a new one with " +
			"`head -c 32 /dev/urandom > DIR/secret.key && chmod 600 DIR/secret.key`, and claims that agents hold now have to be made again"},
		"a secret that was cut": {func(t *testing.T, dir string) {
			made(t, dir)
			write(t, dir+"/secret.key", "short")
		}, db.Options{}, "DIR/secret.key holds 5 bytes instead of 32: bring it back from a backup"},
		"a backup that was not finished": {func(t *testing.T, dir string) { write(t, dir+"/ap.db.partial", "") }, db.Options{},
			"DIR is a backup that was not finished: use another"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			require.NoError(t, os.Mkdir(dir, 0o700))
			c.prepare(t, dir)
			_, err := db.Open(context.Background(), dir, c.opts)
			require.EqualError(t, err, replaceAll(c.want, "DIR", dir))
		})
	}
}

func TestOpenNeedsToWrite(t *testing.T) {
	t.Parallel()
	dir := mountTmpfs(t, "16m")
	require.NoError(t, open(t, dir, db.Options{}).Close())
	out, err := exec.Command("mount", "-o", "remount,ro", dir).CombinedOutput()
	require.NoError(t, err, string(out))
	_, err = db.Open(context.Background(), dir, db.Options{})
	require.ErrorContains(t, err, "the data directory "+dir+" can't be written")
	require.ErrorContains(t, err, "read-only file system")
	require.ErrorContains(t, err, "give this user write access")
}

func TestAFullDisk(t *testing.T) {
	t.Parallel()
	dir := mountTmpfs(t, "4m")
	d := open(t, dir, db.Options{})
	require.NoError(t, d.Write(context.Background(), set("a", "1")))
	require.NoError(t, d.Writable())

	ballast := filepath.Join(dir, "ballast")
	fill(t, ballast)
	large := string(make([]byte, 1<<20))
	err := d.Write(context.Background(), set("large", large))
	require.ErrorIs(t, err, server.ErrBusy)
	require.ErrorContains(t, err, "full")
	require.Error(t, d.Writable())
	require.ErrorIs(t, d.Files().Put(context.Background(), sum(large), []byte(large)), server.ErrBusy)
	require.Equal(t, "1", setting(t, d, "a"), "reading goes on")
	require.Empty(t, setting(t, d, "large"))

	require.NoError(t, os.Remove(ballast))
	require.NoError(t, d.Writable())
	require.NoError(t, d.Write(context.Background(), set("a", "2")))
	require.NoError(t, d.Close())
	require.Equal(t, "2", setting(t, open(t, dir, db.Options{}), "a"))
}

// mountTmpfs mounts a file system of a size for the test; without the right to, the test is skipped.
func mountTmpfs(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("needs the right to mount a file system: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	return dir
}

// fill writes a file until the disk is full.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	require.NoError(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
}
