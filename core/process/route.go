package process

import "fmt"

// longWhen is how many characters of a `when` still make a label that fits on a map.
const longWhen = 200

// readTargets reads the keys that name other steps (protocol.md 1.3) and looks the steps up.
func (c *checker) readTargets(s *step) {
	if n := s.value("parallel"); n != nil && s.Kind == Parallel {
		c.readBranches(s, n)
	}
	if n := s.value("next"); n != nil && s.takes("next") {
		c.readNext(s, n)
	} else if n == nil && s.Kind != Finish {
		s.implicit = true
	}
	if n := s.value("on_timeout"); n != nil && s.takes("on_timeout") {
		s.OnTimeout = c.target(s, toTimeout, n, "`on_timeout`")
		if s.Kind == WaitFor && s.value("timeout") == nil {
			c.report(ruleTimeoutMissing, s.keyNode("on_timeout"), "`on_timeout` never happens without `timeout`; add one, such as `timeout: 2d`, or remove this")
		}
	}
	if n := s.value("on_reject"); n != nil && s.takes("on_reject") {
		s.OnReject = c.target(s, toReject, n, "`on_reject`")
		if s.OnReject != "" && s.OnReject == s.ID {
			c.report(ruleRejectToSelf, n, "a rejection returns to this same approval, so nobody changes anything in between; return to the step that should redo the work")
		}
	}
	c.resolveDefaults(s)
}

// resolveDefaults fills in where the step leads when it doesn't say.
func (c *checker) resolveDefaults(s *step) {
	if s.implicit {
		if following := s.position + 1; following < len(c.steps) {
			s.Next = c.steps[following].ID
		} else {
			s.wandering = true
		}
	}
	if s.Kind == WaitFor && s.value("on_timeout") == nil {
		s.OnTimeout = s.Next
	}
}

// readNext reads one step id, or a list of routes.
func (c *checker) readNext(s *step, n *node) {
	if n.kind != listNode {
		expected := "a step id"
		if s.Kind == Agent || s.Kind == Task || s.Kind == "" {
			expected = "a step id, or a list of two or more routes"
		}
		if n.kind != textNode {
			c.wrongType(n, "`next`", expected)
			s.wandering = true
			return
		}
		s.Next = c.target(s, toNext, n, "`next`")
		return
	}
	switch {
	case s.Kind != Agent && s.Kind != Task && s.Kind != "":
		c.report(ruleRouteList, n, fmt.Sprintf("%s can't choose between routes; `next` is one step id here%s", kindPhrase(s.Kind), choiceHelp(s.Kind)))
		s.wandering = s.wandering || len(n.values) == 0
	case len(n.values) == 0:
		c.report(ruleRouteList, n, "`next` lists no route; name one step id, or list two or more to choose from")
		s.wandering = true
	case len(n.values) == 1:
		c.report(ruleRouteList, n, "`next` lists one route, which leaves no choice; write the step id alone, or list two or more")
	}
	first := map[string]*node{}
	labelled, bare := 0, (*node)(nil)
	for _, v := range n.values {
		to, when := c.route(s, v)
		if when == "" {
			bare = v
		} else {
			labelled++
		}
		s.Routes = append(s.Routes, Route{To: to, When: when})
		if to == "" {
			continue
		}
		if earlier := first[to]; earlier != nil {
			c.report(ruleRepeatedValue, v, fmt.Sprintf("two routes lead to `%s`, the first on line %d; one is enough", shorten(to), earlier.line))
		} else {
			first[to] = v
		}
	}
	if bare != nil && labelled > 0 {
		c.report(ruleRouteWithoutWhen, bare, "the other routes say when to take them, but this one doesn't; add `when`, which guides the choice and labels the map")
	}
}

func choiceHelp(k Kind) string {
	if k == Approve {
		return "; a rejection goes to `on_reject`, and a person who must choose does so in a `task`"
	}
	return ""
}

