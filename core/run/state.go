package run

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Mode is "live" or "test".
type Mode string

const (
	Live Mode = "live"
	Test Mode = "test"
)

// RunState and StepState are the states of protocol.md 2. NotReached is the step state null.
type (
	RunState  string
	StepState string
)

const (
	RunActive    RunState = "active"
	RunWaiting   RunState = "waiting"
	RunEnded     RunState = "ended"
	RunCancelled RunState = "cancelled"

	NotReached    StepState = ""
	StepReady     StepState = "ready"
	StepClaimed   StepState = "claimed"
	StepWaiting   StepState = "waiting"
	StepDone      StepState = "done"
	StepFailed    StepState = "failed"
	StepCancelled StepState = "cancelled"
)

// State is a run folded up to one entry. It is immutable once returned: share it freely, never change it.
type State struct {
	ID        string
	Process   string
	Version   int
	Mode      Mode
	StartedBy string
	// Initiator is the person who started the run; empty for an agent's run.
	Initiator string
	StartedAt time.Time
	UpdatedAt time.Time
	State     RunState
	// Outcome is set once State is RunEnded.
	Outcome string
	Ended   *Ended
	// Seq is the number of events folded.
	Seq int
	// Inputs is the start's inputs, digits as sent.
	Inputs json.RawMessage
	// Steps stand in the document's order.
	Steps []Step
	// Items are all work items ever opened, oldest first.
	Items []Item
	// Claims are all claims ever made; claim n is Claims[n-1].
	Claims []ClaimRecord
	// Held are the events not yet consumed, oldest first.
	Held []HeldEvent
	// data is shared by all states with the same run data.
	data *dataCache
}

// Ended is how a run ended.
type Ended struct {
	By   string
	At   time.Time
	Note *string
}

// Step is the state of one step in a run.
type Step struct {
	State StepState
	// ReadyAt is when the current attempt became ready (a lease's end or an operator's return doesn't change it).
	ReadyAt time.Time
	// Due is ReadyAt plus the step's due, or nil. Overdue says that StepOverdue was recorded for this attempt.
	Due     *time.Time
	Overdue bool
	// Claim is the number of the live claim, or 0; Item the index into State.Items of the open item, or -1.
	Claim int
	Item  int
	// WakeAt is when a wait, a wait_until or a wait_for's timeout ends, or nil.
	WakeAt *time.Time
	// Current is the record of the current completion (for a rejecting approval: the rejection), or nil.
	Current *Record
	History []*Record
	Handoff Handoff
	// Joined is the number of the event with which a parallel step's branches joined, or 0.
	Joined int
}

// underWay says that the step was reached and is not finished.
func (s *Step) underWay() bool {
	return s.State == StepReady || s.State == StepClaimed || s.State == StepWaiting
}

// Record is one completion of a step as run data shows it (protocol.md 2). Output and Evidence are nil where that
// kind of step records none.
type Record struct {
	Output   json.RawMessage
	Evidence []FileEvidence
	Summary  string
	Next     string
	Reason   string
	Decision string
	Note     string
	By       string
	At       time.Time
	// Seq is the number of the event that completed it: the order for rework.
	Seq int
}

// FileEvidence is an evidence item with the hash verified at submission (empty for a link).
type FileEvidence struct {
	Evidence
	SHA256 string `json:"sha256,omitempty"`
}

// Handoff is what the previous attempt left (protocol.md 3). The zero value is null.
type Handoff struct {
	Progress string
	Returned *Note
	Issues   []string
}

// Note is a note with its author and time.
type Note struct {
	Note string
	By   string
	At   time.Time
}

// Item is a work item: for a person step, or for an escalated agent step.
type Item struct {
	ID     string
	StepID string
	// Exactly one of Group and Person is set.
	Group  string
	Person string
	// OpenedAt is when the item was opened: the order of the inbox.
	OpenedAt time.Time
	// Escalation is set on an escalated agent step's item.
	Escalation *Note
	// Decided is how it was decided; nil while it is open or when it was removed with the run's end.
	Decided *Decided
	// Removed says that the run ended or the step was rewound with the item undecided.
	Removed bool
}

// Open says whether the item can be decided.
func (i Item) Open() bool { return i.Decided == nil && !i.Removed }

// Decided is how a work item was decided.
type Decided struct {
	Decision string
	By       string
	At       time.Time
	Note     string
}

// ClaimRecord is a claim: who has or had it, and its latest lease.
type ClaimRecord struct {
	StepID    string
	By        string
	Lease     int
	ExpiresAt time.Time
	// Progress is the latest note of a renewal.
	Progress string
	// Live says that the claim still holds the step.
	Live bool
}

// HeldEvent is an event that no wait has consumed yet.
type HeldEvent struct {
	Name string
	Data json.RawMessage
	By   string
	At   time.Time
}

// OpenItems are the work items that can be decided, oldest first.
func (st *State) OpenItems() []Item {
	var open []int
	for i := range st.Steps {
		if n := st.Steps[i].Item; n >= 0 && st.Items[n].Open() {
			open = append(open, n)
		}
	}
	slices.Sort(open)
	items := make([]Item, len(open))
	for i, n := range open {
		items[i] = st.Items[n]
	}
	return items
}

// FindItem returns the work item with that id, open or not.
func (st *State) FindItem(id string) (Item, bool) {
	for _, item := range st.Items {
		if item.ID == id {
			return item, true
		}
	}
	return Item{}, false
}

// Over says that the run ended or was cancelled.
func (st *State) Over() bool { return st.State == RunEnded || st.State == RunCancelled }

// itemID is the id of a run's nth work item, from 1.
func itemID(runID string, n int) string { return runID + itemMark + strconv.Itoa(n) }

const itemMark = "_w"

// ItemRun returns the id of the run that a work item's id belongs to; ok is false when the id has not that form.
// Item ids are derived from the run's id, so no lookup is needed.
func ItemRun(itemID string) (runID string, ok bool) {
	i := strings.LastIndex(itemID, itemMark)
	if i <= 0 {
		return "", false
	}
	digits := itemID[i+len(itemMark):]
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || strconv.Itoa(n) != digits {
		return "", false
	}
	return itemID[:i], true
}
