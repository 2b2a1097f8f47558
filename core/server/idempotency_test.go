package server_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/core/server/servertest"
)

func uploadArgs(content, requestID string) server.UploadArgs {
	return server.UploadArgs{FileName: "note.txt", ContentType: "text/plain", Content: []byte(content), RequestID: requestID}
}

// aWrite is one call of a write that will succeed, on a server prepared for it.
type aWrite struct {
	tool string
	by   server.Identity
	args args
	run  string // the run it is about, or ""
	// change is an argument with another value.
	change args
}

// writes prepares each write of the protocol in turn.
var writes = map[string]func(t *testing.T, f *servertest.Fixture) aWrite{
	"start_run": func(t *testing.T, f *servertest.Fixture) aWrite {
		return aWrite{"start_run", editor, args{"process": "review", "inputs": args{"topic": "bees", "budget": json.Number("100.0")}}, "", args{"inputs": args{"topic": "wasps"}}}
	},
	"claim": func(t *testing.T, f *servertest.Fixture) aWrite {
		v := f.Begin(editor, "review", args{"topic": "bees"})
		return aWrite{"claim", worker, args{"runId": v.Run.ID, "stepId": "write"}, v.Run.ID, args{"stepId": "approve"}}
	},
	"renew": func(t *testing.T, f *servertest.Fixture) aWrite {
		v := f.Begin(editor, "review", args{"topic": "bees"})
		c := f.Take(worker, v.Run.ID, "write")
		return aWrite{"renew", worker, args{"token": c.Token, "progress": "half"}, v.Run.ID, args{"progress": "all"}}
	},
	"submit": func(t *testing.T, f *servertest.Fixture) aWrite {
		v := f.Begin(editor, "collect", nil)
		c := f.Take(worker, v.Run.ID, "quote")
		file := uploaded(t, f, "a quote")
		return aWrite{"submit", worker, args{"token": c.Token, "output": args{"price": json.Number("12.50")}, "summary": "Got it.",
			"evidence": []any{args{"kind": "file", "ref": file}, args{"kind": "file", "ref": file}}}, v.Run.ID, args{"summary": "Have it."}}
	},
	"escalate": func(t *testing.T, f *servertest.Fixture) aWrite {
		v := f.Begin(editor, "review", args{"topic": "bees"})
		c := f.Take(worker, v.Run.ID, "write")
		return aWrite{"escalate", worker, args{"token": c.Token, "note": "No sources."}, v.Run.ID, args{"note": "No idea."}}
	},
	"decide": func(t *testing.T, f *servertest.Fixture) aWrite {
		v := f.Begin(editor, "review", args{"topic": "bees"})
		c := f.Take(worker, v.Run.ID, "write")
		v = f.Finish(worker, c.Token, args{"title": "Bees"})
		a := maps.Clone(v.WorkItems[0].Decide.Arguments)
		delete(a, "requestId")
		a["decision"], a["note"] = "rejected", "Too short."
		return aWrite{"decide", editor, a, v.Run.ID, args{"note": "Too long."}}
	},
	"cancel": func(t *testing.T, f *servertest.Fixture) aWrite {
		v := f.Begin(editor, "review", args{"topic": "bees"})
		return aWrite{"cancel", operator, args{"runId": v.Run.ID, "reason": "Not needed."}, v.Run.ID, args{"reason": "Not wanted."}}
	},
	"send_event": func(t *testing.T, f *servertest.Fixture) aWrite {
		v := f.Begin(editor, "delivery", nil)
		return aWrite{"send_event", worker, args{"runId": v.Run.ID, "name": "goods_arrived", "data": args{"dock": 4}}, v.Run.ID, args{"data": args{"dock": 5}}}
	},
	"upload": func(t *testing.T, f *servertest.Fixture) aWrite {
		return aWrite{"upload", worker, args{"fileName": "a.txt", "contentType": "text/plain", "contentBase64": base64.StdEncoding.EncodeToString([]byte("hello"))}, "", args{"fileName": "b.txt"}}
	},
}

// forEachWrite runs a test on each write, prepared on a server of its own.
func forEachWrite(t *testing.T, test func(t *testing.T, f *servertest.Fixture, w aWrite)) {
	for name, prepare := range writes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := servertest.New(t)
			f.Publish(review, nil)
			f.Publish(delivery, nil)
			f.Publish(collect, nil)
			w := prepare(t, f)
			w.args["requestId"] = "the-request"
			test(t, f, w)
		})
	}
}

