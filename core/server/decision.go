package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// decision is what a write, or the passing of time, comes to on one state of a run, ready to be stored.
type decision struct {
	written
	runID   string
	before  foldedRun
	events  []run.Event
	refusal error
	// groups are the bindings that were gone by.
	groups map[string]string

	entries    []run.Entry
	projection Projection
	notices    []Notice
}

// decideAhead decides a write on the run as the cache has it. The result holds only if the run still is as it was then.
func (s *Server) decideAhead(ctx context.Context, c write, files map[string]run.File) (d *decision, err error) {
	defer caught(&err)
	doc, before := c.document, foldedRun{}
	if doc == nil {
		if doc, before, err = s.likely(ctx, c.runID); err != nil {
			return nil, err
		}
	}
	groups, err := s.likelyGroups(ctx, doc)
	if err != nil {
		return nil, err
	}
	return s.decide(doc, before, groups, c, files)
}

// decideInside decides a write on the run as the writer sees it.
func (s *Server) decideInside(w Writer, c write, files map[string]run.File) (*decision, error) {
	doc, before := c.document, foldedRun{}
	if doc == nil {
		row, err := w.Run(c.runID)
		if errors.Is(err, ErrNotFound) {
			return &decision{refusal: unknownRun(c.runID)}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading run %s: %w", c.runID, err)
		}
		if doc, before, err = s.folded(w, row); err != nil {
			return nil, err
		}
	}
	groups, err := s.groups(w, doc)
	if err != nil {
		return nil, err
	}
	return s.decide(doc, before, groups, c, files)
}

// decide decides a write on a state. A refusal still has the events that came with it: timers that were due, and what a
// refused submission leaves for the next attempt.
func (s *Server) decide(doc *process.Document, before foldedRun, groups map[string]string, c write, files map[string]run.File) (*decision, error) {
	env := s.env(before.state, groups)
	env.Files = files
	out := permitted(doc, before.state, c, env)
	d := &decision{runID: c.runID, before: before, events: out.Events, groups: groups}
	if out.Err != nil {
		var known *Error
		if !errors.As(out.Err, &known) {
			return nil, fmt.Errorf("deciding %s on run %s: %w", c.args.tool.name, c.runID, out.Err)
		}
		d.refusal = known
	}
	d.written = written{doc: doc, state: out.State, at: env.Now, ref: resultRef{
		Claim: out.Result.Ref.Claim, Lease: out.Result.Ref.Lease, ConsumedBy: out.Result.ConsumedBy,
	}}
	if d.refusal == nil && hasFiles(out.State) {
		d.ref.BaseURL, d.ref.TTL = s.opts.BaseURL, s.opts.FileURLTTL
	}
	return d, s.complete(d)
}

// permitted decides, the caller's permission checked between the run's end and the command's own checks.
func permitted(doc *process.Document, st *run.State, c write, env run.Env) run.Outcome {
	if c.permit != nil && st != nil {
		if refused := c.permit(doc); refused != nil {
			events, after := run.Advance(doc, st, env)
			if !after.Over() {
				return run.Outcome{Events: events, State: after, Err: refused}
			}
		}
	}
	return run.Decide(doc, st, c.command, env)
}

// complete works out what a decision's events come to in the store.
func (s *Server) complete(d *decision) error {
	if len(d.events) == 0 {
		return nil
	}
	seq := 0
	if d.before.state != nil {
		seq = d.before.state.Seq
	}
	d.entries = run.Seal(d.runID, seq, d.before.head, d.events)
	d.projection = project(d.doc, d.state, d.entries[len(d.entries)-1].Hash)
	if seq == 0 {
		var err error
		if d.projection.Inputs, err = inputKeys(d.state.Inputs); err != nil {
			return fmt.Errorf("indexing the inputs of run %s: %w", d.runID, err)
		}
	}
	d.notices = noticesOf(d.doc, d.before.state, d.state, d.events, s.opts.Operators)
	return nil
}

// stillFits says whether a decision made ahead may be stored: nothing in this process has moved its run on, which another
// process's write is found out by when it is stored, and the groups that its work items went to are still the bound ones.
func (s *Server) stillFits(w Writer, d *decision) (bool, error) {
	if d.before.state != nil {
		if now, ok := s.states.get(d.runID); ok && !bytes.Equal(now.head, d.before.head) {
			return false, nil
		}
	}
	if !d.opensForGroup() {
		return true, nil
	}
	bound, err := s.groups(w, d.doc)
	if err != nil {
		return false, err
	}
	return maps.Equal(bound, d.groups), nil
}

