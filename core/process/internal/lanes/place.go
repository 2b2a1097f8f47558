package lanes

// coordinates turns rows, columns and tracks into pixels.
func coordinates(g Graph, r ranking, c columns, routes routes) Layout {
	var l Layout
	middle := l.across(g, c, routes)
	at := func(s spot) int {
		return middle[s.col] + s.dx + s.side*(Column/2+gutterMin/2+s.track*trackGap)
	}
	gaps := gapTracks(routes.paths, r.rows, at)

	heights := make([]int, r.rows)
	for n, node := range g.Nodes {
		h := node.Height
		if node.Bar {
			h = BarHeight
		}
		heights[r.row[n]] = max(heights[r.row[n]], h)
	}
	gapTop, rowTop := make([]int, r.rows+1), make([]int, r.rows)
	y := 0
	for row := range r.rows + 1 {
		gapTop[row] = y
		y += gapHeight(gaps[row].tracks)
		if row < r.rows {
			rowTop[row] = y
			y += heights[row]
		}
	}
	l.Height = y

	l.Nodes = make([]Box, len(g.Nodes))
	for n, node := range g.Nodes {
		x := middle[c.col[n]] - Column/2
		l.Nodes[n] = Box{X: x, Y: rowTop[r.row[n]], W: Column, H: node.Height}
		if node.Bar {
			l.Nodes[n].W, l.Nodes[n].H = middle[c.last[n]]+Column/2-x, BarHeight
		}
	}
	l.Edges = make([][]Point, len(g.Edges))
	for i, e := range g.Edges {
		p := routes.paths[i]
		source, target := l.Nodes[e.From], l.Nodes[e.To]
		from, via, to := at(p.from), at(p.via), at(p.to)
		y1 := gapTop[p.fromGap] + gapEdge + gaps[p.fromGap].of[p.net]*trackGap
		y2 := y1
		if p.toGap != p.fromGap {
			y2 = gapTop[p.toGap] + gapEdge + gaps[p.toGap].of[i]*trackGap
		}
		l.Edges[i] = tidy([]Point{{from, source.Y + source.H}, {from, y1}, {via, y1}, {via, y2}, {to, y2}, {to, target.Y}})
	}
	return l
}

func gapHeight(tracks int) int {
	return 2*gapEdge + max(tracks-1, 0)*trackGap
}

// across fixes the columns' middles, the lanes' bands and the width.
func (l *Layout) across(g Graph, c columns, routes routes) (middle []int) {
	gutter := func(tracks int) int { return gutterMin + max(tracks-1, 0)*trackGap }
	l.Lanes = make([]Band, g.Lanes)
	middle = make([]int, len(c.lane))
	x := 0
	for col, lane := range c.lane {
		if col == 0 || c.lane[col-1] != lane {
			l.Lanes[lane].X = x
		}
		x += gutter(routes.leftTracks[col]) + Column/2
		middle[col] = x
		x += Column/2 + gutter(routes.rightTracks[col])
		l.Lanes[lane].W = x - l.Lanes[lane].X
	}
	l.Width = x
	return middle
}

// tidy drops the points at which a line doesn't turn.
func tidy(points []Point) []Point {
	var out []Point
	for _, p := range points {
		n := len(out)
		switch {
		case n > 0 && out[n-1] == p:
		case n > 1 && (out[n-2].X == out[n-1].X && out[n-1].X == p.X || out[n-2].Y == out[n-1].Y && out[n-1].Y == p.Y):
			out[n-1] = p
		default:
			out = append(out, p)
		}
	}
	return out
}
