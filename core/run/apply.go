package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apserver/ap/core/process"
)

// Applying is mechanical: an event says what became true, and the state takes it over. What is checked here is only
// that the event can follow at all, so that a damaged journal is an error and not a wrong state.

// index finds the step of an event.
func (f *fold) index(id string) (int, error) {
	i := f.doc.Index(id)
	if i < 0 || i >= len(f.st.Steps) {
		return 0, fmt.Errorf("the process has no step %q", id)
	}
	return i, nil
}

// at finds the step of an event and checks its state and kind (any kind if none is given).
func (f *fold) at(id string, state StepState, kinds ...process.Kind) (int, error) {
	i, err := f.index(id)
	if err != nil {
		return 0, err
	}
	if kind := f.doc.Steps[i].Kind; len(kinds) > 0 && !slices.Contains(kinds, kind) {
		return 0, fmt.Errorf("step %s is of the kind %s", id, kind)
	}
	if s := f.st.Steps[i].State; s != state {
		return 0, fmt.Errorf("step %s is %s, not %s", id, stateName(s), stateName(state))
	}
	return i, nil
}

func stateName(s StepState) string {
	if s == NotReached {
		return "not reached"
	}
	return string(s)
}

// liveClaim finds the step that claim n holds.
func (f *fold) liveClaim(n int) (step int, err error) {
	if n < 1 || n > len(f.st.Claims) || !f.st.Claims[n-1].Live {
		return 0, fmt.Errorf("claim %d is not live", n)
	}
	return f.at(f.st.Claims[n-1].StepID, StepClaimed, process.Agent)
}

// openItem finds the step that waits for a work item, which must be step.
func (f *fold) openItem(step, id string) (int, error) {
	i, err := f.at(step, StepWaiting, process.Agent, process.Task, process.Approve)
	if err != nil {
		return 0, err
	}
	if n := f.st.Steps[i].Item; n < 0 || f.st.Items[n].ID != id {
		return 0, fmt.Errorf("step %s doesn't wait for work item %q", step, id)
	}
	return i, nil
}

// settle ends a step's attempt in the given state: whatever was pending for it is gone.
func (f *fold) settle(i int, state StepState) *Step {
	s := f.step(i)
	if s.Claim != 0 {
		f.claim(s.Claim).Live = false
	}
	if s.Item >= 0 && f.st.Items[s.Item].Open() {
		f.item(s.Item).Removed = true
	}
	s.State = state
	s.Due, s.Overdue, s.WakeAt = nil, false, nil
	s.Claim, s.Item = 0, -1
	s.Handoff = Handoff{}
	return s
}

// record makes r the current record of a step; an approval's rejection that was kept moves to the history.
func (f *fold) record(s *Step, r *Record) {
	s.archive()
	s.Current = r
	f.dataChanged()
}

// archive moves the current record to the end of the history, which other states may share.
func (s *Step) archive() {
	if s.Current != nil {
		s.History = append(slices.Clip(s.History), s.Current)
		s.Current = nil
	}
}

// decided notes how an open item was decided.
func (f *fold) decided(i int, decision, note string, ev Event) {
	f.item(i).Decided = &Decided{Decision: decision, By: ev.By, At: ev.At, Note: note}
}

func (f *fold) open(i int, step string, o *OpenedItem, escalation *Note, ev Event) error {
	if o == nil || o.ID == "" || (o.Group == "") == (o.Person == "") {
		return errors.New("its work item is incomplete")
	}
	f.step(i).Item = f.addItem(Item{
		ID: o.ID, StepID: step, Group: o.Group, Person: o.Person, OpenedAt: ev.At, Escalation: escalation,
	})
	return nil
}

func isObject(v json.RawMessage) bool { return len(v) > 1 && v[0] == '{' }

func (p StartedPayload) apply(f *fold, ev Event) error {
	if p.ID == "" || (p.Mode != Live && p.Mode != Test) || !isObject(p.Inputs) {
		return errors.New("the run's id, mode or inputs are missing")
	}
	f.st = &State{
		ID: p.ID, Process: p.Process, Version: p.Version, Mode: p.Mode,
		StartedBy: ev.By, StartedAt: ev.At,
		Inputs: p.Inputs,
		Steps:  make([]Step, len(f.doc.Steps)),
	}
	if p.Human {
		f.st.Initiator = ev.By
	}
	for i := range f.st.Steps {
		f.st.Steps[i].Item = -1
	}
	f.ownSteps = true
	f.dataChanged()
	return nil
}

