// Command engine measures complete runs a second: start, claim, submit, approve, finish, each write durable on disk.
// It prints lines like "ap-engine conc=64 5000 runs/s".
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
	"github.com/apserver/ap/web"
)

// source is the process that is run: an agent's work with three fields, approved by a person.
const source = `---
name: supplier-check
description: Check a supplier and get it approved.
inputs:
  supplier: string
  amount: number
steps:
  - id: check
    agent: Check the supplier against the sanctions lists and say what you found.
    output:
      cleared: boolean
      findings: string
      score: number
  - id: approve
    person: buyer
    approve: Approve when the supplier is cleared and the amount is justified.
    on_reject: check
  - id: done
    finish: onboarded
---

# Supplier check

Start it when a new supplier is proposed.
`

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(1)
	}
}

func run() error {
	profile := flag.String("cpuprofile", "", "write a CPU profile of the concurrent part to this file")
	seconds := flag.Float64("seconds", 3, "how long each part takes")
	only := flag.Int("conc", 0, "measure with this many workers only")
	dir := flag.String("dir", "", "where to make the data directory (default: the system's temporary folder)")
	flag.Parse()
	workers := []int{1, 64}
	if *only > 0 {
		workers = []int{*only}
	}
	web.RoomyHeap() // as ap serve does
	for _, conc := range workers {
		rate, err := measure(*dir, conc, time.Duration(*seconds*float64(time.Second)), *profile)
		if err != nil {
			return err
		}
		fmt.Printf("ap-engine conc=%d %.0f runs/s\n", conc, rate)
	}
	return nil
}

// measure counts the runs that conc workers complete on a fresh data directory.
func measure(parent string, conc int, d time.Duration, profile string) (rate float64, err error) {
	dir, err := os.MkdirTemp(parent, "ap-bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := db.Open(ctx, filepath.Join(dir, "data"), db.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	s := server.New(store, store.Files(), server.Options{Secret: store.Secret(), BaseURL: "http://127.0.0.1", Logger: slog.New(slog.DiscardHandler)})
	if err := publish(ctx, s); err != nil {
		return 0, err
	}
	if profile != "" && conc > 1 {
		f, err := os.Create(profile)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return 0, err
		}
		defer pprof.StopCPUProfile()
	}
	counts := make([]int, conc)
	start := time.Now()
	var g errgroup.Group
	for w := range conc {
		g.Go(func() error {
			for n := 0; time.Since(start) < d; n++ {
				if err := oneRun(ctx, s, fmt.Sprintf("%d-%d", w, n)); err != nil {
					return err
				}
				counts[w]++
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	return float64(total) / time.Since(start).Seconds(), nil
}

func publish(ctx context.Context, s *server.Server) error {
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
	_, err := s.Publish(ctx, doc.Name)
	return err
}

var (
	agent = server.Identity{Kind: server.Agent, Name: "screener"}
	buyer = server.Identity{Kind: server.Person, Name: "mira@example.com", Groups: []string{"buyers"}}
)

// oneRun takes a run from start to finish. id makes its requestIds unique.
func oneRun(ctx context.Context, s *server.Server, id string) error {
	started, err := call[struct{ Run struct{ ID string } }](ctx, s, agent, "start_run", map[string]any{
		"process": "supplier-check", "inputs": map[string]any{"supplier": "Acme " + id, "amount": 48000}, "requestId": "start-" + id,
	})
	if err != nil {
		return err
	}
	claimed, err := call[struct{ Token string }](ctx, s, agent, "claim", map[string]any{
		"runId": started.Run.ID, "stepId": "check", "requestId": "claim-" + id,
	})
	if err != nil {
		return err
	}
	submitted, err := call[struct {
		WorkItems []struct{ ID, Snapshot string }
	}](ctx, s, agent, "submit", map[string]any{
		"token": claimed.Token, "requestId": "submit-" + id,
		"output":  map[string]any{"cleared": true, "findings": "No matches on either list.", "score": 0.93},
		"summary": "Searched both lists by legal name and two known aliases. No hits.",
	})
	if err != nil {
		return err
	}
	decided, err := call[struct{ Run struct{ State string } }](ctx, s, buyer, "decide", map[string]any{
		"runId": started.Run.ID, "workItemId": submitted.WorkItems[0].ID, "snapshot": submitted.WorkItems[0].Snapshot,
		"decision": "approved", "requestId": "decide-" + id,
	})
	if err == nil && decided.Run.State != "ended" {
		err = fmt.Errorf("the run is %s", decided.Run.State)
	}
	return err
}

// call runs a tool the way a client does: arguments and result as JSON.
func call[T any](ctx context.Context, s *server.Server, id server.Identity, tool string, args map[string]any) (data T, err error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return data, err
	}
	result, _ := s.Call(ctx, id, tool, raw)
	if result.Code != "" {
		return data, fmt.Errorf("%s: %s", tool, result.JSON)
	}
	var reply struct{ Data T }
	if err := json.Unmarshal(result.JSON, &reply); err != nil {
		return data, fmt.Errorf("%s: %w", tool, err)
	}
	return reply.Data, nil
}
