package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server/servertest"
)

// outbox lists the notices for a person in some groups, newest first, as "kind step".
func outbox(t *testing.T, f *servertest.Fixture, person string, groups ...string) []string {
	t.Helper()
	notices, err := f.Notices(t.Context(), servertest.Person(person, groups...), 100)
	require.NoError(t, err)
	list := []string{}
	for _, n := range notices {
		list = append(list, n.Kind+" "+n.StepID)
	}
	return list
}

// Assigned, overdue, escalated and ended are written to the outbox; past due notifies the assignee and the operators once
// (protocol.md 4).
func TestNotificationsAreWrittenToTheOutbox(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	v := f.Begin(editor, "review", args{"topic": "x"})
	require.True(t, f.Write(worker, "escalate", args{"token": f.Take(worker, v.Run.ID, "write").Token, "note": "n"}).OK)
	require.Equal(t, []string{"escalated write"}, outbox(t, f, "", "operators"))
	advance(t, f, time.Second)
	done := servertest.Into[servertest.View](t, f.DecideItem(operator, f.View(v.Run.ID).WorkItems[0], "completed", args{"output": args{"title": "x"}}))
	require.Equal(t, []string{"assigned approve"}, outbox(t, f, "", "editor"))
	advance(t, f, 49*time.Hour)
	for range 3 {
		f.Call(editor, "get_work", args{})
	}
	require.Equal(t, []string{"overdue approve", "assigned approve"}, outbox(t, f, "", "editor"))
	require.Equal(t, []string{"overdue approve", "escalated write"}, outbox(t, f, "", "operators"))
	require.True(t, f.DecideItem(editor, done.WorkItems[0], "approved", nil).OK)
	require.Equal(t, []string{"ended "}, outbox(t, f, "mira@example.com"))
}

// Test runs send no real notification (protocol.md 4).
func TestATestRunNotifiesNobody(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	v := servertest.Into[servertest.View](t, f.Write(editor, "start_run", args{"process": "review", "inputs": args{"topic": "x"}, "mode": "test"}))
	require.True(t, f.Write(worker, "escalate", args{"token": f.Take(worker, v.Run.ID, "write").Token, "note": "n"}).OK)
	f.DecideItem(operator, f.View(v.Run.ID).WorkItems[0], "completed", args{"output": args{"title": "x"}})
	advance(t, f, 49*time.Hour)
	f.Call(editor, "get_work", args{})
	require.True(t, f.Write(operator, "cancel", args{"runId": v.Run.ID, "reason": "x"}).OK)
	require.Empty(t, outbox(t, f, "mira@example.com", "editor", "operators"))
}

// In a test run every get_work item, claim and work item says mode: test (protocol.md 8).
func TestATestRunSaysSoEverywhere(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	v := servertest.Into[servertest.View](t, f.Write(editor, "start_run", args{"process": "review", "inputs": args{"topic": "x"}, "mode": "test"}))
	live := f.Begin(editor, "review", args{"topic": "x"})
	require.Equal(t, "test", v.Run.Mode)
	items := servertest.Into[page[struct{ Mode string }]](t, f.Call(worker, "get_work", args{})).Items
	require.Equal(t, []string{"test", "live"}, []string{items[0].Mode, items[1].Mode})
	c := f.Take(worker, v.Run.ID, "write")
	require.Equal(t, "test", c.Mode)
	done := f.Write(worker, "submit", args{"token": c.Token, "output": args{"title": "x"}, "summary": "s"})
	require.Contains(t, string(done.JSON), `"mode":"test","decide"`)
	c = f.Take(worker, live.Run.ID, "write")
	done = f.Write(worker, "submit", args{"token": c.Token, "output": args{"title": "x"}, "summary": "s"})
	require.NotContains(t, string(done.JSON), `"mode":"test"`)
	people := servertest.Into[page[struct {
		Mode     string
		WorkItem struct{ Mode string }
	}]](t, f.Call(editor, "get_work", args{})).Items
	require.Equal(t, "test", people[0].Mode)
	require.Equal(t, "test", people[0].WorkItem.Mode)
	require.Empty(t, people[1].WorkItem.Mode)
}