// entries is the journal of a run, or how many runs and uploads there are for a write without one.
func entries(t *testing.T, f *servertest.Fixture, runID string) int {
	t.Helper()
	n := 0
	require.NoError(t, f.DB.Read(t.Context(), func(r server.Reader) error {
		if runID != "" {
			es, err := r.Entries(runID, 0, 0)
			n = len(es)
			return err
		}
		ids, err := r.RunIDs("", 100)
		if err != nil {
			return err
		}
		ups, err := r.Uploads("", 100)
		n = len(ids) + len(ups)
		return err
	}))
	return n
}

// Same tool, same arguments, same caller: the original result, and nothing changes (protocol.md 7).
func TestAReplayReturnsTheOriginalResultAndChangesNothing(t *testing.T) {
	t.Parallel()
	forEachWrite(t, func(t *testing.T, f *servertest.Fixture, w aWrite) {
		first := f.Call(w.by, w.tool, w.args)
		require.True(t, first.OK, "%s", first.JSON)
		before := entries(t, f, w.run)
		require.Equal(t, string(first.JSON), string(f.Call(w.by, w.tool, w.args).JSON))
		require.Equal(t, before, entries(t, f, w.run))
		// Another server on the same data has no cache, and another clock.
		_, err := f.Clock.Advance(time.Minute)
		require.NoError(t, err)
		require.Equal(t, string(first.JSON), string(f.Again().Call(w.by, w.tool, w.args).JSON))
		require.Equal(t, before, entries(t, f, w.run))
	})
}

// The original result is exact, token included, expired or not, signed urls included (protocol.md 7).
func TestAReplayIsExactAfterTheLeaseHasEnded(t *testing.T) {
	t.Parallel()
	forEachWrite(t, func(t *testing.T, f *servertest.Fixture, w aWrite) {
		first := f.Call(w.by, w.tool, w.args)
		require.True(t, first.OK)
		_, err := f.Clock.Advance(30 * time.Hour)
		require.NoError(t, err)
		f.Call(worker, "get_work", args{}) // fires what is due
		require.Equal(t, string(first.JSON), string(f.Call(w.by, w.tool, w.args).JSON))
	})
}

func TestAReplayIsExactAfterTheRunHasEnded(t *testing.T) {
	t.Parallel()
	forEachWrite(t, func(t *testing.T, f *servertest.Fixture, w aWrite) {
		first := f.Call(w.by, w.tool, w.args)
		require.True(t, first.OK)
		if w.run != "" && w.tool != "cancel" && w.tool != "submit" {
			require.True(t, f.Write(operator, "cancel", args{"runId": w.run, "reason": "Enough."}).OK)
		}
		require.Equal(t, string(first.JSON), string(f.Call(w.by, w.tool, w.args).JSON))
	})
}

func TestAReplayIsExactAfterTheServerWasConfiguredAnew(t *testing.T) {
	t.Parallel()
	forEachWrite(t, func(t *testing.T, f *servertest.Fixture, w aWrite) {
		first := f.Call(w.by, w.tool, w.args)
		require.True(t, first.OK)
		f.Options.BaseURL, f.Options.FileURLTTL, f.Options.Lease, f.Options.Operators = "https://new.example", time.Hour, time.Minute, "admins"
		require.Equal(t, string(first.JSON), string(f.Again().Call(w.by, w.tool, w.args).JSON))
	})
}

// Anything different under a used id: conflict (protocol.md 7).
func TestAUsedRequestIDForAnythingElseIsAConflict(t *testing.T) {
	t.Parallel()
	forEachWrite(t, func(t *testing.T, f *servertest.Fixture, w aWrite) {
		require.True(t, f.Call(w.by, w.tool, w.args).OK)
		before := entries(t, f, w.run)
		reused := func(by server.Identity, tool string, a args) {
			t.Helper()
			r := f.Call(by, tool, a)
			require.Equal(t, run.Conflict, r.Code(), "%s", r.JSON)
			require.Equal(t, []string{run.IssueRequestIDReused}, r.Issues())
		}
		changed := maps.Clone(w.args)
		maps.Copy(changed, w.change)
		reused(w.by, w.tool, changed)
		reused(servertest.Person("else@example.com", "editor", "operators"), w.tool, w.args)
		reused(servertest.Agent("else"), w.tool, w.args)
		// Ids are unique across all tools, and the reuse is found before everything else is looked at.
		if w.tool != "cancel" {
			reused(stranger, "cancel", args{"runId": "r_none", "reason": "x", "requestId": "the-request"})
		}
		if w.tool != "renew" {
			reused(w.by, "renew", args{"token": "not a token", "requestId": "the-request"})
		}
		if w.tool != "upload" {
			reused(w.by, "upload", args{"fileName": "x", "contentType": "y", "contentBase64": "aGk=", "requestId": "the-request"})
		}
		if w.tool != "start_run" {
			reused(w.by, "start_run", args{"process": "none", "inputs": args{}, "requestId": "the-request"})
		}
		require.Equal(t, before, entries(t, f, w.run))
	})
}

