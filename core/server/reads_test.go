package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/core/server/servertest"
)

// describe reports what works, with the check limits always there (protocol.md 8).
func TestDescribeReportsWhatTheServerOffers(t *testing.T) {
	t.Parallel()
	f := servertest.New(t, func(o *server.Options) { o.Lease, o.MaxUploadBytes, o.RunDataBytes = 90*time.Second, 1000, 5000 })
	require.JSONEq(t, `{
		"protocol": "agentprocess", "version": "core-2", "profiles": ["parallel-1"], "leaseSeconds": 90, "person": {"format": "email"},
		"tools": ["describe","list_processes","start_run","get_run","get_work","claim","renew","submit","escalate","decide","cancel","upload","send_event","list_runs"],
		"maxUploadBytes": 1000,
		"limits": {"runDataBytes": 5000, "checkPass": 0.9, "checkFail": null, "checkConfidence": 0.8, "checkStateBytes": 65536}
	}`, string(f.Call(worker, "describe", args{}).Data))
}

type page[T any] struct {
	Items      []T
	NextCursor *string
}

// allPages follows cursors to the end, and checks each page's size.
func allPages[T any](t *testing.T, f *servertest.Fixture, by server.Identity, tool string, a args, size int) []T {
	t.Helper()
	var all []T
	a = clone(a)
	for {
		p := servertest.Into[page[T]](t, f.Call(by, tool, a))
		require.LessOrEqual(t, len(p.Items), size)
		all = append(all, p.Items...)
		if p.NextCursor == nil {
			return all
		}
		require.Len(t, p.Items, size)
		a["cursor"] = *p.NextCursor
	}
}

func clone(a args) args {
	b := args{}
	for k, v := range a {
		b[k] = v
	}
	return b
}

func TestListProcessesShowsTheLatestPublishedVersion(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	f.Publish(strings.Replace(review, "a report and", "one report and", 1), nil)
	f.Publish(strings.Replace(strings.Replace(delivery, "description: ", "requires: {systems: [erp, gmail]}\ndescription: ", 1), "Goods", "Our goods", 1), nil)
	draft := strings.Replace(review, "name: review", "name: draft", 1)
	imported(t, f, draft)
	require.JSONEq(t, `{"items": [
		{"name": "delivery", "description": "Our goods arrive and someone files the delivery note.", "version": 1, "inputs": {}, "requires": {"systems": ["erp", "gmail"]}},
		{"name": "review", "description": "An agent writes one report and a person approves it.", "version": 2, "inputs": {"topic": "string", "budget": {"type": "number", "optional": true}}}
	], "nextCursor": null}`, string(f.Call(worker, "list_processes", args{}).Data))
}

func TestListProcessesIsPaged(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	var names []string
	for i := range 45 {
		name := fmt.Sprintf("review-%02d", i)
		names = append(names, name)
		f.Publish(strings.Replace(review, "name: review", "name: "+name, 1), nil)
	}
	var got []string
	for _, p := range allPages[struct{ Name string }](t, f, worker, "list_processes", args{}, 20) {
		got = append(got, p.Name)
	}
	require.Equal(t, names, got)
}

