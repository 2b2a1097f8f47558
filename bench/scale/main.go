// Command scale measures whether the size of the database shows: the time of get_work, get_run, claim and the inbox with a
// thousand runs and with a million ended and ten thousand open ones, how long such a database takes to open, and how much
// memory serving it takes. It prints lines like "ap-scale get_work 1.04x (0.41 ms with 1000 runs, 0.43 ms with 1010000)".
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
)

const source = `---
name: supplier-check
description: Check a supplier and get it approved.
inputs:
  supplier: string
steps:
  - id: check
    agent: Check the supplier against the sanctions lists and say what you found.
    output:
      cleared: boolean
  - id: approve
    person: buyer
    approve: Approve when the supplier is cleared.
    due: 2d
  - id: done
    finish: onboarded
---
`

var (
	agent = server.Identity{Kind: server.Agent, Name: "screener"}
	buyer = server.Identity{Kind: server.Person, Name: "mira@example.com", Groups: []string{"buyers"}}
)

func main() {
	if err := measureAll(); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func measureAll() error {
	ended := flag.Int("ended", 1_000_000, "how many ended runs the large database has")
	open := flag.Int("open", 10_000, "how many open runs the large database has")
	keep := flag.String("dir", "", "keep the databases in this folder and use those that are there (default: a temporary one)")
	flag.Parse()
	ctx := context.Background()
	parent := *keep
	if parent == "" {
		temp, err := os.MkdirTemp("", "ap-scale")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temp)
		parent = temp
	}
	small, err := measure(ctx, filepath.Join(parent, "small"), 500, 500)
	if err != nil {
		return err
	}
	large, err := measure(ctx, filepath.Join(parent, "large"), *ended, *open)
	if err != nil {
		return err
	}
	for _, name := range []string{"get_work", "get_run", "inbox", "claim"} {
		a, b := small.times[name], large.times[name]
		fmt.Printf("ap-scale %s %.2fx (%.2f ms with 1000 runs, %.2f ms with %d)\n", name, float64(b)/float64(a), ms(a), ms(b), *ended+*open)
	}
	fmt.Printf("ap-scale open %.0f ms\n", ms(large.opened))
	fmt.Printf("ap-scale memory %d MiB\n", large.memory>>20)
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// figures are what one database was measured to take.
type figures struct {
	times  map[string]time.Duration
	opened time.Duration
	memory uint64
}

// measure makes a database with that many runs, if it isn't there, and measures it.
func measure(ctx context.Context, dir string, ended, open int) (f figures, err error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		if err := generate(ctx, dir, ended, open); err != nil {
			return f, fmt.Errorf("generating %d ended and %d open runs: %w", ended, open, err)
		}
	}
	debug.FreeOSMemory()
	start := time.Now()
	store, s, err := openServer(ctx, dir)
	if err != nil {
		return f, err
	}
	f.opened = time.Since(start)
	defer func() { err = errors.Join(err, store.Close()) }()
	f.times = map[string]time.Duration{}
	ids, err := someRuns(ctx, s)
	if err != nil {
		return f, err
	}
	var work struct {
		Data struct {
			Items []struct {
				RunID string `json:"runId"`
			} `json:"items"`
		} `json:"data"`
	}
	raw, err := call(ctx, s, agent, "get_work", map[string]any{"limit": 100})
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(raw, &work); err != nil {
		return f, err
	}
	parts := []struct {
		name string
		n    int
		do   func(i int) error
	}{
		{"get_work", 200, func(int) error { _, err := call(ctx, s, agent, "get_work", map[string]any{}); return err }},
		{"get_run", 1000, func(i int) error {
			_, err := call(ctx, s, agent, "get_run", map[string]any{"runId": ids[i%len(ids)]})
			return err
		}},
		{"inbox", 200, func(int) error { _, err := s.Inbox(ctx, buyer, server.InboxQuery{Limit: 20}); return err }},
		{"claim", 100, func(i int) error {
			_, err := call(ctx, s, agent, "claim", map[string]any{
				"runId": work.Data.Items[i].RunID, "stepId": "check", "requestId": fmt.Sprintf("claim-%d-%d", start.UnixNano(), i)})
			return err
		}},
	}
	for _, p := range parts {
		if f.times[p.name], err = median(min(p.n, max(len(work.Data.Items), 1)*p.n/100), p.do); err != nil {
			return f, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	f.memory, err = resident()
	return f, err
}

// median is the median time of n calls.
func median(n int, do func(i int) error) (time.Duration, error) {
	times := make([]time.Duration, n)
	for i := range n {
		start := time.Now()
		if err := do(i); err != nil {
			return 0, err
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return times[n/2], nil
}

// resident is the memory this process holds.
func resident() (uint64, error) {
	status, err := os.ReadFile("/proc/self/statm")
	if err != nil { // not Linux: what Go itself holds
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.Sys, nil
	}
	var total, pages uint64
	if _, err := fmt.Sscan(string(status), &total, &pages); err != nil {
		return 0, err
	}
	return pages * uint64(os.Getpagesize()), nil
}

func openServer(ctx context.Context, dir string) (*db.DB, *server.Server, error) {
	store, err := db.Open(ctx, dir, db.Options{})
	if err != nil {
		return nil, nil, err
	}
	return store, server.New(store, store.Files(), server.Options{
		Secret: store.Secret(), BaseURL: "http://127.0.0.1", Logger: slog.New(slog.DiscardHandler),
	}), nil
}

// someRuns are runs to read: the newest.
func someRuns(ctx context.Context, s *server.Server) ([]string, error) {
	page, err := s.ListRuns(ctx, agent, server.RunsQuery{Limit: 100})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range page.Runs {
		ids = append(ids, r.ID)
	}
	return ids, nil
}

// generate makes a database: one run is taken to its end through the tools, and the journal, projection and requests that
// it left are written again under other ids; the open runs are started and, every second one, submitted.
func generate(ctx context.Context, dir string, ended, open int) (err error) {
	store, s, err := openServer(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	doc, issues := process.Parse([]byte(source), process.Options{})
	if doc == nil {
		return fmt.Errorf("the process: %v", issues)
	}
	if err := s.Import(ctx, []byte(source), doc); err != nil {
		return err
	}
	if err := s.Bind(ctx, doc.Name, map[string]string{"buyer": "buyers"}); err != nil {
		return err
	}
	if _, err := s.Publish(ctx, doc.Name); err != nil {
		return err
	}
	model, err := oneRun(ctx, s, "model", 4)
	if err != nil {
		return err
	}
	if err := multiply(ctx, store, model, ended); err != nil {
		return err
	}
	for i := range open {
		if _, err := oneRun(ctx, s, fmt.Sprintf("open-%d", i), 1+2*(i%2)); err != nil {
			return err
		}
	}
	return nil
}

// multiply writes n runs that are like the model but for their ids.
func multiply(ctx context.Context, store server.Store, model string, n int) error {
	var row server.RunRow
	var entries []run.Entry
	if err := store.Read(ctx, func(r server.Reader) (err error) {
		if row, err = r.Run(model); err != nil {
			return err
		}
		entries, err = r.Entries(model, 0, 0)
		return err
	}); err != nil {
		return err
	}
	const batch = 500
	for from := 0; from < n; from += batch {
		if err := store.Write(ctx, func(w server.Writer) error {
			for i := from; i < min(from+batch, n); i++ {
				if err := putCopy(w, row, entries, fmt.Sprintf("r_0%025d", i), i); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func putCopy(w server.Writer, row server.RunRow, entries []run.Entry, id string, n int) error {
	// Started in the past, a second apart, so that lists have an order to keep.
	shift := -time.Duration(n+1) * time.Second
	events := make([]run.Event, len(entries))
	for i, e := range entries {
		events[i] = e.Event
		events[i].At = e.At.Add(shift)
		events[i].Data = bytes.ReplaceAll(e.Data, []byte(row.ID), []byte(id))
	}
	sealed := run.Seal(id, 0, nil, events)
	row.ID, row.Head = id, sealed[len(sealed)-1].Hash
	row.StartedAt, row.UpdatedAt = row.StartedAt.Add(shift), row.UpdatedAt.Add(shift)
	supplier := fmt.Sprintf(`"Acme %d"`, n)
	if err := w.Append(server.Projection{Run: row, Inputs: map[string]string{"supplier": supplier}}, sealed, nil); err != nil {
		return err
	}
	for i, tool := range []string{"start_run", "claim", "submit", "decide"} {
		if err := w.PutRequest(server.Request{ID: fmt.Sprintf("%s-%d", tool, n), Tool: tool, Args: sealed[0].Hash, By: "agent:screener",
			RunID: id, Seq: min(i+1, len(sealed)), At: row.StartedAt}); err != nil {
			return err
		}
	}
	return nil
}

// oneRun takes a run through the first writes of start, claim, submit and decide.
func oneRun(ctx context.Context, s *server.Server, id string, writes int) (runID string, err error) {
	var view struct {
		Data struct {
			Run       struct{ ID string }
			Token     string
			WorkItems []struct{ ID, Snapshot string }
		}
	}
	for i := range writes {
		args, by := map[string]any{"runId": runID, "requestId": fmt.Sprintf("%d-%s", i, id)}, agent
		tool := []string{"start_run", "claim", "submit", "decide"}[i]
		switch tool {
		case "start_run":
			delete(args, "runId")
			args["process"], args["inputs"] = "supplier-check", map[string]any{"supplier": id}
		case "claim":
			args["stepId"] = "check"
		case "submit":
			delete(args, "runId")
			args["token"], args["output"], args["summary"] = view.Data.Token, map[string]any{"cleared": true}, "Searched both lists. No hits."
		case "decide":
			by = buyer
			item := view.Data.WorkItems[0]
			args["workItemId"], args["snapshot"], args["decision"] = item.ID, item.Snapshot, "approved"
		}
		raw, err := call(ctx, s, by, tool, args)
		if err != nil {
			return "", err
		}
		if err := json.Unmarshal(raw, &view); err != nil {
			return "", fmt.Errorf("%s: %w", tool, err)
		}
		if tool == "start_run" {
			runID = view.Data.Run.ID
		}
	}
	return runID, nil
}

func call(ctx context.Context, s *server.Server, id server.Identity, tool string, args map[string]any) (json.RawMessage, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	result, _ := s.Call(ctx, id, tool, raw)
	if result.Code != "" {
		return nil, fmt.Errorf("%s: %s", tool, result.JSON)
	}
	return result.JSON, nil
}
