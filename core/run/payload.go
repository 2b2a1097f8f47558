package run

import (
	"encoding/json"
	"fmt"
	"time"
)

// The types of events. The names are stored: they never change.
const (
	EventRunStarted        = "RunStarted"
	EventStepReadied       = "StepReadied"
	EventStepClaimed       = "StepClaimed"
	EventLeaseRenewed      = "LeaseRenewed"
	EventLeaseEnded        = "LeaseEnded"
	EventSubmissionRefused = "SubmissionRefused"
	EventStepCompleted     = "StepCompleted"
	EventStepRejected      = "StepRejected"
	EventStepRewound       = "StepRewound"
	EventStepEscalated     = "StepEscalated"
	EventStepReturned      = "StepReturned"
	EventStepFailed        = "StepFailed"
	EventStepOverdue       = "StepOverdue"
	EventWaitStarted       = "WaitStarted"
	EventEventHeld         = "EventHeld"
	EventEventConsumed     = "EventConsumed"
	EventForkStarted       = "ForkStarted"
	EventForkJoined        = "ForkJoined"
	EventRunEnded          = "RunEnded"
	EventRunCancelled      = "RunCancelled"
)

// Payload is what an event says beyond its type, time and author: one of the …Payload types. Each is version 1.
type Payload interface {
	// eventType is the type of the event that carries it.
	eventType() string
	encode(e *encoder)
	// apply folds the fact into f's state, or says why it can't follow.
	apply(f *fold, ev Event) error
}

// StartedPayload begins a run; the event's By is the starter.
type StartedPayload struct {
	ID      string          `json:"id"`
	Process string          `json:"process"`
	Version int             `json:"version"`
	Mode    Mode            `json:"mode"`
	Human   bool            `json:"human"`
	Inputs  json.RawMessage `json:"inputs"`
}

// OpenedItem is the work item an event opens.
type OpenedItem struct {
	ID     string `json:"id"`
	Group  string `json:"group"`
	Person string `json:"person"`
}

// ReadiedPayload makes an agent, task or approve step ready; Item is set for the latter two.
type ReadiedPayload struct {
	Step string      `json:"step"`
	Due  *time.Time  `json:"due"`
	Item *OpenedItem `json:"item"`
}

// ClaimedPayload gives a step to the event's By.
type ClaimedPayload struct {
	Step    string    `json:"step"`
	Claim   int       `json:"claim"`
	Expires time.Time `json:"expires"`
}

// RenewedPayload starts the next lease of a claim.
type RenewedPayload struct {
	Claim    int       `json:"claim"`
	Lease    int       `json:"lease"`
	Expires  time.Time `json:"expires"`
	Progress string    `json:"progress"`
}

// LeaseEndedPayload ends a claim whose lease ran out.
type LeaseEndedPayload struct {
	Claim int `json:"claim"`
}

// RefusedPayload keeps the issues of a submission that was not accepted.
type RefusedPayload struct {
	Step   string   `json:"step"`
	Issues []string `json:"issues"`
}

// CompletedPayload completes a step: by a claim, by a decision on an item, or, with neither, by the passing of time.
type CompletedPayload struct {
	Step     string          `json:"step"`
	Claim    int             `json:"claim"`
	Item     string          `json:"item"`
	Decision string          `json:"decision"`
	Note     string          `json:"note"`
	Output   json.RawMessage `json:"output"`
	Evidence []FileEvidence  `json:"evidence"`
	Summary  string          `json:"summary"`
	Next     string          `json:"next"`
	Reason   string          `json:"reason"`
	// TimedOut marks a wait_for that no event reached in time.
	TimedOut bool `json:"timedOut"`
}

// RejectedPayload is an approval's rejection. Ends says that it ends the run, as RunEnded goes on to record.
type RejectedPayload struct {
	Step string `json:"step"`
	Item string `json:"item"`
	Note string `json:"note"`
	Ends bool   `json:"ends"`
}

// RewoundPayload moves the current records of steps to their history, because Step, an approval, was rejected into To.
type RewoundPayload struct {
	Step  string   `json:"step"`
	To    string   `json:"to"`
	Steps []string `json:"steps"`
}

// EscalatedPayload ends a claim and opens a work item for the operators.
type EscalatedPayload struct {
	Claim int         `json:"claim"`
	Note  string      `json:"note"`
	Item  *OpenedItem `json:"item"`
}

