package templates

import (
	"strings"
	"time"
)

// Notice is something that a person was notified of.
type Notice struct {
	// Kind is "assigned", "overdue", "escalated" or "ended".
	Kind string
	// Step is empty for the end of a run. State and Outcome are what the run is now.
	Process, Step, State, Outcome string
	// URL is the item while it waits, else the run.
	URL string
	At  time.Time
}

// Text is the notice in plain words.
func (n Notice) Text() string {
	what := Words(n.Process)
	if n.Step != "" {
		what = Words(n.Step) + " of " + what
	}
	switch n.Kind {
	case "assigned":
		return "New for you: " + what
	case "overdue":
		return "Overdue: " + what
	case "escalated":
		return "An agent needs help: " + what
	}
	if n.Outcome == "" {
		return Words(n.State) + ": " + what
	}
	return "Ended: " + what + ", " + strings.ToLower(Words(n.Outcome))
}
