package lanes

import (
	"cmp"
	"slices"
)

// A line runs in four kinds of space. Gap g lies above row g; a line turns there, on a track of its own. Gutters lie
// to both sides of a column; a line that passes rows runs down or up there, or straight through a column in which
// those rows are empty. What keeps two lines from running over each other: within a gap no two of them use the same
// slot of a column, and within a gutter or a gap no two share a stretch of a track.

// spot is a place across: a slot of a column (side 0, dx from its middle), or a track in its left (-1) or right (+1)
// gutter.
type spot struct {
	col, dx int
	side    int
	track   int
}

// path is the way of one edge: down from its source, on a track of gap fromGap to via, along via to gap toGap, and on
// a track there to its target.
type path struct {
	from, via, to  spot
	fromGap, toGap int
	// net names the lines that share a track in fromGap: those that leave by one port.
	net int
}

type routes struct {
	paths []path
	// leftTracks and rightTracks count the tracks in each column's gutters.
	leftTracks, rightTracks []int
}

type slotKey struct{ col, gap, dx int }

type router struct {
	g    Graph
	rows ranking
	cols columns
	// taken says which net uses a slot in a gap.
	taken map[slotKey]int
	// filled lists the rows in which a column has a node, ascending; bars are apart, in the order of their rows.
	filled [][]int
	bars   []int
	// incoming counts the edges into each node that aren't back edges.
	incoming []int
	paths    []path
}

// farthest is the longest way, in rows, that a line goes straight through columns; a longer one takes a gutter.
const farthest = 64

func route(g Graph, rows ranking, cols columns) routes {
	r := router{
		g: g, rows: rows, cols: cols,
		taken:    map[slotKey]int{},
		filled:   make([][]int, len(cols.lane)),
		incoming: make([]int, len(g.Nodes)),
		paths:    make([]path, len(g.Edges)),
	}
	for n, node := range g.Nodes {
		if node.Bar {
			r.bars = append(r.bars, n)
		} else {
			r.filled[cols.col[n]] = append(r.filled[cols.col[n]], rows.row[n])
		}
	}
	for _, f := range r.filled {
		slices.Sort(f)
	}
	slices.SortFunc(r.bars, func(a, b int) int { return cmp.Compare(rows.row[a], rows.row[b]) })
	r.claimPorts()
	for _, i := range r.order() {
		r.edge(i)
	}
	left, right := r.gutterTracks()
	return routes{paths: r.paths, leftTracks: left, rightTracks: right}
}

// claimPorts gives every edge its net and takes the slots below its source, before any other line can.
func (r *router) claimPorts() {
	type port struct{ node, dx int }
	nets := map[port]int{}
	for i, e := range r.g.Edges {
		if !e.Back {
			r.incoming[e.To]++
		}
		p := &r.paths[i]
		p.fromGap, p.toGap = r.rows.row[e.From]+1, r.rows.row[e.To]
		if r.g.Nodes[e.From].Bar {
			p.net = len(r.g.Edges) + i
			continue
		}
		at := port{e.From, e.Port}
		net, ok := nets[at]
		if !ok {
			net = len(r.g.Edges) + i
			nets[at] = net
		}
		p.net = net
		p.from = spot{col: r.cols.col[e.From], dx: e.Port}
		r.taken[slotKey{p.from.col, p.fromGap, e.Port}] = net
	}
}

// order lists the edges shortest first, so that the way straight down stays free for the next step.
func (r *router) order() []int {
	order := make([]int, len(r.g.Edges))
	for i := range order {
		order[i] = i
	}
	length := func(i int) int {
		p := r.paths[i]
		across := r.cols.col[r.g.Edges[i].From] - r.cols.col[r.g.Edges[i].To]
		down := p.toGap - p.fromGap
		if down < 0 {
			down = 1<<20 - down
		}
		return down*1000 + min(abs(across), 999)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(length(a), length(b)) })
	return order
}