// get_work for an agent: claimable steps, oldest first, each with its exact claim (protocol.md 8).
func TestGetWorkGivesAnAgentItsExactClaims(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	f.Publish(collect, nil)
	first := f.Begin(editor, "collect", nil)
	advance(t, f, time.Second)
	second := servertest.Into[servertest.View](t, f.Write(editor, "start_run", args{"process": "review", "inputs": args{"topic": "bees"}, "mode": "test"}))
	require.JSONEq(t, `{"items": [
		{"runId": "`+first.Run.ID+`", "stepId": "quote", "process": "collect", "version": 1, "mode": "live", "readySince": "2026-10-06T09:00:00.000Z",
		 "due": "2026-10-07T09:00:00.000Z", "overdue": false, "handoff": null,
		 "claim": {"tool": "claim", "arguments": {"runId": "`+first.Run.ID+`", "stepId": "quote", "requestId": "<new UUID>"}}},
		{"runId": "`+second.Run.ID+`", "stepId": "write", "process": "review", "version": 1, "mode": "test", "readySince": "2026-10-06T09:00:01.000Z",
		 "due": null, "overdue": false, "handoff": null,
		 "claim": {"tool": "claim", "arguments": {"runId": "`+second.Run.ID+`", "stepId": "write", "requestId": "<new UUID>"}}}
	], "nextCursor": null}`, string(f.Call(worker, "get_work", args{}).Data))
	require.Contains(t, string(f.Call(worker, "get_work", args{}).JSON), `"<new UUID>"`)

	// A claim takes it away, the lease's end brings it back where it was, with what the attempt left.
	c := f.Take(worker, first.Run.ID, "quote")
	servertest.Into[args](t, f.Write(worker, "renew", args{"token": c.Token, "progress": "Asked two."}))
	require.Len(t, servertest.Into[page[args]](t, f.Call(worker, "get_work", args{})).Items, 1)
	advance(t, f, 25*time.Hour)
	items := servertest.Into[page[struct {
		RunID, ReadySince string
		Overdue           bool
		Handoff           json.RawMessage
	}]](t, f.Call(worker, "get_work", args{})).Items
	require.Equal(t, first.Run.ID, items[0].RunID)
	require.Equal(t, "2026-10-06T09:00:00.000Z", items[0].ReadySince)
	require.True(t, items[0].Overdue)
	require.JSONEq(t, `{"progress": "Asked two."}`, string(items[0].Handoff))
	require.Len(t, servertest.Into[page[args]](t, f.Call(worker, "get_work", args{"process": "review"})).Items, 1)
	require.Empty(t, servertest.Into[page[args]](t, f.Call(worker, "get_work", args{"process": "unknown"})).Items)
	require.Empty(t, servertest.Into[page[args]](t, f.Call(worker, "get_work", args{"process": ""})).Items)
}

func advance(t *testing.T, f *servertest.Fixture, d time.Duration) {
	t.Helper()
	_, err := f.Clock.Advance(d)
	require.NoError(t, err)
}

// get_work for a person: open items assigned to them, oldest first, each with its exact decide (protocol.md 8).
func TestGetWorkGivesAPersonTheirItems(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	f.Publish(delivery, nil)
	v := f.Begin(editor, "review", args{"topic": "bees"})
	c := f.Take(worker, v.Run.ID, "write")
	f.Finish(worker, c.Token, args{"title": "Bees"})
	advance(t, f, time.Second)
	d := f.Begin(editor, "delivery", nil)
	require.True(t, f.Write(worker, "send_event", args{"runId": d.Run.ID, "name": "goods_arrived"}).OK)

	type item struct {
		RunID, Process, Mode string
		Version              int
		WorkItem             servertest.Item
	}
	work := func(by server.Identity, a args) []item {
		return servertest.Into[page[item]](t, f.Call(by, "get_work", a)).Items
	}
	require.Empty(t, work(operator, args{}))
	mine := work(editor, args{})
	require.Len(t, mine, 1)
	require.Equal(t, f.View(v.Run.ID).WorkItems[0], mine[0].WorkItem)
	both := work(servertest.Person("boss@example.com", "warehouse", "editor"), args{})
	require.Len(t, both, 2)
	require.Equal(t, []string{v.Run.ID, d.Run.ID}, []string{both[0].RunID, both[1].RunID})
	require.Len(t, work(servertest.Person("boss@example.com", "warehouse", "editor"), args{"process": "delivery"}), 1)
	require.True(t, f.DecideItem(editor, mine[0].WorkItem, "approved", nil).OK, "the call works as it is given")
	require.Empty(t, work(editor, args{}))
}

// Cursors are stable: no item twice, none skipped that was there throughout (protocol.md 8).
func TestPagesHoldWhileThingsChange(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	ids := map[string]bool{}
	for i := range 23 {
		ids[f.Begin(editor, "review", args{"topic": fmt.Sprint(i)}).Run.ID] = true
		if i%3 == 0 {
			advance(t, f, time.Millisecond)
		}
	}
	for _, list := range []struct {
		tool string
		id   func(map[string]any) string
	}{
		{"get_work", func(m map[string]any) string { return m["runId"].(string) }},
		{"list_runs", func(m map[string]any) string { return m["id"].(string) }},
	} {
		seen := map[string]bool{}
		a := args{"limit": 4}
		gone := map[string]bool{}
		for {
			p := servertest.Into[page[map[string]any]](t, f.Call(worker, list.tool, a))
			for _, it := range p.Items {
				require.False(t, seen[list.id(it)], "%s shows %s twice", list.tool, list.id(it))
				seen[list.id(it)] = true
			}
			if p.NextCursor == nil {
				break
			}
			a["cursor"] = *p.NextCursor
			// The last one shown goes and a new one comes, before the next page is read.
			last := list.id(p.Items[len(p.Items)-1])
			if list.tool == "get_work" {
				f.Take(other, last, "write")
				gone[last] = true
			}
			advance(t, f, time.Millisecond)
			f.Begin(editor, "review", args{"topic": "new"})
		}
		for id := range ids {
			require.True(t, seen[id], "%s skips %s", list.tool, id)
		}
		for id := range gone {
			delete(ids, id)
		}
	}
}

