package run

import (
	"fmt"

	"github.com/apserver/ap/core/process"
)

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
// The checks come in the order of protocol.md 3-6: arguments, then run_ended, then everything else.
func Decide(doc *process.Document, st *State, cmd Command, env Env) Outcome {
	f := newFold(doc, st, env)
	if start, ok := cmd.(Start); ok {
		if err := f.start(start); err != nil {
			return Outcome{State: st, Err: err}
		}
		f.fireTimers(false)
		return f.outcome(st, nil, Result{})
	}
	if err := checkArguments(cmd); err != nil {
		return Outcome{State: st, Err: err}
	}
	_, sends := cmd.(SendEvent)
	f.fireTimers(sends)
	var result Result
	var refusal *Error
	if f.ended() {
		refusal = runEnded(f.st)
	} else {
		result, refusal = f.decide(cmd)
	}
	f.fireTimers(false)
	if refusal == nil && sends {
		result.ConsumedBy = f.consumedBy
	}
	return f.outcome(st, refusal, result)
}

// decide dispatches a command on a run that has not ended.
func (f *fold) decide(cmd Command) (Result, *Error) {
	switch c := cmd.(type) {
	case Claim:
		return f.claimStep(c)
	case Renew:
		return f.renew(c)
	case Submit:
		return Result{}, f.submit(c)
	case Escalate:
		return Result{}, f.escalate(c)
	case Decision:
		return Result{}, f.decision(c)
	case Cancel:
		return Result{}, f.cancel(c)
	case SendEvent:
		return Result{}, f.sendEvent(c)
	}
	return Result{}, refuse(Invalid, fmt.Sprintf("The command %T is unknown.", cmd))
}

// checkArguments checks what needs no document and no state: a breach is reported before anything else.
func checkArguments(cmd Command) error {
	var issues []string
	switch c := cmd.(type) {
	case Submit:
		issues = checkSubmit(c)
	case Escalate:
		issues = checkNote("note", c.Note)
	case Decision:
		issues = CheckDecision(c)
	case Cancel:
		issues = checkNote("reason", c.Reason)
	case SendEvent:
		issues = checkEvent(c)
	}
	if len(issues) > 0 {
		return refuse(Invalid, "The arguments are not valid: mend what the issues name and call again.", issues...)
	}
	return nil
}

// outcome is what a decision comes to. A bug, which leaves f half changed, keeps nothing.
func (f *fold) outcome(st *State, refusal *Error, result Result) Outcome {
	if f.failure != nil {
		return Outcome{State: st, Err: f.failure}
	}
	out := Outcome{Events: f.events, State: st, Result: result}
	if len(f.events) > 0 {
		out.State = f.done()
	}
	if refusal != nil {
		out.Err = refusal
	}
	return out
}

// Advance fires every timer due by env.Now and returns their events and the state after them. Without any, it returns
// st itself.
func Advance(doc *process.Document, st *State, env Env) ([]Event, *State) {
	if next := st.NextTimer(doc); next == nil || env.Now.Before(*next) {
		return nil, st
	}
	f := newFold(doc, st, env)
	f.fireTimers(false)
	if f.failure != nil || len(f.events) == 0 {
		return nil, st
	}
	return f.events, f.done()
}
