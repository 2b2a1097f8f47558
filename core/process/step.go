package process

import (
	"fmt"
	"strings"
)

// step is a step as it is being checked.
type step struct {
	Step
	object
	// position is the step's place in the list.
	position int
	// idNode is where the id stands; nil without one that is text.
	idNode *node
	// kindKey is the key that makes the step's kind; nil while that isn't known.
	kindKey *node
	// targets are the steps that keys of this step name, in the order written.
	targets []target
	// forward are the edges along `next` and `on_timeout`, onward these and those of `on_reject` and `parallel`.
	forward, onward []edge
	// ambiguous says that another step has the same id, so that what names it may mean either.
	ambiguous bool
	// wandering says that a target couldn't be made out, so that where the step leads isn't known.
	wandering bool
	// fork is the parallel step whose branch the step is in; nil outside a branch.
	fork *step
	// implicit says that the step has no `next` and so leads to the following step.
	implicit bool
}

// targetKind is the key that names a step.
type targetKind uint8

const (
	toNext targetKind = iota
	toTimeout
	toReject
	toBranch
)

// target is a step's id as another step names it.
type target struct {
	kind targetKind
	node *node
	id   string
	// step is the step meant; nil for `join` and for what names no step.
	step *step
}

// readSteps checks each step on its own (protocol.md 1.3), then how they lead to each other.
func (c *checker) readSteps(n *node) {
	if !c.isList(n, "`steps`", "steps") {
		return
	}
	if len(n.values) == 0 {
		c.report(ruleSteps, n, "there are no steps; list at least one")
		return
	}
	c.byID = make(map[string]*step, len(n.values))
	c.steps = make([]*step, 0, len(n.values))
	for i, v := range n.values {
		if v.kind == mapNode {
			c.steps = append(c.steps, c.readStep(v, i))
		} else {
			c.wrongType(v, "a step", "a map of keys and values")
			c.steps = append(c.steps, &step{position: i, wandering: true})
		}
	}
	for _, s := range c.steps {
		c.forks = c.forks || s.node != nil && s.keyNode("parallel") != nil
	}
	for _, s := range c.steps {
		if s.node != nil {
			c.checkStep(s)
		}
	}
	c.checkFlow()
	c.checkPeople()
	c.doc.Steps = make([]Step, len(c.steps))
	for i, s := range c.steps {
		c.doc.Steps[i] = s.Step
	}
}

// readStep finds out what the step is: its id and kind.
func (c *checker) readStep(n *node, position int) *step {
	s := &step{object: read(n, stepKeys), position: position}
	c.stepKind(s)
	if id := s.value("id"); id != nil {
		c.stepID(s, id)
	} else {
		c.report(ruleMissingField, s.label(), fmt.Sprintf("%s has no `id`; give it one, such as `id: %s`", s.name(), s.idIdea()))
	}
	return s
}

func (c *checker) stepID(s *step, n *node) {
	id, ok := c.text(n, "`id`")
	if !ok {
		return
	}
	s.ID, s.idNode = id, n
	if first := c.byID[id]; first != nil {
		first.ambiguous = true
		c.report(ruleDuplicateID, n, fmt.Sprintf("the id `%s` is taken by the step on line %d; give this one another", shorten(id), first.idNode.line))
		return
	}
	c.byID[id] = s
	if !idRegexp.MatchString(id) {
		c.report(ruleStepID, n, fmt.Sprintf("%s can't be a step's id: begin with a lower-case letter, then use letters, digits, hyphens and underscores, at most 64 characters%s", quote(id), idFrom(id)))
	}
}

// idFrom suggests an id made of a text.
func idFrom(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
	if id := strings.Join(words, "_"); idRegexp.MatchString(id) {
		return ", such as `" + id + "`"
	}
	return ""
}

// idIdea is an id for a step that has none.
func (s *step) idIdea() string {
	if s.Kind == "" {
		return "check_request"
	}
	return string(s.Kind) + "_" + fmt.Sprint(s.position+1)
}

// name is how messages call the step.
func (s *step) name() string {
	if s.ID != "" {
		return "the step `" + shorten(s.ID) + "`"
	}
	return fmt.Sprintf("step %d", s.position+1)
}

// label is the node that stands for the step: its id, else its kind, else whatever comes first.
func (s *step) label() *node {
	switch {
	case s.idNode != nil:
		return s.idNode
	case s.kindKey != nil:
		return s.kindKey
	case len(s.node.keys) > 0:
		return s.node.keys[0]
	}
	return s.node
}

// stepKind finds the one kind key.
func (c *checker) stepKind(s *step) {
	for _, k := range kinds {
		key := s.keyNode(string(k))
		if key == nil {
			continue
		}
		if s.kindKey == nil {
			s.kindKey, s.Kind = key, k
			continue
		}
		first := s.kindKey
		if key.line < first.line || key.line == first.line && key.column < first.column {
			key, first = first, key
		}
		c.report(ruleStepKind, key, fmt.Sprintf("a step does one thing, but this one has both `%s` and `%s`; keep one, or make two steps", shorten(first.text), shorten(key.text)))
		s.Kind = ""
		s.wandering = true
		s.kindKey = first
		return
	}
	if s.kindKey != nil {
		return
	}
	s.wandering = true
	list := make([]string, len(kinds))
	for i, k := range kinds {
		list[i] = string(k)
	}
	where := s.node
	if id := s.value("id"); id != nil && id.kind == textNode {
		where = id
	}
	c.report(ruleStepKind, where, fmt.Sprintf("this step doesn't say what is to be done; give it one of %s", names(list, "or")))
}

