package process

import (
	"fmt"
	"html"
	"strings"

	"github.com/apserver/ap/core/process/internal/lanes"
)

// MapOptions says how SVG draws.
type MapOptions struct {
	// Marks puts a state on steps by id ("ready", "claimed", "waiting", "done", "failed", "cancelled"): the run page
	// shows where a run is. Current marks the step a page is about.
	Marks   map[string]string
	Current string
	// Embedded leaves out the style sheet and the background, for a page that serves MapCSS itself and allows no inline
	// style. A process too large for a page is then not drawn: the picture only says so.
	Embedded bool
}

// embeddedLimit is the most steps and lines that an embedded map draws.
const embeddedLimit = 4000

// SVG draws the process map as a self-contained SVG element: no script, no outside reference, no ids, readable in light
// and dark. Any text in the document is safe in it, and none is wider than what it stands on.
func SVG(d *Document, opts MapOptions) string {
	p := picture{doc: d, opts: opts, flow: newFlow(d)}
	if opts.Embedded && len(p.flow.nodes)+len(p.flow.edges) > embeddedLimit {
		return p.tooLarge()
	}
	p.measure()
	p.layout = lanes.Place(p.graph)
	p.draw()
	return p.b.String()
}

// Sizes in pixels.
const (
	cardPad      = 12
	kindLine     = 16
	titleLine    = 18
	detailLine   = 16
	labelLine    = 16
	labelPad     = 6
	startHeight  = 30
	startWidth   = 84
	badgeWidth   = 76
	decisionDrop = 12 // from a card to its decision point
	decisionSize = 28
	outcomeDrop  = 20 // below a card, for the words at its outcomes
	endRadius    = 6
	headerHeight = 50
	arrowSize    = 8
	cornerRadius = 6

	textWidth = lanes.Column - 2*cardPad
	// sidePort is where the less usual outcome leaves a card: rejected, timed out.
	sidePort = -6 * lanes.Slot
)

var (
	kindFace   = typeface{size: 11}
	titleFace  = typeface{size: 14, bold: true}
	detailFace = typeface{size: 12}
	labelFace  = typeface{size: 12}
	badgeFace  = typeface{size: 10, bold: true}
	laneFace   = typeface{size: 13, bold: true}
)

// picture is a map being drawn: first measured, then laid out, then written.
type picture struct {
	doc    *Document
	opts   MapOptions
	flow   *flow
	graph  lanes.Graph
	layout lanes.Layout
	// cards and labels hold the texts of the graph's nodes by their number; bars have neither.
	cards  map[int]card
	labels map[int]label
	// lines says how each of the graph's edges is drawn.
	lines []line
	b     strings.Builder
}

// card is a step's card, its lines broken to fit. Height is the card's own, without what hangs below it.
type card struct {
	step          *Step
	title, detail []string
	height        int
}

// label is the condition of a route.
type label struct {
	lines []string
	full  string
	cut   bool
}

type line struct {
	kind edgeKind
	// rise is how far above the bottom of the graph's node the line begins.
	rise int
	// arrow is false for a line that ends at a label.
	arrow bool
}

// measure turns the flow into a graph of sized nodes: a card for each step with its decision point or the words of its
// outcomes below it, a label for each condition, a bar for each split and join.
func (p *picture) measure() {
	p.cards, p.labels = map[int]card{}, map[int]label{}
	p.graph.Lanes = len(p.flow.lanes)
	bars := map[int]int{}
	for i, n := range p.flow.nodes {
		node := lanes.Node{Lane: n.lane, Height: startHeight}
		switch n.kind {
		case stepNode:
			c := newCard(n.step)
			p.cards[i] = c
			node.Height = c.height + below(n.step)
		case joinNode:
			node.Bar = true
		}
		p.graph.Nodes = append(p.graph.Nodes, node)
	}
	for i, n := range p.flow.nodes {
		if n.kind == stepNode && n.step.Kind == Parallel {
			bars[i] = p.node(lanes.Node{Bar: true})
			p.edge(lanes.Edge{From: i, To: bars[i]}, line{})
		}
	}
	for _, e := range p.flow.edges {
		if e.to < 0 {
			continue
		}
		edge := lanes.Edge{From: e.from, To: e.to}
		l := line{kind: e.kind, arrow: true}
		switch e.kind {
		case branchEdge:
			edge.From = bars[e.from]
		case rejectedEdge:
			edge.Port, edge.Back, l.rise = sidePort, true, outcomeDrop
		case timeoutEdge:
			edge.Port, l.rise = sidePort, outcomeDrop
		case approvedEdge, receivedEdge:
			l.rise = below(p.flow.nodes[e.from].step)
		case routeEdge:
			if e.when != "" {
				edge.To = p.label(e)
				p.edge(edge, line{})
				edge.From, edge.To = edge.To, e.to
			}
		}
		p.edge(edge, l)
	}
}

