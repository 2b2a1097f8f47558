package server_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/core/server/servertest"
)

// refused checks a refusal's code and, where given, its issues.
func refused(t *testing.T, r servertest.Reply, code run.Code, issues ...string) {
	t.Helper()
	require.Equal(t, code, r.Code(), "%s", r.JSON)
	if issues != nil {
		require.Equal(t, issues, r.Issues())
	}
}

func TestNobodyMayDoNothing(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	nobody := server.Identity{}
	for _, tool := range server.Tools() {
		a := args{}
		for _, name := range []string{"runId", "stepId", "workItemId", "snapshot", "token", "reason", "note", "summary", "process", "fileName", "contentType", "contentBase64"} {
			a[name] = "aGk="
		}
		a["output"], a["inputs"], a["decision"], a["name"], a["requestId"] = args{}, args{}, "approved", "event", "1"
		delete(a, "note")
		only := args{}
		for _, name := range server.RequiredArguments(tool) {
			only[name] = a[name]
		}
		if tool == "escalate" {
			only["note"] = "x"
		}
		refused(t, f.Call(nobody, tool, only), run.Forbidden)
	}
	_, known := f.Server.Call(t.Context(), worker, "nothing", nil)
	require.False(t, known)
}

// Who may call what (protocol.md 8).
func TestEachToolIsForThoseItIsFor(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	f.Publish(delivery, nil)
	v := f.Begin(editor, "review", args{"topic": "bees"})
	d := f.Begin(editor, "delivery", nil)
	id := v.Run.ID

	refused(t, f.Write(editor, "claim", args{"runId": id, "stepId": "write"}), run.Forbidden)
	refused(t, f.Write(operator, "claim", args{"runId": id, "stepId": "write"}), run.Forbidden)
	refused(t, f.Write(worker, "cancel", args{"runId": id, "reason": "x"}), run.Forbidden)
	refused(t, f.Write(editor, "cancel", args{"runId": id, "reason": "x"}), run.Forbidden)
	refused(t, f.Write(editor, "send_event", args{"runId": d.Run.ID, "name": "goods_arrived"}), run.Forbidden)
	refused(t, f.Call(server.Identity{Kind: server.Admin}, "get_work", args{}), run.Forbidden)

	c := f.Take(worker, id, "write")
	for _, by := range []server.Identity{other, editor, operator} {
		refused(t, f.Write(by, "renew", args{"token": c.Token}), run.Forbidden)
		refused(t, f.Write(by, "submit", args{"token": c.Token, "output": args{"title": "x"}, "summary": "s"}), run.Forbidden)
		refused(t, f.Write(by, "escalate", args{"token": c.Token, "note": "n"}), run.Forbidden)
	}
	for _, by := range []server.Identity{worker, editor, operator, {Kind: server.Admin}} {
		require.True(t, f.Call(by, "describe", args{}).OK)
		require.True(t, f.Call(by, "list_processes", args{}).OK)
		require.True(t, f.Call(by, "list_runs", args{}).OK)
		require.True(t, f.Call(by, "get_run", args{"runId": id}).OK)
	}
	require.True(t, f.Write(operator, "send_event", args{"runId": d.Run.ID, "name": "goods_arrived"}).OK)
	require.True(t, f.Write(operator, "cancel", args{"runId": id, "reason": "x"}).OK)
}

// Whatever authenticates as an agent is refused by decide, always (protocol.md 4).
func TestAnAgentNeverDecides(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	v := f.Begin(editor, "review", args{"topic": "bees"})
	c := f.Take(worker, v.Run.ID, "write")
	item := f.Finish(worker, c.Token, args{"title": "Bees"}).WorkItems[0]
	disguised := server.Identity{Kind: server.Agent, Name: "client/mira@example.com", Groups: []string{"editor", "operators"}}
	for _, by := range []server.Identity{worker, disguised, {Kind: server.Admin, Groups: []string{"editor"}}} {
		refused(t, f.DecideItem(by, item, "approved", nil), run.Forbidden)
		refused(t, f.DecideItem(by, item, "failed", args{"note": "n"}), run.Forbidden)
	}
	require.Equal(t, "waiting", f.View(v.Run.ID).State("approve"))
}

