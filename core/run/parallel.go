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
	for i := range f.doc.Steps {
		if f.doc.Steps[i].Fork == fork && f.st.Steps[i].underWay() {
			return
		}
	}
	begun := map[string]bool{}
	for i := range f.doc.Steps {
		if d := &f.doc.Steps[i]; d.Fork == fork && f.st.Steps[i].State == StepDone {
			begun[d.Branch] = true
		}
	}
	s := f.doc.Step(fork)
	if len(begun) < len(s.Branches) {
		return
	}
	f.emit(at, bySystem, JoinPayload{Step: fork})
	f.follow(s, s.Next, at)
}
