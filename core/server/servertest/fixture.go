// Package servertest is a process server for tests: a real one on a data directory of its own, under a clock that the
// test moves, with processes published from source. Every result of a call through it is checked against the schemas.
package servertest

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
)

// Start is the time at which a fixture's clock begins.
var Start = time.Date(2026, 10, 6, 9, 0, 0, 0, time.UTC)

// Fixture is a server with everything a test needs of it.
type Fixture struct {
	*server.Server
	DB    *db.DB
	Clock *Clock
	// Options are those the server was made with.
	Options server.Options

	t        testing.TB
	requests atomic.Int64
}

// New returns a server on an empty data directory, which is closed with the test. configure may change the options.
func New(t testing.TB, configure ...func(*server.Options)) *Fixture {
	t.Helper()
	return Open(t, t.TempDir(), configure...)
}

// Open is New on a given data directory: what another server left there is there.
func Open(t testing.TB, dir string, configure ...func(*server.Options)) *Fixture {
	t.Helper()
	store, err := db.Open(t.Context(), dir, db.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	clock := NewClock(Start)
	opts := server.Options{
		Secret: store.Secret(), BaseURL: "https://ap.example", Clock: clock, IDs: &IDs{},
		Logger:   slog.New(slog.DiscardHandler),
		RealTime: clock.Now,
	}
	for _, c := range configure {
		c(&opts)
	}
	if c, ok := opts.Clock.(*Clock); ok {
		clock = c
	}
	return &Fixture{Server: server.New(store, store.Files(), opts), DB: store, Clock: clock, Options: opts, t: t}
}

// Again returns another server on the same store, clock and options: a restart that kept the process.
func (f *Fixture) Again() *Fixture {
	again := &Fixture{Server: server.New(f.DB, f.DB.Files(), f.Options), DB: f.DB, Clock: f.Clock, Options: f.Options, t: f.t}
	again.requests.Store(f.requests.Load() + 1_000_000)
	return again
}

// Publish imports and publishes a PROCESS.md, each role bound to a group of the role's name unless roles says otherwise.
func (f *Fixture) Publish(source string, roles map[string]string) server.Version {
	f.t.Helper()
	doc, issues := process.Parse([]byte(source), process.Options{})
	require.NotNil(f.t, doc, "%v", issues)
	require.NoError(f.t, f.Import(f.t.Context(), []byte(source), doc))
	bound := map[string]string{}
	for _, role := range doc.Roles() {
		bound[role] = role
	}
	maps.Copy(bound, roles)
	if len(bound) > 0 {
		require.NoError(f.t, f.Bind(f.t.Context(), doc.Name, bound))
	}
	version, err := f.Server.Publish(f.t.Context(), doc.Name)
	require.NoError(f.t, err)
	return version
}

// Agent is an agent's identity, Person a person's in some groups, Operator one among the operators.
func Agent(name string) server.Identity {
	return server.Identity{Kind: server.Agent, Name: name}
}
func Person(email string, groups ...string) server.Identity {
	return server.Identity{Kind: server.Person, Name: email, Groups: groups}
}
func Operator(email string) server.Identity { return Person(email, "operators") }

// Args are the arguments of a call.
type Args map[string]any

// Request returns a new requestId.
func (f *Fixture) Request() string {
	return fmt.Sprintf("request-%d", f.requests.Add(1))
}

// Reply is the result of a call.
type Reply struct {
	// JSON is the whole result.
	JSON json.RawMessage
	OK   bool            `json:"ok"`
	Data json.RawMessage `json:"data"`
	Err  *run.Error      `json:"error"`
}

// Code is the error code, or "".
func (r Reply) Code() run.Code {
	if r.Err == nil {
		return ""
	}
	return r.Err.Code
}

// Issues are the error's issues.
func (r Reply) Issues() []string {
	if r.Err == nil {
		return nil
	}
	return r.Err.Issues
}

// Call runs a tool with the arguments as they are, and checks its result against the schemas.
func (f *Fixture) Call(id server.Identity, tool string, args any) Reply {
	f.t.Helper()
	raw, ok := args.(json.RawMessage)
	if !ok {
		b, err := json.Marshal(args)
		require.NoError(f.t, err)
		raw = b
	}
	result, known := f.Server.Call(f.t.Context(), id, tool, raw)
	require.True(f.t, known, "unknown tool %s", tool)
	CheckResult(f.t, tool, result.JSON)
	reply := Reply{JSON: result.JSON}
	require.NoError(f.t, json.Unmarshal(result.JSON, &reply))
	require.Equal(f.t, result.Code, string(reply.Code()))
	return reply
}

// Write is Call with a new requestId, unless the arguments have one.
func (f *Fixture) Write(id server.Identity, tool string, args Args) Reply {
	f.t.Helper()
	if _, ok := args["requestId"]; !ok {
		args = maps.Clone(args)
		args["requestId"] = f.Request()
	}
	return f.Call(id, tool, args)
}

// Into decodes the data of a reply that has to be ok.
func Into[T any](t testing.TB, r Reply) T {
	t.Helper()
	require.Nil(t, r.Err)
	var v T
	require.NoError(t, json.Unmarshal(r.Data, &v))
	return v
}

// View is what a test reads of a run view.
type View struct {
	Run struct {
		ID, Process, State, StartedBy, Mode string
		Version                             int
		Outcome                             *string
		Ended                               *struct {
			By, At string
			Note   *string
		}
		StartedAt, UpdatedAt string
	}
	Data struct {
		Inputs json.RawMessage
		Steps  map[string]json.RawMessage
	}
	Steps []struct {
		ID, Kind string
		State    *string
		Due      string
		Overdue  *bool
	}
	WorkItems []Item
	Body      string
}

// Item is what a test reads of a work item.
type Item struct {
	ID, StepID, Kind, Text, Snapshot string
	AssignedTo                       struct{ Group, Person string }
	Handoff                          json.RawMessage
	Decide                           struct {
		Tool      string
		Arguments Args
		Decisions []string
	}
}

// State is the state of a step, "" for null.
func (v View) State(step string) string {
	i := slices.IndexFunc(v.Steps, func(s struct {
		ID, Kind string
		State    *string
		Due      string
		Overdue  *bool
	}) bool {
		return s.ID == step
	})
	if i < 0 || v.Steps[i].State == nil {
		return ""
	}
	return *v.Steps[i].State
}

// Claim is what a test reads of a claim.
type Claim struct {
	Token, ExpiresAt, Mode string
	Step                   struct{ ID, Instructions string }
	Handoff, Data          json.RawMessage
}

// StartRun starts a run that has to start, and returns its view.
func (f *Fixture) Begin(id server.Identity, name string, inputs Args) View {
	f.t.Helper()
	if inputs == nil {
		inputs = Args{}
	}
	return Into[View](f.t, f.Write(id, "start_run", Args{"process": name, "inputs": inputs}))
}

// Take claims a step that has to be claimable.
func (f *Fixture) Take(id server.Identity, runID, step string) Claim {
	f.t.Helper()
	return Into[Claim](f.t, f.Write(id, "claim", Args{"runId": runID, "stepId": step}))
}

// Finish submits output under a claim; it has to be accepted.
func (f *Fixture) Finish(id server.Identity, token string, output Args) View {
	f.t.Helper()
	return Into[View](f.t, f.Write(id, "submit", Args{"token": token, "output": output, "summary": "Done."}))
}

// View reads a run.
func (f *Fixture) View(runID string) View {
	f.t.Helper()
	return Into[View](f.t, f.Call(Agent("reader"), "get_run", Args{"runId": runID}))
}

// DecideItem decides a work item with its own call and what more adds; the reply may be a refusal.
func (f *Fixture) DecideItem(id server.Identity, item Item, decision string, more Args) Reply {
	f.t.Helper()
	args := maps.Clone(item.Decide.Arguments)
	args["decision"], args["requestId"] = decision, f.Request()
	maps.Copy(args, more)
	return f.Call(id, "decide", args)
}
