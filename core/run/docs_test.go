package run_test

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

var update = flag.Bool("update", false, "write the journal of docs/runs.md anew")

var (
	yamlBlock    = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	journalBlock = regexp.MustCompile("(?s)```journal\n(.*?)```")
)

// TestDocumentedJournal plays the run of docs/runs.md and compares its journal with the one shown there.
func TestDocumentedJournal(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "runs.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	doc, issues := process.Parse([]byte("---\n"+yamlBlock.FindStringSubmatch(string(page))[1]+"---\n"), process.Options{})
	require.NotNil(t, doc, "%v", issues)

	b := setupDoc(t, doc)
	require.NoError(t, b.do(run.Start{RunID: "r_7", Process: doc.Name, Version: 1, By: mira, Human: true, Inputs: json.RawMessage(`{"vendor":"Acme"}`)}))
	b.later(2*time.Minute).claim("check", ana)
	b.later(time.Hour)
	sub := func(cleared, summary string) run.Submission {
		return run.Submission{Output: json.RawMessage(`{"cleared":` + cleared + `}`), Summary: &summary}
	}
	require.NoError(t, b.do(submit(b.claim("check", bob), bob, sub("true", "No hits."))))
	b.later(24 * time.Hour)
	d := b.decision("sign", omar, run.Rejected)
	d.Note = p("Check the parent company too.")
	require.NoError(t, b.do(d))
	b.later(time.Minute)
	require.NoError(t, b.do(submit(b.claim("check", ana), ana, sub("true", "No hits for the parent either."))))
	b.later(time.Hour).decide("sign", omar, run.Approved)

	var journal strings.Builder
	for _, e := range run.Seal("r_7", 0, nil, b.events) {
		fmt.Fprintf(&journal, "%2d  %s  %-16s  %-13s %s  %s\n", e.Seq, e.At.Format("02 15:04"), e.By, e.Type, e.Data, hex.EncodeToString(e.Hash[:4]))
	}
	if *update {
		page = journalBlock.ReplaceAllLiteral(page, []byte("```journal\n"+journal.String()+"```"))
		require.NoError(t, os.WriteFile(path, page, 0o644))
	}
	require.Equal(t, journalBlock.FindStringSubmatch(string(page))[1], journal.String())
}

// TestDocumentedEvents compares the table of events in docs/runs.md with the payloads there are.
func TestDocumentedEvents(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "runs.md"))
	require.NoError(t, err)
	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| .* \\| (.*) \\|$").FindAllStringSubmatch(string(page), -1) {
		rows[row[1]] = row[2]
	}
	_, events := eventful(t)
	events = append(events, run.Event{Type: run.EventRunCancelled, V: 1, Data: json.RawMessage(`{}`)})
	for _, ev := range events {
		payload, err := ev.Payload()
		require.NoError(t, err)
		all, err := json.Marshal(payload)
		require.NoError(t, err)
		var keys map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(all, &keys))
		for key := range keys {
			require.Regexp(t, `\b`+key+`\b`, rows[ev.Type], ev.Type)
		}
	}
	require.Len(t, rows, 20)
}
