package server_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"
	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/core/server/servertest"
)

const reminder = `---
name: reminder
description: Wait, then ask a person.
inputs:
  minutes: {type: string, optional: true}
steps:
  - id: pause
    wait: 30m
  - id: answer
    task: Answer.
    person: editor
    due: 1h
    next: done
  - id: done
    finish: answered
---
`

// scheduled runs the scheduler until the test ends.
func scheduled(t *testing.T, f *servertest.Fixture) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
}

// stored is what the store has of a run, timers that are past due and not fired left out.
func stored(t *testing.T, f *servertest.Fixture, runID string) (row server.RunRow) {
	t.Helper()
	require.NoError(t, f.DB.Read(t.Context(), func(r server.Reader) (err error) {
		row, err = r.Run(runID)
		return err
	}))
	return row
}

func TestTheSchedulerFiresTimersWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(reminder, nil)
	scheduled(t, f)
	v := f.Begin(editor, "reminder", nil)
	require.Equal(t, "2026-10-06T09:30:00.000Z", stored(t, f, v.Run.ID).NextTimer.Format("2006-01-02T15:04:05.000Z"))
	require.Eventually(t, func() bool { return f.Clock.Waiting() == 1 }, 10*time.Second, time.Millisecond, "it sleeps until the next timer")
	advance(t, f, 29*time.Minute)
	require.Equal(t, 1, f.Clock.Waiting(), "and doesn't wake before")
	advance(t, f, time.Minute)
	require.Eventually(t, func() bool { return stored(t, f, v.Run.ID).Seq > 2 }, 10*time.Second, time.Millisecond)
	require.Equal(t, "waiting", f.View(v.Run.ID).State("answer"))
}

// A thousand timers due at once are fine, and a server that was down for a week catches up in time order with the times
// they were due.
func TestAServerThatWasDownCatchesUpWithTheTimesThatWereDue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := servertest.Open(t, dir)
	f.Publish(reminder, nil)
	const n = 300
	var ids []string
	for range n {
		ids = append(ids, f.Begin(editor, "reminder", nil).Run.ID)
		advance(t, f, time.Second)
	}
	advance(t, f, 7*24*time.Hour)
	scheduled(t, f)
	require.Eventually(t, func() bool {
		lag, err := f.TimerLag(t.Context())
		return err == nil && lag == 0
	}, 30*time.Second, 5*time.Millisecond)
	for i, id := range ids {
		row := stored(t, f, id)
		require.Nil(t, row.NextTimer)
		started := servertest.Start.Add(time.Duration(i) * time.Second)
		require.True(t, row.UpdatedAt.Equal(started.Add(90*time.Minute)), "overdue when it was due, not when it was noticed: %s", row.UpdatedAt)
	}
	verified(t, f)
}

func TestARunThatCantBeHandledDoesntHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := servertest.Open(t, dir)
	f.Publish(reminder, nil)
	broken := f.Begin(editor, "reminder", nil).Run.ID
	var others []string
	for range 3 {
		others = append(others, f.Begin(editor, "reminder", nil).Run.ID)
	}
	damage(t, dir, `UPDATE journal SET type = 'Nonsense' WHERE run_id = ? AND seq = 1`, broken)
	f = f.Again()
	advance(t, f, time.Hour)
	for _, tool := range []string{"get_work", "list_runs"} {
		require.True(t, f.Call(editor, tool, args{"process": "reminder"}).OK)
	}
	for _, id := range others {
		require.Equal(t, "waiting", f.View(id).State("answer"))
		require.Greater(t, stored(t, f, id).Seq, 2)
	}
	r := f.Call(editor, "get_run", args{"runId": broken})
	require.Equal(t, "retry", string(r.Code()))
	require.NotContains(t, r.Err.Message, "Nonsense", "what is wrong inside is logged, never shown")

	problems, err := f.Verify(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, problems, 1)
	require.Equal(t, broken, problems[0].RunID)
	require.True(t, strings.HasPrefix(problems[0].Message, "journal: entry 1 (Nonsense at "), problems[0].Message)
}

// damage changes the database behind the server's back, its triggers out of the way.
func damage(t *testing.T, dir, statement string, params ...any) {
	t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(dir, "ap.db"))
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.Query(`SELECT name, sql FROM sqlite_master WHERE type = 'trigger'`)
	require.NoError(t, err)
	triggers := map[string]string{}
	for rows.Next() {
		var name, text string
		require.NoError(t, rows.Scan(&name, &text))
		triggers[name] = text
	}
	require.NoError(t, rows.Close())
	for name := range triggers {
		_, err := db.Exec(fmt.Sprintf("DROP TRIGGER %q", name))
		require.NoError(t, err)
	}
	_, err = db.Exec(statement, params...)
	require.NoError(t, err)
	for _, text := range triggers {
		_, err := db.Exec(text)
		require.NoError(t, err)
	}
}
