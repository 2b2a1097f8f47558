package conformance

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// FolderCases makes a case of every PROCESS.md below a folder: a run of it is started and worked to its end the way any
// client could, with made-up values of the declared types, and every view on the way has to make sense. The processes
// have to be published at the server under test (the import command does it where there is one), with every role bound to
// Group.
func FolderCases(dir string) ([]Case, error) {
	var cases []Case
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "PROCESS.md" {
			return err
		}
		p, err := scanProcess(path)
		if err != nil {
			return err
		}
		for _, reject := range []bool{false, true} {
			how := "straight"
			if reject {
				how = "rejected-once"
			}
			if reject && !p.approves {
				continue
			}
			needs := Needs{People: 1}
			if p.waits {
				needs.Clock = true
			}
			cases = append(cases, Case{
				ID: "folder." + p.name + "." + how, Section: "specification 3", Needs: needs,
				Rule: "a run of any process can be worked to its end by the calls that the server offers, and every view on the way is consistent",
				run:  func(t *T) { t.workThrough(p, reject) },
			})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the processes in %s: %w", dir, err)
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("there is no PROCESS.md below %s", dir)
	}
	return cases, nil
}

// scanned is what no tool tells of a process: it is looked for line by line, without reading the file as YAML.
type scanned struct {
	name, path      string
	roles, events   []string
	waits, approves bool
}

var (
	personLine = regexp.MustCompile(`(?:^|[\s{,-])person:\s*["']?([^\s,"'}]+)`)
	eventLine  = regexp.MustCompile(`(?:^|[\s{,-])wait_for:\s*["']?([^\s,"'}]+)`)
	waitLine   = regexp.MustCompile(`(?:^|[\s{,-])(?:wait|wait_until|timeout):\s`)
	yesNoLine  = regexp.MustCompile(`(?:^|[\s{,-])approve:\s`)
)

func scanProcess(path string) (p scanned, err error) {
	file, err := os.Open(path)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	p = scanned{name: filepath.Base(filepath.Dir(path)), path: path}
	lines, fences := bufio.NewScanner(file), 0
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && fences < 2 {
		line := strings.TrimRight(lines.Text(), "\r")
		if line == "---" {
			fences++
		}
		if m := personLine.FindStringSubmatch(line); m != nil && !strings.Contains(m[1], ".") && m[1] != "initiator" && !slices.Contains(p.roles, m[1]) {
			p.roles = append(p.roles, m[1])
		}
		if m := eventLine.FindStringSubmatch(line); m != nil {
			p.events = append(p.events, m[1])
		}
		p.waits = p.waits || waitLine.MatchString(line)
		p.approves = p.approves || yesNoLine.MatchString(line)
	}
	return p, lines.Err()
}

// mostMoves bounds how much work a run may take.
const mostMoves = 120

// workThrough works a run of a process to its end.
func (t *T) workThrough(p scanned, reject bool) {
	listed, _ := t.listed(p.name)
	if listed == nil && t.s.opts.Import != "" {
		roles := map[string]string{}
		for _, r := range p.roles {
			roles[r] = Group
		}
		if out, err := runImport(t.ctx, t.s.opts.Import, p.path, roles); err != nil {
			panic(skip("publishing it was refused: " + out))
		}
		var list *call
		listed, list = t.listed(p.name)
		t.that(list, listed != nil, "expected %s to be listed after it was published", p.name)
	}
	if listed == nil {
		panic(skip("it is not published at the server"))
	}
	declared, _ := listed["inputs"].(map[string]any)
	view := t.ok(t.person(), "start_run", obj{"process": p.name, "inputs": t.values(declared)})
	id := view.str("run.id")
	for range mostMoves {
		t.consistent(view)
		if view.get("run.ended") != nil {
			return
		}
		moved, rejected := t.move(p, view, reject)
		if rejected {
			reject = false
		}
		t.that(view, moved, "the run can't go on: nothing is ready, nobody's item is open, and no time or event helps")
		view = t.get(id)
	}
	t.fail(view, "the run has not ended after %d moves", mostMoves)
}

