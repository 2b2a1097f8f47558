package process

import (
	"fmt"
	"slices"
	"strings"
)

// edge leads from one step to another.
type edge struct {
	kind targetKind
	to   *step
	// node is where the edge is written: nil for the following-step default.
	node *node
}

// leads appends where a step leads: along `next` and `on_timeout`, and with back also along `on_reject` and into
// branches.
func (c *checker) leads(s *step, back bool) []edge {
	var edges []edge
	for _, t := range s.targets {
		if t.step != nil && (back || t.kind == toNext || t.kind == toTimeout) {
			edges = append(edges, edge{t.kind, t.step, t.node})
		}
	}
	if s.implicit && s.position+1 < len(c.steps) {
		edges = append(edges, edge{toNext, c.steps[s.position+1], nil})
	}
	return edges
}

// at is the node that stands for an edge of s.
func (e edge) at(s *step) *node {
	if e.node != nil {
		return e.node
	}
	return s.label()
}

// checkFlow checks where the steps lead: branches, circles, and steps that nothing leads to.
func (c *checker) checkFlow() {
	for _, s := range c.steps {
		if s.node == nil {
			continue
		}
		s.forward = c.leads(s, false)
		s.onward = c.leads(s, true)
	}
	if c.forks {
		c.checkBranches()
	}
	c.checkLast()
	c.checkCircles()
	c.checkReach()
}

// checkLast reports a last step that leads nowhere. In a branch every step has to say where it leads.
func (c *checker) checkLast() {
	if s := c.steps[len(c.steps)-1]; s.implicit && s.Kind != "" && s.fork == nil {
		c.report(ruleNoNext, s.label(), fmt.Sprintf("%s is the last in the list, so it needs `next`, or a finish step after it", s.name()))
	}
}

// checkReach reports the steps that nothing leads to (protocol.md 1.3), each with how the run passes it by. A step
// that only such a step leads to is the same mistake.
func (c *checker) checkReach() {
	reached := make([]bool, len(c.steps))
	previous := make([]*step, len(c.steps))
	for _, s := range walk(c.steps[0], reached, previous) {
		if s.wandering {
			// It may lead to any step.
			return
		}
	}
	entered := make([]bool, len(c.steps))
	for _, s := range c.steps {
		if reached[s.position] {
			continue
		}
		for _, e := range s.onward {
			entered[e.to.position] = entered[e.to.position] || e.to != s
		}
	}
	passed := map[*step]string{}
	// First those that nothing at all leads to, then one of each circle that is left.
	for _, inCircle := range []bool{false, true} {
		for _, s := range c.steps {
			if s.node == nil || reached[s.position] || entered[s.position] != inCircle {
				continue
			}
			only := walk(s, reached, nil)[1:]
			if s.ID != "" && c.byID[s.ID] == s && !(c.forks && s.ID == Join) {
				c.reportUnreachable(s, only, c.passedBy(s, previous, passed))
			}
		}
	}
}

// walk returns the steps that can be reached from one and weren't yet, nearest first, and marks them; previous, if
// given, gets the step before each.
func walk(from *step, reached []bool, previous []*step) []*step {
	reached[from.position] = true
	found := []*step{from}
	for i := 0; i < len(found); i++ {
		for _, e := range found[i].onward {
			if reached[e.to.position] {
				continue
			}
			reached[e.to.position] = true
			found = append(found, e.to)
			if previous != nil {
				previous[e.to.position] = found[i]
			}
		}
	}
	return found
}

func (c *checker) reportUnreachable(s *step, only []*step, passed string) {
	message := fmt.Sprintf("nothing leads to `%s`: the run goes %s; name it in the `next` of the step before it, or remove it", shorten(s.ID), passed)
	var also []string
	for _, other := range only {
		if other.ID != "" {
			also = append(also, other.ID)
		}
	}
	const few = 4
	switch {
	case len(also) > few:
		message += fmt.Sprintf(" (nor to the %d steps that only it leads to)", len(also))
	case len(also) > 0:
		message += fmt.Sprintf(" (nor to %s, which only it leads to)", names(also, "and"))
	}
	c.report(ruleUnreachable, s.label(), message)
}

// passedBy shows how a run goes past a step that it doesn't reach: the way to the nearest reached step above it in the
// list, and what follows that. known holds what was shown before.
func (c *checker) passedBy(s *step, previous []*step, known map[*step]string) string {
	above := c.steps[0]
	for i := s.position - 1; i > 0; i-- {
		if previous[i] != nil {
			above = c.steps[i]
			break
		}
	}
	if known[above] == "" {
		var way []*step
		for at := above; at != nil; at = previous[at.position] {
			way = append(way, at)
		}
		slices.Reverse(way)
		if len(above.forward) > 0 {
			way = append(way, above.forward[0].to)
		}
		known[above] = showWay(len(way), func(i int) *step { return way[i] })
	}
	return known[above]
}

// showWay writes a way through steps, its middle left out when it is long.
func showWay(length int, at func(int) *step) string {
	var words []string
	for i := 0; i < length; i++ {
		if length > 7 && i == 3 {
			words = append(words, "…")
			i = length - 3
		}
		s := at(i)
		if s.ID == "" {
			words = append(words, fmt.Sprintf("step %d", s.position+1))
		} else {
			words = append(words, "`"+shorten(s.ID)+"`")
		}
	}
	return strings.Join(words, " → ")
}

// checkCircles reports the circles along `next` and `on_timeout` (protocol.md 1.3): the one edge that makes them all,
// where there is one, else each edge that leads back.
func (c *checker) checkCircles() {
	for _, component := range components(c.steps) {
		var first []edgeID
		walkCircles(component, noEdge, func(circle []edgeID) bool {
			first = slices.Clone(circle)
			return false
		})
		if at := onlyCut(component, first); at >= 0 {
			c.reportCircle(first, at)
			continue
		}
		walkCircles(component, noEdge, func(circle []edgeID) bool {
			c.reportCircle(circle, len(circle)-1)
			return true
		})
	}
}

// reportCircle reports a circle at one of its edges.
func (c *checker) reportCircle(circle []edgeID, at int) {
	s := circle[at].from
	e := s.forward[circle[at].index]
	what := "this `next`"
	if e.node == nil {
		what = s.name() + " has no `next`, so it"
	} else if e.kind == toTimeout {
		what = "this `on_timeout`"
	}
	// It should lead elsewhere, nobody knows where.
	s.wandering = true
	if len(circle) == 1 {
		c.report(ruleCycle, e.at(s), what+" leads back to its own step, so the run never gets on; only `on_reject` may lead back")
		return
	}
	round := func(i int) *step { return circle[(at+1+i)%len(circle)].from }
	c.report(ruleCycle, e.at(s), fmt.Sprintf("%s leads back in a circle: %s; only `on_reject` may lead back", what, showWay(len(circle)+1, round)))
}
