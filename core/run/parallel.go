package run

import (
	"time"

	"github.com/apserver/ap/core/process"
)

// fork starts every branch of a parallel step (protocol.md 1.5).
func (f *fold) fork(s *process.Step, at time.Time) {
	f.emit(at, bySystem, ForkPayload{Step: s.ID})
	for _, entry := range s.Branches {
		f.enter(entry, at)
	}
}

// join continues after a parallel step once its last branch has joined. A branch has joined when steps of it are done
// and none is under way; one that has not been started yet has none done.
func (f *fold) join(fork string, at time.Time) {
	if f.over() {
		return
	}
	joined := map[string]bool{}
	for i := range f.doc.Steps {
		d := &f.doc.Steps[i]
		if d.Fork != fork {
			continue
		}
		switch f.st.Steps[i].State {
		case StepReady, StepClaimed, StepWaiting:
			return
		case StepDone:
			joined[d.Branch] = true
		}
	}
	s := f.doc.Step(fork)
	if len(joined) < len(s.Branches) {
		return
	}
	f.emit(at, bySystem, JoinPayload{Step: fork})
	f.follow(s, s.Next, at)
}
