package run_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// acceptanceDoc has a plain step and one with everything.
func acceptanceDoc() *process.Document {
	choice := field("choice", process.String)
	choice.Bare, choice.OneOf = false, []json.RawMessage{json.RawMessage(`"a"`), json.RawMessage(`"b"`)}
	size := field("size", process.Number)
	size.Bare, size.Optional, size.OneOf = false, true, []json.RawMessage{json.RawMessage(`1.0`), json.RawMessage(`2`)}
	tags := field("tags", process.List)
	tags.Bare, tags.Optional, tags.Items = false, true, &process.Field{Type: process.String, Bare: true}
	full := routes(evidence(output(agent("full"), field("ok", process.Boolean), choice, size, tags), "file", "link"), "plain", "done")
	return document(full, agent("plain"), task("person", "finance"), finish("done"))
}

func TestS3_Acceptance(t *testing.T) {
	t.Parallel()
	good := func() run.Submission {
		return run.Submission{
			Output: json.RawMessage(`{"ok":true,"choice":"a"}`), Summary: p("Done."), Next: p("plain"), Reason: p("Because."),
			Evidence: []run.Evidence{{Kind: "file", Ref: "f_1"}, {Kind: "link", Ref: "https://x"}},
		}
	}
	cases := []struct {
		name   string
		change func(*run.Submission)
		issues []string
	}{
		{"accepted", func(*run.Submission) {}, nil},
		{"one_of compares numbers by value", func(s *run.Submission) { s.Output = json.RawMessage(`{"ok":true,"choice":"a","size":1}`) }, nil},
		{"more evidence of any kind", func(s *run.Submission) {
			s.Evidence = append(s.Evidence, run.Evidence{Kind: "link", Ref: "y"}, run.Evidence{Kind: "file", Ref: "f_1"})
		}, nil},
		{"blank summary", func(s *run.Submission) { s.Summary = p(" \t") }, []string{"summary: missing"}},
		{"output missing", func(s *run.Submission) { s.Output = json.RawMessage(`{}`) }, []string{"output.ok: missing", "output.choice: missing"}},
		{"output of the wrong type", func(s *run.Submission) { s.Output = json.RawMessage(`{"ok":"yes","choice":"a"}`) }, []string{"output.ok: expected boolean"}},
		{"null is no value", func(s *run.Submission) { s.Output = json.RawMessage(`{"ok":null,"choice":"a"}`) }, []string{"output.ok: expected boolean"}},
		{"not one of", func(s *run.Submission) { s.Output = json.RawMessage(`{"ok":true,"choice":"c"}`) }, []string{"output.choice: not one of a, b"}},
		{"list element", func(s *run.Submission) { s.Output = json.RawMessage(`{"ok":true,"choice":"a","tags":["x","y",3]}`) }, []string{"output.tags[2]: expected string"}},
		{"not declared", func(s *run.Submission) { s.Output = json.RawMessage(`{"ok":true,"choice":"a","x":1}`) }, []string{"output.x: not declared"}},
		{"evidence missing", func(s *run.Submission) { s.Evidence = nil }, []string{"evidence: file required", "evidence: link required"}},
		{"a link is no file", func(s *run.Submission) { s.Evidence = s.Evidence[1:] }, []string{"evidence: file required"}},
		{"file not found", func(s *run.Submission) { s.Evidence[0].Ref = "f_0" }, []string{"evidence: file required", "evidence f_0: not found"}},
		{"file changed", func(s *run.Submission) { s.Evidence[0].Ref = "f_changed" }, []string{"evidence: file required", "evidence f_changed: bytes changed"}},
		{"one wrong file twice, one right", func(s *run.Submission) {
			s.Evidence = append(s.Evidence, run.Evidence{Kind: "file", Ref: "f_0"}, run.Evidence{Kind: "file", Ref: "f_0"})
		}, []string{"evidence f_0: not found"}},
		{"next required", func(s *run.Submission) { s.Next = nil }, []string{"next: required, one of plain, done"}},
		{"next not one of", func(s *run.Submission) { s.Next = p("person") }, []string{"next: not one of plain, done"}},
		{"next empty", func(s *run.Submission) { s.Next = p("") }, []string{"next: not one of plain, done"}},
		{"reason required", func(s *run.Submission) { s.Reason = nil }, []string{"reason: required"}},
		{"reason blank", func(s *run.Submission) { s.Reason = p(" ") }, []string{"reason: required"}},
		{"everything at once, in order", func(s *run.Submission) {
			*s = run.Submission{Output: json.RawMessage(`{"y":1,"x":1,"choice":3}`), Summary: p(""), Evidence: []run.Evidence{{Kind: "file", Ref: "f_9"}}}
		}, []string{
			"summary: missing", "output.ok: missing", "output.choice: expected string", "output.x: not declared", "output.y: not declared",
			"evidence: file required", "evidence: link required", "evidence f_9: not found",
			"next: required, one of plain, done", "reason: required",
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setupDoc(t, acceptanceDoc()).start()
			ref := b.claim("full", ana)
			before := b.data()
			sub := good()
			c.change(&sub)
			err := b.do(submit(ref, ana, sub))
			if c.issues == nil {
				require.NoError(t, err)
				require.Equal(t, "done ready - -", b.states())
				return
			}
			refused(t, err, run.NotAccepted, c.issues...)
			require.Equal(t, "claimed - - -", b.states())
			require.Equal(t, before, b.data())
			require.Equal(t, c.issues, run.HandoffOf(b.st, 0).Issues)
		})
	}
}

func TestS3_AStepWithoutRoutesTakesNoNext(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), task("b", "finance"), finish("done")).start()
	ref := b.claim("a", ana)
	sub := submission(`{}`)
	sub.Next, sub.Reason = p("b"), p("Because.")
	refused(t, b.do(submit(ref, ana, sub)), run.NotAccepted, "next: not allowed", "reason: not allowed")
	require.NoError(t, b.do(submit(ref, ana, submission(`{}`))))
	d := b.decision("b", mira, run.Completed)
	d.Next, d.Reason = p("done"), p("Because.")
	refused(t, b.do(d), run.NotAccepted, "next: not allowed", "reason: not allowed")
	require.Equal(t, []string{"next: not allowed", "reason: not allowed"}, b.view().WorkItems[0].Handoff.Issues,
		"a person's refused completion leaves issues too")
}

func TestS3_TheChosenRouteIsTaken(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"b", "done"} {
		b := setup(t, routes(task("a", "finance"), "b", "done"), agent("b"), finish("done")).start()
		d := b.decision("a", mira, run.Completed)
		d.Next, d.Reason = p(to), p("Because.")
		require.NoError(t, b.do(d))
		want := map[string]string{"b": "done ready -", "done": "done - done"}[to]
		require.Equal(t, want, b.states())
		require.Contains(t, b.stepData("a"), `"next":"`+to+`","reason":"Because."`)
	}
}