func (r *router) edge(i int) {
	e, p := r.g.Edges[i], &r.paths[i]
	if r.g.Nodes[e.From].Bar {
		r.fromBar(i)
	}
	if r.straight(p, e.To) {
		return
	}
	back := p.toGap < p.fromGap
	p.to = r.entry(e.To, p, i, back)
	if p.toGap == p.fromGap {
		p.via = p.to
		return
	}
	p.via = r.passage(p, i)
}

// fromBar lets an edge leave a bar above its target where it can, at the bar's nearer end where not.
func (r *router) fromBar(i int) {
	e, p := r.g.Edges[i], &r.paths[i]
	first, last := r.cols.col[e.From], r.cols.last[e.From]
	col := min(max(r.cols.col[e.To], first), last)
	p.from = spot{col: col, dx: r.freeSlot(col, p.fromGap, 0, p.net)}
	r.taken[slotKey{col, p.fromGap, p.from.dx}] = p.net
}

// straight draws the edge as one line down, if its target is below and nothing is in the way.
func (r *router) straight(p *path, to int) bool {
	col, dx := p.from.col, p.from.dx
	if p.toGap < p.fromGap || p.toGap-p.fromGap > farthest || col < r.cols.col[to] || col > r.cols.last[to] {
		return false
	}
	if !r.columnFree(col, p.fromGap, p.toGap) || !r.slotFree(col, p.fromGap+1, p.toGap, dx) {
		return false
	}
	r.take(col, p.fromGap+1, p.toGap, dx, p.net)
	p.via, p.to = p.from, p.from
	return true
}

// entry picks the slot by which an edge enters its target, on the side it comes from.
func (r *router) entry(to int, p *path, edge int, back bool) spot {
	col := min(max(p.from.col, r.cols.col[to]), r.cols.last[to])
	wish := 0
	switch {
	case back:
		wish = -(slots - 1) * Slot
	case r.incoming[to] > 1:
		wish = -3 * Slot
	}
	if p.from.col > col {
		wish = -wish
	}
	if r.g.Nodes[to].Bar {
		wish = p.from.dx
	}
	dx := r.freeSlot(col, p.toGap, wish, edge)
	r.taken[slotKey{col, p.toGap, dx}] = edge
	return spot{col: col, dx: dx}
}

// freeSlot is the free slot of a column in a gap nearest to wish; wish itself when all are taken.
func (r *router) freeSlot(col, gap, wish, net int) int {
	for d := range 2 * slots {
		for _, dx := range [2]int{wish - d*Slot, wish + d*Slot} {
			if abs(dx) > slots*Slot {
				continue
			}
			if by, ok := r.taken[slotKey{col, gap, dx}]; !ok || by == net {
				return dx
			}
		}
	}
	return wish
}

// passage picks where a line passes the rows between its source and its target: through the column of either, if
// that is empty there, or along a gutter; whichever way is shorter.
func (r *router) passage(p *path, edge int) spot {
	best, cost := spot{}, -1
	try := func(s spot, extra int) {
		c := abs(about(p.from)-about(s)) + abs(about(s)-about(p.to)) + extra
		if cost < 0 || c < cost {
			best, cost = s, c
		}
	}
	down := p.toGap - p.fromGap
	if down > 0 && down <= farthest {
		for _, s := range [2]spot{p.to, p.from} {
			// The ends of the line are its own already.
			from, to := p.fromGap, p.toGap-1
			if s == p.from {
				from, to = p.fromGap+1, p.toGap
			}
			if r.columnFree(s.col, p.fromGap, p.toGap) && r.slotFree(s.col, from, to, s.dx) {
				try(s, 0)
			}
		}
	}
	for _, col := range [4]int{p.from.col, p.to.col, 0, len(r.cols.lane) - 1} {
		for _, side := range [2]int{-1, 1} {
			if r.gutterFree(col, side, p.fromGap, p.toGap) {
				try(spot{col: col, side: side}, 3*Slot)
			}
		}
	}
	if best.side == 0 {
		from, to := p.fromGap, p.toGap-1
		if best == p.from {
			from, to = p.fromGap+1, p.toGap
		}
		r.take(best.col, from, to, best.dx, edge)
	}
	return best
}