func (p *picture) node(n lanes.Node) int {
	p.graph.Nodes = append(p.graph.Nodes, n)
	return len(p.graph.Nodes) - 1
}

func (p *picture) edge(e lanes.Edge, l line) {
	p.graph.Edges = append(p.graph.Edges, e)
	p.lines = append(p.lines, l)
}

// label makes the node of a route's condition. It sits in the lane of the step that the route leads to.
func (p *picture) label(e flowEdge) int {
	lane := p.flow.nodes[e.to].lane
	if p.flow.nodes[e.to].kind == joinNode {
		lane = p.flow.nodes[e.from].lane
	}
	lines, cut := labelFace.wrap(e.when, lanes.Column-2*labelPad, 7)
	n := p.node(lanes.Node{Lane: lane, Note: true, Height: len(lines)*labelLine + 2*labelPad})
	p.labels[n] = label{lines: lines, full: e.when, cut: cut}
	return n
}

func newCard(s *Step) card {
	c := card{step: s}
	c.title, _ = titleFace.wrap(titleWords(s), textWidth, 4)
	c.detail, _ = detailFace.wrap(detailWords(s), textWidth, 2)
	c.height = 2*cardPad + kindLine + len(c.title)*titleLine + len(c.detail)*detailLine
	return c
}

// below is the height of what hangs below a step's card.
func below(s *Step) int {
	switch {
	case len(s.Routes) > 0:
		return decisionDrop + decisionSize
	case s.Kind == Approve && s.OnReject == "":
		return outcomeDrop + 2*endRadius
	case s.Kind == Approve, s.timesOutElsewhere():
		return outcomeDrop
	}
	return 0
}

// out writes markup. Every argument is a number or markup of our own: text goes through html.EscapeString.
func (p *picture) out(format string, args ...any) {
	fmt.Fprintf(&p.b, format, args...)
}

func (p *picture) draw() {
	w, h := p.layout.Width+2, p.layout.Height+headerHeight+2
	p.out(`<svg xmlns="http://www.w3.org/2000/svg" class="ap-map" role="img" width="%d" height="%d" viewBox="-1 -1 %d %d" font-family="%s">`,
		w, h, w, h, html.EscapeString(mapFont))
	p.out("\n<title>Process map of %s</title>\n<desc>%s</desc>\n", escape(p.doc.Name), escape(p.describe()))
	if !p.opts.Embedded {
		p.out("<style>\n%s</style>\n", MapCSS())
		p.out(`<rect x="-1" y="-1" width="%d" height="%d" %s/>`+"\n", w, h, styled("map-back"))
	}
	for i, band := range p.layout.Lanes {
		p.lane(i, band)
	}
	p.out(`<g transform="translate(0 %d)">`+"\n", headerHeight)
	for i := range p.layout.Edges {
		p.line(i)
	}
	for i, box := range p.layout.Nodes {
		p.box(i, box)
	}
	p.out("</g>\n</svg>\n")
}

// tooLarge is the picture instead of one that no page could show.
func (p *picture) tooLarge() string {
	notice := fmt.Sprintf("%d steps: too many to draw on a page. ap map --format svg draws them.", len(p.doc.Steps))
	p.out(`<svg xmlns="http://www.w3.org/2000/svg" class="ap-map" role="img" width="560" height="40" viewBox="0 0 560 40" font-family="%s"><title>%s</title>`,
		html.EscapeString(mapFont), notice)
	p.text([]string{notice}, 4, 24, labelLine, "map-label")
	p.out("</svg>\n")
	return p.b.String()
}

func (p *picture) lane(i int, band lanes.Band) {
	l := p.flow.lanes[i]
	classes := []string{"map-lane"}
	if i%2 == 1 {
		classes = append(classes, "map-lane-odd")
	}
	p.out(`<g><title>%s</title><rect x="%d" y="0" width="%d" height="%d" %s/>`,
		escape(l.title+": "+l.note), band.X, band.W, p.layout.Height+headerHeight, styled(classes...))
	inner := band.W - 2*cardPad
	title, _ := laneFace.wrap(l.title, float64(inner), 1)
	note, _ := kindFace.wrap(l.note, float64(inner), 1)
	p.clip(band.X+cardPad, 8, inner, headerHeight-12)
	p.text(title, 0, 14, titleLine, "map-lane-title")
	p.text(note, 0, 32, detailLine, "map-lane-note")
	p.out("</svg></g>\n")
}

