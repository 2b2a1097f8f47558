package run

import (
	"encoding/json"
	"time"

	"github.com/apserver/ap/core/process"
)

// ViewOptions says what a view needs beyond the state.
type ViewOptions struct {
	// Now decides what is overdue and is the time signed URLs count from.
	Now time.Time
	// FileURL signs the URL of an uploaded file.
	FileURL func(ref string, now time.Time) string
}

// View is the run view of the protocol, ready to marshal. Field order is the protocol's.
type View struct {
	Run       RunInfo         `json:"run"`
	Data      json.RawMessage `json:"data"`
	Steps     []StepView      `json:"steps"`
	WorkItems []ItemView      `json:"workItems"`
	Body      string          `json:"body"`
}

// RunInfo is the `run` of a run view.
type RunInfo struct {
	ID        string     `json:"id"`
	Process   string     `json:"process"`
	Version   int        `json:"version"`
	Mode      Mode       `json:"mode"`
	State     RunState   `json:"state"`
	Outcome   *string    `json:"outcome"`
	Ended     *EndedView `json:"ended"`
	StartedBy string     `json:"startedBy"`
	StartedAt Time       `json:"startedAt"`
	UpdatedAt Time       `json:"updatedAt"`
}

// EndedView is `run.ended`.
type EndedView struct {
	By   string  `json:"by"`
	At   Time    `json:"at"`
	Note *string `json:"note"`
}

// StepView is one of a run view's `steps`; a nil State is null.
type StepView struct {
	ID      string       `json:"id"`
	Kind    process.Kind `json:"kind"`
	State   *StepState   `json:"state"`
	Due     *Time        `json:"due,omitempty"`
	Overdue *bool        `json:"overdue,omitempty"`
}

// ItemView is a work item as every read returns it.
type ItemView struct {
	ID         string          `json:"id"`
	StepID     string          `json:"stepId"`
	Kind       process.Kind    `json:"kind"`
	Text       string          `json:"text"`
	Output     process.Fields  `json:"output"`
	Evidence   []string        `json:"evidence"`
	Next       []process.Route `json:"next"`
	AssignedTo Assignment      `json:"assignedTo"`
	Snapshot   string          `json:"snapshot"`
	Due        *Time           `json:"due"`
	Escalation *NoteView       `json:"escalation"`
	Handoff    *HandoffView    `json:"handoff"`
	Mode       Mode            `json:"mode,omitempty"` // "test" or absent
	Decide     DecideCall      `json:"decide"`
}

// Assignment is who a work item waits for: exactly one field is set.
type Assignment struct {
	Group  string `json:"group,omitempty"`
	Person string `json:"person,omitempty"`
}

// NoteView is a note with author and time.
type NoteView struct {
	Note string `json:"note"`
	By   string `json:"by"`
	At   Time   `json:"at"`
}

// HandoffView is a handoff with something in it.
type HandoffView struct {
	Progress string    `json:"progress,omitempty"`
	Returned *NoteView `json:"returned,omitempty"`
	Issues   []string  `json:"issues,omitempty"`
}

// DecideCall is the exact call that decides an item.
type DecideCall struct {
	Tool      string          `json:"tool"`
	Arguments DecideArguments `json:"arguments"`
	Decisions []string        `json:"decisions"`
}

// DecideArguments are the arguments of a DecideCall; RequestID is the placeholder the caller replaces.
type DecideArguments struct {
	RunID      string `json:"runId"`
	WorkItemID string `json:"workItemId"`
	Snapshot   string `json:"snapshot"`
	RequestID  string `json:"requestId"`
}

// NewUUID is the placeholder for a requestId in a call that a client is to complete.
const NewUUID = "<new UUID>"

// StepSpec is a claim's `step`.
type StepSpec struct {
	ID           string          `json:"id"`
	Instructions string          `json:"instructions"`
	Output       process.Fields  `json:"output"`
	Evidence     []string        `json:"evidence"`
	Next         []process.Route `json:"next"`
}

// ReadyStep is an agent step that can be claimed now.
type ReadyStep struct {
	StepID  string
	Since   time.Time
	Due     *time.Time
	Overdue bool
	Handoff *HandoffView
}

// Time marshals as RFC 3339 in UTC with milliseconds.
type Time time.Time

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.String() + `"`), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(b []byte) error {
	var x time.Time
	if err := x.UnmarshalJSON(b); err != nil {
		return err
	}
	*t = Time(x.UTC())
	return nil
}

func (t Time) String() string {
	return time.Time(t).UTC().Format("2006-01-02T15:04:05.000Z")
}

// NewView renders the run view. The state has to be advanced to opts.Now.
func NewView(doc *process.Document, st *State, opts ViewOptions) *View {
	panic("not yet")
}

// DataView is the run data as a read returns it: with the signed url of each file.
func DataView(doc *process.Document, st *State, opts ViewOptions) json.RawMessage {
	panic("not yet")
}

// NewItemView renders one work item.
func NewItemView(doc *process.Document, st *State, item Item, opts ViewOptions) ItemView {
	panic("not yet")
}

// Ready lists the agent steps that can be claimed, oldest first.
func Ready(doc *process.Document, st *State, now time.Time) []ReadyStep {
	panic("not yet")
}

// Spec is what a claim tells an agent about its step; handoff goes beside it.
func Spec(doc *process.Document, stepID string) StepSpec {
	panic("not yet")
}

// HandoffOf renders the handoff of a step, or nil.
func HandoffOf(st *State, step int) *HandoffView {
	panic("not yet")
}
