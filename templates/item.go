package templates

import (
	"slices"
	"time"

	"github.com/apserver/ap/core/process"
)

// Item is the page of one work item, open or not.
type Item struct {
	ID, RunID, Process string
	Version            int
	Step               string
	Kind               process.Kind
	Test               bool
	// Question is the text of the step; Subject says which case it is about.
	Question, Subject string
	// Description is the process's.
	Description   string
	Group, Person string
	Me            bool
	Due           *time.Time
	Overdue       bool
	OpenedAt      time.Time
	StartedBy     string
	StartedAt     time.Time
	// Escalation is the agent's note that handed the step over; nil for a person's own step.
	Escalation *Note
	// Handoff is what earlier attempts at this step left.
	Handoff Handoff
	// Inputs are what the run started with.
	Inputs []Member
	// Said is what the steps just before this one recorded, Earlier what came before them, newest first.
	Said, Earlier []Record
	// Rounds are the earlier rounds of this and other steps, newest first.
	Rounds []Record
	// LastRejection is this step's own latest rejection, which the work was done again for; nil in a first round.
	LastRejection *Record
	// Map is the process map as SVG, Body the process's body as sanitised HTML; empty for none.
	Map, Body string
	// Form is the decision form; nil when this person can't decide the item.
	Form *DecideForm
	// State says why there is no form, where there is none.
	State ItemState
	// Decided is how it was decided; nil while it is open or was removed undecided.
	Decided *Decided
	// Run is how the run stands.
	Run RunBrief
	// Next is another item that waits for this person; nil for none.
	Next *InboxRow
	// Late is what the person had sent when something else happened first; nil otherwise.
	Late *LateAnswer
	// Changes is what changed since the page that was answered was opened; nil unless the answer came too late.
	Changes *Changes
}

// ItemState is how a work item stands for a person.
type ItemState string

const (
	ItemOpen     ItemState = "open"
	ItemNotMine  ItemState = "not-mine"
	ItemDecided  ItemState = "decided"
	ItemRemoved  ItemState = "removed"
	ItemRunEnded ItemState = "ended"
)

// Note is a note with its author and time.
type Note struct {
	Text, By string
	At       time.Time
}

// marked says whether a field of the records is shown as changed or new.
func marked(records []Record) bool {
	return slices.ContainsFunc(records, func(r Record) bool {
		return slices.ContainsFunc(r.Fields, func(m Member) bool { return m.Changed || m.New })
	})
}

// Handoff is what an earlier attempt left.
type Handoff struct {
	Progress string
	Returned *Note
	// Issues are why the last submission wasn't accepted.
	Issues []Issue
}

// Empty says that there is nothing to show.
func (h Handoff) Empty() bool {
	return h.Progress == "" && h.Returned == nil && len(h.Issues) == 0
}

// Record is one completion of a step, as it is told to people.
type Record struct {
	Step string
	Kind process.Kind
	By   string
	At   time.Time
	// Summary, Reason and Note are what was written; Decision is a decision's word.
	Summary, Reason, Note, Decision string
	// Next is the route chosen and When the condition it was offered with.
	Next, When string
	Fields     []Member
	Evidence   []EvidenceItem
	// Ended says that this rejection ended the run.
	Ended bool
}

// Blank says that the record holds nothing beyond who and when.
func (r Record) Blank() bool {
	return r.Summary == "" && r.Reason == "" && r.Note == "" && r.Decision == "" && r.Next == "" && len(r.Fields) == 0 && len(r.Evidence) == 0
}

// Decided is how an item was decided.
type Decided struct {
	Decision, By, Note string
	At                 time.Time
	// ByMe says that the reader decided it.
	ByMe bool
}

// RunBrief is how a run stands, in one sentence's worth.
type RunBrief struct {
	State, Outcome string
	// Waits says what the run waits for now.
	Waits []string
	Ended *Note
}

// Changes is what changed in a run's data between two moments.
type Changes struct {
	// Steps are the changes by step, oldest first; empty when it isn't known what the page had shown.
	Steps []StepChanges
	Known bool
}

// StepChanges are the changes in one step's record.
type StepChanges struct {
	// Step is empty for the inputs.
	Step   string
	By     string
	At     time.Time
	Fields []FieldChange
}

// FieldChange is one field before and after.
type FieldChange struct {
	Field         string
	Before, After Value
	Type          process.Type
}

// LateAnswer is a decision that came after the item was closed.
type LateAnswer struct {
	Title, Text string
	// Typed is what was written into it, so that it can be kept elsewhere.
	Typed []Member
}

// DecideForm is the form of a decision.
type DecideForm struct {
	Form
	Item     string
	Kind     process.Kind
	Snapshot string
	// Escalated says that the item is an agent's step that was handed over.
	Escalated bool
	// Decisions are those the item accepts.
	Decisions []string
	Fields    process.Fields
	// Evidence are the required kinds.
	Evidence []string
	Routes   []process.Route
	// RejectTo is the step a rejection leads back to; empty when it ends the run. NextStep is what follows, FinishesAs
	// the outcome where a finish follows.
	RejectTo, NextStep, FinishesAs string
	// Joins says that what follows waits for the other branches.
	Joins bool
	// Files were uploaded already, with an earlier answer.
	Files []KeptFile
	// MaxUpload is the largest file, in bytes.
	MaxUpload int64
	// Refusal is the heading and sentence over the issues of a refused decision; empty when nothing was refused.
	Refusal, RefusalText string
	// Restored says that the form holds what was typed before signing in again.
	Restored bool
	// Person is who the form was made for.
	Person string
}

// KeptFile is a file that was uploaded and waits for the form to be sent.
type KeptFile struct {
	ID, Name string
	Size     int64
}

// Accepts says that the item accepts a decision.
func (f DecideForm) Accepts(decision string) bool {
	for _, d := range f.Decisions {
		if d == decision {
			return true
		}
	}
	return false
}

// Needs says that a kind of evidence is required.
func (f DecideForm) Needs(kind string) bool {
	for _, k := range f.Evidence {
		if k == kind {
			return true
		}
	}
	return false
}

// kindWords is what a work item is, in a word.
func (i Item) kindWords() string {
	switch {
	case i.Escalation != nil:
		return "An agent needs help"
	case i.Kind == process.Approve:
		return "Approval"
	default:
		return "Task"
	}
}

// decisionPast is a decision as something that happened.
func decisionPast(decision string) string {
	switch decision {
	case "approved":
		return "Approved"
	case "rejected":
		return "Rejected"
	case "completed":
		return "Completed"
	case "returned":
		return "Returned to the agent"
	case "failed":
		return "Failed the run"
	default:
		return Words(decision)
	}
}

func decisionTone(decision string) string {
	switch decision {
	case "approved", "completed":
		return "good"
	case "rejected", "failed":
		return "bad"
	default:
		return "wait"
	}
}

// changedField names a part of a record: the field of an output, or the part itself.
func changedField(field string) string {
	if name, ok := cutAny(field, "output.", "inputs."); ok {
		return Words(name)
	}
	switch field {
	case "":
		return "The whole step"
	case "next":
		return "Next step"
	default:
		return Words(field)
	}
}

func cutAny(s string, prefixes ...string) (string, bool) {
	for _, p := range prefixes {
		if len(s) > len(p) && s[:len(p)] == p {
			return s[len(p):], true
		}
	}
	return s, false
}
