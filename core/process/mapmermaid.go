package process

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mermaid draws the process map as a Mermaid flowchart (without the code fence): a subgraph per lane, a node per step
// under its id, decisions, joins and ends. It says nothing of colours, so that it follows the light and dark themes of
// where it is shown. Any text in the document is safe in it.
func Mermaid(d *Document) string {
	f := newFlow(d)
	m := mermaid{flow: f}
	m.line("flowchart TD")
	m.line("  accTitle: Process map of %s", mermaidText(d.Name))
	for i, l := range f.lanes {
		title := l.title
		if strings.HasPrefix(l.note, "Person in ") {
			title += " (" + strings.TrimPrefix(l.note, "Person in ") + ")"
		}
		m.line("  subgraph lane_%d[%s]", i+1, mermaidLabel(title))
		for n := range f.nodes {
			if f.nodes[n].lane == i {
				m.node(n)
			}
		}
		m.line("  end")
	}
	for i, e := range f.edges {
		if e.kind == routeEdge && (i == 0 || f.edges[i-1].from != e.from) {
			m.line("  %s --> %s", m.name(e.from), m.decision(e.from))
		}
		m.edge(e)
	}
	return m.b.String()
}

type mermaid struct {
	flow *flow
	b    strings.Builder
}

func (m *mermaid) line(format string, args ...any) {
	fmt.Fprintf(&m.b, format+"\n", args...)
}

func (m *mermaid) node(n int) {
	node, name := m.flow.nodes[n], m.name(n)
	switch {
	case node.kind == startNode:
		m.line("    %s([%s])", name, mermaidLabel("Start"))
		return
	case node.kind == joinNode:
		m.line("    %s[[%s]]", name, mermaidLabel("All branches done", "Join"))
		return
	}
	s := node.step
	label := mermaidLabel(titleWords(s), kindWords(s.Kind), detailWords(s))
	shape := map[Kind]string{
		Agent: "(%s)", Task: "[%s]", Approve: "{{%s}}", Wait: "[/%s/]", WaitUntil: "[/%s/]", WaitFor: "[/%s/]",
		Finish: "([%s])", Parallel: "[[%s]]",
	}[s.Kind]
	if shape == "" {
		shape = "[%s]"
	}
	m.line("    %s"+shape, name, label)
	if len(s.Routes) > 0 {
		m.line("    %s{%s}", m.decision(n), mermaidLabel("Decision"))
	}
	if s.Kind == Approve && s.OnReject == "" {
		m.line("    %s([%s])", m.rejected(n), mermaidLabel("Rejected", "End"))
	}
}

func (m *mermaid) edge(e flowEdge) {
	from, to := m.name(e.from), ""
	if e.to >= 0 {
		to = m.name(e.to)
	} else {
		to = m.rejected(e.from)
	}
	arrow, label := "-->", ""
	switch e.kind {
	case routeEdge:
		from, label = m.decision(e.from), e.when
	case approvedEdge:
		label = "Approved"
	case rejectedEdge:
		arrow, label = "-.->", "Rejected"
	case receivedEdge:
		label = "Received"
	case timeoutEdge:
		label = "After " + durationWords(*m.flow.nodes[e.from].step.Timeout)
	}
	if label == "" {
		m.line("  %s %s %s", from, arrow, to)
	} else {
		m.line("  %s %s|%s| %s", from, arrow, mermaidLabel(label), to)
	}
}

// name is a node's name in the chart. A step's is made of its id, so that a changed step changes few lines. The prefix
// keeps it from being a word of Mermaid's own; dashes, which could start an arrow, become X, which no id contains.
func (m *mermaid) name(n int) string {
	switch node := m.flow.nodes[n]; node.kind {
	case stepNode:
		return "step_" + mermaidID(node.step.ID)
	case joinNode:
		return "join_" + mermaidID(node.step.ID)
	}
	return "start"
}

func (m *mermaid) decision(n int) string { return "choice_" + mermaidID(m.flow.nodes[n].step.ID) }
func (m *mermaid) rejected(n int) string { return "rejected_" + mermaidID(m.flow.nodes[n].step.ID) }

func mermaidID(id string) string {
	return strings.ReplaceAll(id, "-", "X")
}

// mermaidLabel is a label of a few lines, in quotes.
func mermaidLabel(lines ...string) string {
	var kept []string
	for _, l := range lines {
		if l = mermaidText(l); l != "" {
			kept = append(kept, l)
		}
	}
	return `"` + strings.Join(kept, "<br/>") + `"`
}

// longestLabel is how many characters of a text a Mermaid label shows.
const longestLabel = 240

// mermaidBreak holds the characters that begin what Mermaid replaces even after it has decoded entity codes: icons
// (fa:fa-car), formulas ($$), line breaks (\n) and its own form of entities. An invisible word joiner after them keeps
// the text as it is.
const mermaidBreak = `:$\ﬂ°¶`

// mermaidText makes any text safe within a quoted label. What stays, so that the chart's source can be read, is letters,
// digits, spaces and a little punctuation where it can mean nothing else. Every other character becomes an entity code
// (`#35;`), since it could end the label or the code fence, be HTML or Markdown, a link or the start of a list.
func mermaidText(s string) string {
	s = plainText(s)
	if utf8.RuneCountInString(s) > longestLabel {
		s = strings.TrimRight(string([]rune(s)[:longestLabel-1]), " ") + "…"
	}
	var b strings.Builder
	before := ' '
	for i, r := range s {
		after, size := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		if harmless(r, before, after, size == 0) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
		if strings.ContainsRune(mermaidBreak, r) && size > 0 && after != ' ' {
			b.WriteString("#8288;")
		}
		before = r
	}
	return b.String()
}

// harmless says whether a character can stay in a label, between those before and after it.
func harmless(r, before, after rune, last bool) bool {
	switch r {
	case ' ', ',', '?', '!', '\'', '(':
		return true
	case ')':
		return isLatin(before)
	case '-', '_':
		return isLatin(before) && isLatin(after)
	case '.':
		return isLatin(before) && (last || after == ' ')
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || '0' <= r && r <= '9'
}

func isLatin(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
