package run

import (
	"encoding/json"
	"slices"
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

// timeLayout is how times are written, in views, in run data and in the journal.
const timeLayout = "2006-01-02T15:04:05.000Z"

func (t Time) String() string {
	return time.Time(t).UTC().Format(timeLayout)
}

// NewView renders the run view. The state has to be advanced to opts.Now.
func NewView(doc *process.Document, st *State, opts ViewOptions) *View {
	v := &View{
		Run: RunInfo{
			ID: st.ID, Process: st.Process, Version: st.Version, Mode: st.Mode, State: st.State,
			StartedBy: st.StartedBy, StartedAt: Time(st.StartedAt), UpdatedAt: Time(st.UpdatedAt),
		},
		Data:      DataView(doc, st, opts),
		Steps:     make([]StepView, len(st.Steps)),
		WorkItems: []ItemView{},
		Body:      doc.Body,
	}
	if st.State == RunEnded {
		v.Run.Outcome = &st.Outcome
	}
	if e := st.Ended; e != nil {
		v.Run.Ended = &EndedView{By: e.By, At: Time(e.At), Note: e.Note}
	}
	for i := range st.Steps {
		v.Steps[i] = stepView(&doc.Steps[i], &st.Steps[i], opts.Now)
	}
	for _, item := range st.OpenItems() {
		v.WorkItems = append(v.WorkItems, NewItemView(doc, st, item, opts))
	}
	return v
}

// stepView shows due and overdue while the step is reached and not finished.
func stepView(d *process.Step, s *Step, now time.Time) StepView {
	v := StepView{ID: d.ID, Kind: d.Kind}
	if s.State != NotReached {
		v.State = &s.State
	}
	if s.Due != nil {
		overdue := isOverdue(s, now)
		v.Due, v.Overdue = (*Time)(s.Due), &overdue
	}
	return v
}

func isOverdue(s *Step, now time.Time) bool {
	return s.Due != nil && (s.Overdue || !now.Before(*s.Due))
}

// DataView is the run data as a read returns it: with the signed url of each file. It may be shared: don't change it.
func DataView(doc *process.Document, st *State, opts ViewOptions) json.RawMessage {
	if opts.FileURL == nil || !st.hasFiles() {
		return st.Data(doc)
	}
	sign := func(ref string) string { return opts.FileURL(ref, opts.Now) }
	return appendData(make([]byte, 0, 2*len(st.Data(doc))), doc, st, sign)
}

func (st *State) hasFiles() bool {
	isFile := func(e FileEvidence) bool { return e.Kind == kindFile }
	for i := range st.Steps {
		s := &st.Steps[i]
		if s.Current != nil && slices.ContainsFunc(s.Current.Evidence, isFile) {
			return true
		}
		for _, r := range s.History {
			if slices.ContainsFunc(r.Evidence, isFile) {
				return true
			}
		}
	}
	return false
}

// NewItemView renders one work item.
func NewItemView(doc *process.Document, st *State, item Item, opts ViewOptions) ItemView {
	i := doc.Index(item.StepID)
	d, s := &doc.Steps[i], &st.Steps[i]
	v := ItemView{
		ID: item.ID, StepID: item.StepID, Kind: d.Kind, Text: d.Text,
		AssignedTo: Assignment{Group: item.Group, Person: item.Person},
		Snapshot:   st.Snapshot(doc),
		Due:        (*Time)(s.Due),
		Escalation: noteView(item.Escalation),
		Handoff:    HandoffOf(st, i),
	}
	if d.Kind != process.Approve {
		v.Output, v.Evidence, v.Next = declared(d)
	}
	if st.Mode == Test {
		v.Mode = Test
	}
	v.Decide = DecideCall{
		Tool:      "decide",
		Arguments: DecideArguments{RunID: st.ID, WorkItemID: item.ID, Snapshot: v.Snapshot, RequestID: NewUUID},
		Decisions: decisionsOn(d.Kind),
	}
	return v
}

// declared is what a step asks for: nil where it declares none.
func declared(d *process.Step) (output process.Fields, evidence []string, next []process.Route) {
	if len(d.Output) > 0 {
		output = d.Output
	}
	if len(d.Evidence) > 0 {
		evidence = d.Evidence
	}
	if len(d.Routes) > 0 {
		next = d.Routes
	}
	return output, evidence, next
}

func noteView(n *Note) *NoteView {
	if n == nil {
		return nil
	}
	return &NoteView{Note: n.Note, By: n.By, At: Time(n.At)}
}

// Ready lists the agent steps that can be claimed, oldest first.
func Ready(doc *process.Document, st *State, now time.Time) []ReadyStep {
	var ready []ReadyStep
	for i := range st.Steps {
		if s := &st.Steps[i]; s.State == StepReady {
			ready = append(ready, ReadyStep{
				StepID: doc.Steps[i].ID, Since: s.ReadyAt, Due: s.Due, Overdue: isOverdue(s, now), Handoff: HandoffOf(st, i),
			})
		}
	}
	slices.SortStableFunc(ready, func(a, b ReadyStep) int { return a.Since.Compare(b.Since) })
	return ready
}

// Spec is what a claim tells an agent about its step; handoff goes beside it.
func Spec(doc *process.Document, stepID string) StepSpec {
	d := doc.Step(stepID)
	spec := StepSpec{ID: d.ID, Instructions: d.Text}
	spec.Output, spec.Evidence, spec.Next = declared(d)
	return spec
}

// HandoffOf renders the handoff of a step, or nil.
func HandoffOf(st *State, step int) *HandoffView {
	h := &st.Steps[step].Handoff
	if h.Progress == "" && h.Returned == nil && len(h.Issues) == 0 {
		return nil
	}
	return &HandoffView{Progress: h.Progress, Returned: noteView(h.Returned), Issues: h.Issues}
}
