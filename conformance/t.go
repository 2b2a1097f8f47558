package conformance

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// T is what a case works with. Its methods end the case at the first difference.
type T struct {
	ctx context.Context
	s   *suite
	c   Case

	mu sync.Mutex
	// started are the runs the case started, to be cancelled when it is over.
	started []string
}

// failure ends a case.
type failure struct {
	reason string
	call   *call
}

// skip ends a case that finds it can't be run here.
type skip string

// obj is a JSON object under construction.
type obj = map[string]any

// fail ends the case: reason says what was expected and what came.
func (t *T) fail(c *call, format string, args ...any) {
	panic(failure{fmt.Sprintf(format, args...), c})
}

// requestID is a new request id.
func requestID() string { return "conf-" + strings.ToLower(rand.Text()) }

// call calls a tool as somebody and validates whatever comes against the tool's result schema. A requestId is added
// to every write that has none.
func (t *T) call(by *caller, tool string, args obj) *call {
	if _, given := args["requestId"]; !given && slices.Contains(writes, tool) {
		args["requestId"] = requestID()
	}
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return t.raw(by, tool, raw)
}

// raw is call with the arguments as they are.
func (t *T) raw(by *caller, tool string, args json.RawMessage) *call {
	c := by.do(t.ctx, tool, args)
	if c.Failed != "" {
		t.fail(c, "the call failed: %s", c.Failed)
	}
	if err := validate(tool, c); err != nil {
		t.fail(c, "the answer breaks the schema of %s: %v", tool, err)
	}
	if tool == "start_run" && c.ok() {
		t.mu.Lock()
		t.started = append(t.started, c.str("run.id"))
		t.mu.Unlock()
	}
	return c
}

// tidy cancels what the case left running, where there is an operator who can: a suite that leaves hundreds of open
// runs behind is no guest to have twice. It tests nothing.
func (t *T) tidy() {
	if t.s.operator == nil {
		return
	}
	for _, id := range t.started {
		args, _ := json.Marshal(obj{"runId": id, "reason": "The conformance case " + t.c.ID + " is over.", "requestId": requestID()})
		t.s.operator.do(t.ctx, "cancel", args)
	}
}

var writes = []string{"start_run", "claim", "renew", "submit", "escalate", "decide", "cancel", "upload", "send_event"}

// ok calls a tool that has to succeed.
func (t *T) ok(by *caller, tool string, args obj) *call {
	c := t.call(by, tool, args)
	if !c.ok() {
		t.fail(c, "expected ok, got %s %v", c.code(), c.issues())
	}
	return c
}

// refused calls a tool that has to be refused with code and, where any are given, exactly these issues.
func (t *T) refused(by *caller, tool string, args obj, code string, issues ...string) *call {
	c := t.call(by, tool, args)
	t.wantRefusal(c, code, issues...)
	return c
}

func (t *T) wantRefusal(c *call, code string, issues ...string) {
	if c.ok() {
		t.fail(c, "expected %s %v, got ok", code, issues)
	}
	if c.code() != code {
		t.fail(c, "expected %s %v, got %s %v", code, issues, c.code(), c.issues())
	}
	if len(issues) > 0 {
		got, want := slices.Sorted(slices.Values(c.issues())), slices.Sorted(slices.Values(issues))
		if !slices.Equal(got, want) {
			t.fail(c, "expected the issues %q, got %q", want, got)
		}
	}
}

// equal compares a value of the answer's data with what it has to be, as JSON.
func (t *T) equal(c *call, path string, want any) {
	got, err := json.Marshal(c.get(path))
	if err != nil {
		panic(err)
	}
	expected, err := json.Marshal(want)
	if err != nil {
		panic(err)
	}
	if string(got) != string(expected) {
		t.fail(c, "expected data.%s to be %s, got %s", path, expected, got)
	}
}

// that fails with the reason unless cond holds.
func (t *T) that(c *call, cond bool, format string, args ...any) {
	if !cond {
		t.fail(c, format, args...)
	}
}

// start starts a run of a fixture as the agent and returns its view.
func (t *T) start(process string, inputs obj) *call {
	if inputs == nil {
		inputs = obj{}
	}
	return t.ok(t.agent(), "start_run", obj{"process": process, "inputs": inputs})
}

// claim claims a step as the agent.
func (t *T) claim(runID, stepID string) *call {
	return t.ok(t.agent(), "claim", obj{"runId": runID, "stepId": stepID})
}

// state is the state of a step in a run view; nil is null.
func (t *T) state(view *call, stepID string) any { return t.step(view, stepID)["state"] }

