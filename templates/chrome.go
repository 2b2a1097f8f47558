package templates

import "time"

// Chrome is what every page shows around its content.
type Chrome struct {
	// Title is the page's name for the browser's tab.
	Title string
	// Nav is the part of the site the page belongs to: "inbox", "runs", "processes", or "".
	Nav string
	// Email is who is signed in; empty for nobody.
	Email string
	// Open is the number of work items that wait for the person, Max says that there are more; -1 leaves the number out.
	Open int
	More bool
	// Now is the server's time, which plain times count from.
	Now time.Time
	// Live is where the page asks how things stand when the server says that something changed; empty for a page that
	// doesn't ask.
	Live string
	// Map says that the page shows a process map.
	Map bool
	// Said is a confirmation of what was just done; empty for none.
	Said string
	// Dev says that the server runs in dev mode.
	Dev bool
}
