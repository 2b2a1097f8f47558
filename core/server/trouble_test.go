package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/core/server/servertest"
)

// troubled is a store that fails as it is told to.
type troubled struct {
	server.Store
	read, write atomic.Pointer[error]
	conflicts   atomic.Int32 // writes that conflict before one goes through
}

func (s *troubled) Read(ctx context.Context, fn func(server.Reader) error) error {
	if err := s.read.Load(); err != nil {
		return *err
	}
	return s.Store.Read(ctx, fn)
}

func (s *troubled) Write(ctx context.Context, fn func(server.Writer) error) error {
	if err := s.write.Load(); err != nil {
		return *err
	}
	if s.conflicts.Add(-1) >= 0 {
		return fmt.Errorf("appending: %w", server.ErrConflict)
	}
	return s.Store.Write(ctx, fn)
}

// A database that is busy or full, and whatever goes wrong inside, is `retry` to the caller: nothing of the write was
// kept, and the same call may be sent again.
func TestTroubleInsideIsRetryAndLosesNothing(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	var log bytes.Buffer
	store := &troubled{Store: f.DB}
	opts := f.Options
	opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	f.Server = server.New(store, f.DB.Files(), opts)
	v := f.Begin(editor, "review", args{"topic": "x"})
	claim := args{"runId": v.Run.ID, "stepId": "write", "requestId": "1"}

	busy := fmt.Errorf("commit: %w", server.ErrBusy)
	store.write.Store(&busy)
	r := f.Call(worker, "claim", claim)
	refused(t, r, run.Retry)
	require.Empty(t, log.String(), "a busy database is no error of ours")
	inside := errors.New("disk I/O error at /var/lib/secret")
	store.write.Store(&inside)
	r = f.Call(worker, "claim", claim)
	refused(t, r, run.Retry)
	require.NotContains(t, string(r.JSON), "secret")
	require.Contains(t, log.String(), "secret")
	require.Contains(t, log.String(), "tool=claim")
	store.write.Store(nil)
	store.read.Store(&inside)
	for tool, a := range map[string]args{"get_run": {"runId": v.Run.ID}, "get_work": {}, "list_runs": {}, "list_processes": {}} {
		refused(t, f.Call(worker, tool, a), run.Retry)
	}
	_, err := f.StartRun(t.Context(), editor, server.StartRunArgs{Process: "review", Inputs: []byte(`{"topic":"x"}`), RequestID: "2"})
	require.ErrorIs(t, err, inside, "a typed method returns what went wrong, to be logged")
	store.read.Store(nil)
	require.True(t, f.Call(worker, "claim", claim).OK, "the call that failed goes through when it is sent again")
	verified(t, f)
}

// Another process that writes to the same run makes the write be decided again, and never lost.
func TestAWriteIsDecidedAgainWhenTheRunHasMovedOn(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	store := &troubled{Store: f.DB}
	f.Server = server.New(store, f.DB.Files(), f.Options)
	v := f.Begin(editor, "review", args{"topic": "x"})
	store.conflicts.Store(3)
	f.Take(worker, v.Run.ID, "write")
	store.conflicts.Store(100)
	refused(t, f.Write(operator, "cancel", args{"runId": v.Run.ID, "reason": "x"}), run.Retry)
	store.conflicts.Store(0)

	// The other server's cache is out of date each time: it decides on what is stored.
	again := f.Again()
	require.True(t, again.Write(operator, "send_event", args{"runId": v.Run.ID, "name": "hello"}).OK)
	refused(t, f.Write(other, "claim", args{"runId": v.Run.ID, "stepId": "write"}), run.Conflict, run.IssueClaimedByOther)
	require.True(t, again.Write(operator, "cancel", args{"runId": v.Run.ID, "reason": "x"}).OK)
	refused(t, f.Write(worker, "claim", args{"runId": v.Run.ID, "stepId": "write"}), run.Conflict, run.IssueRunEnded)
	verified(t, f)
}

// The refusals that are found out ahead of the writer are those of the run as it is stored.
func TestARefusalIsNeverThatOfAnOldState(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	again := f.Again()
	v := f.Begin(editor, "review", args{"topic": "x"})
	c := f.Take(worker, v.Run.ID, "write")
	again.View(v.Run.ID) // the other server has it in its cache: claimed
	require.True(t, f.Write(worker, "escalate", args{"token": c.Token, "note": "n"}).OK)
	require.True(t, f.DecideItem(operator, f.View(v.Run.ID).WorkItems[0], "returned", args{"note": "n"}).OK)
	again.Take(other, v.Run.ID, "write")
}

func TestMessagesAreSentences(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	for _, r := range []servertest.Reply{
		f.Call(worker, "get_run", args{}), f.Call(worker, "get_run", args{"runId": "x"}),
		f.Write(worker, "start_run", args{"process": "revew", "inputs": args{}}), f.Write(worker, "cancel", args{"runId": "x", "reason": "x"}),
		f.Call(server.Identity{}, "describe", args{}), f.Call(worker, "list_runs", args{"cursor": "x"}),
	} {
		require.True(t, strings.HasSuffix(r.Err.Message, ".") || strings.HasSuffix(r.Err.Message, "?"), r.Err.Message)
	}
}