// The checks of decide come in the protocol's order (protocol.md 4): each case breaks one check and all those after it.
func TestTheChecksOfDecideComeInOrder(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	f.Publish(delivery, nil)
	start := func() (servertest.View, servertest.Item) {
		v := f.Begin(editor, "review", args{"topic": "bees"})
		c := f.Take(worker, v.Run.ID, "write")
		v = f.Finish(worker, c.Token, args{"title": "Bees"})
		return v, v.WorkItems[0]
	}
	ended, endedItem := start()
	require.True(t, f.DecideItem(editor, endedItem, "approved", nil).OK)
	live, item := start()
	rejected, rejectedItem := start()
	require.True(t, f.DecideItem(editor, rejectedItem, "rejected", args{"note": "n"}).OK)

	call := func(by server.Identity, runID, itemID, snapshot, decision string) servertest.Reply {
		return f.Write(by, "decide", args{"runId": runID, "workItemId": itemID, "snapshot": snapshot, "decision": decision, "note": "n"})
	}
	refused(t, call(worker, "r_none", "w", "s", "maybe"), run.Invalid)
	refused(t, call(worker, "r_none", "w", "s", "completed"), run.Invalid, "note: not allowed with completed")
	refused(t, call(worker, "r_none", "w", "s", "returned"), run.NotFound)
	refused(t, call(worker, ended.Run.ID, "w", "s", "returned"), run.Conflict, run.IssueRunEnded)
	refused(t, call(worker, ended.Run.ID, endedItem.ID, "s", "returned"), run.Conflict, run.IssueRunEnded)
	refused(t, call(worker, rejected.Run.ID, rejectedItem.ID, "s", "returned"), run.Conflict, run.IssueAlreadyDecided)
	refused(t, call(worker, live.Run.ID, "w", "s", "returned"), run.NotFound)
	refused(t, call(worker, live.Run.ID, rejectedItem.ID, "s", "returned"), run.NotFound)
	refused(t, call(worker, live.Run.ID, item.ID, "s", "returned"), run.Stale)
	refused(t, call(worker, live.Run.ID, item.ID, item.Snapshot, "returned"), run.Forbidden)
	refused(t, call(stranger, live.Run.ID, item.ID, item.Snapshot, "returned"), run.Forbidden)
	refused(t, call(operator, live.Run.ID, item.ID, item.Snapshot, "returned"), run.Forbidden)
	refused(t, call(editor, live.Run.ID, item.ID, item.Snapshot, "returned"), run.Invalid)

	d := f.Begin(editor, "delivery", nil)
	require.True(t, f.Write(worker, "send_event", args{"runId": d.Run.ID, "name": "goods_arrived"}).OK)
	task := f.View(d.Run.ID).WorkItems[0]
	refused(t, f.DecideItem(editor, task, "completed", nil), run.Forbidden)
	refused(t, f.DecideItem(stranger, task, "approved", nil), run.Invalid)
	refused(t, f.DecideItem(stranger, task, "completed", args{"output": args{"pallets": "three", "x": 1}, "next": "nowhere", "evidence": []any{args{"kind": "file", "ref": "f_none"}}}), run.NotAccepted,
		"output.pallets: expected number", "output.x: not declared", "evidence: file required", "evidence f_none: not found", "next: not one of stored, lost", "reason: required")
}

