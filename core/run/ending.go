package run

import "time"

// Outcomes of a run that no finish step names.
const (
	OutcomeRejected = "rejected"
	OutcomeFailed   = "failed"
)

// failStep fails a step that the server can't carry out, and the run with it.
func (f *fold) failStep(id, note string, at time.Time) {
	f.emitSized(at, bySystem, FailedPayload{Step: id, Note: note}, 96+len(note))
	f.endRun(id, OutcomeFailed, at, bySystem)
}

// endRun ends the run at a step (protocol.md 6).
func (f *fold) endRun(step, outcome string, at time.Time, by string) {
	f.emit(at, by, EndedPayload{Step: step, Outcome: outcome})
}

// cancel ends a run by an operator's decision.
func (f *fold) cancel(c Cancel) *Error {
	if !c.Operator {
		return refuse(Forbidden, "Only an operator cancels a run.")
	}
	f.emitSized(f.env.Now, c.By, CancelledPayload{Reason: c.Reason}, 64+len(c.Reason))
	return nil
}
