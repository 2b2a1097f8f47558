package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/core/server/servertest"
)

func TestTheRunPageShowsTheJournalAndTheFiles(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(collect, nil)
	v, r := submitted(t, f, "a quote")
	require.True(t, r.OK)
	p, err := f.RunPage(t.Context(), editor, v.Run.ID)
	require.NoError(t, err)
	require.Equal(t, run.RunEnded, p.View.Run.State)
	require.Equal(t, "collect", p.Document.Name)
	require.Len(t, p.Uploads, 1)
	require.Equal(t, "RunStarted", p.Entries[0].Type)
	require.Equal(t, p.State.Seq, len(p.Entries))
	_, err = f.RunPage(t.Context(), editor, "r_none")
	refusedError(t, err, run.NotFound)
	_, err = f.RunPage(t.Context(), server.Identity{}, v.Run.ID)
	refusedError(t, err, run.Forbidden)
}

func TestTheItemPageShowsAnItemOpenOrNot(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	v := f.Begin(editor, "review", args{"topic": "x"})
	item := f.Finish(worker, f.Take(worker, v.Run.ID, "write").Token, args{"title": "x"}).WorkItems[0]
	p, err := f.ItemPage(t.Context(), editor, item.ID)
	require.NoError(t, err)
	require.True(t, p.Mine)
	require.Equal(t, item.Snapshot, p.Open.Snapshot)
	p, err = f.ItemPage(t.Context(), stranger, item.ID)
	require.NoError(t, err)
	require.False(t, p.Mine)
	require.True(t, f.DecideItem(editor, item, "rejected", args{"note": "Too short."}).OK)
	p, err = f.ItemPage(t.Context(), editor, item.ID)
	require.NoError(t, err)
	require.Nil(t, p.Open)
	require.False(t, p.Mine)
	require.Equal(t, "rejected", p.Item.Decided.Decision)
	for _, unknown := range []string{"", "x", item.ID + "9", "r_none" + item.ID[len(v.Run.ID):]} {
		_, err := f.ItemPage(t.Context(), editor, unknown)
		refusedError(t, err, run.NotFound, unknown)
	}
}

func str(s string) *string { return &s }

// What changed since a snapshot: step by step, field by field, by whom, when.
func TestChangesSayWhatChangedSinceASnapshot(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	v := f.Begin(editor, "review", args{"topic": "x"})
	first := f.Finish(worker, f.Take(worker, v.Run.ID, "write").Token, args{"title": "Bees", "pages": 3}).WorkItems[0]
	advance(t, f, time.Minute)
	since := func(snapshot string) []server.Change {
		changes, ok, err := f.Changes(t.Context(), editor, v.Run.ID, snapshot)
		require.NoError(t, err)
		require.True(t, ok)
		return changes
	}
	require.Empty(t, since(first.Snapshot))
	require.True(t, f.DecideItem(editor, first, "rejected", args{"note": "Longer."}).OK)
	at := servertest.Start.Add(time.Minute)
	require.Equal(t, []server.Change{
		{StepID: "write", Before: []byte(`{"summary":"Done.","output.pages":3,"output.title":"Bees"}`), By: "mira@example.com", At: at},
		{StepID: "approve", After: []byte(`{"decision":"rejected","note":"Longer."}`), By: "mira@example.com", At: at},
	}, since(first.Snapshot))
	advance(t, f, time.Minute)
	token := f.Take(other, v.Run.ID, "write").Token
	second := servertest.Into[servertest.View](t, f.Write(other, "submit", args{"token": token, "output": args{"title": "Bees", "pages": 30}, "summary": "Longer now."})).WorkItems[0]
	require.Equal(t, []server.Change{
		{StepID: "approve", After: []byte(`{"decision":"rejected","note":"Longer."}`), By: "mira@example.com", At: at},
		{StepID: "write", Field: "summary", Before: []byte(`"Done."`), After: []byte(`"Longer now."`), By: "agent:other", At: at.Add(time.Minute)},
		{StepID: "write", Field: "output.pages", Before: []byte(`3`), After: []byte(`30`), By: "agent:other", At: at.Add(time.Minute)},
	}, since(first.Snapshot))
	require.Empty(t, since(second.Snapshot))
	_, ok, err := f.Changes(t.Context(), editor, v.Run.ID, "never")
	require.NoError(t, err)
	require.False(t, ok)
}

