package process

import "strings"

// describe says in sentences what the map shows, for whoever can't see it.
func (p *picture) describe() string {
	var b strings.Builder
	b.WriteString("Performed by: ")
	for i, l := range p.flow.lanes {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(l.title)
	}
	b.WriteString(".")
	ways := map[int][]string{}
	for _, e := range p.flow.edges {
		if e.from > 0 {
			ways[e.from] = append(ways[e.from], p.way(e))
		}
	}
	for i, n := range p.flow.nodes {
		switch n.kind {
		case stepNode:
			b.WriteString(" " + p.sentence(n.step, mapStates[p.opts.Marks[n.step.ID]]))
		case joinNode:
			b.WriteString(" When all branches of " + titleWords(n.step) + " are done:")
		default:
			continue
		}
		if len(ways[i]) > 0 {
			b.WriteString(" " + strings.Join(ways[i], "; ") + ".")
		}
	}
	return b.String()
}

// way says where an edge leads.
func (p *picture) way(e flowEdge) string {
	to := "the end of the run"
	switch {
	case e.to < 0:
	case p.flow.nodes[e.to].kind == joinNode:
		to = "the join"
	default:
		to = titleWords(p.flow.nodes[e.to].step)
	}
	switch e.kind {
	case routeEdge:
		if e.when != "" {
			return "to " + to + " when: " + strings.TrimRight(e.when, ".")
		}
		return "or to " + to
	case approvedEdge:
		return "approved, to " + to
	case rejectedEdge:
		return "rejected, to " + to
	case receivedEdge:
		return "received, to " + to
	case timeoutEdge:
		return "after " + durationWords(*p.flow.nodes[e.from].step.Timeout) + ", to " + to
	}
	return "to " + to
}

// sentence is a step's card in words.
func (p *picture) sentence(s *Step, state string) string {
	var b strings.Builder
	b.WriteString(titleWords(s) + " (" + s.ID + "): " + strings.ToLower(kindWords(s.Kind)))
	if l, key := performer(s); key != "" && s.Kind != Agent {
		b.WriteString(" by " + l.title)
	}
	if detail := detailWords(s); detail != "" {
		b.WriteString(", " + detail)
	}
	if state != "" {
		b.WriteString(", " + strings.ToLower(state))
	}
	if p.opts.Current != "" && p.opts.Current == s.ID {
		b.WriteString(", this step")
	}
	return b.String() + "."
}
