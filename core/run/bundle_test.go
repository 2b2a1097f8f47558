package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// t0 is when the tests begin.
var t0 = time.Date(2026, 10, 6, 9, 0, 0, 0, time.UTC)

// tester is a *testing.T or a *rapid.T.
type tester interface {
	require.TestingT
	Helper()
}

// bundle is one run under a fake clock. Every command goes through Decide, and its events through Apply as well, so
// that each test also checks that the journal says everything.
type bundle struct {
	t      tester
	doc    *process.Document
	st     *run.State
	env    run.Env
	events []run.Event
	result run.Result
}

const (
	ana  = "agent:ana"
	bob  = "agent:bob"
	mira = "mira@example.com"
	omar = "omar@example.com"
	ops  = "ops@example.com"
)

// groupsOf are the groups of the people above; finance is the role of most tests.
var groupsOf = map[string][]string{mira: {"g_finance"}, omar: {"g_finance", "g_legal"}, ops: {"operators"}}

func setup(t tester, steps ...process.Step) *bundle {
	t.Helper()
	return setupDoc(t, document(steps...))
}

func setupDoc(t tester, doc *process.Document) *bundle {
	t.Helper()
	return &bundle{t: t, doc: doc, env: run.Env{
		Now:          t0,
		Groups:       map[string]string{"finance": "g_finance", "legal": "g_legal"},
		Operators:    "operators",
		Lease:        10 * time.Minute,
		RunDataBytes: 262144,
		Files: map[string]run.File{
			"f_1":       {Found: true, SHA256: "aa11"},
			"f_changed": {Found: true, Changed: true, SHA256: "bb22"},
		},
	}}
}

// document fills in the defaults that a parsed document has: the following step as next, the branches' steps.
func document(steps ...process.Step) *process.Document {
	doc := &process.Document{Name: "test-process", Description: "A test.", Steps: steps, Body: "# Test\n"}
	for i := range doc.Steps {
		s := &doc.Steps[i]
		if s.Kind != process.Finish && s.Next == "" && s.Routes == nil && i+1 < len(doc.Steps) {
			s.Next = doc.Steps[i+1].ID
		}
		if s.OnTimeout == "" {
			s.OnTimeout = s.Next
		}
	}
	for _, s := range doc.Steps {
		for _, entry := range s.Branches {
			branch(doc, s.ID, entry, entry)
		}
	}
	return doc
}

func branch(doc *process.Document, fork, entry, id string) {
	s := doc.Step(id)
	if id == process.Join || s == nil || s.Branch != "" {
		return
	}
	s.Branch, s.Fork = entry, fork
	branch(doc, fork, entry, s.Next)
	branch(doc, fork, entry, s.OnTimeout)
	for _, r := range s.Routes {
		branch(doc, fork, entry, r.To)
	}
}

func agent(id string) process.Step {
	return process.Step{ID: id, Kind: process.Agent, Text: "Do " + id + "."}
}

func task(id, person string) process.Step {
	return process.Step{ID: id, Kind: process.Task, Text: "Do " + id + ".", Person: person}
}

func approve(id, person, onReject string) process.Step {
	return process.Step{ID: id, Kind: process.Approve, Text: "Approve " + id + ".", Person: person, OnReject: onReject}
}

func wait(id string, d time.Duration) process.Step {
	return process.Step{ID: id, Kind: process.Wait, Text: "a while", Wait: d}
}

func waitUntil(id, path string) process.Step {
	return process.Step{ID: id, Kind: process.WaitUntil, Text: path}
}

func waitFor(id, event string) process.Step {
	return process.Step{ID: id, Kind: process.WaitFor, Text: event}
}

func finish(id string) process.Step {
	return process.Step{ID: id, Kind: process.Finish, Text: id + "-outcome"}
}

func parallel(id string, entries ...string) process.Step {
	return process.Step{ID: id, Kind: process.Parallel, Branches: entries}
}

// next sets where a step leads.
func next(s process.Step, to string) process.Step {
	s.Next = to
	return s
}

func within(s process.Step, d time.Duration) process.Step {
	s.Due = &d
	return s
}

func timeout(s process.Step, d time.Duration, to string) process.Step {
	s.Timeout, s.OnTimeout = &d, to
	return s
}

func routes(s process.Step, to ...string) process.Step {
	for _, id := range to {
		s.Routes = append(s.Routes, process.Route{To: id, When: "It is " + id})
	}
	return s
}

func field(name string, typ process.Type) process.Field {
	return process.Field{Name: name, Type: typ, Bare: true}
}

func optional(f process.Field) process.Field {
	f.Optional, f.Bare = true, false
	return f
}

func output(s process.Step, fields ...process.Field) process.Step {
	s.Output = fields
	return s
}

func evidence(s process.Step, kinds ...string) process.Step {
	s.Evidence = kinds
	return s
}

func p[T any](v T) *T { return &v }

// do decides a command, keeps its events, and checks that folding them one by one gives the same state.
func (b *bundle) do(cmd run.Command) error {
	b.t.Helper()
	out := run.Decide(b.doc, b.st, cmd, b.env)
	b.keep(out.Events, out.State)
	b.result = out.Result
	return out.Err
}

