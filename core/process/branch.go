package process

import (
	"fmt"
	"slices"
)

// checkBranches checks the profile parallel-1 (protocol.md 1.5).
func (c *checker) checkBranches() {
	if s := c.byID[Join]; s != nil {
		c.report(ruleJoinID, s.idNode, "`join` is reserved in a process with a `parallel` step: it ends a branch; give this step another id")
	}
	b := branches{checker: c, outside: make([]bool, len(c.steps)), joins: c.joining()}
	b.markOutside(c.steps[0])
	for _, s := range c.steps {
		if s.node == nil || s.keyNode("parallel") == nil {
			continue
		}
		b.lost = b.lost || s.wandering
		if s.Kind == Parallel {
			b.own(s)
		}
	}
	for _, s := range c.steps {
		if s.fork != nil && s.Branch == s.ID {
			b.follow(s)
		}
	}
	for _, s := range c.steps {
		if s.node != nil {
			b.checkEntering(s)
			b.checkRejects(s)
		}
	}
}

// branches is the state of checking branches.
type branches struct {
	*checker
	// outside marks what a run reaches from its first step without entering a branch.
	outside []bool
	// joins marks the steps from which a branch's end can be reached.
	joins []bool
	// lost says that a parallel step's branches aren't all known.
	lost bool
}

// markOutside follows all but the branches of parallel steps from a step.
func (b *branches) markOutside(from *step) {
	b.outside[from.position] = true
	for queue := []*step{from}; len(queue) > 0; queue = queue[1:] {
		for _, e := range queue[0].onward {
			if e.kind != toBranch && !b.outside[e.to.position] {
				b.outside[e.to.position] = true
				queue = append(queue, e.to)
			}
		}
	}
}

// joining finds the steps that lead to `join`, or might.
func (c *checker) joining() []bool {
	joins := make([]bool, len(c.steps))
	before := make([][]*step, len(c.steps))
	var queue []*step
	for _, s := range c.steps {
		for _, e := range s.forward {
			before[e.to.position] = append(before[e.to.position], s)
		}
		ends := s.wandering
		for _, t := range s.targets {
			ends = ends || t.step == nil && t.kind != toReject
		}
		if ends {
			joins[s.position] = true
			queue = append(queue, s)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, s := range before[queue[0].position] {
			if !joins[s.position] {
				joins[s.position] = true
				queue = append(queue, s)
			}
		}
	}
	return joins
}

// own gives each entry of a parallel step its branch.
func (b *branches) own(fork *step) {
	for _, t := range fork.targets {
		entry := t.step
		if t.kind != toBranch || entry == nil {
			continue
		}
		switch {
		case entry == fork:
			b.report(ruleParallel, t.node, "a parallel step can't be its own branch; name the first step of the branch")
			continue
		case entry.fork != nil:
			b.report(ruleBranchShared, t.node, fmt.Sprintf("`%s` is already a branch of `%s`; a step is in one branch only", shorten(entry.ID), shorten(entry.Fork)))
			continue
		case entry.Kind == Finish:
			b.report(ruleBranchLeaves, t.node, fmt.Sprintf("the branch `%s` is a finish, but a branch can't end the run; it ends with `next: join`", shorten(entry.ID)))
			continue
		case entry.position == 0:
			b.report(ruleBranchEntered, t.node, fmt.Sprintf("`%s` is the first step of the process, where every run begins, so it can't be in a branch", shorten(entry.ID)))
			continue
		}
		b.enter(entry, fork, entry.ID)
	}
}

// enter makes a step part of a branch.
func (b *branches) enter(s, fork *step, branch string) {
	s.fork, s.Fork, s.Branch = fork, fork.ID, branch
	if s.Kind == Parallel {
		b.report(ruleNestedParallel, s.kindKey, fmt.Sprintf("`%s` is in a branch of `%s`, and a branch can't hold another parallel step", shorten(s.ID), shorten(fork.ID)))
	}
	if s.implicit {
		s.Next, s.wandering = Join, true
		isDefault := func(e edge) bool { return e.node == nil }
		s.forward, s.onward = slices.DeleteFunc(s.forward, isDefault), slices.DeleteFunc(s.onward, isDefault)
		b.report(ruleBranchNext, s.label(), fmt.Sprintf("`%s` is in a branch of `%s`, where every step names `next`: the step that follows in the branch, or `join` to end it", shorten(s.ID), shorten(fork.ID)))
	}
}

// follow walks a branch from its entry and reports each edge that leaves it.
func (b *branches) follow(entry *step) {
	for queue := []*step{entry}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		for _, e := range s.forward {
			if e.node == nil {
				continue
			}
			if fault := b.leaves(s, e.to); fault != "" {
				rule := ruleBranchLeaves
				if e.to.fork != nil {
					rule = ruleBranchShared
				}
				b.report(rule, e.node, fault)
				s.wandering = true
			} else if e.to.fork == nil {
				b.enter(e.to, entry.fork, entry.Branch)
				queue = append(queue, e.to)
			}
		}
	}
}

