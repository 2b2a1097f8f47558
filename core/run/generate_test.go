package run_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/apserver/ap/core/process"
)

// drawDocument draws a process of every kind of step: routes, several rework loops, waits, timeouts, a parallel step.
// Edges along next and on_timeout go forward; on_reject goes anywhere it may.
func drawDocument(t *rapid.T) *process.Document {
	g := &generator{t: t}
	n := rapid.IntRange(2, 7).Draw(t, "steps")
	if rapid.Bool().Draw(t, "forks") {
		g.fork = rapid.IntRange(0, n-1).Draw(t, "fork at")
	} else {
		g.fork = -1
	}
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("s%d", i))
	}
	ends := []string{"end", "end2"}
	var steps, branches []process.Step
	for i, id := range ids {
		ahead := append(append([]string{}, ids[i+1:]...), ends...)
		if i == g.fork {
			s := process.Step{ID: id, Kind: process.Parallel, Next: ahead[0]}
			for b := range rapid.IntRange(2, 3).Draw(t, "branches") {
				branch := g.branch(fmt.Sprintf("b%d", b))
				s.Branches = append(s.Branches, branch[0].ID)
				branches = append(branches, branch...)
			}
			steps = append(steps, s)
			continue
		}
		steps = append(steps, g.step(id, ahead, ids))
	}
	for _, id := range ends {
		steps = append(steps, finish(id))
	}
	doc := document(append(steps, branches...)...)
	doc.Inputs = process.Fields{optional(field("boss", process.Person)), optional(field("when", process.Datetime))}
	return doc
}

type generator struct {
	t    *rapid.T
	fork int
}

// branch draws the steps of one branch; the last leads to the join.
func (g *generator) branch(prefix string) []process.Step {
	n := rapid.IntRange(1, 3).Draw(g.t, "branch steps")
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s_%d", prefix, i))
	}
	var steps []process.Step
	for i, id := range ids {
		ahead := append(append([]string{}, ids[i+1:]...), process.Join)
		steps = append(steps, g.step(id, ahead, ids))
	}
	return steps
}

var stepKinds = []process.Kind{
	process.Agent, process.Agent, process.Task, process.Approve, process.Approve, process.Wait, process.WaitUntil, process.WaitFor,
}

// step draws a step whose next is the first of ahead, and whose other edges are any of ahead or, for a rejection, back.
func (g *generator) step(id string, ahead, back []string) process.Step {
	t := g.t
	s := process.Step{ID: id, Kind: rapid.SampledFrom(stepKinds).Draw(t, id+" kind"), Text: "Do " + id + ".", Next: ahead[0]}
	switch s.Kind {
	case process.Agent, process.Task:
		if rapid.Bool().Draw(t, "output") {
			s.Output = process.Fields{field("ok", process.Boolean), optional(field("who", process.Person)), optional(field("when", process.Datetime))}
		}
		if rapid.IntRange(0, 3).Draw(t, "evidence") == 0 {
			s.Evidence = []string{"file"}
		}
		if len(ahead) > 1 && rapid.Bool().Draw(t, "routes") {
			s.Next = ""
			s = routes(s, ahead[0], rapid.SampledFrom(ahead[1:]).Draw(t, "route"))
		}
	case process.Approve:
		if rapid.IntRange(0, 4).Draw(t, "rework") > 0 {
			s.OnReject = rapid.SampledFrom(back).Draw(t, "on_reject")
		}
	case process.Wait:
		s.Wait = drawDuration(t, "wait")
	case process.WaitUntil:
		s.Text = rapid.SampledFrom([]string{"inputs.when", "steps.s0.output.when"}).Draw(t, "until")
	case process.WaitFor:
		s.Text = rapid.SampledFrom(eventNames).Draw(t, "event")
		if rapid.Bool().Draw(t, "times out") {
			d := drawDuration(t, "timeout")
			s.Timeout, s.OnTimeout = &d, rapid.SampledFrom(ahead).Draw(t, "on_timeout")
		}
	}
	if s.Kind == process.Task || s.Kind == process.Approve {
		s.Person = rapid.SampledFrom([]string{"finance", "finance", "legal", "initiator", "inputs.boss", "steps.s0.output.who"}).Draw(t, "person")
	}
	if (s.Person != "" || s.Kind == process.Agent) && rapid.Bool().Draw(t, "due") {
		d := drawDuration(t, "due")
		s.Due = &d
	}
	return s
}

var eventNames = []string{"paid", "shipped"}

// drawDuration draws few lengths, so that timers often coincide.
func drawDuration(t *rapid.T, label string) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, time.Minute, 5 * time.Minute, lease, time.Hour}).Draw(t, label)
}
