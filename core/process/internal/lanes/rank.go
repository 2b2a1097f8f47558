package lanes

import "slices"

// ranking is where each node stands from top to bottom.
type ranking struct {
	row  []int
	rows int
}

// rank gives every node the row of its longest path from the top, and every bar a row to itself.
func rank(g Graph) ranking {
	out := forward(g)
	order := topological(len(g.Nodes), out)
	level := make([]int, len(g.Nodes))
	depth := 0
	for _, n := range order {
		for _, to := range out[n] {
			level[to] = max(level[to], level[n]+1)
		}
		depth = max(depth, level[n]+1)
	}
	byLevel := make([][]int, depth)
	for n, l := range level {
		byLevel[l] = append(byLevel[l], n)
	}
	r := ranking{row: make([]int, len(g.Nodes))}
	for _, nodes := range byLevel {
		for _, n := range nodes {
			if g.Nodes[n].Bar {
				r.row[n] = r.rows
				r.rows++
			}
		}
		used := false
		for _, n := range nodes {
			if !g.Nodes[n].Bar {
				r.row[n] = r.rows
				used = true
			}
		}
		if used {
			r.rows++
		}
	}
	return r
}

// forward lists the successors that have to stand below each node: all but back edges, save where a back edge is the
// only way to its target.
func forward(g Graph) [][]int {
	reached := make([]bool, len(g.Nodes))
	for _, e := range g.Edges {
		if !e.Back && e.From != e.To {
			reached[e.To] = true
		}
	}
	out := make([][]int, len(g.Nodes))
	for _, e := range g.Edges {
		if e.From != e.To && (!e.Back || !reached[e.To]) {
			out[e.From] = append(out[e.From], e.To)
		}
	}
	return out
}

// topological orders the nodes so that every edge goes forward, after dropping from out the edges that close a cycle.
func topological(n int, out [][]int) []int {
	const (
		unseen = iota
		open
		closed
	)
	state := make([]int, n)
	var order []int
	type frame struct{ node, next int }
	for root := range n {
		if state[root] != unseen {
			continue
		}
		state[root] = open
		stack := []frame{{node: root}}
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if f.next == len(out[f.node]) {
				state[f.node] = closed
				order = append(order, f.node)
				stack = stack[:len(stack)-1]
				continue
			}
			to := out[f.node][f.next]
			switch state[to] {
			case open:
				out[f.node] = slices.Delete(out[f.node], f.next, f.next+1)
			case unseen:
				f.next++
				state[to] = open
				stack = append(stack, frame{node: to})
			default:
				f.next++
			}
		}
	}
	slices.Reverse(order)
	return order
}
