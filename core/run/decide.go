package run

import "github.com/apserver/ap/core/process"

// Outcome is what a command did: the events to append (those of timers that were due first among them) and the state
// after them. Err is the refusal, if any; a refused command may still have events (timers, a submission's issues left
// for the next attempt), which are to be kept.
type Outcome struct {
	Events []Event
	State  *State
	// Err is nil, or an *Error.
	Err error
	// Result carries what the call returns beyond the run view.
	Result Result
}

// Result is what some commands return beyond the run view.
type Result struct {
	// Ref is the claim and lease of Claim and Renew.
	Ref ClaimRef
	// ConsumedBy is the step a SendEvent was consumed by; empty when the event is held.
	ConsumedBy string
}

// Decide works out what a command does to a run, after first firing every timer due by env.Now, in the order of their
// times. Arguments are taken as checked against the tool's schema. st is not changed. For Start, st is nil.
//
// The checks come in the order of protocol.md 3-6: run_ended before everything else.
func Decide(doc *process.Document, st *State, cmd Command, env Env) Outcome {
	panic("not yet")
}

// Advance fires every timer due by env.Now and returns their events and the state after them. Without any, it returns
// st itself.
func Advance(doc *process.Document, st *State, env Env) ([]Event, *State) {
	panic("not yet")
}

// Apply folds one event into a state (nil before RunStarted) and returns the new state; st is not changed. An event
// that can't follow is an error: the journal is damaged or was written by a newer version.
func Apply(doc *process.Document, st *State, ev Event) (*State, error) {
	panic("not yet")
}