// checkStep checks the step's other keys, now that all ids are known.
func (c *checker) checkStep(s *step) {
	c.reportUnknown(&s.object, kindPhrase(s.Kind), stepFields(s.Kind))
	if s.Kind != "" {
		c.checkMisplaced(s)
		c.kindValue(s)
	}
	if n := s.value("person"); n != nil && s.takes("person") {
		s.Person, _ = c.sentence(n, "`person`")
	}
	if n := s.value("output"); n != nil && s.takes("output") {
		s.Output = c.fields(n, "`output`")
	}
	if n := s.value("evidence"); n != nil && s.takes("evidence") {
		c.evidence(s, n)
	}
	if n := s.value("due"); n != nil && s.takes("due") {
		s.Due = c.duration(n, "`due`")
	}
	if n := s.value("timeout"); n != nil && s.takes("timeout") {
		s.Timeout = c.duration(n, "`timeout`")
	}
	c.checkQuestions(s)
	c.readTargets(s)
}

// takes says whether the step may have a key; a step of unknown kind may have any.
func (s *step) takes(name string) bool {
	return s.Kind == "" || stepKeys[s.index(name)].takes(s.Kind)
}

// kindPhrase names a kind of step.
func kindPhrase(k Kind) string {
	switch k {
	case "":
		return "a step"
	case Agent, Approve:
		return "an " + string(k) + " step"
	}
	return "a " + string(k) + " step"
}

// stepFields are the keys that a step of a kind may have.
func stepFields(kind Kind) []string {
	var list []string
	for i := range stepKeys {
		if kind == "" || stepKeys[i].takes(kind) {
			list = append(list, stepKeys[i].name)
		}
	}
	return list
}

// checkMisplaced reports keys that only other kinds of step have, and required keys that are not there.
func (c *checker) checkMisplaced(s *step) {
	for i := range stepKeys {
		k := &stepKeys[i]
		there := s.at[i] >= 0
		switch {
		case there && !k.takes(s.Kind):
			n := s.node.keys[s.at[i]]
			if n.text == k.name {
				c.report(ruleMisplacedField, n, fmt.Sprintf("%s can't have `%s`%s", kindPhrase(s.Kind), k.name, misplacedHelp(s.Kind, k)))
			}
			if v := s.node.values[s.at[i]]; v.kind == nullNode {
				c.settled[v] = true
			}
		case !there && k.required && k.on != nil && k.takes(s.Kind):
			c.report(ruleMissingField, s.kindKey, fmt.Sprintf("%s needs `%s`: a role such as `finance-approver`, `initiator` for who started the run, or a field such as `inputs.managerEmail`", kindPhrase(s.Kind), k.name))
		}
	}
}

// misplacedHelp says why, or what to do instead of what people try.
func misplacedHelp(kind Kind, k *key) string {
	switch {
	case kind == Finish && k.name == "next":
		return ": reaching a finish ends the run"
	case kind == Agent && k.name == "person":
		return ": an agent does this step; make it a `task` if a person should"
	case kind == Approve && (k.name == "output" || k.name == "evidence"):
		return ": an approval is yes or no; to collect something from a person, put a `task` before it"
	case kind == Task && k.name == "on_reject":
		return ": a task isn't rejected; make it an `approve`, or let the person choose from a `next` list"
	}
	return ", which belongs to " + kindNames(k.on)
}

// kindValue checks the value of the kind key.
func (c *checker) kindValue(s *step) {
	n, what := s.value(string(s.Kind)), "`"+string(s.Kind)+"`"
	switch s.Kind {
	case Wait:
		if d := c.duration(n, what); d != nil {
			s.Wait = *d
		}
		s.Text = n.text
	case WaitUntil:
		s.Text, _ = c.sentence(n, what)
	case WaitFor:
		if event, ok := c.text(n, what); ok {
			s.Text = event
			if !IsEventName(event) {
				c.report(ruleEventName, n, fmt.Sprintf("%s can't be an event's name: begin with a lower-case letter, then use letters, digits, hyphens and underscores, at most 64 characters%s", quote(event), idFrom(event)))
			}
		}
	case Parallel:
		c.isList(n, what, "step ids")
	default:
		s.Text, _ = c.sentence(n, what)
	}
	if s.Kind == Finish && (s.Text == "rejected" || s.Text == "failed") {
		c.report(ruleReservedOutcome, n, fmt.Sprintf("the outcome `%s` can't be told from a run that the server ended as %s; call it something else", s.Text, s.Text))
	}
}

// evidence checks the required kinds.
func (c *checker) evidence(s *step, n *node) {
	if !c.isList(n, "`evidence`", "`file` or `link`") {
		return
	}
	seen := map[string]*node{}
	for _, v := range n.values {
		kind, ok := c.text(v, "a kind of evidence")
		if !ok {
			continue
		}
		switch first := seen[kind]; {
		case kind != "file" && kind != "link":
			c.report(ruleEvidence, v, fmt.Sprintf("%s is not a kind of evidence; use `file` or `link`", quote(kind)))
		case first != nil:
			c.report(ruleRepeatedValue, v, fmt.Sprintf("`%s` is asked for twice, first on line %d; once means at least one of it", kind, first.line))
		default:
			seen[kind] = v
			s.Evidence = append(s.Evidence, kind)
		}
	}
}