// run_ended comes before everything but the arguments and the token's own verification (protocol.md 6).
func TestEveryWriteToAnEndedRunIsRunEnded(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	v := f.Begin(editor, "review", args{"topic": "bees"})
	c := f.Take(worker, v.Run.ID, "write")
	require.True(t, f.Write(operator, "cancel", args{"runId": v.Run.ID, "reason": "Enough."}).OK)
	limited := server.Identity{Kind: server.Agent, Name: "limited", Processes: []string{"other"}}
	for _, by := range []server.Identity{worker, other, editor, operator, limited, {Kind: server.Admin}} {
		for tool, a := range map[string]args{
			"claim":      {"stepId": "nowhere", "runId": v.Run.ID},
			"renew":      {"token": c.Token},
			"submit":     {"token": c.Token, "output": args{}, "summary": ""},
			"escalate":   {"token": c.Token, "note": "n"},
			"decide":     {"runId": v.Run.ID, "workItemId": "w", "snapshot": "s", "decision": "approved"},
			"cancel":     {"runId": v.Run.ID, "reason": "r"},
			"send_event": {"runId": v.Run.ID, "name": "goods_arrived"},
		} {
			refused(t, f.Write(by, tool, a), run.Conflict, run.IssueRunEnded)
		}
	}
	refused(t, f.Write(worker, "renew", args{"token": "x"}), run.Invalid)
	refused(t, f.Write(operator, "cancel", args{"runId": v.Run.ID, "reason": " "}), run.Invalid, "reason: required")
}

// Errors of claim (protocol.md 3).
func TestAClaimIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	v := f.Begin(editor, "review", args{"topic": "bees"})
	claim := func(by server.Identity, runID, step string) servertest.Reply {
		return f.Write(by, "claim", args{"runId": runID, "stepId": step})
	}
	refused(t, claim(worker, "r_none", "write"), run.NotFound)
	refused(t, claim(worker, v.Run.ID, "nowhere"), run.NotFound)
	refused(t, claim(worker, v.Run.ID, "approve"), run.Forbidden)
	refused(t, claim(worker, v.Run.ID, "done"), run.Forbidden)
	refused(t, claim(server.Identity{Kind: server.Agent, Name: "limited", Processes: []string{"other"}}, v.Run.ID, "write"), run.Forbidden)
	c := f.Take(worker, v.Run.ID, "write")
	refused(t, claim(worker, v.Run.ID, "write"), run.Conflict, run.IssueClaimedByYou)
	refused(t, claim(other, v.Run.ID, "write"), run.Conflict, run.IssueClaimedByOther)
	f.Finish(worker, c.Token, args{"title": "Bees"})
	refused(t, claim(worker, v.Run.ID, "write"), run.Conflict, run.IssueNotReady)
}

// A token that doesn't verify is invalid; one whose lease ended, or that was replaced, is stale (protocol.md 3).
func TestTokensAreInvalidOrStale(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	v := f.Begin(editor, "review", args{"topic": "bees"})
	first := f.Take(worker, v.Run.ID, "write")
	second := servertest.Into[servertest.Claim](t, f.Write(worker, "renew", args{"token": first.Token}))
	withToken := func(token string, code run.Code) {
		t.Helper()
		refused(t, f.Write(worker, "renew", args{"token": token}), code)
		refused(t, f.Write(worker, "submit", args{"token": token, "output": args{"title": "x"}, "summary": "s"}), code)
		refused(t, f.Write(worker, "escalate", args{"token": token, "note": "n"}), code)
	}
	withToken(first.Token, run.Stale)
	withToken(first.Token+"x", run.Invalid)
	withToken(strings.ToLower(first.Token), run.Invalid)
	withToken("", run.Invalid)
	_, err := f.Clock.Advance(10 * time.Minute)
	require.NoError(t, err)
	withToken(second.Token, run.Stale)
	third := f.Take(other, v.Run.ID, "write")
	withToken(second.Token, run.Stale)
	require.True(t, f.Write(other, "escalate", args{"token": third.Token, "note": "n"}).OK)
	refused(t, f.Write(other, "submit", args{"token": third.Token, "output": args{"title": "x"}, "summary": "s"}), run.Stale)
}

