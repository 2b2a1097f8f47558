package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server/servertest"
)

// review is the loop that most tests run: an agent step, an approval that sends back, a finish.
const review = `---
name: review
description: An agent writes a report and a person approves it.
inputs:
  topic: string
  budget: {type: number, optional: true}
steps:
  - id: write
    agent: Write the report.
    output:
      title: string
      pages: {type: number, optional: true}
  - id: approve
    person: editor
    approve: Is the report good?
    on_reject: write
    due: 2d
  - id: done
    finish: published
---

# Review

Start it when a report is wanted.
`

// delivery waits for an event, then a person files a paper with a file attached.
const delivery = `---
name: delivery
description: Goods arrive and someone files the delivery note.
steps:
  - id: arrival
    wait_for: goods_arrived
    timeout: 3d
    on_timeout: lost
  - id: file_note
    task: File the delivery note.
    person: warehouse
    output:
      pallets: number
    evidence: [file]
    next:
      - {to: stored, when: Everything is there}
      - {to: lost, when: Something is missing}
  - id: lost
    finish: lost
  - id: stored
    finish: stored
---
`

// collect has an agent step that needs a file.
const collect = `---
name: collect
description: An agent collects a quote.
steps:
  - id: quote
    agent: Get a quote and attach it.
    output:
      price: number
    evidence: [file]
    due: 1d
  - id: done
    finish: collected
---
`

var (
	worker   = servertest.Agent("worker")
	other    = servertest.Agent("other")
	editor   = servertest.Person("mira@example.com", "editor")
	stranger = servertest.Person("tom@example.com", "warehouse")
	operator = servertest.Operator("ops@example.com")
)

type args = servertest.Args

func TestARunGoesFromStartToFinish(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	v := f.Begin(editor, "review", args{"topic": "bees"})
	require.Equal(t, "active", v.Run.State)
	require.Equal(t, "ready", v.State("write"))
	c := f.Take(worker, v.Run.ID, "write")
	require.Equal(t, "claimed", f.View(v.Run.ID).State("write"))
	v = f.Finish(worker, c.Token, args{"title": "Bees"})
	require.Equal(t, "waiting", v.Run.State)
	require.Len(t, v.WorkItems, 1)
	v = servertest.Into[servertest.View](t, f.DecideItem(editor, v.WorkItems[0], "approved", nil))
	require.Equal(t, "ended", v.Run.State)
	require.Equal(t, "published", *v.Run.Outcome)
	verified(t, f)
}

// verified fails the test when anything stored differs from the journal.
func verified(t *testing.T, f *servertest.Fixture) {
	t.Helper()
	problems, err := f.Verify(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, problems)
}

// uploaded stores a file and returns its id.
func uploaded(t *testing.T, f *servertest.Fixture, content string) string {
	t.Helper()
	up, err := f.Upload(t.Context(), worker, uploadArgs(content, f.Request()))
	require.NoError(t, err)
	return up.ID
}
