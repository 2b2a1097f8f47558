package run

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apserver/ap/core/process"
)

// fold is a state being changed: by one stored event (Apply), or by the events that a decision finds out (Decide). The
// state it starts from is shared and stays as it is: each part of it is copied before it is first changed.
type fold struct {
	doc *process.Document
	env Env
	st  *State
	// events are those emitted, in order; failure is the first that could not be applied, which is a bug.
	events  []Event
	failure error
	// own… say which parts of st are already copies.
	ownSteps, ownItems, ownClaims, ownHeld bool
	// sentHeld says that the event of the SendEvent being decided is held, as the last one; consumedBy is the step that
	// consumed it.
	sentHeld   bool
	consumedBy string
}

// newFold starts from st. Time in a run never goes backwards, also when the clock does.
func newFold(doc *process.Document, st *State, env Env) *fold {
	env.Now = env.Now.UTC().Truncate(time.Millisecond)
	f := &fold{doc: doc, env: env}
	if st != nil {
		c := *st
		f.st = &c
		if env.Now.Before(st.UpdatedAt) {
			f.env.Now = st.UpdatedAt
		}
	}
	return f
}

// emit records a fact and folds it in.
func (f *fold) emit(at time.Time, by string, p Payload) { f.emitSized(at, by, p, 96) }

// emitSized is emit for a payload of about that many bytes.
func (f *fold) emitSized(at time.Time, by string, p Payload, size int) {
	if f.failure != nil {
		return
	}
	ev := newEvent(at, by, p, size)
	if err := f.fold(ev, p); err != nil {
		f.failure = fmt.Errorf("deciding %s: %w", ev.Type, err)
		return
	}
	f.events = append(f.events, ev)
}

// fold applies one event.
func (f *fold) fold(ev Event, p Payload) error {
	switch _, starts := p.(StartedPayload); {
	case starts && f.st != nil:
		return errors.New("the run has started already")
	case !starts && f.st == nil:
		return errors.New("the run has not started")
	case !starts && f.ended():
		return errors.New("the run has ended")
	}
	if err := p.apply(f, ev); err != nil {
		return err
	}
	f.st.Seq++
	f.st.UpdatedAt = ev.At
	return nil
}

// done returns the state once every event is folded in.
func (f *fold) done() *State {
	if !f.ended() {
		f.st.State = runState(f.st.Steps)
	}
	return f.st
}

// runState is the state of a run that has not ended (protocol.md 2).
func runState(steps []Step) RunState {
	for i := range steps {
		if s := steps[i].State; s == StepReady || s == StepClaimed {
			return RunActive
		}
	}
	return RunWaiting
}

// over says that nothing more can happen: the run ended, or a bug stopped the fold.
func (f *fold) over() bool { return f.failure != nil || f.ended() }

func (f *fold) ended() bool { return f.st.State == RunEnded || f.st.State == RunCancelled }

// seq is the number of the event being applied.
func (f *fold) seq() int { return f.st.Seq + 1 }

// step returns a step to change.
func (f *fold) step(i int) *Step {
	if !f.ownSteps {
		f.st.Steps = slices.Clone(f.st.Steps)
		f.ownSteps = true
	}
	return &f.st.Steps[i]
}

// item returns a work item to change.
func (f *fold) item(i int) *Item {
	if !f.ownItems {
		f.st.Items = slices.Clone(f.st.Items)
		f.ownItems = true
	}
	return &f.st.Items[i]
}

func (f *fold) addItem(item Item) int {
	if !f.ownItems {
		f.st.Items = cloneWithRoom(f.st.Items)
		f.ownItems = true
	}
	f.st.Items = append(f.st.Items, item)
	return len(f.st.Items) - 1
}

// claim returns claim n to change.
func (f *fold) claim(n int) *ClaimRecord {
	if !f.ownClaims {
		f.st.Claims = slices.Clone(f.st.Claims)
		f.ownClaims = true
	}
	return &f.st.Claims[n-1]
}

func (f *fold) addClaim(c ClaimRecord) {
	if !f.ownClaims {
		f.st.Claims = cloneWithRoom(f.st.Claims)
		f.ownClaims = true
	}
	f.st.Claims = append(f.st.Claims, c)
}

// hold and unhold change the list of held events.
func (f *fold) hold(h HeldEvent) {
	if !f.ownHeld {
		f.st.Held = cloneWithRoom(f.st.Held)
		f.ownHeld = true
	}
	f.st.Held = append(f.st.Held, h)
}

func (f *fold) unhold(i int) HeldEvent {
	h := f.st.Held[i]
	if !f.ownHeld {
		f.st.Held = slices.Clone(f.st.Held)
		f.ownHeld = true
	}
	f.st.Held = slices.Delete(f.st.Held, i, i+1)
	if len(f.st.Held) == 0 {
		f.st.Held = nil
	}
	return h
}

func cloneWithRoom[T any](s []T) []T { return append(make([]T, 0, len(s)+1), s...) }

// dataChanged drops what was worked out about the run data.
func (f *fold) dataChanged() { f.st.data = new(dataCache) }

// Apply folds one event into a state (nil before RunStarted) and returns the new state; st is not changed. An event
// that can't follow is an error: the journal is damaged or was written by a newer version.
func Apply(doc *process.Document, st *State, ev Event) (*State, error) {
	f := newFold(doc, st, Env{})
	if err := f.applyEvent(ev); err != nil {
		return nil, err
	}
	return f.done(), nil
}

// Fold is Apply for the entries of a journal, one after the other. It copies what changes once, not once an entry.
func Fold(doc *process.Document, st *State, entries []Entry) (*State, error) {
	if len(entries) == 0 {
		return st, nil
	}
	f := newFold(doc, st, Env{})
	for i := range entries {
		if err := f.applyEvent(entries[i].Event); err != nil {
			return nil, fmt.Errorf("folding entry %d: %w", entries[i].Seq, err)
		}
	}
	return f.done(), nil
}

func (f *fold) applyEvent(ev Event) error {
	p, err := ev.Payload()
	if err != nil {
		return err
	}
	ev.At = ev.At.UTC()
	if err := f.fold(ev, p); err != nil {
		return fmt.Errorf("event %s can't follow: %w", ev.Type, err)
	}
	return nil
}