func (p ReadiedPayload) apply(f *fold, ev Event) error {
	i, err := f.at(p.Step, NotReached, process.Agent, process.Task, process.Approve)
	if err != nil {
		return err
	}
	s := f.step(i)
	s.State, s.ReadyAt, s.Due = StepReady, ev.At, p.Due
	if f.doc.Steps[i].Kind == process.Agent {
		return nil
	}
	s.State = StepWaiting
	return f.open(i, p.Step, p.Item, nil, ev)
}

func (p ClaimedPayload) apply(f *fold, ev Event) error {
	i, err := f.at(p.Step, StepReady, process.Agent)
	if err != nil {
		return err
	}
	if p.Claim != len(f.st.Claims)+1 {
		return fmt.Errorf("claim %d doesn't follow claim %d", p.Claim, len(f.st.Claims))
	}
	f.addClaim(ClaimRecord{StepID: p.Step, By: ev.By, Lease: 1, ExpiresAt: p.Expires, Live: true})
	s := f.step(i)
	s.State, s.Claim = StepClaimed, p.Claim
	return nil
}

func (p RenewedPayload) apply(f *fold, _ Event) error {
	if _, err := f.liveClaim(p.Claim); err != nil {
		return err
	}
	c := f.claim(p.Claim)
	if p.Lease != c.Lease+1 {
		return fmt.Errorf("lease %d doesn't follow lease %d", p.Lease, c.Lease)
	}
	c.Lease, c.ExpiresAt = p.Lease, p.Expires
	if p.Progress != "" {
		c.Progress = p.Progress
	}
	return nil
}

func (p LeaseEndedPayload) apply(f *fold, _ Event) error {
	i, err := f.liveClaim(p.Claim)
	if err != nil {
		return err
	}
	c := f.claim(p.Claim)
	c.Live = false
	s := f.step(i)
	s.State, s.Claim = StepReady, 0
	if c.Progress != "" {
		s.Handoff.Progress = c.Progress
	}
	return nil
}

func (p RefusedPayload) apply(f *fold, _ Event) error {
	i, err := f.index(p.Step)
	if err != nil {
		return err
	}
	if f.st.Steps[i].Claim == 0 && f.st.Steps[i].Item < 0 {
		return fmt.Errorf("nobody works on step %q", p.Step)
	}
	f.step(i).Handoff.Issues = p.Issues
	return nil
}

// record is what a submission leaves in run data.
func (p CompletedPayload) record(by string, at time.Time) *Record {
	r := &Record{
		Output: p.Output, Evidence: p.Evidence, Summary: p.Summary, Next: p.Next, Reason: p.Reason, By: by, At: at,
	}
	if r.Evidence == nil {
		r.Evidence = []FileEvidence{}
	}
	return r
}

func (p CompletedPayload) apply(f *fold, ev Event) error {
	var i int
	var err error
	switch {
	case p.Claim != 0:
		if i, err = f.liveClaim(p.Claim); err == nil && f.doc.Steps[i].ID != p.Step {
			err = fmt.Errorf("claim %d is not of step %q", p.Claim, p.Step)
		}
	case p.Item != "":
		i, err = f.openItem(p.Step, p.Item)
	default:
		i, err = f.at(p.Step, StepWaiting, process.Wait, process.WaitUntil, process.WaitFor)
	}
	if err != nil {
		return err
	}
	var r *Record
	switch f.doc.Steps[i].Kind {
	case process.Agent, process.Task:
		if !isObject(p.Output) {
			return errors.New("its output is missing")
		}
		r = p.record(ev.By, ev.At)
	case process.Approve:
		r = &Record{Decision: p.Decision, Note: p.Note, By: ev.By, At: ev.At}
	default:
		r = &Record{By: ev.By, At: ev.At}
	}
	r.Seq = f.seq()
	if p.Item != "" {
		f.decided(f.st.Steps[i].Item, p.Decision, p.Note, ev)
	}
	f.record(f.settle(i, StepDone), r)
	return nil
}

func (p RejectedPayload) apply(f *fold, ev Event) error {
	i, err := f.openItem(p.Step, p.Item)
	if err != nil {
		return err
	}
	f.decided(f.st.Steps[i].Item, Rejected, p.Note, ev)
	state := NotReached
	if p.Ends {
		state = StepDone
	}
	f.record(f.settle(i, state), &Record{Decision: Rejected, Note: p.Note, By: ev.By, At: ev.At, Seq: f.seq()})
	return nil
}

func (p RewoundPayload) apply(f *fold, _ Event) error {
	for _, id := range p.Steps {
		i, err := f.index(id)
		if err != nil {
			return err
		}
		s := f.settle(i, NotReached)
		s.archive()
		s.Joined = 0
	}
	f.dataChanged()
	return nil
}

