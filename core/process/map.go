package process

import (
	"fmt"
	"strings"
	"time"
)

// The process map exists twice, as Mermaid text (mapmermaid.go) and as SVG (mapsvg.go). Both draw the flow below: who
// does what, and what leads where.

// flow is a process as it is drawn.
type flow struct {
	lanes []lane
	nodes []flowNode
	edges []flowEdge
}

// lane is a performer: the agent, a role, or a person that run data names.
type lane struct {
	title string
	// note says what the title is; for a person that run data names, where.
	note string
}

type nodeKind int

const (
	startNode nodeKind = iota
	stepNode
	joinNode
)

type flowNode struct {
	kind nodeKind
	// step is the step of a step node, and the parallel step of a join.
	step *Step
	lane int
}

type edgeKind int

const (
	plainEdge edgeKind = iota
	routeEdge
	approvedEdge
	rejectedEdge
	receivedEdge
	timeoutEdge
	branchEdge
)

// flowEdge leads from one node to another. To is -1 where a rejection ends the run.
type flowEdge struct {
	from, to int
	kind     edgeKind
	// when is the condition of a route; empty for none.
	when string
}

// newFlow reads the flow off a document: the start, then a node for each step, then one for each join.
func newFlow(d *Document) *flow {
	f := &flow{nodes: []flowNode{{kind: startNode}}}
	index, joins := map[string]int{}, map[string]int{}
	for i := range d.Steps {
		index[d.Steps[i].ID] = len(f.nodes)
		f.nodes = append(f.nodes, flowNode{kind: stepNode, step: &d.Steps[i]})
	}
	for i := range d.Steps {
		if s := &d.Steps[i]; s.Kind == Parallel {
			joins[s.ID] = len(f.nodes)
			f.nodes = append(f.nodes, flowNode{kind: joinNode, step: s})
		}
	}
	add := func(from int, s *Step, to string, kind edgeKind, when string) {
		target, ok := index[to]
		if to == Join && s.Fork != "" {
			target, ok = joins[s.Fork]
		}
		if ok {
			f.edges = append(f.edges, flowEdge{from: from, to: target, kind: kind, when: plainText(when)})
		}
	}
	if len(d.Steps) > 0 {
		f.edges = append(f.edges, flowEdge{from: 0, to: 1})
	}
	for i := range d.Steps {
		s, from := &d.Steps[i], i+1
		switch s.Kind {
		case Finish:
		case Approve:
			add(from, s, s.Next, approvedEdge, "")
			if s.OnReject == "" {
				f.edges = append(f.edges, flowEdge{from: from, to: -1, kind: rejectedEdge})
			} else {
				add(from, s, s.OnReject, rejectedEdge, "")
			}
		case WaitFor:
			if s.timesOutElsewhere() {
				add(from, s, s.Next, receivedEdge, "")
				add(from, s, s.OnTimeout, timeoutEdge, "")
			} else {
				add(from, s, s.Next, plainEdge, "")
			}
		case Parallel:
			for _, entry := range s.Branches {
				add(from, s, entry, branchEdge, "")
			}
			add(joins[s.ID], s, s.Next, plainEdge, "")
		default:
			for _, r := range s.Routes {
				add(from, s, r.To, routeEdge, r.When)
			}
			if len(s.Routes) == 0 {
				add(from, s, s.Next, plainEdge, "")
			}
		}
	}
	f.assignLanes(d)
	return f
}

// timesOutElsewhere says whether a timeout leads to another step than the event does.
func (s *Step) timesOutElsewhere() bool {
	return s.Timeout != nil && s.OnTimeout != "" && s.OnTimeout != s.Next
}