// A token is in no read (protocol.md 3).
func TestNoReadShowsAToken(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	v := f.Begin(editor, "review", args{"topic": "bees"})
	c := f.Take(worker, v.Run.ID, "write")
	for tool, a := range map[string]args{"get_run": {"runId": v.Run.ID}, "list_runs": {}, "get_work": {}} {
		require.NotContains(t, string(f.Call(worker, tool, a).JSON), c.Token)
	}
	page, err := f.RunPage(t.Context(), editor, v.Run.ID)
	require.NoError(t, err)
	for _, e := range page.Entries {
		require.NotContains(t, string(e.Data), c.Token)
	}
}

// start_run names every issue of the inputs (protocol.md 8).
func TestStartRunRefusesInputsWithEveryIssue(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	f.Publish(strings.ReplaceAll(strings.Replace(review, "name: review", "name: mine", 1), "person: editor", "person: initiator"), nil)
	start := func(by server.Identity, a args) servertest.Reply {
		b := args{"inputs": args{"topic": "bees"}}
		maps.Copy(b, a)
		return f.Write(by, "start_run", b)
	}
	refused(t, start(worker, args{"process": "review", "inputs": args{"budget": "much", "x": 1}}), run.Invalid,
		"inputs.topic: missing", "inputs.budget: expected number", "inputs.x: not declared")
	refused(t, start(worker, args{"process": "reviw"}), run.NotFound)
	require.Contains(t, start(worker, args{"process": "reviw"}).Err.Message, "did you mean review?")
	refused(t, start(worker, args{"process": "review", "version": 2}), run.NotFound)
	refused(t, start(worker, args{"process": "mine"}), run.Invalid)
	require.True(t, start(editor, args{"process": "mine"}).OK)
	big := start(worker, args{"process": "review", "inputs": args{"topic": strings.Repeat("x", 300_000)}})
	refused(t, big, run.Invalid)
	require.Regexp(t, `^run data: 3000\d\d bytes, limit 262144$`, big.Issues()[0])
	require.Equal(t, 1, entries(t, f, ""))
}

// An agent limited to some processes is forbidden to claim, start or send events elsewhere, and isn't shown that work
// (design.md 5).
func TestALimitedAgentWorksInItsProcessesOnly(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	f.Publish(collect, nil)
	f.Publish(delivery, nil)
	limited := server.Identity{Kind: server.Agent, Name: "limited", Processes: []string{"collect", "nothing"}}
	v := f.Begin(editor, "review", args{"topic": "bees"})
	d := f.Begin(editor, "delivery", nil)
	q := f.Begin(limited, "collect", nil)
	refused(t, f.Write(limited, "start_run", args{"process": "review", "inputs": args{"topic": "x"}}), run.Forbidden)
	refused(t, f.Write(limited, "claim", args{"runId": v.Run.ID, "stepId": "write"}), run.Forbidden)
	refused(t, f.Write(limited, "send_event", args{"runId": d.Run.ID, "name": "goods_arrived"}), run.Forbidden)
	type work struct {
		Items []struct{ RunID string }
	}
	items := servertest.Into[work](t, f.Call(limited, "get_work", args{})).Items
	require.Len(t, items, 1)
	require.Equal(t, q.Run.ID, items[0].RunID)
	require.Empty(t, servertest.Into[work](t, f.Call(limited, "get_work", args{"process": "review"})).Items)
	require.Len(t, servertest.Into[work](t, f.Call(limited, "get_work", args{"process": "collect"})).Items, 1)
	nothing := server.Identity{Kind: server.Agent, Name: "limited", Processes: []string{}}
	require.Empty(t, servertest.Into[work](t, f.Call(nothing, "get_work", args{})).Items)
	require.True(t, f.Call(limited, "get_run", args{"runId": v.Run.ID}).OK)
	f.Take(limited, q.Run.ID, "quote")
}