// opensForGroup says whether a decision opens a work item for a role's group.
func (d *decision) opensForGroup() bool {
	known := 0
	if d.before.state != nil {
		known = len(d.before.state.Items)
	}
	for _, item := range d.state.Items[known:] {
		if item.Group != "" && item.Escalation == nil {
			return true
		}
	}
	return false
}

// keep stores a decision: events, projection and notices, and the request of a write that was not refused.
func (s *Server) keep(w Writer, c write, hash []byte, d *decision) error {
	if d.refusal == nil {
		if err := s.record(w, c, hash, d.written); err != nil {
			return err
		}
	}
	return s.append(w, d)
}

// append stores a decision's events with what follows from them.
func (s *Server) append(w Writer, d *decision) error {
	if len(d.entries) == 0 {
		return nil
	}
	if err := w.Append(d.projection, d.entries, d.notices); err != nil {
		return fmt.Errorf("appending to run %s: %w", d.runID, err)
	}
	after := foldedRun{state: d.state, head: d.projection.Run.Head, bytes: d.before.bytes}
	for _, e := range d.entries {
		after.bytes += entryWeight + len(e.Data)
	}
	s.states.put(d.runID, after, after.bytes)
	return nil
}

// likely is a run as the cache has it, or else as it is stored: what a decision ahead is made on.
func (s *Server) likely(ctx context.Context, runID string) (*process.Document, foldedRun, error) {
	if cached, ok := s.states.get(runID); ok {
		if doc, ok := s.documents.get(versionKey{cached.state.Process, cached.state.Version}); ok {
			return doc, cached, nil
		}
	}
	var doc *process.Document
	var before foldedRun
	err := s.store.Read(ctx, func(r Reader) error {
		row, err := r.Run(runID)
		if errors.Is(err, ErrNotFound) {
			return unknownRun(runID)
		}
		if err != nil {
			return fmt.Errorf("reading run %s: %w", runID, err)
		}
		doc, before, err = s.folded(r, row)
		return err
	})
	return doc, before, storeError(err)
}

// isCurrent says whether a run is stored as it was decided on.
func (s *Server) isCurrent(ctx context.Context, runID string, before foldedRun) (current bool, err error) {
	if before.state == nil {
		return true, nil
	}
	err = s.store.Read(ctx, func(r Reader) error {
		row, err := r.Run(runID)
		if err != nil {
			return fmt.Errorf("reading run %s: %w", runID, err)
		}
		current = bytes.Equal(row.Head, before.head)
		return nil
	})
	return current, storeError(err)
}

// groups are the bindings of a process that has roles, remembered for the decisions that are made ahead.
func (s *Server) groups(r Reader, doc *process.Document) (map[string]string, error) {
	if len(doc.Roles()) == 0 {
		return nil, nil
	}
	bound, err := r.Bindings(doc.Name)
	if err != nil {
		return nil, fmt.Errorf("reading the bindings of %s: %w", doc.Name, err)
	}
	s.bindings.put(doc.Name, bound, 1)
	return bound, nil
}

// likelyGroups are the bindings as last read. Whoever stores work items that go by them reads them again.
func (s *Server) likelyGroups(ctx context.Context, doc *process.Document) (groups map[string]string, err error) {
	if groups, ok := s.bindings.get(doc.Name); ok {
		return groups, nil
	}
	err = s.store.Read(ctx, func(r Reader) (err error) {
		groups, err = s.groups(r, doc)
		return err
	})
	return groups, storeError(err)
}

// caught turns a panic into an error: a defect in how one run is handled must not stop all the others.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// hasFiles says whether a run's data shows any uploaded file.
func hasFiles(st *run.State) bool {
	holds := func(r *run.Record) bool {
		if r == nil {
			return false
		}
		for _, e := range r.Evidence {
			if e.Kind == "file" {
				return true
			}
		}
		return false
	}
	for i := range st.Steps {
		if holds(st.Steps[i].Current) {
			return true
		}
		for _, r := range st.Steps[i].History {
			if holds(r) {
				return true
			}
		}
	}
	return false
}
