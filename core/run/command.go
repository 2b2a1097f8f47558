package run

import (
	"encoding/json"
	"time"
)

// Env is what a decision needs from outside the run.
type Env struct {
	// Now is the time of the command: UTC, whole milliseconds.
	Now time.Time
	// Groups maps each role of the process to its group, as bound now. A work item keeps the group it was opened for.
	Groups map[string]string
	// Operators is the operators' group, which escalations are assigned to.
	Operators string
	// Lease is how long a claim lasts.
	Lease time.Duration
	// RunDataBytes is the cap on run data (protocol.md 2).
	RunDataBytes int
	// Files says, for each `file` reference in a submission, what was found when its bytes were hashed again.
	Files map[string]File
}

// File is what the server found behind a `file` evidence reference.
type File struct {
	Found   bool
	Changed bool
	SHA256  string
}

// Command is one write to a run. The claim of Renew, Submit and Escalate is named by the numbers a verified token holds.
type Command interface{ isCommand() }

// Start begins a run. It is decided on the zero state.
type Start struct {
	RunID, Process string
	Version        int
	// Test marks a run in test mode.
	Test   bool
	Inputs json.RawMessage
	// By is the starter; Human says whether it is a person (who is then the initiator).
	By    string
	Human bool
}

// Claim gives an agent a ready step. That the process is open to this agent is the caller's check.
type Claim struct{ StepID, By string }

// ClaimRef names a claim and one lease of it: what a token proves. Claim counts the run's claims from 1, Lease the
// claim's leases (a renewal starts the next).
type ClaimRef struct{ Claim, Lease int }

// Renew extends a claim's lease. Progress is nil where none was given.
type Renew struct {
	Ref      ClaimRef
	By       string
	Progress *string
}

// Evidence is one attached item, as submitted.
type Evidence struct {
	Kind string `json:"kind"`
	Ref  string `json:"ref"`
}

// Submission is the work of an agent or a person. A nil pointer or slice is an argument that was not given.
type Submission struct {
	Output   json.RawMessage
	Evidence []Evidence
	Summary  *string
	Next     *string
	Reason   *string
}

// Submit completes a claimed step if it is accepted.
type Submit struct {
	Ref ClaimRef
	By  string
	Submission
}

// Escalate hands a claimed step to the operators.
type Escalate struct {
	Ref  ClaimRef
	By   string
	Note string
}

// Decision is a decision on a work item. Human, Groups and By say who decides; Decide refuses anyone who is not a person.
type Decision struct {
	ItemID, Snapshot, Decision string
	By                         string
	Human                      bool
	// Groups are the groups the person is in.
	Groups []string
	Note   *string
	Submission
}

// Cancel ends a run by an operator's decision. Operator says whether By is a person among the operators.
type Cancel struct {
	By       string
	Operator bool
	Reason   string
}

// SendEvent delivers an event. Allowed says whether By is an agent or an operator.
type SendEvent struct {
	By      string
	Allowed bool
	Name    string
	// Data is a JSON object, or nil for none.
	Data json.RawMessage
}

func (Start) isCommand()     {}
func (Claim) isCommand()     {}
func (Renew) isCommand()     {}
func (Submit) isCommand()    {}
func (Escalate) isCommand()  {}
func (Decision) isCommand()  {}
func (Cancel) isCommand()    {}
func (SendEvent) isCommand() {}
