package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apserver/ap/core/process"
)

// What a person can decide (protocol.md 4).
const (
	Completed = "completed"
	Approved  = "approved"
	Rejected  = "rejected"
	Returned  = "returned"
	Failed    = "failed"
)

var allDecisions = []string{Completed, Approved, Rejected, Returned, Failed}

// decisionsOn lists what can be decided on a work item of a step.
func decisionsOn(kind process.Kind) []string {
	switch kind {
	case process.Task:
		return []string{Completed, Failed}
	case process.Approve:
		return []string{Approved, Rejected, Failed}
	default:
		return []string{Returned, Completed, Failed}
	}
}

// CheckDecision reports what is wrong with a decision's arguments by themselves (protocol.md 4): the note that
// rejected, returned and failed need, and what goes with no decision but completed, or never with it.
func CheckDecision(c Decision) []string {
	if !slices.Contains(allDecisions, c.Decision) {
		return []string{"decision: not one of " + strings.Join(allDecisions, ", ")}
	}
	var issues []string
	notAllowed := func(given bool, name string) {
		if given {
			issues = append(issues, name+": not allowed with "+c.Decision)
		}
	}
	if c.Decision == Completed {
		issues = checkSubmission(c.Submission)
		notAllowed(c.Note != nil, "note")
		return issues
	}
	notAllowed(c.Output != nil, "output")
	notAllowed(c.Evidence != nil, "evidence")
	notAllowed(c.Summary != nil, "summary")
	notAllowed(c.Next != nil, "next")
	notAllowed(c.Reason != nil, "reason")
	if c.Decision != Approved && (c.Note == nil || blank(*c.Note)) {
		issues = append(issues, "note: required")
	}
	return issues
}

// decision decides a work item. The checks come in the order of protocol.md 4.
func (f *fold) decision(c Decision) *Error {
	item, known := f.st.FindItem(c.ItemID)
	switch {
	case known && item.Decided != nil:
		return refuse(Conflict, fmt.Sprintf("This work item was decided already: %s by %s.", item.Decided.Decision, item.Decided.By), IssueAlreadyDecided)
	case !known || item.Removed:
		return refuse(NotFound, "This run has no open work item "+quote(c.ItemID)+".")
	case c.Snapshot != f.st.Snapshot(f.doc):
		return refuse(Stale, "The run data changed since you read this work item: read it again, then decide with the new snapshot.")
	case !c.Human:
		return refuse(Forbidden, "Only a person decides: sign in and decide in the browser.")
	case !assigned(item, c):
		return refuse(Forbidden, "This work item is assigned to "+assignee(item)+", not to you.")
	}
	step := f.doc.Index(item.StepID)
	if allowed := decisionsOn(f.doc.Steps[step].Kind); !slices.Contains(allowed, c.Decision) {
		return refuse(Invalid, fmt.Sprintf("This work item can't be %s.", c.Decision), "decision: not one of "+strings.Join(allowed, ", "))
	}
	return f.carryOut(step, item, c)
}

func assigned(item Item, c Decision) bool {
	if item.Person != "" {
		return samePerson(item.Person, c.By)
	}
	return slices.Contains(c.Groups, item.Group)
}

func samePerson(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

func assignee(item Item) string {
	if item.Person != "" {
		return item.Person
	}
	return "the group " + item.Group
}

// carryOut does what a permitted decision says.
func (f *fold) carryOut(step int, item Item, c Decision) *Error {
	s := &f.doc.Steps[step]
	var note string
	if c.Note != nil && !blank(*c.Note) {
		note = *c.Note
	}
	size := 160 + len(note)
	switch c.Decision {
	case Completed:
		p, issues := f.accept(step, c.By, c.Submission, false)
		if len(issues) > 0 {
			return f.notAccepted(step, c.By, issues)
		}
		p.Item, p.Decision = item.ID, Completed
		f.complete(step, c.By, p)
	case Approved:
		f.complete(step, c.By, CompletedPayload{Step: s.ID, Item: item.ID, Decision: Approved, Note: note})
	case Rejected:
		f.emitSized(f.env.Now, c.By, RejectedPayload{Step: s.ID, Item: item.ID, Note: note, Ends: s.OnReject == ""}, size)
		if s.OnReject == "" {
			f.endRun(s.ID, OutcomeRejected, f.env.Now, c.By)
		} else {
			f.rework(s, c.By)
		}
	case Returned:
		f.emitSized(f.env.Now, c.By, ReturnedPayload{Step: s.ID, Item: item.ID, Note: note}, size)
	case Failed:
		f.emitSized(f.env.Now, c.By, FailedPayload{Step: s.ID, Item: item.ID, Note: note}, size)
		f.endRun(s.ID, OutcomeFailed, f.env.Now, c.By)
	}
	return nil
}
