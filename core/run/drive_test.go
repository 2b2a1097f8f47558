package run_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// fill makes an object that the fields accept: the required ones, or all.
func fill(fields process.Fields, all bool) json.RawMessage {
	b := []byte("{")
	for _, f := range fields {
		if f.Optional && !all {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		name, _ := json.Marshal(f.Name)
		b = append(append(append(b, name...), ':'), fillValue(f)...)
	}
	return append(b, '}')
}

func fillValue(f process.Field) json.RawMessage {
	if len(f.OneOf) > 0 {
		return f.OneOf[0]
	}
	switch f.Type {
	case process.Number:
		return json.RawMessage(`1.50`)
	case process.Boolean:
		return json.RawMessage(`true`)
	case process.Date:
		return json.RawMessage(`"2026-10-06"`)
	case process.Datetime:
		return json.RawMessage(`"2026-10-06T09:05:00Z"`)
	case process.Person:
		return json.RawMessage(`"omar@example.com"`)
	case process.Object:
		return json.RawMessage(`{"a":{}}`)
	case process.List:
		if f.Items == nil {
			return json.RawMessage(`[1,"a"]`)
		}
		return json.RawMessage(`[` + string(fillValue(*f.Items)) + `]`)
	default:
		return json.RawMessage(`"text"`)
	}
}

// decider is someone who may decide the item.
func decider(item run.Item) string {
	if item.Person != "" {
		return item.Person
	}
	for _, who := range []string{mira, omar, ops} {
		if slices.Contains(groupsOf[who], item.Group) {
			return who
		}
	}
	return mira
}

// step does the next thing that a run waits for: an agent's step, a person's, an event, or time. Routes go round:
// the nth choice takes the nth route. With reject, an approval that can return the run does.
func (b *bundle) step(choice int, reject bool) {
	b.t.Helper()
	if ready := run.Ready(b.doc, b.st, b.env.Now); len(ready) > 0 {
		s := b.doc.Step(ready[0].StepID)
		require.NoError(b.t, b.do(submit(b.claim(s.ID, ana), ana, b.submissionFor(s, choice))))
		return
	}
	if open := b.st.OpenItems(); len(open) > 0 {
		item := open[0]
		d := run.Decision{ItemID: item.ID, Snapshot: b.st.Snapshot(b.doc), By: decider(item), Human: true, Decision: run.Approved}
		d.Groups = groupsOf[d.By]
		s := b.doc.Step(item.StepID)
		if s.Kind == process.Task {
			d.Decision, d.Submission = run.Completed, b.submissionFor(s, choice)
		} else if reject && s.OnReject != "" {
			d.Decision, d.Note = run.Rejected, p("Once more.")
		}
		require.NoError(b.t, b.do(d))
		return
	}
	for i, s := range b.doc.Steps {
		if s.Kind == process.WaitFor && b.st.Steps[i].State == run.StepWaiting && choice%2 == 0 {
			require.Equal(b.t, s.ID, b.send(s.Text, `{"n":1}`))
			return
		}
	}
	next := b.st.NextTimer(b.doc)
	if next == nil {
		return
	}
	b.env.Now = *next
	b.pass(0)
}

func (b *bundle) submissionFor(s *process.Step, choice int) run.Submission {
	sub := run.Submission{Output: fill(s.Output, true), Summary: p("Done.")}
	for _, kind := range s.Evidence {
		sub.Evidence = append(sub.Evidence, run.Evidence{Kind: kind, Ref: "f_1"})
	}
	if s.Routes != nil {
		sub.Next, sub.Reason = p(s.Routes[choice%len(s.Routes)].To), p("Because.")
	}
	return sub
}

// TestPublicProcessesRunToTheirEnd drives every public process, in several ways through its routes, to a finish. Each
// view on the way has the public shape.
func TestPublicProcessesRunToTheirEnd(t *testing.T) {
	t.Parallel()
	check := schema(t, "run-view.json")
	files, err := filepath.Glob(filepath.Join(upstream(t), "*", "*", "PROCESS.md"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		doc, issues := process.Parse(src, process.Options{})
		require.NotNil(t, doc, "%s: %v", file, issues)
		t.Run(doc.Name, func(t *testing.T) {
			t.Parallel()
			for way := range 4 {
				b := setupDoc(t, doc)
				for _, role := range doc.Roles() {
					b.env.Groups[role] = "g_finance"
				}
				b.start(string(fill(doc.Inputs, true)))
				for n := 0; !b.st.Over(); n++ {
					require.Less(t, n, 300, "no end in sight: %s", b.states())
					b.step(way+n, n < 20 && n%3 == way)
					encoded, err := b.view().AppendJSON(nil)
					require.NoError(t, err)
					check(t, encoded)
				}
				require.NotEqual(t, "failed", b.st.Outcome, "%v", b.st.Ended)
			}
		})
	}
}