// clip begins a frame that shows nothing outside itself, so that even a face wider than any we know stays within. The
// caller closes it.
func (p *picture) clip(x, y, w, h int) {
	p.out(`<svg x="%d" y="%d" width="%d" height="%d" overflow="hidden">`, x, y, w, h)
}

// text writes lines one below the other, from a first baseline on.
func (p *picture) text(lines []string, x, y, step int, class string) {
	for i, l := range lines {
		p.out(`<text x="%d" y="%d" %s>%s</text>`, x, y+i*step, styled(class), escape(l))
	}
}

func (p *picture) box(i int, box lanes.Box) {
	if c, ok := p.cards[i]; ok {
		p.card(c, box)
		return
	}
	if l, ok := p.labels[i]; ok {
		p.out(`<g class="map-when">`)
		if l.cut {
			p.out("<title>%s</title>", escape(l.full))
		}
		p.out(`<rect x="%d" y="%d" width="%d" height="%d" rx="4" %s/>`, box.X, box.Y, box.W, box.H, styled("map-label-back"))
		p.clip(box.X+labelPad, box.Y, box.W-2*labelPad, box.H)
		p.text(l.lines, 0, labelPad+12, labelLine, "map-label")
		p.out("</svg></g>\n")
		return
	}
	if p.graph.Nodes[i].Bar {
		name := "Split"
		if i < len(p.flow.nodes) {
			name = "Join: all branches done"
		}
		p.out(`<g><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="3" %s/></g>`+"\n", name, box.X, box.Y, box.W, box.H, styled("map-bar"))
		return
	}
	x := box.X + (box.W-startWidth)/2
	p.out(`<g><rect x="%d" y="%d" width="%d" height="%d" rx="%d" %s/>`, x, box.Y, startWidth, startHeight, startHeight/2, styled("map-card"))
	p.out(`<text x="%d" y="%d" text-anchor="middle" %s>Start</text></g>`+"\n", box.X+box.W/2, box.Y+20, styled("map-detail"))
}

func (p *picture) card(c card, box lanes.Box) {
	s := c.step
	class := kindClass(s.Kind)
	state := mapStates[p.opts.Marks[s.ID]]
	current := p.opts.Current != "" && p.opts.Current == s.ID
	p.out(`<g class="map-step" data-step="%s">`, escape(s.ID))
	p.out("<title>%s</title>", escape(p.sentence(s, state)))
	if current {
		p.out(`<rect x="%d" y="%d" width="%d" height="%d" rx="14" %s/>`, box.X-4, box.Y-4, box.W+8, c.height+8, styled("map-current"))
	}
	p.out(`<rect x="%d" y="%d" width="%d" height="%d" rx="%d" %s/>`, box.X, box.Y, box.W, c.height, cardRadius(s.Kind, c.height), styled("map-card", class))
	if s.Kind == Parallel {
		p.out(`<path d="M%d %dv%dM%d %dv%d" %s/>`, box.X+5, box.Y, c.height, box.X+box.W-5, box.Y, c.height, styled("map-line", class))
	}
	p.clip(box.X+cardPad, box.Y+1, textWidth, c.height-2)
	p.out(`<g transform="translate(0 %d)">%s</g>`, cardPad-1, icon(s.Kind))
	kindWidth := float64(textWidth - 22)
	if state != "" {
		kindWidth -= badgeWidth
		p.badge(state, p.opts.Marks[s.ID])
	}
	kind, _ := kindFace.wrap(kindWords(s.Kind), kindWidth, 1)
	y := cardPad + 11
	p.text(kind, 22, y, kindLine, "map-kind")
	y += kindLine + 5
	p.text(c.title, 0, y, titleLine, "map-title")
	y += len(c.title)*titleLine - 1
	p.text(c.detail, 0, y, detailLine, "map-detail")
	p.out("</svg>")
	p.outcomes(c, box)
	p.out("</g>\n")
}

// mapStates are the run states of a step, as a card's badge says them.
var mapStates = map[string]string{
	"ready": "Ready", "claimed": "Claimed", "waiting": "Waiting", "done": "Done", "failed": "Failed", "cancelled": "Cancelled",
}

func (p *picture) badge(words, state string) {
	w := int(badgeFace.width(words)) + 13
	p.out(`<rect x="%d" y="%d" width="%d" height="%d" rx="8" %s/>`, textWidth-w, cardPad-2, w, kindLine, styled("map-badge", "map-badge-"+state))
	p.out(`<text x="%d" y="%d" %s>%s</text>`, textWidth-w+6, cardPad+10, styled("map-badge-text"), words)
}

