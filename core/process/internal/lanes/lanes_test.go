package lanes

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// chain is n nodes in one lane, each leading to the next.
func chain(n int) Graph {
	g := Graph{Lanes: 1}
	for i := range n {
		g.Nodes = append(g.Nodes, Node{Height: 40})
		if i > 0 {
			g.Edges = append(g.Edges, Edge{From: i - 1, To: i})
		}
	}
	return g
}

func TestChainRunsStraightDown(t *testing.T) {
	t.Parallel()
	l := Place(chain(5))
	for i, e := range l.Edges {
		require.Len(t, e, 2, "edge %d turns", i)
		require.Equal(t, l.Nodes[0].X+Column/2, e[0].X)
		require.Less(t, e[0].Y, e[1].Y)
	}
}

func TestRowIsTheLongestPath(t *testing.T) {
	t.Parallel()
	g := chain(4)
	g.Edges = append(g.Edges, Edge{From: 0, To: 3})
	require.Equal(t, []int{0, 1, 2, 3}, rank(g).row)
}

func TestBackEdgeGoesUp(t *testing.T) {
	t.Parallel()
	g := chain(3)
	g.Edges = append(g.Edges, Edge{From: 2, To: 0, Port: -6 * Slot, Back: true}, Edge{From: 1, To: 1, Port: -6 * Slot, Back: true})
	require.Equal(t, []int{0, 1, 2}, rank(g).row)
	l := Place(g)
	for _, e := range l.Edges[2:] {
		require.Greater(t, e[0].Y, e[len(e)-1].Y)
	}
}

func TestNodeThatOnlyABackEdgeReachesStandsBelow(t *testing.T) {
	t.Parallel()
	g := chain(2)
	g.Nodes = append(g.Nodes, Node{Height: 40})
	g.Edges = append(g.Edges, Edge{From: 1, To: 2, Back: true})
	require.Equal(t, []int{0, 1, 2}, rank(g).row)
}

func TestBarSpansItsBranchesInARowOfItsOwn(t *testing.T) {
	t.Parallel()
	g := Graph{Lanes: 3, Nodes: []Node{
		{Lane: 0, Height: 40}, {Bar: true}, {Lane: 1, Height: 40}, {Lane: 2, Height: 40}, {Bar: true}, {Lane: 0, Height: 40},
	}}
	for _, e := range [][2]int{{0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 5}} {
		g.Edges = append(g.Edges, Edge{From: e[0], To: e[1]})
	}
	l := Place(g)
	for _, bar := range []int{1, 4} {
		require.Equal(t, l.Nodes[2].X, l.Nodes[bar].X)
		require.Equal(t, l.Nodes[3].X+Column, l.Nodes[bar].X+l.Nodes[bar].W)
	}
	for _, e := range []int{1, 2, 3, 4} {
		require.Len(t, l.Edges[e], 2, "a line between bar and branch turns")
	}
}

func TestRowWithSeveralNodesWidensTheLane(t *testing.T) {
	t.Parallel()
	g := Graph{Lanes: 2, Nodes: []Node{{Height: 40}, {Height: 40}, {Height: 40}, {Lane: 1, Height: 40}}}
	for to := 1; to < 4; to++ {
		g.Edges = append(g.Edges, Edge{From: 0, To: to})
	}
	l := Place(g)
	require.Greater(t, l.Lanes[0].W, 2*Column)
	require.Less(t, l.Lanes[1].W, 2*Column)
	require.Equal(t, l.Lanes[0].X+l.Lanes[0].W, l.Lanes[1].X)
}

func TestEmptyGraphsAreDrawn(t *testing.T) {
	t.Parallel()
	require.Len(t, Place(Graph{Lanes: 2}).Lanes, 2)
	require.Len(t, Place(chain(1)).Nodes, 1)
}

// TestLaws checks on any graph, also one with cycles: nodes are apart and in their lanes, lines turn at right angles,
// pass through no node, go down unless they are back edges, and run over each other only where they leave together.
func TestLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := anyGraph(t)
		l := Place(g)
		require.Equal(t, l, Place(g), "the same graph, another layout")
		checkNodes(t, g, l)
		r := rank(g)
		for i, e := range g.Edges {
			points := l.Edges[i]
			from, to := l.Nodes[e.From], l.Nodes[e.To]
			first, last := points[0], points[len(points)-1]
			require.Equal(t, from.Y+from.H, first.Y)
			require.Equal(t, to.Y, last.Y)
			require.True(t, from.X <= first.X && first.X <= from.X+from.W, "edge %d leaves beside its source", i)
			require.True(t, to.X <= last.X && last.X <= to.X+to.W, "edge %d ends beside its target", i)
			if r.row[e.From] < r.row[e.To] {
				require.Less(t, first.Y, last.Y)
			}
			for j := 1; j < len(points); j++ {
				checkSegment(t, l, i, points[j-1], points[j])
			}
		}
		checkOverlaps(t, g, l)
	})
}

