package process

import (
	"fmt"
	"strings"
	"unicode"
)

// checkPeople checks who does the steps and what times they wait for: roles and paths (protocol.md 1.3).
func (c *checker) checkPeople() {
	reach := reachable{steps: c.steps, budget: 1 << 24}
	for _, s := range c.steps {
		if s.node == nil {
			continue
		}
		if n := s.value("person"); n != nil && s.takes("person") && strings.Contains(s.Person, ".") {
			c.checkPath(s, n, s.Person, Person, "`person`", &reach)
		}
		if n := s.value("wait_until"); n != nil && s.Kind == WaitUntil && s.Text != "" {
			c.checkPath(s, n, s.Text, Datetime, "`wait_until`", &reach)
		}
	}
	c.checkRoles()
}

// checkPath checks that a path names a declared field of a type.
func (c *checker) checkPath(s *step, n *node, text string, want Type, what string, reach *reachable) {
	path, ok := ParsePath(text)
	if !ok {
		c.report(rulePath, n, pathHelp(text, want, what))
		return
	}
	fields, of, from := c.doc.Inputs, "the inputs", (*step)(nil)
	if path.Step != "" {
		from = c.byID[path.Step]
		if from == nil {
			c.report(rulePathUnknown, n, fmt.Sprintf("%s names a field of the step `%s`, but there is no such step%s", what, shorten(path.Step), c.meantStep(path.Step)))
			return
		}
		if from.ambiguous {
			return
		}
		fields, of = from.Output, "the output of `"+shorten(path.Step)+"`"
	}
	field, declared := fields.Find(path.Field)
	if !declared {
		c.report(rulePathUnknown, n, fmt.Sprintf("%s names the field `%s`, which %s %s not declare%s", what, shorten(path.Field), of, doesOrDo(path), orFields(path.Field, fields, want)))
		return
	}
	if field.Type != want {
		if field.Type != "" {
			c.report(rulePathType, n, fmt.Sprintf("%s needs a field of type %s, but `%s` is a %s; change its type or name another%s", what, want, shorten(text), field.Type, ofType(fields, want)))
		}
		return
	}
	if from != nil && !reach.before(from, s) {
		c.report(rulePathUnset, n, fmt.Sprintf("%s reads a field of `%s`, but no route comes through `%s` before `%s`, so the run would fail here", what, shorten(from.ID), shorten(from.ID), shorten(s.ID)))
	}
}

func doesOrDo(p Path) string {
	if p.Step == "" {
		return "do"
	}
	return "does"
}

func pathHelp(text string, want Type, what string) string {
	field := "managerEmail"
	if want == Datetime {
		field = "startDate"
	}
	forms := fmt.Sprintf("`inputs.%s` or `steps.<id>.output.%s`", field, field)
	if strings.Contains(text, ".") {
		if IsEmail(text) {
			return fmt.Sprintf("%s can't be an address; name a role, which is bound to people on the server, or a field such as `inputs.%s`", what, field)
		}
		return fmt.Sprintf("%s is not a path that %s can have; with a dot it is %s", quote(text), what, forms)
	}
	return fmt.Sprintf("%s is not a path; write %s", quote(text), forms)
}

// meantStep suggests a step's id for a path.
func (c *checker) meantStep(id string) string {
	if c.suggestions += len(c.steps); c.suggestions > maxSuggestions {
		return ""
	}
	var ids []string
	for _, s := range c.steps {
		if s.ID != "" && s.Output != nil {
			ids = append(ids, s.ID)
		}
	}
	return orNames(id, ids)
}

// orFields suggests a field for a path: the nearest name, or those of the right type.
func orFields(name string, fields Fields, want Type) string {
	var all []string
	for _, f := range fields {
		all = append(all, f.Name)
	}
	if s := meant(name, all); s != "" {
		return s
	}
	return ofType(fields, want)
}

