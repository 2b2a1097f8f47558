package run

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/apserver/ap/core/process"
)

// follow goes from a step that completed at that time to the target to: a step, or the join of its branch.
func (f *fold) follow(from *process.Step, to string, at time.Time) {
	if from.Branch != "" && to == process.Join {
		f.join(from.Fork, at)
		return
	}
	f.enter(to, at)
}

// enter makes a step ready, and applies what follows from that by itself (protocol.md 2): a finish ends the run, a
// parallel step starts its branches, a wait_for takes a held event. Waits whose time has come are fireTimers' work.
func (f *fold) enter(id string, at time.Time) {
	if f.over() {
		return
	}
	s := f.doc.Step(id)
	switch s.Kind {
	case process.Agent:
		f.emit(at, bySystem, ReadiedPayload{Step: id, Due: due(s, at)})
	case process.Task, process.Approve:
		f.openStep(s, at)
	case process.Wait:
		wake := latest(at.Add(s.Wait))
		f.emit(at, bySystem, WaitPayload{Step: id, Wake: &wake})
	case process.WaitUntil:
		f.startWaitUntil(s, at)
	case process.WaitFor:
		f.startWaitFor(s, at)
	case process.Finish:
		f.endRun(id, s.Text, at, bySystem)
	case process.Parallel:
		f.fork(s, at)
	}
}

// bySystem is the author of what happens by itself.
const bySystem = "server"

// openStep opens the work item of a person step. A person path that resolves to nothing fails the step and the run.
func (f *fold) openStep(s *process.Step, at time.Time) {
	item := &OpenedItem{ID: f.nextItem()}
	switch {
	case s.Person == process.Initiator:
		item.Person = f.st.Initiator
	case strings.Contains(s.Person, "."):
		item.Person = f.text(s.Person)
	default:
		item.Group = f.env.Groups[s.Person]
		if item.Group == "" { // publication has every role bound
			item.Group = s.Person
		}
	}
	if item.Group == "" && item.Person == "" {
		f.failStep(s.ID, "No one to assign this step to: "+s.Person+" has no value.", at)
		return
	}
	f.emitSized(at, bySystem, ReadiedPayload{Step: s.ID, Due: due(s, at), Item: item}, 192)
}

func due(s *process.Step, at time.Time) *time.Time {
	if s.Due == nil {
		return nil
	}
	t := latest(at.Add(*s.Due))
	return &t
}

// lastTime is the last time that RFC 3339 can write.
var lastTime = time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)

// latest keeps a time writable.
func latest(t time.Time) time.Time {
	if t.After(lastTime) {
		return lastTime
	}
	return t
}

// text resolves a path into run data to a string, or to nothing.
func (f *fold) text(path string) string {
	p, ok := process.ParsePath(path)
	if !ok {
		return ""
	}
	from := f.st.Inputs
	if p.Step != "" {
		i := f.doc.Index(p.Step)
		if i < 0 || f.st.Steps[i].Current == nil {
			return ""
		}
		from = f.st.Steps[i].Current.Output
	}
	var fields map[string]json.RawMessage
	var text string
	if json.Unmarshal(from, &fields) != nil || json.Unmarshal(fields[p.Field], &text) != nil {
		return ""
	}
	return strings.TrimSpace(text)
}
