package db_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/core/server/storetest"
	"github.com/apserver/ap/db"
)

// open opens a data directory that the test closes.
func open(t *testing.T, dir string, opts db.Options) *db.DB {
	t.Helper()
	d, err := db.Open(context.Background(), dir, opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) server.Store { return open(t, t.TempDir(), db.Options{}) })
}
