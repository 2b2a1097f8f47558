package process

import "slices"

// edgeID is an edge by the step it leaves and its position among that step's forward edges.
type edgeID struct {
	from  *step
	index int
}

func (e edgeID) to() *step { return e.from.forward[e.index].to }

// noEdge is no edge.
var noEdge = edgeID{}

// components returns the strongly connected components that may hold a circle (Tarjan), each in the order a walk from
// the first step of the list meets its steps. The walk keeps its own stack: a process may have thousands of steps in a
// row.
func components(steps []*step) [][]*step {
	type frame struct {
		s    *step
		next int
	}
	number, low := make([]int, len(steps)), make([]int, len(steps))
	onStack := make([]bool, len(steps))
	var stack []*step
	var frames []frame
	var found [][]*step
	count := 0
	enter := func(s *step) {
		count++
		number[s.position], low[s.position] = count, count
		stack = append(stack, s)
		onStack[s.position] = true
		frames = append(frames, frame{s: s})
	}
	leave := func(s *step) {
		frames = frames[:len(frames)-1]
		if len(frames) > 0 {
			above := frames[len(frames)-1].s.position
			low[above] = min(low[above], low[s.position])
		}
		if low[s.position] != number[s.position] {
			return
		}
		begin := slices.Index(stack, s)
		component := slices.Clone(stack[begin:])
		stack = stack[:begin]
		for _, member := range component {
			onStack[member.position] = false
		}
		if len(component) > 1 || slices.ContainsFunc(s.forward, func(e edge) bool { return e.to == s }) {
			found = append(found, component)
		}
	}
	for _, start := range steps {
		if number[start.position] == 0 {
			enter(start)
		}
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if f.next == len(f.s.forward) {
				leave(f.s)
				continue
			}
			to := f.s.forward[f.next].to
			f.next++
			switch {
			case number[to.position] == 0:
				enter(to)
			case onStack[to.position]:
				low[f.s.position] = min(low[f.s.position], number[to.position])
			}
		}
	}
	return found
}

// walkCircles walks a component from its first step and calls found for each edge that leads back into the walk, with
// the row of edges that makes the circle, that edge last; until found returns false. The edge skip is taken as absent.
func walkCircles(component []*step, skip edgeID, found func(circle []edgeID) bool) {
	const open, closed = 1, 2
	state := make(map[*step]int, len(component))
	depth := make(map[*step]int, len(component))
	within := make(map[*step]bool, len(component))
	for _, s := range component {
		within[s] = true
	}
	for _, start := range component {
		if state[start] != 0 {
			continue
		}
		row := []edgeID{{start, 0}}
		state[start], depth[start] = open, 0
		for len(row) > 0 {
			at := &row[len(row)-1]
			if at.index == len(at.from.forward) {
				state[at.from] = closed
				if row = row[:len(row)-1]; len(row) > 0 {
					row[len(row)-1].index++
				}
				continue
			}
			to := at.to()
			switch {
			case *at == skip || !within[to] || state[to] == closed:
				at.index++
			case state[to] == open:
				if !found(row[depth[to]:]) {
					return
				}
				at.index++
			default:
				state[to], depth[to] = open, len(row)
				row = append(row, edgeID{to, 0})
			}
		}
	}
}

// onlyCut returns the position in a circle of the one edge without which the component has no circle, the last such
// edge first; -1 when there is none, or when finding it would take too long.
func onlyCut(component []*step, circle []edgeID) int {
	const effort = 1 << 20
	if len(circle)*len(component) > effort {
		return -1
	}
	for at := len(circle) - 1; at >= 0; at-- {
		left := false
		walkCircles(component, circle[at], func([]edgeID) bool {
			left = true
			return false
		})
		if !left {
			return at
		}
	}
	return -1
}