func anyGraph(t *rapid.T) Graph {
	g := Graph{Lanes: rapid.IntRange(1, 4).Draw(t, "lanes")}
	n := rapid.IntRange(1, 14).Draw(t, "nodes")
	for range n {
		g.Nodes = append(g.Nodes, Node{
			Lane:   rapid.IntRange(0, g.Lanes-1).Draw(t, "lane"),
			Height: rapid.IntRange(20, 120).Draw(t, "height"),
			Note:   rapid.Bool().Draw(t, "note"),
		})
	}
	for range rapid.IntRange(0, 20).Draw(t, "edges") {
		e := Edge{From: rapid.IntRange(0, n-1).Draw(t, "from"), To: rapid.IntRange(0, n-1).Draw(t, "to")}
		if rapid.IntRange(0, 4).Draw(t, "back") == 0 || e.From == e.To {
			e.Back, e.Port = true, -6*Slot
		}
		g.Edges = append(g.Edges, e)
	}
	if n >= 4 && rapid.Bool().Draw(t, "bars") {
		split := len(g.Nodes)
		g.Nodes = append(g.Nodes, Node{Bar: true}, Node{Bar: true})
		g.Edges = append(g.Edges, Edge{From: 0, To: split})
		for b := range 2 {
			g.Nodes = append(g.Nodes, Node{Lane: rapid.IntRange(0, g.Lanes-1).Draw(t, "branch"), Height: 50})
			g.Edges = append(g.Edges, Edge{From: split, To: split + 2 + b}, Edge{From: split + 2 + b, To: split + 1})
		}
		g.Edges = append(g.Edges, Edge{From: split + 1, To: n - 1})
	}
	return g
}

func checkNodes(t *rapid.T, g Graph, l Layout) {
	for i, a := range l.Nodes {
		require.True(t, a.X >= 0 && a.Y >= 0 && a.X+a.W <= l.Width && a.Y+a.H <= l.Height, "node %d is outside", i)
		if !g.Nodes[i].Bar {
			band := l.Lanes[g.Nodes[i].Lane]
			require.True(t, a.X > band.X && a.X+a.W < band.X+band.W, "node %d is outside its lane", i)
		}
		for j, b := range l.Nodes[:i] {
			apart := a.X+a.W < b.X || b.X+b.W < a.X || a.Y+a.H < b.Y || b.Y+b.H < a.Y
			require.True(t, apart, "nodes %d and %d overlap", i, j)
		}
	}
}

func checkSegment(t *rapid.T, l Layout, edge int, a, b Point) {
	require.True(t, a.X == b.X || a.Y == b.Y, "edge %d is slanted", edge)
	require.True(t, min(a.X, b.X) >= 0 && max(a.X, b.X) <= l.Width && min(a.Y, b.Y) >= 0 && max(a.Y, b.Y) <= l.Height)
	for n, box := range l.Nodes {
		inside := max(a.X, b.X) > box.X && min(a.X, b.X) < box.X+box.W && max(a.Y, b.Y) > box.Y && min(a.Y, b.Y) < box.Y+box.H
		require.False(t, inside, "edge %d passes through node %d", edge, n)
	}
}

// checkOverlaps compares all segments of lines that don't leave by one port. Where a node has more lines than slots, some
// have to share.
func checkOverlaps(t *rapid.T, g Graph, l Layout) {
	into := map[int]int{}
	for _, e := range g.Edges {
		if into[e.To]++; into[e.To] > 2*slots-4 {
			return
		}
	}
	for i, a := range g.Edges {
		for j, b := range g.Edges[:i] {
			if a.From == b.From && a.Port == b.Port {
				continue
			}
			for s := 1; s < len(l.Edges[i]); s++ {
				for u := 1; u < len(l.Edges[j]); u++ {
					p, q, v, w := l.Edges[i][s-1], l.Edges[i][s], l.Edges[j][u-1], l.Edges[j][u]
					over := p.X == q.X && v.X == w.X && p.X == v.X && max(p.Y, q.Y) > min(v.Y, w.Y) && max(v.Y, w.Y) > min(p.Y, q.Y) ||
						p.Y == q.Y && v.Y == w.Y && p.Y == v.Y && max(p.X, q.X) > min(v.X, w.X) && max(v.X, w.X) > min(p.X, q.X)
					require.False(t, over, "edges %d and %d run over each other at %v-%v and %v-%v", i, j, p, q, v, w)
				}
			}
		}
	}
}

func BenchmarkPlace(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		g := chain(n)
		for i := 0; i+7 < n; i += 3 {
			g.Edges = append(g.Edges, Edge{From: i, To: i + 7}, Edge{From: i + 5, To: i, Port: -6 * Slot, Back: true})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				Place(g)
			}
		})
	}
}
