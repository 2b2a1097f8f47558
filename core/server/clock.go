package server

import "time"

// Clock is where time comes from.
type Clock interface {
	// Now is the current time: UTC, whole milliseconds.
	Now() time.Time
	// At returns a channel that is closed once Now has reached t, and a function that gives it up.
	At(t time.Time) (<-chan struct{}, func())
}

// IDs is where new identifiers come from.
type IDs interface {
	// New returns an id that was never returned before, beginning with prefix (such as "r_"). Later ids sort after
	// earlier ones, to the millisecond.
	New(prefix string, now time.Time) string
}