func (p EscalatedPayload) apply(f *fold, ev Event) error {
	i, err := f.liveClaim(p.Claim)
	if err != nil {
		return err
	}
	f.claim(p.Claim).Live = false
	s := f.step(i)
	s.State, s.Claim = StepWaiting, 0
	s.Handoff.Progress = ""
	return f.open(i, f.doc.Steps[i].ID, p.Item, &Note{Note: p.Note, By: ev.By, At: ev.At}, ev)
}

func (p ReturnedPayload) apply(f *fold, ev Event) error {
	i, err := f.openItem(p.Step, p.Item)
	if err != nil {
		return err
	}
	if f.doc.Steps[i].Kind != process.Agent {
		return fmt.Errorf("step %s is of the kind %s", p.Step, f.doc.Steps[i].Kind)
	}
	f.decided(f.st.Steps[i].Item, Returned, p.Note, ev)
	s := f.step(i)
	s.State, s.Item = StepReady, -1
	s.Handoff.Returned = &Note{Note: p.Note, By: ev.By, At: ev.At}
	return nil
}

func (p FailedPayload) apply(f *fold, ev Event) error {
	i, err := f.at(p.Step, NotReached)
	if p.Item != "" {
		if i, err = f.openItem(p.Step, p.Item); err == nil {
			f.decided(f.st.Steps[i].Item, Failed, p.Note, ev)
		}
	}
	if err != nil {
		return err
	}
	f.record(f.settle(i, StepFailed), &Record{Decision: Failed, Note: p.Note, By: ev.By, At: ev.At, Seq: f.seq()})
	return nil
}

func (p OverduePayload) apply(f *fold, _ Event) error {
	i, err := f.index(p.Step)
	if err != nil {
		return err
	}
	if f.st.Steps[i].Due == nil || f.st.Steps[i].Overdue {
		return fmt.Errorf("step %s can't become overdue", p.Step)
	}
	f.step(i).Overdue = true
	return nil
}

func (p WaitPayload) apply(f *fold, ev Event) error {
	i, err := f.at(p.Step, NotReached, process.Wait, process.WaitUntil, process.WaitFor)
	if err != nil {
		return err
	}
	s := f.step(i)
	s.State, s.ReadyAt, s.WakeAt = StepWaiting, ev.At, p.Wake
	return nil
}

func (p HeldPayload) apply(f *fold, ev Event) error {
	if len(p.Data) > 0 && !isObject(p.Data) {
		return errors.New("its data is not an object")
	}
	f.hold(HeldEvent{Name: p.Name, Data: p.Data, By: ev.By, At: ev.At})
	return nil
}

func (p ConsumedPayload) apply(f *fold, ev Event) error {
	i, err := f.at(p.Step, StepWaiting, process.WaitFor)
	if err != nil {
		return err
	}
	data := p.Data
	if p.Held != 0 {
		if p.Held < 1 || p.Held > len(f.st.Held) {
			return fmt.Errorf("no event %d is held", p.Held)
		}
		data = f.unhold(p.Held - 1).Data
	}
	if data = orEmpty(data); !isObject(data) {
		return errors.New("its data is not an object")
	}
	f.record(f.settle(i, StepDone), &Record{Output: data, By: ev.By, At: ev.At, Seq: f.seq()})
	return nil
}

func (p ForkPayload) apply(f *fold, ev Event) error {
	i, err := f.at(p.Step, NotReached, process.Parallel)
	if err != nil {
		return err
	}
	s := f.step(i)
	s.State, s.ReadyAt = StepWaiting, ev.At
	return nil
}

func (p JoinPayload) apply(f *fold, _ Event) error {
	i, err := f.at(p.Step, StepWaiting, process.Parallel)
	if err != nil {
		return err
	}
	f.settle(i, StepDone).Joined = f.seq()
	return nil
}

func (p EndedPayload) apply(f *fold, ev Event) error {
	i, err := f.index(p.Step)
	if err != nil {
		return err
	}
	if p.Outcome == "" {
		return errors.New("its outcome is missing")
	}
	var note *string
	if f.doc.Steps[i].Kind == process.Finish {
		f.settle(i, StepDone)
	} else if r := f.st.Steps[i].Current; r != nil {
		note = &r.Note
	}
	f.st.Outcome = p.Outcome
	f.end(RunEnded, note, ev)
	return nil
}

func (p CancelledPayload) apply(f *fold, ev Event) error {
	f.end(RunCancelled, &p.Reason, ev)
	return nil
}

// end ends the run: unfinished steps are cancelled, open work items and held events are gone, tokens are dead
// (protocol.md 6).
func (f *fold) end(state RunState, note *string, ev Event) {
	for i := range f.st.Steps {
		if f.st.Steps[i].underWay() {
			f.settle(i, StepCancelled)
		}
	}
	f.st.Held = nil
	f.st.State = state
	f.st.Ended = &Ended{By: ev.By, At: ev.At, Note: note}
}
