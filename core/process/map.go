package process

// Mermaid draws the process map as a Mermaid flowchart (without the code fence).
func Mermaid(d *Document) string {
	panic("not yet")
}

// MapOptions says how SVG draws.
type MapOptions struct {
	// Marks puts a state on steps by id ("ready", "claimed", "waiting", "done", "failed", "cancelled"): the run page
	// shows where a run is. Current marks the step a page is about.
	Marks   map[string]string
	Current string
}

// SVG draws the process map as a self-contained SVG element: no script, no outside reference, readable in light and
// dark.
func SVG(d *Document, opts MapOptions) string {
	panic("not yet")
}
