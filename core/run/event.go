package run

import (
	"encoding/json"
	"time"
)

// Event is a fact about a run. The run is the fold of its events; nothing else is needed to know it.
type Event struct {
	// Type is the stable name: "RunStarted", "StepReadied", …
	Type string
	// V is the version of the payload's shape, from 1.
	V int
	// At is when it became true: for a timer, when it was due, not when it was noticed. UTC, whole milliseconds.
	At time.Time
	// By is who caused it: an e-mail, "agent:NAME" or "server".
	By string
	// Data is the payload as JSON, one of the payload types of this package by Type.
	Data json.RawMessage
}

// Entry is an event in the journal: numbered from 1 within its run and chained by hash.
type Entry struct {
	Event
	Seq int
	// Hash is SHA-256 over the previous entry's hash and this entry (Seal says exactly how).
	Hash []byte
}