// outcomes draws what hangs below a card: the point where a route is chosen, or words beside the lines that leave.
func (p *picture) outcomes(c card, box lanes.Box) {
	s, middle, bottom := c.step, box.X+box.W/2, box.Y+c.height
	say := func(words string, port, width int) {
		text, cut := kindFace.wrap(words, float64(width), 1)
		p.clip(middle+port+6, bottom+1, width, outcomeDrop-1)
		if cut {
			p.out("<title>%s</title>", escape(words))
		}
		p.text(text, 0, 13, labelLine, "map-kind")
		p.out("</svg>")
	}
	const besidePort, besideMiddle = -sidePort - 10, lanes.Column/2 - 8
	switch {
	case len(s.Routes) > 0:
		top, half := bottom+decisionDrop, decisionSize/2
		p.out(`<path d="M%d %dV%d" %s/>`, middle, bottom, top, styled("map-line"))
		p.out(`<path d="M%d %dl%d %dl%d %dl%d %dz" %s><title>Decision</title></path>`,
			middle, top, half, half, -half, half, -half, -half, styled("map-card", kindClass(s.Kind)))
		p.out(`<text x="%d" y="%d" text-anchor="middle" %s>?</text>`, middle, top+half+5, styled("map-title"))
	case s.Kind == Approve:
		say("Approved", 0, besideMiddle)
		say("Rejected", sidePort, besidePort)
		if s.OnReject == "" {
			x, y := middle+sidePort, bottom+outcomeDrop+endRadius
			p.out(`<path d="M%d %dV%d" %s/>`, x, bottom, y-endRadius, styled("map-line", "map-rejected"))
			p.out(`<g><title>Rejected: the run ends</title><circle cx="%d" cy="%d" r="%d" %s/><circle cx="%d" cy="%d" r="%d" %s/></g>`,
				x, y, endRadius-1, styled("map-card", "map-end"), x, y, endRadius/3, styled("map-arrow"))
		}
	case s.timesOutElsewhere():
		say("Received", 0, besideMiddle)
		say("After "+durationShort(*s.Timeout), sidePort, besidePort)
	}
}

func kindClass(k Kind) string {
	switch k {
	case Agent:
		return "map-agent"
	case Task, Approve:
		return "map-person"
	case Finish:
		return "map-end"
	case Parallel:
		return "map-parallel"
	}
	return "map-wait"
}

// cardRadius rounds the corners of a card: kinds differ in shape too.
func cardRadius(k Kind, height int) int {
	switch k {
	case Agent:
		return 10
	case Finish:
		return min(height/2, 28)
	case Wait, WaitUntil, WaitFor:
		return 18
	}
	return 3
}

// icon is a sign for a kind of step, 14 pixels wide and high.
func icon(k Kind) string {
	d := map[Kind]string{
		Agent:     "M7 .8L8.8 5.2L13.2 7L8.8 8.8L7 13.2L5.2 8.8L.8 7L5.2 5.2z",
		Task:      "M7 1a3 3 0 1 1 0 6a3 3 0 1 1 0-6zM1.5 13.2c0-6 11-6 11 0z",
		Approve:   "M7 .8a6.2 6.2 0 1 1 0 12.4a6.2 6.2 0 1 1 0-12.4zM4.2 7.2L6.2 9.2L10 5",
		Wait:      "M7 .8a6.2 6.2 0 1 1 0 12.4a6.2 6.2 0 1 1 0-12.4zM7 3.6V7l2.4 1.6",
		WaitUntil: "M1.2 2.8h11.6v10.4H1.2zM1.2 6h11.6M4.2.8v3.4M9.8.8v3.4",
		WaitFor:   "M1 3h12v8.6H1zM1 3.4l6 4.8l6-4.8",
		Finish:    "M7 .8a6.2 6.2 0 1 1 0 12.4a6.2 6.2 0 1 1 0-12.4zM7 4.4a2.6 2.6 0 1 1 0 5.2a2.6 2.6 0 1 1 0-5.2z",
		Parallel:  "M1 2.2h12M4 2.2v9.6M10 2.2v9.6M2 9.8l2 2l2-2M8 9.8l2 2l2-2",
	}[k]
	return fmt.Sprintf(`<path d="%s" %s/>`, d, styled("map-icon", kindClass(k)))
}

// escape makes any text safe within SVG, as text and as an attribute.
func escape(s string) string { return html.EscapeString(plainText(s)) }
