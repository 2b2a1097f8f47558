package process

import (
	"fmt"
	"strings"

	"github.com/apserver/ap/core/process/internal/lanes"
)

// line draws an edge with rounded corners, and its arrowhead.
func (p *picture) line(i int) {
	points, l := p.layout.Edges[i], p.lines[i]
	points[0].Y -= l.rise
	classes, arrow := []string{"map-line"}, []string{"map-arrow"}
	switch l.kind {
	case rejectedEdge:
		classes, arrow = append(classes, "map-rejected"), append(arrow, "map-arrow-rejected")
	case timeoutEdge:
		classes, arrow = append(classes, "map-timeout"), append(arrow, "map-arrow-timeout")
	}
	end := points[len(points)-1]
	if l.arrow {
		points[len(points)-1].Y -= arrowSize - 2
	}
	p.out(`<path d="%s" %s/>`, rounded(points), styled(classes...))
	if l.arrow {
		p.out(`<path d="M%d %dl%d %dh%dz" %s/>`, end.X, end.Y, -arrowSize/2, -arrowSize, arrowSize, styled(arrow...))
	}
	p.out("\n")
}

// rounded is the path along right-angled points with its corners rounded as far as there is room.
func rounded(points []lanes.Point) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%d %d", points[0].X, points[0].Y)
	for i := 1; i < len(points)-1; i++ {
		before, at, after := points[i-1], points[i], points[i+1]
		r := min(cornerRadius, distance(before, at)/2, distance(at, after)/2)
		in, out := towards(at, before, r), towards(at, after, r)
		fmt.Fprintf(&b, "L%d %dQ%d %d %d %d", in.X, in.Y, at.X, at.Y, out.X, out.Y)
	}
	last := points[len(points)-1]
	fmt.Fprintf(&b, "L%d %d", last.X, last.Y)
	return b.String()
}

// distance between two points on one horizontal or vertical line.
func distance(a, b lanes.Point) int {
	return max(a.X-b.X, b.X-a.X) + max(a.Y-b.Y, b.Y-a.Y)
}

// towards is the point r away from a on the horizontal or vertical line to b.
func towards(a, b lanes.Point, r int) lanes.Point {
	step := func(from, to int) int { return max(-r, min(r, to-from)) }
	return lanes.Point{X: a.X + step(a.X, b.X), Y: a.Y + step(a.Y, b.Y)}
}
