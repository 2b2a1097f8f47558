package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server/servertest"
)

// Verify says exactly what differs.
func TestVerifyNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, statement string
		want            string // RUN stands for the run's id
	}{
		{"an entry's payload", `UPDATE journal SET data = replace(data, 'bees', 'wasp') WHERE run_id = ? AND seq = 1`, `^journal: entry 1 \(RunStarted at 2026-10-06T09:00:00.000Z\) isn't what was written, or what stands before it isn't$`},
		{"an entry's author", `UPDATE journal SET actor = 'agent:other' WHERE run_id = ? AND seq = 3`, `^journal: entry 3 \(StepClaimed at .*\) isn't what was written`},
		{"an entry's hash", `UPDATE journal SET hash = zeroblob(32) WHERE run_id = ? AND seq = 2`, `^journal: entry 2 `},
		{"an entry that is gone", `DELETE FROM journal WHERE run_id = ? AND seq = 2`, `^journal: entry 2 is missing$`},
		{"the last entry that is gone", `DELETE FROM journal WHERE run_id = ? AND seq = (SELECT max(seq) FROM journal)`, `^journal: it ends with entry \d+, and \d+ were written$`},
		{"a journal that is gone", `DELETE FROM journal WHERE run_id = ?`, `^journal: it is empty$`},
		{"a run's state", `UPDATE runs SET state = 'ended' WHERE id = ?`, `^state: stored is ended, the journal says waiting$`},
		{"a run's outcome", `UPDATE runs SET outcome = 'published' WHERE id = ?`, `^outcome: stored is published, the journal says $`},
		{"a run's timer", `UPDATE runs SET next_timer = NULL WHERE id = ?`, `^next timer: stored is none, the journal says 2026-10-08T09:00:00.000Z$`},
		{"a run's starter", `UPDATE runs SET started_by = 'x' WHERE id = ?`, `^starter: stored is x, the journal says mira@example.com$`},
		{"a run's inputs", `UPDATE run_starts SET inputs = '{}' WHERE run_id = ?`, `^inputs: not those of the journal$`},
		{"the index of inputs", `UPDATE run_starts SET input_values = '{}' WHERE run_id = ?`, `^inputs: the index to find the run by is not that of the journal$`},
		{"a work item that is gone", `DELETE FROM items WHERE run_id = ?`, `^work item .*: it is missing$`},
		{"a work item of another group", `UPDATE items SET assignee = 'g:else' WHERE run_id = ?`, `^work item .*: stored is .*"else".*, the journal says .*"editor"`},
		{"a ready step from nowhere", `INSERT INTO ready VALUES (?, 'write', 'review', 0)`, `^ready step write: the journal knows nothing of it$`},
		{"a version's content", `UPDATE versions SET source = replace(source, 'An agent', 'No agent') WHERE ? <> ''`, `^process review, version 1: the content's hash is [0-9a-f]{64}, recorded is [0-9a-f]{64}$`},
		{"a version that is broken", `UPDATE versions SET source = 'x' WHERE ? <> ''`, `^process review, version 1: the stored file is broken: `},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			f := servertest.Open(t, dir)
			f.Publish(review, nil)
			id := f.Begin(editor, "review", args{"topic": "bees"}).Run.ID
			f.Finish(worker, f.Take(worker, id, "write").Token, args{"title": "Bees"})
			runs := 0
			problems, err := f.Verify(t.Context(), func(n int) { runs = n })
			require.NoError(t, err)
			require.Empty(t, problems)
			require.Equal(t, 1, runs)

			damage(t, dir, c.statement, id)
			problems, err = f.Verify(t.Context(), nil)
			require.NoError(t, err)
			found := false
			for _, p := range problems {
				found = found || regexp.MustCompile(c.want).MatchString(p.Message)
			}
			require.True(t, found, "%v", problems)
			if !strings.Contains(c.name, "version") {
				require.Equal(t, id, problems[0].RunID)
			}
		})
	}
}

// A backup is a whole data directory: using the copy restores everything.
func TestABackupIsAWholeDataDirectory(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(collect, nil)
	v, r := submitted(t, f, "a quote")
	require.True(t, r.OK)
	dir := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, f.Backup(t.Context(), dir))
	require.Error(t, f.Backup(t.Context(), dir), "it isn't empty any more")
	for _, name := range []string{"ap.db", "secret.key", "files"} {
		_, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
	}
	restored := servertest.Open(t, dir)
	require.Equal(t, f.View(v.Run.ID), restored.View(v.Run.ID))
	verified(t, restored)
	id, query := signedURL(t, f.Call(worker, "get_run", args{"runId": v.Run.ID}).JSON)
	_, body, err := restored.OpenFile(t.Context(), id, query)
	require.NoError(t, err)
	require.NoError(t, body.Close())
}

// A write under load and a verification at the same time don't disturb each other.
func TestVerifyWorksWhileRunsGoOn(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			raw := []byte(fmt.Sprintf(`{"process":"review","inputs":{"topic":"x"},"requestId":"load-%d"}`, i))
			f.Server.Call(t.Context(), editor, "start_run", raw)
		}
	}()
	deadline := time.Now().Add(300 * time.Millisecond)
	for time.Now().Before(deadline) {
		verified(t, f)
	}
	close(stop)
	<-done
	verified(t, f)
}
