package processtest

import (
	"fmt"

	"pgregory.net/rapid"
)

// join ends a branch.
const join = "join"

// place is where steps are drawn: what follows them and what a rejection may return to.
type place struct {
	// then is the id of the step that follows.
	then string
	// branch says that the steps are in a branch.
	branch bool
	// earlier are the steps that an approval here may return to.
	earlier []string
	// depth bounds blocks inside blocks.
	depth int
}

// flow draws the steps: a main flow of blocks, each leading to the next, and a finish.
func (d *drawing) flow() {
	last := d.id("done")
	d.blocks(place{then: last}, rapid.IntRange(0, d.opts.Most).Draw(d.T, "blocks"))
	d.add(last, false, "finish", d.pick("outcome", "done", "bought it", "Größe"))
	if d.chance("shuffle", 4) {
		// "Back" is the graph's, not the list's: only the first step has its place.
		rest := rapid.Permutation(d.p.Steps[1:]).Draw(d.T, "order")
		d.p.Steps = append(d.p.Steps[:1:1], rest...)
	}
}

// id returns a fresh id.
func (d *drawing) id(word string) string {
	d.count++
	return fmt.Sprintf("%s%s%d", word, d.pick("joint", "", "_", "-"), d.count)
}

// add appends a step.
func (d *drawing) add(id string, branch bool, kind string, value any) *Step {
	s := &Step{Branch: branch, Map: Map{{Key: "id", Value: id}, {Key: kind, Value: value}}}
	d.p.Steps = append(d.p.Steps, s)
	return s
}

// blocks draws count blocks in a row and returns the ids of their first steps. The last leads to the place's then.
func (d *drawing) blocks(at place, count int) {
	if count == 0 {
		return
	}
	ids := make([]string, count+1)
	for i := range count {
		ids[i] = d.id("s")
	}
	ids[count] = at.then
	people, times := len(d.people), len(d.times)
	for i := range count {
		here := at
		here.then = ids[i+1]
		d.block(ids[i], here)
		at.earlier = append(at.earlier, ids[i])
	}
	if at.depth > 0 {
		// What these steps set isn't set on other routes.
		d.people, d.times = d.people[:people], d.times[:times]
	}
}

// block draws one block whose first step has the id.
func (d *drawing) block(id string, at place) {
	kinds := []string{"agent", "task", "agent", "approve", "wait", "wait_for"}
	if len(d.times) > 0 {
		kinds = append(kinds, "wait_until")
	}
	if at.depth < 2 {
		kinds = append(kinds, "routes", "timeout")
		if !at.branch && !d.opts.NoParallel {
			kinds = append(kinds, "parallel")
		}
	}
	switch kind := d.pick("kind", kinds...); kind {
	case "agent", "task":
		d.work(id, kind, at).Set("next", at.then)
	case "approve":
		d.approval(id, at)
	case "wait":
		d.add(id, at.branch, "wait", d.duration()).Set("next", at.then)
	case "wait_until":
		d.add(id, at.branch, "wait_until", d.pick("time", d.times...)).Set("next", at.then)
	case "wait_for":
		s := d.add(id, at.branch, "wait_for", d.pick("event", "signed", "paid-2"))
		if d.chance("timeout", 2) {
			s.Set("timeout", d.duration())
		}
		s.Set("next", at.then)
	case "timeout":
		s := d.add(id, at.branch, "wait_for", "answer")
		s.Set("timeout", d.duration())
		s.Set("on_timeout", d.aside(at))
		s.Set("next", at.then)
	case "routes":
		d.routes(id, at)
	case "parallel":
		d.parallel(id, at)
	}
}

// work draws an agent or task step without its next.
func (d *drawing) work(id, kind string, at place) *Step {
	s := d.add(id, at.branch, kind, d.sentence())
	if kind == "task" {
		s.Set("person", d.person())
	}
	if d.chance("output", 2) {
		output := d.fields("out", 3)
		if d.chance("sets", 2) {
			output.Set("who", "person")
			output.Set("from", "datetime")
			d.people = append(d.people, "steps."+id+".output.who")
			d.times = append(d.times, "steps."+id+".output.from")
		}
		s.Set("output", output)
	}
	if d.chance("evidence", 3) {
		s.Set("evidence", rapid.SampledFrom([][]any{{"file"}, {"link"}, {"link", "file"}, {}}).Draw(d.T, "evidence"))
	}
	if d.chance("due", 3) {
		s.Set("due", d.duration())
	}
	if d.opts.Check && d.chance("check", 2) {
		s.Set("check", d.check())
		if d.chance("advisory", 2) {
			s.Set("advisory", d.chance("on", 2))
		}
	}
	return s
}

func (d *drawing) person() string {
	return d.pick("person", append([]string{"initiator", "finance-approver", "Rechtsabteilung Süd", "legal"}, d.people...)...)
}

func (d *drawing) approval(id string, at place) {
	s := d.add(id, at.branch, "approve", d.sentence())
	s.Set("person", d.person())
	if len(at.earlier) > 0 && d.chance("reject", 2) {
		s.Set("on_reject", d.pick("to", at.earlier...))
	}
	if d.chance("due", 3) {
		s.Set("due", d.duration())
	}
	s.Set("next", at.then)
}

// routes draws a choice between two or three ways, which all end where the block does, or end the run.
func (d *drawing) routes(id string, at place) {
	s := d.work(id, d.pick("kind", "agent", "task"), at)
	labelled := d.chance("labelled", 2)
	var list []any
	for i := range rapid.IntRange(2, 3).Draw(d.T, "ways") {
		to := at.then
		if i > 0 {
			to = d.aside(at)
		}
		if labelled {
			list = append(list, Map{{Key: "to", Value: to}, {Key: "when", Value: d.sentence()}})
		} else {
			list = append(list, to)
		}
	}
	s.Set("next", list)
}

// aside draws steps beside the way and returns the id of the first.
func (d *drawing) aside(at place) string {
	if !at.branch && d.chance("ends", 3) {
		id := d.id("end")
		d.add(id, false, "finish", d.pick("outcome", "declined", "given up"))
		return id
	}
	at.depth++
	first := d.id("way")
	people, times := len(d.people), len(d.times)
	d.block(first, at)
	d.people, d.times = d.people[:people], d.times[:times]
	return first
}

// parallel draws a parallel step and its branches.
func (d *drawing) parallel(id string, at place) {
	s := d.add(id, false, "parallel", nil)
	s.Set("next", at.then)
	var entries []any
	for range rapid.IntRange(2, 3).Draw(d.T, "branches") {
		first := len(d.p.Steps)
		people, times := len(d.people), len(d.times)
		d.blocks(place{then: join, branch: true, depth: at.depth + 1}, rapid.IntRange(1, 3).Draw(d.T, "length"))
		d.people, d.times = d.people[:people], d.times[:times]
		entries = append(entries, d.p.Steps[first].ID())
	}
	s.Set("parallel", entries)
}

// dropDefaults removes some `next` that the order of the list makes unnecessary.
func (d *drawing) dropDefaults() {
	for i, s := range d.p.Steps[:len(d.p.Steps)-1] {
		if s.Get("next") == any(d.p.Steps[i+1].ID()) && !s.Branch && d.chance("default", 2) {
			s.Remove("next")
		}
	}
}
