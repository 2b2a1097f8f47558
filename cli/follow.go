package cli

import (
	"context"
	"time"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

// followAtLeast is how often a followed run is looked at when nothing announces a change.
const followAtLeast = 2 * time.Second

// follow reports each step of a run as it moves on, until the run ends or waits for people, time or events.
func (a *app) follow(ctx context.Context, b *backend, id server.Identity, view *run.View) (*run.View, error) {
	changes, stop := b.srv.Changed()
	defer stop()
	tick := time.NewTicker(followAtLeast)
	defer tick.Stop()

	seen := map[string]run.StepState{}
	for {
		for _, s := range view.Steps {
			state := run.NotReached
			if s.State != nil {
				state = *s.State
			}
			if state != seen[s.ID] {
				seen[s.ID] = state
				if state != run.NotReached {
					a.say("  %s %s: %s", b.srv.Now().Format("15:04:05"), s.ID, stepWords(s.Kind, state))
				}
			}
		}
		if view.Run.State != run.RunActive {
			return view, nil
		}
		select {
		case <-ctx.Done():
			return nil, refused("stopped following run %s, which goes on", view.Run.ID)
		case <-changes:
		case <-tick.C:
		}
		var err error
		if view, err = b.srv.GetRun(ctx, id, view.Run.ID); err != nil {
			return nil, err
		}
	}
}

// stepWords says a step's state in words.
func stepWords(kind process.Kind, state run.StepState) string {
	switch state {
	case run.StepReady:
		return "ready for an agent"
	case run.StepClaimed:
		return "an agent is at work"
	case run.StepWaiting:
		switch kind {
		case process.Task, process.Approve:
			return "waits in the inbox"
		case process.WaitFor:
			return "waits for an event"
		case process.Wait, process.WaitUntil:
			return "waits for its time"
		}
		return "waits for the operators"
	}
	return string(state)
}
