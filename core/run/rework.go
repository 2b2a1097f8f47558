package run

import "github.com/apserver/ap/core/process"

// rework returns the run to a rejecting approval's on_reject (protocol.md 4): that step, and what was completed after
// it, moves to the history, and the step is ready again.
func (f *fold) rework(approval *process.Step, by string) {
	p := RewoundPayload{Step: approval.ID, To: approval.OnReject}
	if f.failure == nil {
		for _, i := range f.rewound(approval, f.doc.Index(approval.OnReject)) {
			p.Steps = append(p.Steps, f.doc.Steps[i].ID)
		}
	}
	if len(p.Steps) > 0 {
		f.emitSized(f.env.Now, by, p, 96+32*len(p.Steps))
	}
	f.enter(approval.OnReject, f.env.Now)
}

// rewound lists the steps to rewind, in the document's order: the target and every step completed after it, or, when
// the target is not complete now, every step reachable from it. A parallel step takes its whole region with it. Inside
// a branch, only that branch's steps count. The rejecting approval keeps its rejection; steps with nothing to rewind
// are left out.
//
// A target that is not complete but keeps the note of an own rejection counts as not complete: it is measured by what
// follows it in the process, since what came before it stands.
func (f *fold) rewound(approval *process.Step, target int) []int {
	done := f.st.Steps[target].State == StepDone
	since := f.st.Steps[target].completedAt()
	var reach map[string]bool
	if !done {
		reach = reachable(f.doc, target)
	}
	var steps []int
	for i := range f.doc.Steps {
		d, s := &f.doc.Steps[i], &f.st.Steps[i]
		if d.ID == approval.ID || (s.State == NotReached && s.Current == nil) {
			continue
		}
		if approval.Branch != "" && d.Branch != approval.Branch {
			continue
		}
		later := s.completedAt() > since
		if !done {
			later = reach[d.ID]
		}
		region := d.Fork != "" && d.Fork == f.doc.Steps[target].ID
		if i == target || region || later {
			steps = append(steps, i)
		}
	}
	return steps
}

// completedAt is the number of the event of the step's current completion, or 0.
func (s *Step) completedAt() int {
	if s.Current != nil {
		return s.Current.Seq
	}
	return s.Joined
}

// reachable finds the steps reachable from a step along next, on_timeout and into branches.
func reachable(doc *process.Document, from int) map[string]bool {
	seen := map[string]bool{}
	var visit func(id string)
	visit = func(id string) {
		s := doc.Step(id)
		if s == nil || seen[id] {
			return
		}
		seen[id] = true
		visit(s.Next)
		visit(s.OnTimeout)
		for _, r := range s.Routes {
			visit(r.To)
		}
		for _, b := range s.Branches {
			visit(b)
		}
	}
	visit(doc.Steps[from].ID)
	return seen
}
