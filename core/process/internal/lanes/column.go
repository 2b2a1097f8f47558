package lanes

import (
	"cmp"
	"slices"
)

// columns is where each node stands across.
type columns struct {
	// col is a node's column, counted over all lanes; for a bar its first column, and last its last one.
	col, last []int
	// lane is the lane of each column.
	lane []int
}

// sweeps is how often the rows are ordered anew; more changes next to nothing.
const sweeps = 4

// arrange gives every lane as many columns as its fullest row needs, and puts the nodes into them so that lines stay
// straight and cross little.
func arrange(g Graph, r ranking) columns {
	groups := group(g, r)
	width := make([]int, g.Lanes)
	for i := range width {
		width[i] = 1
	}
	for _, nodes := range groups {
		lane := g.Nodes[nodes[0]].Lane
		width[lane] = max(width[lane], len(nodes))
	}
	base := make([]int, g.Lanes)
	var c columns
	for lane, w := range width {
		base[lane] = len(c.lane)
		for range w {
			c.lane = append(c.lane, lane)
		}
	}
	c.col = make([]int, len(g.Nodes))
	for _, nodes := range groups {
		for i, n := range nodes {
			c.col[n] = base[g.Nodes[n].Lane] + i
		}
	}

	above, below := neighbours(g, r)
	noted := slices.Clone(above)
	for n := range g.Nodes {
		if g.Nodes[n].Note {
			noted[n] = below[n]
		}
	}
	side := above
	for range sweeps {
		for _, nodes := range groups {
			lane := g.Nodes[nodes[0]].Lane
			settle(g, c.col, nodes, side, base[lane], width[lane])
		}
		side = noted // once the nodes below a note have their places
	}
	c.last = slices.Clone(c.col)
	for n := range g.Nodes {
		if g.Nodes[n].Bar {
			c.col[n], c.last[n] = span(c.col, above[n], below[n])
		}
	}
	return c
}

// group collects the nodes of each row and lane, from top to bottom, in the order of the graph.
func group(g Graph, r ranking) [][]int {
	var order []int
	for n := range g.Nodes {
		if !g.Nodes[n].Bar {
			order = append(order, n)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(r.row[a], r.row[b]), cmp.Compare(g.Nodes[a].Lane, g.Nodes[b].Lane))
	})
	var groups [][]int
	for i, n := range order {
		if i > 0 && r.row[order[i-1]] == r.row[n] && g.Nodes[order[i-1]].Lane == g.Nodes[n].Lane {
			groups[len(groups)-1] = append(groups[len(groups)-1], n)
			continue
		}
		groups = append(groups, []int{n})
	}
	return groups
}

// neighbours lists, for each node, the nodes joined to it from rows above and from rows below. Back edges don't
// count: where one runs, it runs beside the flow.
func neighbours(g Graph, r ranking) (above, below [][]int) {
	above, below = make([][]int, len(g.Nodes)), make([][]int, len(g.Nodes))
	for _, e := range g.Edges {
		if e.Back || r.row[e.From] >= r.row[e.To] {
			continue
		}
		above[e.To] = append(above[e.To], e.From)
		below[e.From] = append(below[e.From], e.To)
	}
	return above, below
}

// settle orders the nodes of one row and lane by where their neighbours are on the side that matters for each, and
// moves each as near to those in its own lane as the order lets it.
func settle(g Graph, col, nodes []int, side [][]int, base, width int) {
	if width == 1 {
		return
	}
	type wish struct {
		node   int
		order  float64 // the mean column of all neighbours
		column int     // the mean column of those in the lane
	}
	wishes := make([]wish, len(nodes))
	for i, n := range nodes {
		w := wish{node: n, order: float64(col[n]), column: col[n]}
		var sum, count, sumHere, here int
		for _, m := range side[n] {
			if g.Nodes[m].Bar {
				continue
			}
			sum, count = sum+col[m], count+1
			if g.Nodes[m].Lane == g.Nodes[n].Lane {
				sumHere, here = sumHere+col[m], here+1
			}
		}
		if count > 0 {
			w.order = float64(sum) / float64(count)
		}
		if here > 0 {
			w.column = sumHere / here
		}
		wishes[i] = w
	}
	slices.SortStableFunc(wishes, func(a, b wish) int { return cmp.Compare(a.order, b.order) })
	next := base
	for i, w := range wishes {
		last := base + width - (len(wishes) - i)
		col[w.node] = max(next, min(w.column, last))
		next = col[w.node] + 1
		nodes[i] = w.node
	}
}

// span is the range of columns that a bar splits into, or that it joins.
func span(col, above, below []int) (first, last int) {
	ends := below
	if len(above) > len(below) {
		ends = above
	}
	for i, n := range ends {
		if i == 0 {
			first, last = col[n], col[n]
		}
		first, last = min(first, col[n]), max(last, col[n])
	}
	return first, last
}