// assignLanes makes a lane for each performer, in the order of their first steps. What nobody performs sits in the lane
// of the step before it: of the first one in the list when several lead there. Where there is none, at the start, it
// sits in the first lane.
func (f *flow) assignLanes(d *Document) {
	byKey := map[string]int{}
	for i := range d.Steps {
		l, key := performer(&d.Steps[i])
		if key == "" {
			continue
		}
		if _, ok := byKey[key]; !ok {
			byKey[key] = len(f.lanes)
			f.lanes = append(f.lanes, l)
		}
	}
	if len(f.lanes) == 0 {
		f.lanes = []lane{{title: "Process", note: "Runs by itself"}}
	}

	const none, open = -1, -2
	before := make([]int, len(f.nodes))
	for i := range f.nodes {
		before[i], f.nodes[i].lane = none, none
		if s := f.nodes[i].step; f.nodes[i].kind == stepNode {
			if _, key := performer(s); key != "" {
				f.nodes[i].lane = byKey[key]
			}
		}
	}
	for i, n := range f.nodes {
		if n.kind == joinNode {
			before[i] = 1 + d.Index(n.step.ID)
		}
	}
	for _, e := range f.edges {
		if e.to > 0 && e.from > 0 && e.kind != rejectedEdge && f.nodes[e.to].kind == stepNode &&
			(before[e.to] == none || e.from < before[e.to]) {
			before[e.to] = e.from
		}
	}
	for i := range f.nodes {
		var trail []int
		at := i
		for at >= 0 && f.nodes[at].lane == none {
			f.nodes[at].lane = open
			trail = append(trail, at)
			at = before[at]
		}
		found := 0
		if at >= 0 && f.nodes[at].lane >= 0 {
			found = f.nodes[at].lane
		}
		for _, t := range trail {
			f.nodes[t].lane = found
		}
	}
	if len(f.nodes) > 1 {
		f.nodes[0].lane = f.nodes[1].lane
	}
}

// performer returns the lane of whoever performs a step, with a key that is its own; the key is empty for a step that
// nobody performs.
func performer(s *Step) (l lane, key string) {
	switch {
	case s.Kind == Agent:
		return lane{title: "Agent", note: "Software that works the steps"}, "agent"
	case s.Kind != Task && s.Kind != Approve:
		return lane{}, ""
	case s.Person == Initiator:
		return lane{title: "Initiator", note: "Whoever started the run"}, "person " + s.Person
	}
	if p, ok := ParsePath(s.Person); ok {
		return lane{title: fieldWords(p.Field), note: "Person in " + plainText(s.Person)}, "person " + s.Person
	}
	return lane{title: words(s.Person), note: "Role"}, "person " + s.Person
}

// kindWords is how the map calls a step's kind.
func kindWords(k Kind) string {
	switch k {
	case Agent:
		return "Agent"
	case Task:
		return "Task"
	case Approve:
		return "Approval"
	case Wait:
		return "Wait"
	case WaitUntil:
		return "Wait until"
	case WaitFor:
		return "Wait for event"
	case Finish:
		return "End"
	case Parallel:
		return "Parallel"
	}
	return "Step"
}

// titleWords is what a step's card is headed with: its id as words, and for an end the outcome.
func titleWords(s *Step) string {
	if s.Kind == Finish && strings.TrimSpace(s.Text) != "" {
		return words(s.Text)
	}
	return words(s.ID)
}

// detailWords is what a card says beside kind and title; often nothing.
func detailWords(s *Step) string {
	var parts []string
	switch s.Kind {
	case Wait:
		parts = append(parts, durationWords(s.Wait))
	case WaitUntil:
		parts = append(parts, plainText(s.Text))
	case WaitFor:
		parts = append(parts, plainText(s.Text))
		if s.Timeout != nil {
			parts = append(parts, "at most "+durationWords(*s.Timeout))
		}
	case Parallel:
		parts = append(parts, fmt.Sprintf("%d branches at once", len(s.Branches)))
	}
	if s.Due != nil {
		parts = append(parts, "due in "+durationWords(*s.Due))
	}
	if s.Check != nil {
		if s.Advisory {
			parts = append(parts, "checked, advisory")
		} else {
			parts = append(parts, "checked")
		}
	}
	return strings.Join(parts, ", ")
}

// durationWords says a duration in the largest unit that measures it: “3 days”, “90 minutes”.
func durationWords(d time.Duration) string {
	unit, name := time.Minute, "minute"
	switch {
	case d == 0:
	case d%(24*time.Hour) == 0:
		unit, name = 24*time.Hour, "day"
	case d%time.Hour == 0:
		unit, name = time.Hour, "hour"
	}
	if n := d / unit; n != 1 {
		return fmt.Sprintf("%d %ss", n, name)
	}
	return "1 " + name
}

// durationShort is durationWords as a file writes it: “3d”.
func durationShort(d time.Duration) string {
	switch {
	case d != 0 && d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d != 0 && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}