func TestTheInboxShowsAndFiltersAPersonsItems(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	f.Publish(delivery, nil)
	boss := servertest.Person("boss@example.com", "editor", "warehouse")
	v := f.Begin(worker, "review", args{"topic": "bees"})
	f.Finish(worker, f.Take(worker, v.Run.ID, "write").Token, args{"title": "x"})
	advance(t, f, time.Second)
	d := servertest.Into[servertest.View](t, f.Write(editor, "start_run", args{"process": "delivery", "inputs": args{}, "mode": "test"}))
	require.True(t, f.Write(worker, "send_event", args{"runId": d.Run.ID, "name": "goods_arrived"}).OK)
	inbox := func(id server.Identity, q server.InboxQuery) []string {
		p, err := f.Inbox(t.Context(), id, q)
		require.NoError(t, err)
		runs := []string{}
		for _, it := range p.Items {
			runs = append(runs, it.RunID)
		}
		return runs
	}
	both := []string{v.Run.ID, d.Run.ID}
	require.Equal(t, both, inbox(boss, server.InboxQuery{}))
	require.Equal(t, both[:1], inbox(editor, server.InboxQuery{}))
	require.Empty(t, inbox(operator, server.InboxQuery{}))
	require.Equal(t, both[1:], inbox(boss, server.InboxQuery{Group: "warehouse"}))
	require.Empty(t, inbox(boss, server.InboxQuery{Group: "me"}))
	require.Empty(t, inbox(editor, server.InboxQuery{Group: "warehouse"}), "not a group of theirs")
	require.Equal(t, both[:1], inbox(boss, server.InboxQuery{Process: "review"}))
	require.Equal(t, both[1:], inbox(boss, server.InboxQuery{Mode: run.Test}))
	require.Equal(t, both[:1], inbox(boss, server.InboxQuery{Mode: run.Live}))
	require.Equal(t, both[1:], inbox(boss, server.InboxQuery{Search: " FILE note "}))
	require.Empty(t, inbox(boss, server.InboxQuery{Search: "100%_"}))
	require.Empty(t, inbox(boss, server.InboxQuery{Overdue: true}))
	p, err := f.Inbox(t.Context(), boss, server.InboxQuery{Limit: 1})
	require.NoError(t, err)
	require.Len(t, p.Items, 1)
	require.Equal(t, "agent:worker", p.Items[0].StartedBy)
	require.JSONEq(t, `{"topic":"bees"}`, string(p.Items[0].Inputs))
	require.Equal(t, both[1:], inbox(boss, server.InboxQuery{Cursor: p.NextCursor}))
	advance(t, f, 48*time.Hour)
	require.Equal(t, both[:1], inbox(boss, server.InboxQuery{Overdue: true}))
	_, err = f.Inbox(t.Context(), worker, server.InboxQuery{})
	refusedError(t, err, run.Forbidden)
}

// The typed methods keep every rule their tools keep.
func TestTheTypedMethodsKeepTheRulesOfTheirTools(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	f.Publish(delivery, nil)
	ctx := t.Context()
	start := server.StartRunArgs{Process: "review", Inputs: []byte(`{"topic":"x"}`), RequestID: "1"}
	v, err := f.StartRun(ctx, editor, start)
	require.NoError(t, err)
	again, err := f.StartRun(ctx, editor, start)
	require.NoError(t, err)
	require.Equal(t, v, again)
	require.Equal(t, string(f.Call(editor, "start_run", args{"process": "review", "inputs": args{"topic": "x"}, "requestId": "1"}).Data), compact(t, v),
		"the same call through a tool is a replay of it")
	_, err = f.StartRun(ctx, editor, server.StartRunArgs{Process: "review", RequestID: "2"})
	require.Equal(t, []string{"inputs.topic: missing"}, refusedError(t, err, run.Invalid).Issues)
	_, err = f.StartRun(ctx, editor, server.StartRunArgs{Process: "review", Inputs: []byte(`{"a":1,"a":2}`), RequestID: "2"})
	require.Equal(t, []string{"inputs.a: duplicate key"}, refusedError(t, err, run.Invalid).Issues)
	_, err = f.StartRun(ctx, editor, server.StartRunArgs{Process: "review", Inputs: []byte(`{`), RequestID: "2"})
	refusedError(t, err, run.Invalid)
	_, err = f.StartRun(ctx, editor, server.StartRunArgs{Process: "review", Inputs: []byte(`{"topic":"x"}`)})
	require.Equal(t, []string{"requestId: at least 1 character"}, refusedError(t, err, run.Invalid).Issues)

	id := v.Run.ID
	item := f.Finish(worker, f.Take(worker, id, "write").Token, args{"title": "x"}).WorkItems[0]
	decide := server.DecideArgs{RunID: id, WorkItemID: item.ID, Snapshot: item.Snapshot, Decision: "rejected", RequestID: "3"}
	_, err = f.Decide(ctx, editor, decide)
	require.Equal(t, []string{"note: required"}, refusedError(t, err, run.Invalid).Issues)
	decide.Note = str("Longer.\xff")
	_, err = f.Decide(ctx, editor, decide)
	refusedError(t, err, run.Invalid)
	decide.Note = str("Longer.")
	view, err := f.Decide(ctx, editor, decide)
	require.NoError(t, err)
	require.Equal(t, run.RunActive, view.Run.State)

	_, err = f.Cancel(ctx, editor, id, "x", "4")
	refusedError(t, err, run.Forbidden)
	view, err = f.Cancel(ctx, server.Identity{Kind: server.Admin}, id, "x", "4")
	require.NoError(t, err)
	require.Equal(t, "server", view.Run.Ended.By)
	d, err := f.StartRun(ctx, server.Identity{Kind: server.Admin}, server.StartRunArgs{Process: "delivery", Mode: run.Test, Version: 1, RequestID: "5"})
	require.NoError(t, err)
	require.Equal(t, run.Test, d.Run.Mode)
	consumed, err := f.SendEvent(ctx, operator, d.Run.ID, "other", []byte(`{"a":1}`), "6")
	require.NoError(t, err)
	require.Empty(t, consumed)
	consumed, err = f.SendEvent(ctx, server.Identity{Kind: server.Admin}, d.Run.ID, "goods_arrived", nil, "7")
	require.NoError(t, err)
	require.Equal(t, "arrival", consumed)
	_, err = f.GetRun(ctx, server.Identity{}, d.Run.ID)
	refusedError(t, err, run.Forbidden)
	runs, err := f.ListRuns(ctx, editor, server.RunsQuery{Inputs: []byte(`{"topic":"\u0078"}`)})
	require.NoError(t, err)
	require.Len(t, runs.Runs, 1)
	_, err = f.ListRuns(ctx, editor, server.RunsQuery{Inputs: []byte(`[]`)})
	refusedError(t, err, run.Invalid)
	_, err = f.ListRuns(ctx, editor, server.RunsQuery{Cursor: "x"})
	refusedError(t, err, run.Invalid)
}
