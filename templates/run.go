package templates

import (
	"time"

	"github.com/apserver/ap/core/process"
)

// Run is the page of one run.
type Run struct {
	ID, Process string
	Version     int
	Hash        string
	Test        bool
	Subject     string
	State       string
	Outcome     string
	StartedBy   string
	StartedAt   time.Time
	UpdatedAt   time.Time
	Ended       *Note
	Steps       []RunStep
	Items       []RunItem
	Inputs      []Member
	Records     []Record
	Rounds      []Record
	Moments     []Moment
	// Left is how many older moments are left out.
	Left  int
	Files []RunFile
	Held  []HeldEvent
	Map   string
	Body  string
	// Description is the process's.
	Description string
	// Cancel and Send are the operators' forms; nil for everyone else and for a run that has ended.
	Cancel *ActionForm
	Send   *ActionForm
	// Clock is the form that moves the clock in dev mode; nil elsewhere.
	Clock *ActionForm
}

// RunStep is one step and how it stands.
type RunStep struct {
	ID    string
	Kind  process.Kind
	State string
	Due   *time.Time
	// Who is who it waits for or who works on it; empty for nobody.
	Who     string
	Overdue bool
	// Wakes is when a wait ends; nil for other steps.
	Wakes *time.Time
	// Rounds counts its completions, the current one included.
	Rounds int
}

// RunItem is an open work item of a run.
type RunItem struct {
	ID, Step      string
	Group, Person string
	Me            bool
	Due           *time.Time
	Overdue       bool
	Escalated     bool
}

// Moment is one entry of a run's journal in a sentence.
type Moment struct {
	Seq  int
	At   time.Time
	By   string
	Text string
	// Step is the step it is about, or empty.
	Step string
	// Note is what was written with it; Issues what was refused.
	Note   string
	Issues []string
	// Tone colours it: "good", "bad", "wait" or "".
	Tone string
	// Hash is the journal entry's, in hex.
	Hash string
}

// RunFile is an uploaded file of a run.
type RunFile struct {
	EvidenceItem
	Step, By string
	At       time.Time
}

// HeldEvent is an event that no wait has consumed.
type HeldEvent struct {
	Name, By string
	At       time.Time
	Data     Value
}

// ActionForm is a small form for an operator.
type ActionForm struct {
	Form
	// Name tells the forms of a page apart; Person is who it was made for.
	Name, Person string
	// Refusal and RefusalText head the issues of a refused action; empty when nothing was refused.
	Refusal, RefusalText string
	// Restored says that the form holds what was typed before signing in again.
	Restored bool
	// Choices are suggestions, such as the events a run waits for.
	Choices []string
}

// RunRow is one run of a list.
type RunRow struct {
	ID, Process, Subject string
	Version              int
	State, Outcome       string
	Test                 bool
	StartedBy            string
	StartedAt            time.Time
	UpdatedAt            time.Time
}

// Runs is the list of runs.
type Runs struct {
	Rows           []RunRow
	Process, State string
	Processes      []string
	Next           string
	Later          bool
}

// ProcessCard is one process of the list.
type ProcessCard struct {
	Name, Description string
	// Latest is the latest version, 0 when only a draft is there.
	Latest   int
	Requires []string
	Steps    int
	People   int
}

// Process is the page of one process.
type Process struct {
	Name, Description string
	// Latest is the latest version, 0 when only a draft is there; Draft says that the draft differs from it.
	Latest   int
	Draft    bool
	Hash     string
	Map      string
	Body     string
	Inputs   process.Fields
	Requires []string
	Roles    []RoleBinding
	Steps    []process.Step
	Versions []VersionRow
	Profiles []string
}

// RoleBinding is a role and its group.
type RoleBinding struct {
	Role, Group string
	Members     int
}

// VersionRow is one version of a list.
type VersionRow struct {
	Number int
	Hash   string
	At     time.Time
	By     string
	// Before is the version to compare with, 0 for the first.
	Before int
}

// VersionDiff is what differs between two versions.
type VersionDiff struct {
	Process  string
	From, To int
	Hunks    []DiffHunk
	// TooLarge says that the difference is too large to show.
	TooLarge bool
}

// DiffHunk is a stretch of lines around a difference.
type DiffHunk struct {
	Lines []DiffLine
}

// DiffLine is one line: "=" in both, "-" only before, "+" only after. Old and New are its numbers, 0 for none.
type DiffLine struct {
	Op       string
	Text     string
	Old, New int
}

// Start is the form that starts a run.
type Start struct {
	Form
	Process     string
	Description string
	Version     int
	Fields      process.Fields
	Requires    []string
	Refusal     string
	RefusalText string
	Restored    bool
	// Person is who the form was made for.
	Person string
}