// about is roughly where a spot will be, in pixels.
func about(s spot) int {
	return s.col*(Column+2*gutterMin) + s.dx + s.side*(Column/2+gutterMin)
}

// columnFree says whether no node and no bar of a column is in the rows between two gaps.
func (r *router) columnFree(col, fromGap, toGap int) bool {
	low, high := min(fromGap, toGap), max(fromGap, toGap)
	i, _ := slices.BinarySearch(r.filled[col], low)
	if i < len(r.filled[col]) && r.filled[col][i] < high {
		return false
	}
	return !r.barBetween(low, high, func(first, last int) bool { return first <= col && col <= last })
}

// gutterFree says whether no bar crosses a gutter between two gaps.
func (r *router) gutterFree(col, side, fromGap, toGap int) bool {
	return !r.barBetween(min(fromGap, toGap), max(fromGap, toGap), func(first, last int) bool {
		if side < 0 {
			return first < col && col <= last
		}
		return first <= col && col < last
	})
}

// barBetween says whether one of the bars in the rows low to high-1 hits.
func (r *router) barBetween(low, high int, hits func(first, last int) bool) bool {
	i, _ := slices.BinarySearchFunc(r.bars, low, func(bar, row int) int { return cmp.Compare(r.rows.row[bar], row) })
	for ; i < len(r.bars) && r.rows.row[r.bars[i]] < high; i++ {
		if hits(r.cols.col[r.bars[i]], r.cols.last[r.bars[i]]) {
			return true
		}
	}
	return false
}

func (r *router) slotFree(col, fromGap, toGap, dx int) bool {
	for gap := fromGap; gap <= toGap; gap++ {
		if _, taken := r.taken[slotKey{col, gap, dx}]; taken {
			return false
		}
	}
	return true
}

func (r *router) take(col, fromGap, toGap, dx, net int) {
	for gap := fromGap; gap <= toGap; gap++ {
		r.taken[slotKey{col, gap, dx}] = net
	}
}

// gutterTracks puts the lines of each gutter on tracks, short ones nearest to the column, and counts the tracks.
func (r *router) gutterTracks() (left, right []int) {
	type gutter struct{ col, side int }
	in := map[gutter][]stretch{}
	for i, p := range r.paths {
		if p.via.side != 0 {
			at := gutter{p.via.col, p.via.side}
			in[at] = append(in[at], stretch{min(p.fromGap, p.toGap), max(p.fromGap, p.toGap), i})
		}
	}
	left, right = make([]int, len(r.cols.lane)), make([]int, len(r.cols.lane))
	for at, stretches := range in {
		tracks := pack(stretches, 0)
		for _, s := range stretches {
			r.paths[s.id].via.track = tracks[s.id]
		}
		n := 0
		for _, t := range tracks {
			n = max(n, t+1)
		}
		if at.side < 0 {
			left[at.col] = n
		} else {
			right[at.col] = n
		}
	}
	return left, right
}

// stretch is what a line takes of a track.
type stretch struct{ low, high, id int }

// pack assigns stretches to tracks so that on each track any two are more than space apart: the shortest first while
// there are few, otherwise in the order that needs the fewest tracks.
func pack(stretches []stretch, space int) map[int]int {
	const few = 200
	slices.SortStableFunc(stretches, func(a, b stretch) int {
		if len(stretches) > few {
			return cmp.Compare(a.low, b.low)
		}
		return cmp.Or(cmp.Compare(a.high-a.low, b.high-b.low), cmp.Compare(a.low, b.low), cmp.Compare(a.id, b.id))
	})
	tracks := map[int]int{}
	var on [][]stretch
	for _, s := range stretches {
		t := 0
		for ; t < len(on); t++ {
			row := on[t]
			if len(stretches) > few {
				row = row[len(row)-1:] // sorted by low, so only the last can be in the way
			}
			if !slices.ContainsFunc(row, func(o stretch) bool { return s.low <= o.high+space && o.low <= s.high+space }) {
				break
			}
		}
		if t == len(on) {
			on = append(on, nil)
		}
		on[t] = append(on[t], s)
		tracks[s.id] = t
	}
	return tracks
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