func TestACursorThatIsNotOursIsInvalid(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	for range 3 {
		f.Begin(editor, "review", args{"topic": "x"})
	}
	cursor := *servertest.Into[page[any]](t, f.Call(worker, "list_runs", args{"limit": 1})).NextCursor
	require.True(t, f.Call(worker, "list_runs", args{"cursor": cursor}).OK)
	for _, bad := range []string{"x", "AAAA", cursor + "x", cursor[1:]} {
		for _, tool := range []string{"list_runs", "get_work", "list_processes"} {
			refused(t, f.Call(worker, tool, args{"cursor": bad}), run.Invalid, "cursor: not a cursor of this list")
		}
		refused(t, f.Call(editor, "get_work", args{"cursor": bad}), run.Invalid)
	}
	refused(t, f.Call(worker, "get_work", args{"cursor": cursor}), run.Invalid)
}

// list_runs: inputs by equality of the given fields as JSON values, newest first; an unknown process or field matches
// nothing (protocol.md 8).
func TestListRunsFindsByProcessStateAndInputs(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	f.Publish(strings.Replace(strings.Replace(delivery, "steps:\n", "inputs:\n  tags: {type: list, optional: true}\n  dock: {type: object, optional: true}\nsteps:\n", 1), "name: delivery", "name: delivery", 1), nil)
	start := func(raw string) string {
		return servertest.Into[servertest.View](t, f.Call(editor, "start_run", json.RawMessage(raw))).Run.ID
	}
	long := strings.Repeat("long ", 1000)
	a := start(`{"process":"review","inputs":{"topic":"bees","budget":100.00},"requestId":"a"}`)
	advance(t, f, time.Second)
	b := start(`{"process":"review","inputs":{"topic":"bees","budget":9007199254740993},"requestId":"b"}`)
	advance(t, f, time.Second)
	c := start(`{"process":"review","inputs":{"topic":"` + long + `"},"requestId":"c"}`)
	advance(t, f, time.Second)
	d := start(`{"process":"delivery","inputs":{"tags":[1,"x"],"dock":{"n":1,"m":{"o":[]}}},"requestId":"d"}`)
	require.True(t, f.Write(operator, "cancel", args{"runId": c, "reason": "x"}).OK)

	found := func(raw string) []string {
		ids := []string{}
		for _, r := range servertest.Into[page[struct{ ID string }]](t, f.Call(worker, "list_runs", json.RawMessage(raw))).Items {
			ids = append(ids, r.ID)
		}
		return ids
	}
	require.Equal(t, []string{d, c, b, a}, found(`{}`))
	require.Equal(t, []string{c, b, a}, found(`{"process":"review"}`))
	require.Equal(t, []string{b, a}, found(`{"process":"review","state":"active"}`))
	require.Equal(t, []string{c}, found(`{"state":"cancelled"}`))
	require.Equal(t, []string{d}, found(`{"state":"waiting"}`))
	require.Equal(t, []string{b, a}, found(`{"inputs":{"topic":"bees"}}`))
	require.Equal(t, []string{a}, found(`{"inputs":{"topic":"b\u0065es","budget":1e2}}`))
	require.Equal(t, []string{b}, found(`{"inputs":{"budget":9007199254740993}}`))
	require.Empty(t, found(`{"inputs":{"budget":9007199254740992}}`))
	require.Equal(t, []string{c}, found(`{"inputs":{"topic":"`+long+`"}}`))
	require.Empty(t, found(`{"inputs":{"topic":"`+long+`!"}}`))
	require.Equal(t, []string{d}, found(`{"inputs":{"dock":{"m":{"o":[]},"n":1.0}}}`))
	require.Empty(t, found(`{"inputs":{"dock":{"n":1}}}`))
	require.Equal(t, []string{d}, found(`{"inputs":{"tags":[1.0,"x"]}}`))
	require.Empty(t, found(`{"inputs":{"topic":null}}`))
	require.Empty(t, found(`{"inputs":{"unknown":1}}`))
	require.Empty(t, found(`{"process":"unknown"}`))
	require.Empty(t, found(`{"process":""}`))
	require.Equal(t, []string{d, c, b, a}, found(`{"inputs":{}}`))
	require.Contains(t, string(f.Call(worker, "list_runs", args{}).JSON), `"budget":100.00`)
}

