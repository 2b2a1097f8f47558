package db_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
)

var epoch = time.Date(2026, 10, 6, 9, 0, 0, 0, time.UTC)

// firstEntry is the projection of a run to be, before its first entry.
func firstEntry(id string) server.Projection {
	return server.Projection{Run: server.RunRow{ID: id, Process: "supplier", Version: 1, Mode: run.Live, State: run.RunActive,
		StartedBy: "agent:robot", StartedAt: epoch, UpdatedAt: epoch, Inputs: json.RawMessage(`{}`)}}
}

// nextEntry moves p on to its next entry and returns that.
func nextEntry(p *server.Projection) []run.Entry {
	p.Run.Seq++
	h := sha256.Sum256(fmt.Append(p.Run.Head, p.Run.ID, p.Run.Seq))
	p.Run.Head = h[:]
	return []run.Entry{{Event: run.Event{Type: "StepReadied", V: 1, At: epoch, By: "agent:robot", Data: json.RawMessage(`{}`)},
		Seq: p.Run.Seq, Hash: p.Run.Head}}
}

func appendNext(t *testing.T, d *db.DB, p *server.Projection) {
	t.Helper()
	list := nextEntry(p)
	require.NoError(t, d.Write(context.Background(), func(w server.Writer) error { return w.Append(*p, list, nil) }))
}

func projectionOf(t *testing.T, d *db.DB, id string) server.Projection {
	t.Helper()
	var p server.Projection
	require.NoError(t, d.Read(context.Background(), func(r server.Reader) (err error) {
		p, err = r.Projection(id)
		return err
	}))
	return p
}
