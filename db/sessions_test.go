package db_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/db"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir, db.Options{})
	s := d.Sessions()
	find := func(token string) string {
		t.Helper()
		data, found, err := s.Find(token)
		require.NoError(t, err)
		require.Equal(t, found, data != nil)
		return string(data)
	}
	require.Empty(t, find("token"))
	require.NoError(t, s.Commit("token", []byte("one"), time.Now().Add(time.Hour)))
	require.Equal(t, "one", find("token"))
	require.NoError(t, s.Commit("token", []byte("two"), time.Now().Add(time.Hour)))
	require.Equal(t, "two", find("token"))
	require.NoError(t, s.Commit("old", []byte("old"), time.Now().Add(-time.Second)))
	require.Empty(t, find("old"), "an expired session is not found")
	require.NoError(t, s.Delete("token"))
	require.NoError(t, s.Delete("token"), "one that is gone may be deleted")
	require.Empty(t, find("token"))

	t.Run("KeepsNoToken", func(t *testing.T) {
		require.NoError(t, s.Commit("a-very-secret-token", []byte("data"), time.Now().Add(time.Hour)))
		pool, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "ap.db"))
		require.NoError(t, err)
		defer pool.Close()
		var n int
		require.NoError(t, pool.QueryRow("SELECT count(*) FROM sessions WHERE instr(token_hash, 'a-very-secret-token') > 0").Scan(&n))
		require.Zero(t, n)
	})

	t.Run("TellsNobody", func(t *testing.T) {
		d := open(t, t.TempDir(), db.Options{})
		require.NoError(t, d.Write(t.Context(), set("a", "1")))
		changes, end := d.Changes()
		defer end()
		require.NoError(t, d.Sessions().Commit("token", []byte("data"), time.Now().Add(time.Hour)))
		require.NoError(t, d.Sessions().Delete("token"))
		select {
		case <-changes:
			require.Fail(t, "a session is nobody's business")
		default:
		}
		require.NoError(t, d.Write(t.Context(), set("a", "2")))
		<-changes
	})

	t.Run("RemovesExpiredOnes", func(t *testing.T) {
		// The first session that a store writes takes the expired ones with it.
		require.NoError(t, d.Sessions().Commit("new", []byte("new"), time.Now().Add(time.Hour)))
		pool, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "ap.db"))
		require.NoError(t, err)
		defer pool.Close()
		var n int
		require.NoError(t, pool.QueryRow("SELECT count(*) FROM sessions").Scan(&n))
		require.Equal(t, 2, n, "of three, one had expired")
	})

	t.Run("LastOverARestart", func(t *testing.T) {
		require.NoError(t, d.Close())
		data, found, err := open(t, dir, db.Options{}).Sessions().Find("new")
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, "new", string(data))
		_, _, err = s.Find("new")
		require.ErrorIs(t, err, db.ErrClosed)
		require.ErrorIs(t, s.Commit("x", nil, time.Now()), db.ErrClosed)
	})
}