func (t *T) step(view *call, stepID string) map[string]any {
	for _, x := range view.list("steps") {
		if s, _ := x.(map[string]any); s["id"] == stepID {
			return s
		}
	}
	t.fail(view, "expected a step %q among data.steps", stepID)
	return nil
}

// wantState fails unless the step has that state (nil is null).
func (t *T) wantState(view *call, stepID string, want any) {
	if got := t.state(view, stepID); got != want {
		t.fail(view, "expected step %s to be %v, got %v", stepID, want, got)
	}
}

// item is the open work item of a step in a run view.
func (t *T) item(view *call, stepID string) map[string]any {
	for _, x := range view.list("workItems") {
		if w, _ := x.(map[string]any); w["stepId"] == stepID {
			return w
		}
	}
	t.fail(view, "expected an open work item for step %s", stepID)
	return nil
}

// decision is the exact decide call of an item with the decision and more arguments added.
func decision(item map[string]any, decision string, more obj) obj {
	args := obj{"decision": decision}
	from, _ := lookup(item, "decide.arguments").(map[string]any)
	for k, v := range from {
		if k != "requestId" {
			args[k] = v
		}
	}
	for k, v := range more {
		args[k] = v
	}
	return args
}

// get reads a run as the agent.
func (t *T) get(runID string) *call { return t.ok(t.agent(), "get_run", obj{"runId": runID}) }

func (t *T) agent() *caller       { return t.s.agent }
func (t *T) agent2() *caller      { return t.s.agent2 }
func (t *T) person() *caller      { return t.s.people[0] }
func (t *T) person2() *caller     { return t.s.people[1] }
func (t *T) outsider() *caller    { return t.s.people[2] }
func (t *T) operator() *caller    { return t.s.operator }
func (t *T) email(i int) string   { return t.s.opts.People[i].Email }
func (t *T) lease() time.Duration { return t.seconds("leaseSeconds") }

func (t *T) seconds(path string) time.Duration {
	n, _ := t.s.described.get(path).(json.Number)
	f, _ := n.Float64()
	return time.Duration(f * float64(time.Second))
}

// pass lets time pass at the server: its clock is moved, or the case really waits.
func (t *T) pass(d time.Duration) {
	if t.s.opts.Clock == "" {
		select {
		case <-time.After(d + 100*time.Millisecond):
		case <-t.ctx.Done():
			panic(failure{"interrupted", nil})
		}
		return
	}
	body := fmt.Sprintf(`{"advance":%q}`, d.String())
	req, err := http.NewRequestWithContext(t.ctx, http.MethodPost, t.s.opts.Clock, strings.NewReader(body))
	if err != nil {
		panic(failure{"the clock's URL: " + err.Error(), nil})
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Transport: t.s.opts.Transport}).Do(req)
	if err != nil {
		panic(failure{"moving the clock: " + err.Error(), nil})
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		panic(failure{"moving the clock: " + res.Status, nil})
	}
}

// offered is what tools/list offers.
func (t *T) offered() map[string]bool {
	session, err := t.agent().connect(t.ctx)
	if err != nil {
		panic(failure{"connecting: " + err.Error(), nil})
	}
	names := map[string]bool{}
	for tool, err := range session.Tools(t.ctx, nil) {
		if err != nil {
			panic(failure{"tools/list: " + err.Error(), nil})
		}
		names[tool.Name] = true
	}
	return names
}

// listed finds a process in list_processes, over all pages; nil when it isn't there.
func (t *T) listed(name string) (map[string]any, *call) {
	args := obj{}
	for {
		c := t.ok(t.agent(), "list_processes", args)
		for _, x := range c.list("items") {
			if p, _ := x.(map[string]any); p["name"] == name {
				return p, c
			}
		}
		next := c.str("nextCursor")
		if next == "" {
			return nil, c
		}
		args = obj{"cursor": next}
	}
}

// work finds a run's item in get_work, over all pages; nil when it isn't there.
func (t *T) work(by *caller, runID string) (map[string]any, *call) {
	args := obj{"limit": 100}
	for {
		c := t.ok(by, "get_work", args)
		for _, x := range c.list("items") {
			if w, _ := x.(map[string]any); w["runId"] == runID {
				return w, c
			}
		}
		next := c.str("nextCursor")
		if next == "" {
			return nil, c
		}
		args = obj{"limit": 100, "cursor": next}
	}
}

// number is a whole number that describe gave.
func (t *T) number(path string) int {
	n, _ := t.s.described.get(path).(json.Number)
	i, _ := n.Int64()
	return int(i)
}

func str(v any) string { s, _ := v.(string); return s }

// hexSum is SHA-256 in lower-case hex.
func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// canonical is a value as JSON with sorted keys and the digits it came with.
func canonical(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