// Numbers keep their digits in every read (protocol.md 2).
func TestNumbersKeepTheirDigitsThroughEveryTool(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	r := f.Call(editor, "start_run", json.RawMessage(`{"process":"review","inputs":{"topic":"x","budget":9007199254740993.10},"requestId":"1"}`))
	require.Contains(t, string(r.JSON), "9007199254740993.10")
	id := servertest.Into[servertest.View](t, r).Run.ID
	claimed := f.Write(worker, "claim", args{"runId": id, "stepId": "write"})
	require.Contains(t, string(claimed.JSON), "9007199254740993.10")
	token := servertest.Into[servertest.Claim](t, claimed).Token
	r = f.Call(worker, "submit", json.RawMessage(`{"token":"`+token+`","output":{"title":"<b>&","pages":1e2},"summary":"s","requestId":"2"}`))
	require.Contains(t, string(r.JSON), `"output":{"title":"<b>&","pages":1e2}`)
	require.Contains(t, string(f.Call(worker, "get_run", args{"runId": id}).JSON), `"pages":1e2`)
}

// A read sees every timer that has passed, exactly as if it had fired on time, in the order of their times (protocol.md 2).
func TestReadsSeeEveryTimerThatHasPassed(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(delivery, nil)
	v := f.Begin(editor, "delivery", nil)
	advance(t, f, 7*24*time.Hour)
	before := entries(t, f, v.Run.ID)
	read := f.View(v.Run.ID)
	require.Equal(t, "ended", read.Run.State)
	require.Equal(t, "2026-10-09T09:00:00.000Z", read.Run.Ended.At)
	require.Equal(t, before, entries(t, f, v.Run.ID), "a read of one run writes nothing")
	p, err := f.RunPage(t.Context(), editor, v.Run.ID)
	require.NoError(t, err)
	require.Greater(t, len(p.Entries), before)

	runs := servertest.Into[page[struct{ ID, State, UpdatedAt string }]](t, f.Call(worker, "list_runs", args{"state": "ended"})).Items
	require.Len(t, runs, 1)
	require.Equal(t, "2026-10-09T09:00:00.000Z", runs[0].UpdatedAt)
	require.Greater(t, entries(t, f, v.Run.ID), before, "a list settles what is due first")
	require.Equal(t, read, f.View(v.Run.ID), "what was shown ahead is what was stored")
	verified(t, f)
}

// output, evidence and next are null where the step declares none; assignedTo.group is the group's name; startedBy has the
// form of by (protocol.md 8).
func TestWhatAStepDoesNotDeclareIsNull(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish("---\nname: plain\ndescription: Nothing declared.\nsteps:\n- {id: do, agent: Do it.}\n- {id: see, task: See., person: viewer, next: done}\n- {id: done, finish: done}\n---\n", map[string]string{"viewer": "All viewers"})
	f.Publish(delivery, nil)
	v := f.Begin(worker, "plain", nil)
	require.Equal(t, "agent:worker", v.Run.StartedBy)
	claimed := f.Write(worker, "claim", args{"runId": v.Run.ID, "stepId": "do"})
	require.Contains(t, string(claimed.JSON), `"step":{"id":"do","instructions":"Do it.","output":null,"evidence":null,"next":null},"handoff":null`)
	done := f.Write(worker, "submit", args{"token": servertest.Into[servertest.Claim](t, claimed).Token, "output": args{}, "summary": "s"})
	require.Contains(t, string(done.JSON), `"output":null,"evidence":null,"next":null,"assignedTo":{"group":"All viewers"}`)
	d := f.Begin(editor, "delivery", nil)
	require.Equal(t, "mira@example.com", d.Run.StartedBy)
	require.True(t, f.Write(worker, "send_event", args{"runId": d.Run.ID, "name": "goods_arrived"}).OK)
	require.Contains(t, string(f.Call(editor, "get_run", args{"runId": d.Run.ID}).JSON),
		`"output":{"pallets":"number"},"evidence":["file"],"next":[{"to":"stored","when":"Everything is there"},{"to":"lost","when":"Something is missing"}]`)
}
