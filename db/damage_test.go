package db_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
)

// A page that the disk has ruined is reported as what it is, and the rest can still be read.
func TestADamagedPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir, db.Options{})
	publish(t, d)
	for i := range 100 {
		p := firstEntry(fmt.Sprintf("r_%03d", i))
		appendNext(t, d, &p)
	}
	require.NoError(t, d.Close())

	file := filepath.Join(dir, "ap.db")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	const page = 4096
	damaged := 0
	for n := 2; n < len(content)/page; n++ {
		broken := append([]byte(nil), content...)
		for i := range page {
			broken[n*page+i] = 0x55
		}
		require.NoError(t, os.WriteFile(file, broken, 0o600))
		if err := readEverything(dir); err != nil {
			require.ErrorIs(t, err, db.ErrDamaged)
			require.ErrorContains(t, err, "the database is damaged: stop the server and go on with the latest backup")
			damaged++
		}
	}
	require.Greater(t, damaged, 3)
	require.NoError(t, os.WriteFile(file, content, 0o600))
	require.NoError(t, readEverything(dir))
}

func readEverything(dir string) error {
	d, err := db.Open(context.Background(), dir, db.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Read(context.Background(), func(r server.Reader) error {
		ids, err := r.RunIDs("", 1000)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if _, err := r.Projection(id); err != nil {
				return err
			}
			if _, err := r.Entries(id, 0, 0); err != nil {
				return err
			}
		}
		return nil
	})
}
