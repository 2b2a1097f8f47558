// Package lanes lays a flow out in swimlanes: rows run down, every lane is a band of columns, and edges are
// right-angled lines that run between the nodes.
//
// It is our own because none of the libraries draws lanes within the map's bounds: gonum's layouts are force-directed;
// go-graphviz, the best of them, compiles its WebAssembly when the program starts, half a second on every command;
// D2's needs a JavaScript engine; and with any of them a hostile file decides how long a drawing takes. A flow in
// lanes is a simple case anyway: the lane gives a node its place across, the longest path its place down, and what
// is left is routing lines in the space between.
//
// The steps are those of layered drawing: rows by longest path (rank.go), columns within a lane by barycenter sweeps
// (column.go), lines through the gaps between rows and the gutters between columns (route.go), then coordinates
// (place.go). Time grows with nodes and edges, apart from sorting.
package lanes

// Sizes in pixels. Every node is Column wide.
const (
	Column = 208
	// Slot is the distance between two lines that enter or leave one node. Edge.Port should be a multiple of it.
	Slot = 13
	// BarHeight is the height of a bar.
	BarHeight = 6

	slots     = 7  // slots to each side of a node's middle
	trackGap  = 12 // between two parallel lines
	gapEdge   = 15 // between a row and the first line below or above it; leaves room for an arrowhead
	gutterMin = 20
)

// Graph is a flow to lay out. Nodes that nothing leads to start at the top.
type Graph struct {
	Lanes int
	Nodes []Node
	Edges []Edge
}

// Node is a card in a lane, or a bar across lanes.
type Node struct {
	Lane   int
	Height int
	// Bar is a bar that spans the columns of the nodes it splits into or joins. It has a row to itself; its Lane and
	// Height don't matter.
	Bar bool
	// Note says that the node stands on a line: it is put above the node it leads to, where others are put below
	// the nodes that lead to them.
	Note bool
}

// Edge leads from the bottom of one node to the top of another.
type Edge struct {
	From, To int
	// Port is where it leaves, right of From's middle. Edges of one node with the same port share a line until
	// they part. Bars ignore it.
	Port int
	// Back edges don't push their target down: they may go up.
	Back bool
}

// Point is a place in the drawing.
type Point struct{ X, Y int }

// Box is a node's place.
type Box struct{ X, Y, W, H int }

// Band is a lane's place across.
type Band struct{ X, W int }

// Layout is the drawing: a box per node, a band per lane and a right-angled line per edge, from the bottom of its
// source to the top of its target.
type Layout struct {
	Width, Height int
	Lanes         []Band
	Nodes         []Box
	Edges         [][]Point
}

// Place lays the graph out. The same graph always gets the same layout.
func Place(g Graph) Layout {
	rows := rank(g)
	cols := arrange(g, rows)
	routes := route(g, rows, cols)
	return coordinates(g, rows, cols, routes)
}