// move does one thing that a view offers.
func (t *T) move(p scanned, view *call, reject bool) (moved, rejected bool) {
	id := view.str("run.id")
	for _, x := range view.list("steps") {
		if s, _ := x.(map[string]any); s["state"] == "ready" {
			c := t.claim(id, str(s["id"]))
			step, _ := c.get("step").(map[string]any)
			args := t.answerTo(step)
			args["summary"] = "Made up by the conformance suite."
			t.submit(c, args)
			return true, false
		}
	}
	if items := view.list("workItems"); len(items) > 0 {
		item, _ := items[0].(map[string]any)
		by := t.assignedTo(item)
		switch {
		case item["kind"] == "approve" && reject:
			t.ok(by, "decide", decision(item, "rejected", obj{"note": "Once more, please."}))
			return true, true
		case item["kind"] == "approve":
			t.ok(by, "decide", decision(item, "approved", nil))
		default:
			t.ok(by, "decide", decision(item, "completed", t.answerTo(item)))
		}
		return true, false
	}
	for _, event := range p.events {
		if e := t.ok(t.agent(), "send_event", obj{"runId": id, "name": event}); e.get("consumedBy") != nil {
			return true, false
		}
	}
	if p.waits {
		t.pass(24 * time.Hour)
		return true, false
	}
	return false, false
}

// assignedTo finds who may decide an item, among the people the suite was given.
func (t *T) assignedTo(item map[string]any) *caller {
	if email := str(lookup(item, "assignedTo.person")); email != "" {
		for i, p := range t.s.opts.People {
			if strings.EqualFold(p.Email, email) {
				return t.s.people[i]
			}
		}
		panic(skip("an item is assigned to " + email + ", whose token was not given"))
	}
	return t.person()
}

// answerTo makes up what a step asks for: output, evidence, and the first route.
func (t *T) answerTo(step map[string]any) obj {
	declared, _ := step["output"].(map[string]any)
	args := obj{"output": t.values(declared)}
	var evidence []any
	kinds, _ := step["evidence"].([]any)
	for _, kind := range kinds {
		if kind == "file" {
			evidence = append(evidence, t.file()...)
		} else {
			evidence = append(evidence, obj{"kind": "link", "ref": "https://example.com/conformance"})
		}
	}
	if evidence != nil {
		args["evidence"] = evidence
	}
	if routes, _ := step["next"].([]any); len(routes) > 0 {
		args["next"], args["reason"] = lookup(routes[0], "to"), "The first of the routes."
	}
	return args
}

// values makes up a value for every declared field.
func (t *T) values(declared map[string]any) obj {
	out := obj{}
	for name, field := range declared {
		out[name] = t.value(field)
	}
	return out
}

func (t *T) value(field any) any {
	kind, _ := field.(string)
	if f, isObject := field.(map[string]any); isObject {
		kind = str(f["type"])
		if allowed, _ := f["one_of"].([]any); len(allowed) > 0 {
			return allowed[0]
		}
		if kind == "list" && f["items"] != nil {
			return []any{t.value(f["items"])}
		}
	}
	switch kind {
	case "number":
		return 17.5
	case "boolean":
		return true
	case "date":
		return "2026-10-06"
	case "datetime":
		return "2026-10-06T09:00:00+02:00"
	case "list":
		return []any{"made up"}
	case "object":
		return obj{"made": "up"}
	case "person":
		return t.email(0)
	default:
		return "made up"
	}
}

// consistent checks what holds of every view: the run's state follows from the steps', an ended run has nothing open,
// every open item belongs to a waiting step and carries the same snapshot, and a done step has its record.
func (t *T) consistent(view *call) {
	ended := view.get("run.ended") != nil
	busy := false
	for _, x := range view.list("steps") {
		s, _ := x.(map[string]any)
		state := str(s["state"])
		busy = busy || state == "ready" || state == "claimed"
		t.that(view, !ended || (state != "ready" && state != "claimed" && state != "waiting"), "the run has ended, but step %s is %s", s["id"], state)
		kind := str(s["kind"])
		records := kind != "finish" && kind != "parallel"
		record, _ := lookup(view.get("data.steps"), str(s["id"])).(map[string]any)
		t.that(view, state != "done" || !records || str(record["by"]) != "", "step %s is done, but run data has no record of who did it", s["id"])
	}
	if !ended {
		want := "waiting"
		if busy {
			want = "active"
		}
		t.equal(view, "run.state", want)
	}
	items := view.list("workItems")
	t.that(view, !ended || len(items) == 0, "the run has ended, but it has open work items")
	for _, x := range items {
		item, _ := x.(map[string]any)
		t.wantState(view, str(item["stepId"]), "waiting")
		t.that(view, item["snapshot"] == lookup(items[0], "snapshot"), "two items of one view have different snapshots")
	}
}
