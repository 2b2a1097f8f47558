package server

import (
	"strconv"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// noticesOf are the notifications of a write, for the outbox. Their ids follow from the run and its journal, so that a
// write that is tried again makes the same ones.
func noticesOf(doc *process.Document, before, after *run.State, events []run.Event, operators string) []Notice {
	var notices []Notice
	for i, n := range run.Notices(doc, before, after, events, operators) {
		notices = append(notices, Notice{
			ID:   after.ID + "." + strconv.Itoa(after.Seq) + "." + strconv.Itoa(i+1),
			Kind: string(n.Kind), RunID: after.ID, StepID: n.StepID, ItemID: n.ItemID,
			Group: n.Group, Person: NormalEmail(n.Person), At: n.At,
		})
	}
	return notices
}