// route reads one route: an id, or {to, when}.
func (c *checker) route(s *step, n *node) (to, when string) {
	if n.kind != mapNode {
		if n.kind != textNode {
			c.wrongType(n, "a route", "a step id, or a map with `to` and `when`")
			s.wandering = true
			return "", ""
		}
		return c.target(s, toNext, n, "a route"), ""
	}
	o := read(n, routeKeys)
	c.reportUnknown(&o, "a route", keyNames(routeKeys))
	if v := o.value("to"); v != nil {
		to = c.target(s, toNext, v, "`to`")
	} else {
		c.report(ruleMissingField, o.first(), "this route has no `to`; name the step it leads to")
		s.wandering = true
	}
	if v := o.value("when"); v != nil {
		when, _ = c.sentence(v, "`when`")
		if length := len([]rune(when)); length > longWhen {
			c.report(ruleLongWhen, v, fmt.Sprintf("this `when` has %d characters, too many for a label on the map; keep it under %d and put the rest in the instructions", length, longWhen))
		}
		if when == "" {
			// It was reported, and isn't missing.
			when = " "
		}
	}
	return to, when
}

// readBranches reads the entries of a parallel step (protocol.md 1.5).
func (c *checker) readBranches(s *step, n *node) {
	if n.kind != listNode {
		s.wandering = true
		return
	}
	if len(n.values) < 2 {
		c.report(ruleParallel, n, "`parallel` needs two or more branches; list the first step of each")
		s.wandering = true
	}
	first := map[string]*node{}
	for _, v := range n.values {
		before := len(s.targets)
		id := c.target(s, toBranch, v, "a branch")
		if id == "" {
			continue
		}
		if earlier := first[id]; earlier != nil {
			c.report(ruleParallel, v, fmt.Sprintf("the branch `%s` is listed twice, first on line %d; list it once", shorten(id), earlier.line))
			s.targets = s.targets[:before] // one that names no step was not kept
			continue
		}
		first[id] = v
		s.Branches = append(s.Branches, id)
	}
}

// target reads a text that names a step and returns it. When it names none, the nearest id is taken for what was
// meant, so that the rest of the flow can be checked; else the step is marked as leading nobody knows where.
func (c *checker) target(s *step, kind targetKind, n *node, what string) string {
	id, ok := c.text(n, what)
	if !ok {
		s.wandering = true
		return ""
	}
	t := target{kind: kind, node: n, id: id}
	switch to := c.byID[id]; {
	case c.forks && id == Join && kind != toBranch:
	case to != nil && to.ambiguous:
		s.wandering = true
		return id
	case to != nil:
		t.step = to
	default:
		c.report(ruleUnknownStep, n, fmt.Sprintf("there is no step `%s`%s", shorten(id), c.unknownStepHelp(s, kind, &t)))
		if t.step == nil && t.id != Join {
			s.wandering = true
			return id
		}
	}
	s.targets = append(s.targets, t)
	return id
}

// unknownStepHelp is the end of a message about an id that doesn't exist, and makes t the step that was meant.
func (c *checker) unknownStepHelp(s *step, kind targetKind, t *target) string {
	switch {
	case isBlank(t.id):
		return "; name one"
	case t.id == Join:
		return "; `join` only ends a branch of a `parallel` step, which this process doesn't have"
	}
	if c.suggestions += len(c.steps); c.suggestions > maxSuggestions {
		return ""
	}
	ids := make([]string, 0, len(c.byID)+1)
	for _, other := range c.steps {
		if other != s && other.ID != "" && c.byID[other.ID] == other {
			ids = append(ids, other.ID)
		}
	}
	if c.forks && kind != toBranch {
		ids = append(ids, Join)
	}
	best := suggest(t.id, ids)
	if best == "" {
		return orNames(t.id, ids)
	}
	if t.step = c.byID[best]; t.step == nil {
		t.id = Join
	}
	return "; did you mean `" + best + "`?"
}

// maxSuggestions bounds how many ids are compared to find what was meant, in a file with very many mistakes.
const maxSuggestions = 200000