// ReturnedPayload makes an escalated step ready again.
type ReturnedPayload struct {
	Step string `json:"step"`
	Item string `json:"item"`
	Note string `json:"note"`
}

// FailedPayload fails a step; Item is empty where the server failed it.
type FailedPayload struct {
	Step string `json:"step"`
	Item string `json:"item"`
	Note string `json:"note"`
}

// OverduePayload records that a step's due time has passed.
type OverduePayload struct {
	Step string `json:"step"`
}

// WaitPayload makes a wait, wait_until or wait_for step wait, until Wake if that is set.
type WaitPayload struct {
	Step string     `json:"step"`
	Wake *time.Time `json:"wake"`
}

// HeldPayload keeps an event that nothing waits for.
type HeldPayload struct {
	Name string          `json:"name"`
	Data json.RawMessage `json:"data"`
}

// ConsumedPayload completes a wait_for step: with the event delivered just now (Data), or with a held one (Held, its
// number in State.Held from 1). The event's By is the sender.
type ConsumedPayload struct {
	Step string          `json:"step"`
	Held int             `json:"held"`
	Data json.RawMessage `json:"data"`
}

// ForkPayload starts the branches of a parallel step.
type ForkPayload struct {
	Step string `json:"step"`
}

// JoinPayload records that every branch of a parallel step has joined.
type JoinPayload struct {
	Step string `json:"step"`
}

// EndedPayload ends a run. Step is the finish that was reached, or the step whose failure or rejection ended the run;
// its note is the run's.
type EndedPayload struct {
	Step    string `json:"step"`
	Outcome string `json:"outcome"`
}

// CancelledPayload ends a run by an operator's decision.
type CancelledPayload struct {
	Reason string `json:"reason"`
}

func (StartedPayload) eventType() string    { return EventRunStarted }
func (ReadiedPayload) eventType() string    { return EventStepReadied }
func (ClaimedPayload) eventType() string    { return EventStepClaimed }
func (RenewedPayload) eventType() string    { return EventLeaseRenewed }
func (LeaseEndedPayload) eventType() string { return EventLeaseEnded }
func (RefusedPayload) eventType() string    { return EventSubmissionRefused }
func (CompletedPayload) eventType() string  { return EventStepCompleted }
func (RejectedPayload) eventType() string   { return EventStepRejected }
func (RewoundPayload) eventType() string    { return EventStepRewound }
func (EscalatedPayload) eventType() string  { return EventStepEscalated }
func (ReturnedPayload) eventType() string   { return EventStepReturned }
func (FailedPayload) eventType() string     { return EventStepFailed }
func (OverduePayload) eventType() string    { return EventStepOverdue }
func (WaitPayload) eventType() string       { return EventWaitStarted }
func (HeldPayload) eventType() string       { return EventEventHeld }
func (ConsumedPayload) eventType() string   { return EventEventConsumed }
func (ForkPayload) eventType() string       { return EventForkStarted }
func (JoinPayload) eventType() string       { return EventForkJoined }
func (EndedPayload) eventType() string      { return EventRunEnded }
func (CancelledPayload) eventType() string  { return EventRunCancelled }

// Payload decodes what the event says.
func (ev Event) Payload() (Payload, error) {
	if ev.V != 1 {
		return nil, fmt.Errorf("event %s has version %d, and this server knows version 1: it was written by a newer one", ev.Type, ev.V)
	}
	switch ev.Type {
	case EventRunStarted:
		return decode[StartedPayload](ev)
	case EventStepReadied:
		return decode[ReadiedPayload](ev)
	case EventStepClaimed:
		return decode[ClaimedPayload](ev)
	case EventLeaseRenewed:
		return decode[RenewedPayload](ev)
	case EventLeaseEnded:
		return decode[LeaseEndedPayload](ev)
	case EventSubmissionRefused:
		return decode[RefusedPayload](ev)
	case EventStepCompleted:
		return decode[CompletedPayload](ev)
	case EventStepRejected:
		return decode[RejectedPayload](ev)
	case EventStepRewound:
		return decode[RewoundPayload](ev)
	case EventStepEscalated:
		return decode[EscalatedPayload](ev)
	case EventStepReturned:
		return decode[ReturnedPayload](ev)
	case EventStepFailed:
		return decode[FailedPayload](ev)
	case EventStepOverdue:
		return decode[OverduePayload](ev)
	case EventWaitStarted:
		return decode[WaitPayload](ev)
	case EventEventHeld:
		return decode[HeldPayload](ev)
	case EventEventConsumed:
		return decode[ConsumedPayload](ev)
	case EventForkStarted:
		return decode[ForkPayload](ev)
	case EventForkJoined:
		return decode[JoinPayload](ev)
	case EventRunEnded:
		return decode[EndedPayload](ev)
	case EventRunCancelled:
		return decode[CancelledPayload](ev)
	}
	return nil, fmt.Errorf("event type %q is unknown: it was written by a newer server", ev.Type)
}