// Arguments compare as JSON values, numbers by value, not as bytes (protocol.md 7).
func TestTheSameArgumentsInOtherBytesAreAReplay(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	first := f.Call(editor, "start_run", json.RawMessage(`{"process":"review","inputs":{"topic":"bees","budget":100.0},"requestId":"1"}`))
	require.True(t, first.OK)
	again := f.Call(editor, "start_run", json.RawMessage(` { "requestId":"1", "inputs":{"budget":1e2,"topic":"b\u0065es"},"process":"review"}`))
	require.Equal(t, string(first.JSON), string(again.JSON))
	require.Contains(t, string(again.JSON), "100.0", "the digits that were sent first stay")
}

// Two identical calls at once: one executes, both get its result (protocol.md 7).
func TestTwentyIdenticalCallsAtOnceExecuteOnce(t *testing.T) {
	t.Parallel()
	forEachWrite(t, func(t *testing.T, f *servertest.Fixture, w aWrite) {
		results := make([]string, 20)
		raw, err := json.Marshal(w.args)
		require.NoError(t, err)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() {
				r, _ := f.Server.Call(t.Context(), w.by, w.tool, raw)
				results[i] = string(r.JSON)
			})
		}
		wg.Wait()
		require.Contains(t, results[0], `"ok":true`)
		for _, r := range results {
			require.Equal(t, results[0], r)
		}
		require.Equal(t, results[0], string(f.Call(w.by, w.tool, w.args).JSON))
		verified(t, f)
	})
}

// Twenty different calls with one id at once: one executes, all others are conflicts.
func TestTwentyDifferentCallsUnderOneIDAtOnceExecuteOnce(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	codes := make([]string, 20)
	var wg sync.WaitGroup
	for i := range codes {
		wg.Go(func() {
			raw, _ := json.Marshal(args{"process": "review", "inputs": args{"topic": "bees", "budget": i}, "requestId": "1"})
			r, _ := f.Server.Call(t.Context(), editor, "start_run", raw)
			codes[i] = r.Code
		})
	}
	wg.Wait()
	count := map[string]int{}
	for _, c := range codes {
		count[c]++
	}
	require.Equal(t, map[string]int{"": 1, "conflict": 19}, count)
	require.Equal(t, 1, entries(t, f, ""))
}

// A failed call isn't recorded (protocol.md 7).
func TestAFailedCallCanBeSentAgainUnderItsID(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	v := f.Begin(editor, "review", args{"topic": "bees"})
	taken := f.Take(other, v.Run.ID, "write")
	refused := f.Call(worker, "claim", args{"runId": v.Run.ID, "stepId": "write", "requestId": "1"})
	require.Equal(t, []string{run.IssueClaimedByOther}, refused.Issues())
	require.True(t, f.Write(other, "escalate", args{"token": taken.Token, "note": "No."}).OK)
	item := f.View(v.Run.ID).WorkItems[0]
	require.True(t, f.DecideItem(operator, item, "returned", args{"note": "Try."}).OK)
	claimed := servertest.Into[servertest.Claim](t, f.Call(worker, "claim", args{"runId": v.Run.ID, "stepId": "write", "requestId": "1"}))

	// Nor is a submission that was not accepted, though its issues stay for the next attempt.
	submit := args{"token": claimed.Token, "output": args{}, "summary": "Done.", "requestId": "2"}
	require.Equal(t, []string{"output.title: missing"}, f.Call(worker, "submit", submit).Issues())
	submit["output"] = args{"title": "Bees"}
	require.True(t, f.Call(worker, "submit", submit).OK)
}
