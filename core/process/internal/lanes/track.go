package lanes

import (
	"cmp"
	"slices"
)

// gap is the tracks in the space above a row.
type gap struct {
	tracks int
	// of is the track of each net; an edge that ends here after passing other rows is a net of its own, under its
	// index.
	of map[int]int
}

// wire is what one net draws in one gap: a line across, and where lines leave it upwards and downwards.
type wire struct {
	stretch
	up, down []int
}

// gapTracks puts the lines across each gap on tracks, in an order in which few cross.
func gapTracks(paths []path, rows int, at func(spot) int) []gap {
	wires := make([]map[int]*wire, rows+1)
	turn := func(gap, net, x int, up bool) {
		if wires[gap] == nil {
			wires[gap] = map[int]*wire{}
		}
		w := wires[gap][net]
		if w == nil {
			w = &wire{stretch: stretch{low: x, high: x, id: net}}
			wires[gap][net] = w
		}
		w.low, w.high = min(w.low, x), max(w.high, x)
		if up {
			w.up = append(w.up, x)
		} else {
			w.down = append(w.down, x)
		}
	}
	for i, p := range paths {
		from, via, to := at(p.from), at(p.via), at(p.to)
		back := p.toGap < p.fromGap
		if from != via {
			turn(p.fromGap, p.net, from, true)
			turn(p.fromGap, p.net, via, back)
		}
		if via != to && p.toGap != p.fromGap {
			turn(p.toGap, i, via, !back)
			turn(p.toGap, i, to, false)
		}
	}
	gaps := make([]gap, rows+1)
	for i, ws := range wires {
		gaps[i] = arrangeTracks(ws)
	}
	return gaps
}

// arrangeTracks packs wires onto tracks and then swaps neighbouring tracks while that saves crossings.
func arrangeTracks(wires map[int]*wire) gap {
	const few = 40
	list := make([]stretch, 0, len(wires))
	for _, w := range wires {
		w.up, w.down = distinct(w.up), distinct(w.down)
		list = append(list, w.stretch)
	}
	slices.SortFunc(list, func(a, b stretch) int { return cmp.Compare(a.id, b.id) })
	g := gap{of: pack(list, Slot-1)}
	var tracks [][]*wire
	for _, s := range list {
		for g.of[s.id] >= len(tracks) {
			tracks = append(tracks, nil)
		}
		tracks[g.of[s.id]] = append(tracks[g.of[s.id]], wires[s.id])
	}
	g.tracks = len(tracks)
	if len(tracks) > few {
		return g
	}
	for range tracks {
		better := false
		for t := 1; t < len(tracks); t++ {
			if crossings(tracks[t], tracks[t-1]) < crossings(tracks[t-1], tracks[t]) {
				tracks[t-1], tracks[t] = tracks[t], tracks[t-1]
				better = true
			}
		}
		if !better {
			break
		}
	}
	for t, ws := range tracks {
		for _, w := range ws {
			g.of[w.id] = t
		}
	}
	return g
}

// crossings counts where the lines of two tracks cross when one is above the other.
func crossings(above, below []*wire) int {
	n := 0
	for _, a := range above {
		for _, b := range below {
			for _, x := range a.down {
				if b.low < x && x < b.high {
					n++
				}
			}
			for _, x := range b.up {
				if a.low < x && x < a.high {
					n++
				}
			}
		}
	}
	return n
}

func distinct(list []int) []int {
	slices.Sort(list)
	return slices.Compact(list)
}