func (b *bundle) keep(events []run.Event, st *run.State) {
	b.t.Helper()
	folded := b.st
	for _, ev := range events {
		var err error
		folded, err = run.Apply(b.doc, folded, ev)
		require.NoError(b.t, err)
	}
	if st == nil {
		require.Empty(b.t, events)
		return
	}
	require.Equal(b.t, folded.Plain(), st.Plain(), "the events say less than the state")
	require.JSONEq(b.t, string(st.FreshData(b.doc)), string(st.Data(b.doc)), "the data is not the state's")
	b.st, b.events = st, append(b.events, events...)
}

// start starts the run as mira, with those inputs.
func (b *bundle) start(inputs ...string) *bundle {
	b.t.Helper()
	c := run.Start{RunID: "r_1", Process: b.doc.Name, Version: 3, By: mira, Human: true}
	for _, in := range inputs {
		c.Inputs = json.RawMessage(in)
	}
	require.NoError(b.t, b.do(c))
	return b
}

// pass lets time go by and reads the run.
func (b *bundle) pass(d time.Duration) *bundle {
	b.t.Helper()
	b.env.Now = b.env.Now.Add(d)
	events, st := run.Advance(b.doc, b.st, b.env)
	b.keep(events, st)
	return b
}

// later lets time go by without a read.
func (b *bundle) later(d time.Duration) *bundle {
	b.env.Now = b.env.Now.Add(d)
	return b
}

func (b *bundle) claim(step, by string) run.ClaimRef {
	b.t.Helper()
	require.NoError(b.t, b.do(run.Claim{StepID: step, By: by}))
	return b.result.Ref
}

// submission is a summary with an output.
func submission(output string) run.Submission {
	return run.Submission{Output: json.RawMessage(output), Summary: p("Done.")}
}

// work claims a step and submits that output, as ana.
func (b *bundle) work(step, output string) *bundle {
	b.t.Helper()
	ref := b.claim(step, ana)
	require.NoError(b.t, b.do(run.Submit{Ref: ref, By: ana, Submission: submission(output)}))
	return b
}

// item returns the open work item of a step.
func (b *bundle) item(step string) run.Item {
	b.t.Helper()
	for _, item := range b.st.OpenItems() {
		if item.StepID == step {
			return item
		}
	}
	require.Failf(b.t, "no open item", "step %s", step)
	return run.Item{}
}

// decision is a decision on the open item of a step by a person who knows the current snapshot.
func (b *bundle) decision(step, by, decision string) run.Decision {
	b.t.Helper()
	d := run.Decision{
		ItemID: b.item(step).ID, Snapshot: b.st.Snapshot(b.doc), Decision: decision,
		By: by, Human: true, Groups: groupsOf[by],
	}
	if decision == run.Rejected || decision == run.Returned || decision == run.Failed {
		d.Note = p("Because of " + step + ".")
	}
	return d
}

func (b *bundle) decide(step, by, decision string) *bundle {
	b.t.Helper()
	require.NoError(b.t, b.do(b.decision(step, by, decision)))
	return b
}

func (b *bundle) send(name string, data string) string {
	b.t.Helper()
	c := run.SendEvent{By: ana, Allowed: true, Name: name}
	if data != "" {
		c.Data = json.RawMessage(data)
	}
	require.NoError(b.t, b.do(c))
	return b.result.ConsumedBy
}

func (b *bundle) view() *run.View { return run.NewView(b.doc, b.st, run.ViewOptions{Now: b.env.Now}) }

// states are the states of the steps in order, "-" for null.
func (b *bundle) states() string {
	var s string
	for i, step := range b.view().Steps {
		if i > 0 {
			s += " "
		}
		if step.State == nil {
			s += "-"
		} else {
			s += string(*step.State)
		}
	}
	return s
}

func (b *bundle) data() string { return string(b.st.Data(b.doc)) }

// stepData is one step's part of run data.
func (b *bundle) stepData(id string) string {
	b.t.Helper()
	var data struct {
		Steps map[string]json.RawMessage `json:"steps"`
	}
	require.NoError(b.t, json.Unmarshal(b.st.Data(b.doc), &data))
	return string(data.Steps[id])
}

// types are the types of the events since the event numbered from.
func (b *bundle) types(from int) []string {
	types := []string{}
	for _, ev := range b.events[from:] {
		types = append(types, ev.Type)
	}
	return types
}

// refused checks the code and the issues of a refusal, and that it has a message.
func refused(t tester, err error, code run.Code, issues ...string) {
	t.Helper()
	var e *run.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, code, e.Code, e.Error())
	require.NotEmpty(t, e.Message)
	if len(issues) == 0 {
		require.Empty(t, e.Issues)
		return
	}
	require.Equal(t, issues, e.Issues)
}

func overCap(n, limit int) string { return fmt.Sprintf("run data: %d bytes, limit %d", n, limit) }

func submit(ref run.ClaimRef, by string, sub run.Submission) run.Submit {
	return run.Submit{Ref: ref, By: by, Submission: sub}
}

func escalate(ref run.ClaimRef, by, note string) run.Escalate {
	return run.Escalate{Ref: ref, By: by, Note: note}
}

func join(s []string) string { return strings.Join(s, ", ") }