// ofType lists the fields of a type.
func ofType(fields Fields, want Type) string {
	var right []string
	for _, f := range fields {
		if f.Type == want {
			right = append(right, f.Name)
		}
	}
	if len(right) == 0 || len(right) > 8 {
		return ""
	}
	return fmt.Sprintf(" (of type %s: %s)", want, names(right, "and"))
}

// checkRoles warns of a role that looks like another one misspelt.
func (c *checker) checkRoles() {
	type role struct {
		name string
		node *node
	}
	known := []role{{Initiator, nil}}
	byFold := map[string]role{fold(Initiator): known[0]}
	seen := map[string]bool{Initiator: true}
	for _, s := range c.steps {
		if s.Person == "" || strings.Contains(s.Person, ".") || seen[s.Person] {
			continue
		}
		seen[s.Person] = true
		this := role{s.Person, s.value("person")}
		like, found := byFold[fold(this.name)]
		for i := 0; !found && i < len(known) && i < 100; i++ {
			if slipped(this.name, known[i].name) {
				like, found = known[i], true
			}
		}
		switch {
		case found && like.node == nil:
			c.report(ruleSimilarRole, this.node, fmt.Sprintf("the role `%s` looks like `initiator`, the person who started the run; is that meant?", shorten(this.name)))
		case found:
			c.report(ruleSimilarRole, this.node, fmt.Sprintf("the role `%s` looks like `%s` on line %d; use one spelling if both mean the same people", shorten(this.name), shorten(like.name), like.node.line))
		default:
			byFold[fold(this.name)] = this
			known = append(known, this)
		}
	}
}

// slipped says whether two names differ by one letter left out or two swapped. Names that differ in one letter or a
// digit, such as reviewer-a and reviewer-b, are meant to.
func slipped(a, b string) bool {
	if len(a) < 5 || len(b) < 5 {
		return false
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if i == len(b) || !unicode.IsLetter(rune(b[i])) {
		return false
	}
	return swapped(a, b) || len(b) == len(a)+1 && a[i:] == b[i+1:]
}

// reachable answers which steps can be complete before another is reached.
type reachable struct {
	steps []*step
	// budget bounds how many edges are followed; when it is used up, every answer is yes.
	budget int
	from   map[*step][]bool
	ahead  map[*step][]bool
}

// before says whether a run can complete one step before it reaches another, with the record of the first still
// current then: along `next`, `on_timeout` and branches, and along an `on_reject` that doesn't rewind it.
func (r *reachable) before(first, then *step) bool {
	if first.fork != nil && first.fork == then.fork && first.Branch != then.Branch {
		// Branches run side by side.
		return true
	}
	if r.from == nil {
		r.from, r.ahead = map[*step][]bool{}, map[*step][]bool{}
	}
	if r.from[first] == nil {
		r.from[first] = r.spread(first, true)
	}
	return r.budget <= 0 || r.from[first][then.position]
}

// spread marks what can come after a step; with rejects also what a rejection leads to without rewinding the step.
func (r *reachable) spread(first *step, rejects bool) []bool {
	marked := make([]bool, len(r.steps))
	queue := []*step{first}
	visit := func(s *step) {
		if !marked[s.position] {
			marked[s.position] = true
			queue = append(queue, s)
		}
	}
	for ; len(queue) > 0 && r.budget > 0; queue = queue[1:] {
		s := queue[0]
		if s.fork != nil {
			// When the branch has joined, the run goes on behind its parallel step.
			for _, e := range s.fork.forward {
				visit(e.to)
			}
		}
		for _, e := range s.onward {
			r.budget--
			if e.kind != toReject || rejects && !r.rewinds(e.to, first) {
				visit(e.to)
			}
		}
	}
	return marked
}

// rewinds says whether returning to a step undoes another: it can come after it.
func (r *reachable) rewinds(target, s *step) bool {
	if target == s {
		return true
	}
	if r.ahead[target] == nil {
		r.ahead[target] = r.spread(target, false)
	}
	return r.ahead[target][s.position]
}
