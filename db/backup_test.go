package db_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
)

func replaceAll(s, old, new string) string { return strings.ReplaceAll(s, old, new) }

func sum(content string) string {
	h := sha256.Sum256([]byte(content))
	return hex.EncodeToString(h[:])
}

// upload stores a file and the row that names it.
func upload(t *testing.T, d *db.DB, id, content string) {
	t.Helper()
	require.NoError(t, d.Files().Put(context.Background(), sum(content), []byte(content)))
	require.NoError(t, d.Write(context.Background(), func(w server.Writer) error {
		return w.PutUpload(server.Upload{ID: id, SHA256: sum(content), Bytes: int64(len(content)), At: epoch})
	}))
}

func download(t *testing.T, d *db.DB, content string) string {
	t.Helper()
	r, err := d.Files().Open(context.Background(), sum(content))
	require.NoError(t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(b)
}

func TestABackupIsADataDirectory(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir(), db.Options{})
	publish(t, d)
	p := firstEntry("r_1")
	appendNext(t, d, &p)
	upload(t, d, "f_1", "invoice")
	upload(t, d, "f_2", "")

	dir := filepath.Join(t.TempDir(), "new", "backup")
	require.NoError(t, d.Backup(context.Background(), dir))
	upload(t, d, "f_3", "later")

	for name, mode := range map[string]os.FileMode{"": 0o700, "ap.db": 0o600, "secret.key": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), name)
	}
	restored := open(t, dir, db.Options{MustExist: true})
	require.Equal(t, d.Secret(), restored.Secret())
	require.Equal(t, projectionOf(t, d, "r_1"), projectionOf(t, restored, "r_1"))
	require.Equal(t, "invoice", download(t, restored, "invoice"))
	require.Empty(t, download(t, restored, ""))
	require.NoError(t, restored.Read(context.Background(), func(r server.Reader) error {
		_, err := r.Upload("f_3")
		require.ErrorIs(t, err, server.ErrNotFound)
		return nil
	}))
	appendNext(t, restored, &p) // it goes on where the original was
}

func TestABackupNeedsAnEmptyDirectory(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir(), db.Options{})
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600))
	require.EqualError(t, d.Backup(context.Background(), dir),
		"back up to "+dir+": the directory is not empty: name one that is empty or doesn't exist")
	require.Error(t, d.Backup(context.Background(), filepath.Join(dir, "mine")))
	require.NoError(t, d.Backup(context.Background(), t.TempDir()))
}

func TestABackupNamesTheFilesThatAreDamaged(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir(), db.Options{})
	upload(t, d, "f_1", "good")
	upload(t, d, "f_2", "cut")
	upload(t, d, "f_3", "gone")
	require.NoError(t, os.Truncate(storedFile(d, "cut"), 1))
	require.NoError(t, os.Remove(storedFile(d, "gone")))
	dir := filepath.Join(t.TempDir(), "backup")
	err := d.Backup(context.Background(), dir)
	require.ErrorContains(t, err, "everything was copied but 2 files")
	require.ErrorContains(t, err, "upload f_2")
	require.ErrorContains(t, err, "upload f_3")
	restored := open(t, dir, db.Options{MustExist: true})
	require.Equal(t, "good", download(t, restored, "good"))
}

func TestABackupThatIsGivenUpIsNoDataDirectory(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir(), db.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := filepath.Join(t.TempDir(), "backup")
	require.ErrorIs(t, d.Backup(ctx, dir), context.Canceled)
	_, err := db.Open(context.Background(), dir, db.Options{MustExist: true})
	require.ErrorContains(t, err, "holds no database")
}

func storedFile(d *db.DB, content string) string {
	return filepath.Join(d.Dir(), "files", sum(content)[:2], sum(content))
}

func TestFiles(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := open(t, t.TempDir(), db.Options{})
	files := d.Files()
	content := strings.Repeat("evidence ", 100_000)
	require.NoError(t, files.Put(ctx, sum(content), []byte(content)))
	require.Equal(t, content, download(t, d, content))
	require.NoError(t, files.Put(ctx, sum(content), []byte(content)), "the same bytes again")

	t.Run("KeepsNothingBesideTheBytes", func(t *testing.T) {
		entries, err := os.ReadDir(filepath.Dir(storedFile(d, content)))
		require.NoError(t, err)
		require.Len(t, entries, 1)
	})
	t.Run("KnowsWhatIsMissing", func(t *testing.T) {
		_, err := files.Open(ctx, sum("other"))
		require.ErrorIs(t, err, server.ErrNotFound)
	})
	t.Run("RefusesWhatIsNoHash", func(t *testing.T) {
		for _, name := range []string{"", "..", "../secret.key", "secret.key", sum("x")[:62], strings.Repeat("../", 22)[:64]} {
			require.Error(t, files.Put(ctx, name, []byte("x")), name)
			_, err := files.Open(ctx, name)
			require.ErrorIs(t, err, server.ErrNotFound, name)
		}
	})
	t.Run("RefusesBytesOfAnotherHash", func(t *testing.T) {
		require.ErrorContains(t, files.Put(ctx, sum("one"), []byte("two")), "the content's hash is "+sum("two"))
	})
	t.Run("WritesDamagedBytesAgain", func(t *testing.T) {
		for _, damage := range []func(string) error{
			func(name string) error { return os.Truncate(name, 10) },
			func(name string) error { return os.WriteFile(name, bytes.Repeat([]byte("x"), len(content)), 0o600) },
			os.Remove,
		} {
			require.NoError(t, damage(storedFile(d, content)))
			require.NoError(t, files.Put(ctx, sum(content), []byte(content)))
			require.Equal(t, content, download(t, d, content))
		}
	})
	t.Run("LeavesNothingOfAWriteThatIsGivenUp", func(t *testing.T) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		require.Error(t, files.Put(ctx, sum("given up"), []byte("given up")))
		_, err := os.Stat(storedFile(d, "given up"))
		require.True(t, errors.Is(err, os.ErrNotExist))
	})
}