func decode[P Payload](ev Event) (Payload, error) {
	var p P
	if err := json.Unmarshal(ev.Data, &p); err != nil {
		return nil, fmt.Errorf("reading the payload of %s: %w", ev.Type, err)
	}
	return p, nil
}

func newEvent(at time.Time, by string, p Payload, size int) Event {
	e := encoder{b: make([]byte, 0, size)}
	e.open()
	p.encode(&e)
	e.close()
	return Event{Type: p.eventType(), V: 1, At: at, By: by, Data: e.b}
}

func (p StartedPayload) encode(e *encoder) {
	e.str("id", p.ID)
	e.str("process", p.Process)
	e.int("version", p.Version)
	e.str("mode", string(p.Mode))
	e.bool("human", p.Human)
	e.raw("inputs", p.Inputs)
}

func (p *OpenedItem) encode(e *encoder) {
	if p == nil {
		return
	}
	e.key("item")
	e.open()
	e.str("id", p.ID)
	e.str("group", p.Group)
	e.str("person", p.Person)
	e.close()
}

func (p ReadiedPayload) encode(e *encoder) {
	e.str("step", p.Step)
	e.time("due", p.Due)
	p.Item.encode(e)
}

func (p ClaimedPayload) encode(e *encoder) {
	e.str("step", p.Step)
	e.int("claim", p.Claim)
	e.time("expires", &p.Expires)
}

func (p RenewedPayload) encode(e *encoder) {
	e.int("claim", p.Claim)
	e.int("lease", p.Lease)
	e.time("expires", &p.Expires)
	e.str("progress", p.Progress)
}

func (p LeaseEndedPayload) encode(e *encoder) { e.int("claim", p.Claim) }

func (p RefusedPayload) encode(e *encoder) {
	e.str("step", p.Step)
	e.strings("issues", p.Issues)
}

func (p CompletedPayload) encode(e *encoder) {
	e.str("step", p.Step)
	e.int("claim", p.Claim)
	e.str("item", p.Item)
	e.str("decision", p.Decision)
	e.str("note", p.Note)
	e.raw("output", p.Output)
	e.evidence("evidence", p.Evidence, nil)
	e.str("summary", p.Summary)
	e.str("next", p.Next)
	e.str("reason", p.Reason)
	e.bool("timedOut", p.TimedOut)
}

func (p RejectedPayload) encode(e *encoder) {
	e.str("step", p.Step)
	e.str("item", p.Item)
	e.str("note", p.Note)
	e.bool("ends", p.Ends)
}

func (p RewoundPayload) encode(e *encoder) {
	e.str("step", p.Step)
	e.str("to", p.To)
	e.strings("steps", p.Steps)
}

func (p EscalatedPayload) encode(e *encoder) {
	e.int("claim", p.Claim)
	e.str("note", p.Note)
	p.Item.encode(e)
}

func (p ReturnedPayload) encode(e *encoder) {
	e.str("step", p.Step)
	e.str("item", p.Item)
	e.str("note", p.Note)
}

func (p FailedPayload) encode(e *encoder) {
	e.str("step", p.Step)
	e.str("item", p.Item)
	e.str("note", p.Note)
}

func (p OverduePayload) encode(e *encoder) { e.str("step", p.Step) }

func (p WaitPayload) encode(e *encoder) {
	e.str("step", p.Step)
	e.time("wake", p.Wake)
}

func (p HeldPayload) encode(e *encoder) {
	e.str("name", p.Name)
	e.raw("data", p.Data)
}

func (p ConsumedPayload) encode(e *encoder) {
	e.str("step", p.Step)
	e.int("held", p.Held)
	e.raw("data", p.Data)
}

func (p ForkPayload) encode(e *encoder) { e.str("step", p.Step) }

func (p JoinPayload) encode(e *encoder) { e.str("step", p.Step) }

func (p EndedPayload) encode(e *encoder) {
	e.str("step", p.Step)
	e.str("outcome", p.Outcome)
}

func (p CancelledPayload) encode(e *encoder) { e.str("reason", p.Reason) }