// leaves says why an edge from a branch's step leads out of it, or nothing.
func (b *branches) leaves(s, to *step) string {
	const instead = "; a branch ends with `next: join`"
	switch {
	case to.fork == s.fork && to.Branch == s.Branch:
		return ""
	case to.fork != nil:
		return fmt.Sprintf("`%s` is in the branch `%s`, but this step is in the branch `%s`; a step is in one branch only", shorten(to.ID), shorten(to.Branch), shorten(s.Branch))
	case to == s.fork:
		return fmt.Sprintf("this leads from the branch `%s` back to its own parallel step `%s`%s", shorten(s.Branch), shorten(to.ID), instead)
	case to.Kind == Finish:
		return fmt.Sprintf("this leads from the branch `%s` to the finish `%s`, but a branch can't end the run%s", shorten(s.Branch), shorten(to.ID), instead)
	case b.outside[to.position] && !b.joins[to.position]:
		return fmt.Sprintf("this leads from the branch `%s` to `%s`, which is outside it%s, after which the run goes on at `%s`", shorten(s.Branch), shorten(to.ID), instead, shorten(s.fork.Next))
	}
	return ""
}

// checkEntering reports what leads into a branch from outside, and `join` where no branch is. A step that is neither
// outside nor in a branch belongs to a branch that another mistake cut off.
func (b *branches) checkEntering(s *step) {
	if s.fork != nil || !b.outside[s.position] {
		return
	}
	for _, e := range s.forward {
		to := e.to
		switch {
		case to.fork == nil:
		case e.node == nil && to.fork == s:
			b.report(ruleBranchEntered, s.label(), fmt.Sprintf("`%s` has no `next`, and the step after it in the list is in its own branch; name in `next` where the run goes on when all branches have joined", shorten(s.ID)))
			s.wandering = true
		case e.node == nil:
			b.report(ruleBranchEntered, s.label(), fmt.Sprintf("%s has no `next`, so it leads to `%s`, which is in a branch of `%s`; only that parallel step leads there", s.name(), shorten(to.ID), shorten(to.Fork)))
		default:
			b.report(ruleBranchEntered, e.node, fmt.Sprintf("`%s` is in a branch of `%s`; only that parallel step leads there, so name `%s` or another step", shorten(to.ID), shorten(to.Fork), shorten(to.Fork)))
			s.wandering = true
		}
	}
	for _, t := range s.targets {
		if t.step == nil && t.kind != toReject && !b.lost {
			b.report(ruleJoin, t.node, fmt.Sprintf("`join` ends a branch of a parallel step, but %s is in none; name the step that follows", s.name()))
			s.wandering = true
		}
	}
}

// checkRejects reports an `on_reject` that leads into a branch, out of one, or to `join`.
func (b *branches) checkRejects(s *step) {
	for _, t := range s.targets {
		if t.kind != toReject {
			continue
		}
		to := t.step
		switch {
		case to == nil:
			b.report(ruleJoin, t.node, "a rejection can't lead to `join`; name the step that should redo the work, or remove `on_reject` to end the run")
		case s.fork != nil && (to.fork != s.fork || to.Branch != s.Branch):
			b.report(ruleBranchReject, t.node, fmt.Sprintf("`%s` is in the branch `%s`, so its rejection returns to a step of that branch, but `%s` is outside it", shorten(s.ID), shorten(s.Branch), shorten(to.ID)))
		case s.fork == nil && to.fork != nil && b.outside[s.position]:
			b.report(ruleBranchReject, t.node, fmt.Sprintf("`%s` is in a branch of `%s`; a rejection from outside can't return into it: return to `%s`, which runs every branch again", shorten(to.ID), shorten(to.Fork), shorten(to.Fork)))
		}
	}
}
