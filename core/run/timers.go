package run

import (
	"time"

	"github.com/apserver/ap/core/process"
)

// timerKind orders the timers of one instant: first what only marks the run (a lease's end, a due time), then what
// moves it on (the end of a wait, the timeout of a wait_for). Within a kind the document's order decides.
type timerKind int

const (
	leaseTimer timerKind = iota
	dueTimer
	waitTimer
	timeoutTimer
	noTimer
)

type timer struct {
	kind timerKind
	at   time.Time
	step int
}

// before says which of two timers fires first.
func (t timer) before(u timer) bool {
	if u.kind == noTimer {
		return t.kind != noTimer
	}
	if c := t.at.Compare(u.at); c != 0 {
		return c < 0
	}
	return t.kind < u.kind
}

// nextTimer is the first timer that ok accepts; its kind is noTimer when there is none.
func (st *State) nextTimer(doc *process.Document, ok func(timer) bool) timer {
	next := timer{kind: noTimer}
	if st.Over() {
		return next
	}
	consider := func(t timer) {
		if ok(t) && t.before(next) {
			next = t
		}
	}
	for i := range st.Steps {
		s := &st.Steps[i]
		if s.Claim != 0 {
			consider(timer{leaseTimer, st.Claims[s.Claim-1].ExpiresAt, i})
		}
		if s.Due != nil && !s.Overdue {
			consider(timer{dueTimer, *s.Due, i})
		}
		if s.WakeAt != nil {
			kind := waitTimer
			if doc.Steps[i].Kind == process.WaitFor {
				kind = timeoutTimer
			}
			consider(timer{kind, *s.WakeAt, i})
		}
	}
	return next
}

// NextTimer is the earliest time at which something happens by itself, or nil: a lease's end, a wait, a timeout, a due
// time not yet recorded as overdue.
func (st *State) NextTimer(doc *process.Document) *time.Time {
	t := st.nextTimer(doc, func(timer) bool { return true })
	if t.kind == noTimer {
		return nil
	}
	return &t.at
}

// fireTimers fires every timer due by now, in the order of their times, each as if on time: what it brings about
// happens at its time, and may bring timers that are past as well. With sparing, timeouts due exactly now stay: an
// event that is about to be delivered comes before them (protocol.md 4).
func (f *fold) fireTimers(sparing bool) {
	due := func(t timer) bool {
		if t.kind == timeoutTimer && sparing {
			return t.at.Before(f.env.Now)
		}
		return !t.at.After(f.env.Now)
	}
	for !f.over() {
		t := f.st.nextTimer(f.doc, due)
		if t.kind == noTimer {
			return
		}
		f.fire(t)
	}
}

func (f *fold) fire(t timer) {
	s := &f.doc.Steps[t.step]
	switch t.kind {
	case leaseTimer:
		f.emit(t.at, bySystem, LeaseEndedPayload{Claim: f.st.Steps[t.step].Claim})
	case dueTimer:
		f.emit(t.at, bySystem, OverduePayload{Step: s.ID})
	case waitTimer:
		f.emit(t.at, bySystem, CompletedPayload{Step: s.ID})
		f.follow(s, s.Next, t.at)
	case timeoutTimer:
		f.emit(t.at, bySystem, CompletedPayload{Step: s.ID, TimedOut: true})
		f.follow(s, s.OnTimeout, t.at)
	}
}
