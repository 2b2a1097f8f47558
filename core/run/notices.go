package run

import (
	"time"

	"github.com/apserver/ap/core/process"
)

// NoticeKind is what a notice is about.
type NoticeKind string

const (
	NoticeAssigned  NoticeKind = "assigned"
	NoticeOverdue   NoticeKind = "overdue"
	NoticeEscalated NoticeKind = "escalated"
	NoticeEnded     NoticeKind = "ended"
)

// Notice is something that someone is to be told.
type Notice struct {
	Kind NoticeKind
	// StepID is the step it is about, and empty for NoticeEnded; ItemID its open work item, if any.
	StepID, ItemID string
	// Exactly one of Group and Person is set.
	Group, Person string
	At            time.Time
}

// Notices works out who is to be told what after events led from the state before (nil at the start) to the state after.
// An open item is told to its assignee, a step overdue to its assignee and the operators, the end of a run to the person
// who started it, and a failed run to the operators as well. Test runs tell no one (protocol.md 4).
func Notices(doc *process.Document, before, after *State, events []Event, operators string) []Notice {
	if len(events) == 0 || after.Mode == Test {
		return nil
	}
	var notices []Notice
	known := 0
	if before != nil {
		known = len(before.Items)
	}
	for _, item := range after.Items[known:] {
		if !item.Open() {
			continue
		}
		kind := NoticeAssigned
		if item.Escalation != nil {
			kind = NoticeEscalated
		}
		notices = append(notices, Notice{Kind: kind, StepID: item.StepID, ItemID: item.ID, Group: item.Group, Person: item.Person, At: item.OpenedAt})
	}
	for _, ev := range events {
		switch ev.Type {
		case EventStepOverdue:
			notices = append(notices, overdueNotices(doc, after, ev, operators)...)
		case EventRunEnded, EventRunCancelled:
			notices = append(notices, endedNotices(after, ev.At, operators)...)
		}
	}
	return notices
}

func overdueNotices(doc *process.Document, st *State, ev Event, operators string) []Notice {
	p, err := ev.Payload()
	if err != nil {
		return nil
	}
	id := p.(OverduePayload).Step
	toOperators := Notice{Kind: NoticeOverdue, StepID: id, Group: operators, At: ev.At}
	i := doc.Index(id)
	if i < 0 || st.Steps[i].Item < 0 {
		return []Notice{toOperators}
	}
	item := st.Items[st.Steps[i].Item]
	toOperators.ItemID = item.ID
	if item.Group == operators {
		return []Notice{toOperators}
	}
	return []Notice{{Kind: NoticeOverdue, StepID: id, ItemID: item.ID, Group: item.Group, Person: item.Person, At: ev.At}, toOperators}
}

func endedNotices(st *State, at time.Time, operators string) []Notice {
	var notices []Notice
	if st.Initiator != "" {
		notices = append(notices, Notice{Kind: NoticeEnded, Person: st.Initiator, At: at})
	}
	if st.Outcome == OutcomeFailed {
		notices = append(notices, Notice{Kind: NoticeEnded, Group: operators, At: at})
	}
	return notices
}
