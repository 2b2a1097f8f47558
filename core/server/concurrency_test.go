package server_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/core/server/servertest"
)

// Many agents and people on the same runs: every acknowledged write is in the journal once, no step is done twice, and
// what is stored is what the journal says.
func TestManyAgentsAndPeopleOnTheSameRuns(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	var runs []string
	for range 6 {
		runs = append(runs, f.Begin(editor, "review", args{"topic": "x"}).Run.ID)
	}
	// Two servers share the store, as two processes would: each has caches of its own.
	servers := []*server.Server{f.Server, f.Again().Server}
	var mu sync.Mutex
	acknowledged := map[string]int{} // by event type
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 7))
			agent := servertest.Agent(fmt.Sprint("agent-", w))
			person := servertest.Person(fmt.Sprintf("p%d@example.com", w), "editor", "operators")
			call := func(id server.Identity, tool string, a args, n string) map[string]any {
				a["requestId"] = n
				raw, err := json.Marshal(a)
				require.NoError(t, err)
				result, _ := servers[rng.IntN(2)].Call(t.Context(), id, tool, raw)
				var r map[string]any
				require.NoError(t, json.Unmarshal(result.JSON, &r))
				require.NotEqual(t, string(run.Retry), result.Code, "%s", result.JSON)
				if r["ok"] != true {
					return nil
				}
				mu.Lock()
				acknowledged[tool]++
				mu.Unlock()
				return r["data"].(map[string]any)
			}
			for i := range 30 {
				id := runs[rng.IntN(len(runs))]
				n := fmt.Sprintf("%d-%d", w, i)
				if c := call(agent, "claim", args{"runId": id, "stepId": "write"}, "c"+n); c != nil {
					token := c["token"]
					if rng.IntN(3) == 0 {
						if r := call(agent, "renew", args{"token": token}, "r"+n); r != nil {
							token = r["token"]
						}
					}
					if rng.IntN(6) == 0 {
						call(agent, "escalate", args{"token": token, "note": "n"}, "e"+n)
					} else {
						call(agent, "submit", args{"token": token, "output": args{"title": "x"}, "summary": "s"}, "s"+n)
					}
				}
				result, _ := servers[rng.IntN(2)].Call(t.Context(), person, "get_work", nil)
				var work struct {
					Data page[struct{ WorkItem servertest.Item }]
				}
				require.NoError(t, json.Unmarshal(result.JSON, &work))
				for _, it := range work.Data.Items {
					a := it.WorkItem.Decide.Arguments
					a["decision"], a["note"] = "rejected", "again"
					if it.WorkItem.Kind == "agent" {
						a["decision"] = "returned"
					}
					call(person, "decide", a, "d"+n+it.WorkItem.ID)
					break
				}
			}
		})
	}
	wg.Wait()
	counted := map[string]int{}
	for _, id := range runs {
		p, err := f.RunPage(t.Context(), editor, id)
		require.NoError(t, err)
		for _, e := range p.Entries {
			switch e.Type {
			case run.EventStepClaimed:
				counted["claim"]++
			case run.EventLeaseRenewed:
				counted["renew"]++
			case run.EventStepEscalated:
				counted["escalate"]++
			case run.EventStepCompleted:
				counted["submit"]++
			case run.EventStepRejected, run.EventStepReturned:
				counted["decide"]++
			}
		}
	}
	require.Equal(t, acknowledged, counted)
	require.Greater(t, counted["submit"], 10)
	verified(t, f)
}

// Reads never wait for the writer.
func TestReadsDontWaitForAWrite(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	v := f.Begin(editor, "review", args{"topic": "x"})
	held, release := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		done <- f.DB.Write(t.Context(), func(server.Writer) error {
			close(held)
			<-release
			return nil
		})
	}()
	<-held
	read := make(chan servertest.View)
	go func() { read <- f.View(v.Run.ID) }()
	select {
	case got := <-read:
		require.Equal(t, "active", got.Run.State)
	case <-time.After(20 * time.Second):
		t.Error("get_run waits for a write")
	}
	close(release)
	require.NoError(t, <-done)
}
