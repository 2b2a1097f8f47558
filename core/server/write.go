package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// write is one write to a run, as a tool prepares it.
type write struct {
	args  *arguments
	id    Identity
	runID string
	// document and version are set for a new run only.
	document *process.Document
	command  run.Command
	// permit, if not nil, refuses a caller for what the command itself can't know. Like every check, it comes after the
	// run is known not to have ended.
	permit func(doc *process.Document) error
}

// written is what a write did, or what it did the first time: all that its result is made of.
type written struct {
	doc   *process.Document
	state *run.State
	at    time.Time
	ref   resultRef
}

// resultRef is what a request records of its result beyond the entry it folds to.
type resultRef struct {
	Claim      int    `json:"claim,omitempty"`
	Lease      int    `json:"lease,omitempty"`
	ConsumedBy string `json:"consumedBy,omitempty"`
	// BaseURL and TTL are those of the signed URLs in the result, where it has any: the original result stays exact when
	// the server is configured anew.
	BaseURL string        `json:"baseUrl,omitempty"`
	TTL     time.Duration `json:"ttl,omitempty"`
}

func (ref resultRef) claim() run.ClaimRef { return run.ClaimRef{Claim: ref.Claim, Lease: ref.Lease} }

// write carries out a write once: a requestId that was used before returns what it did then, or a conflict
// (protocol.md 7). It returns when everything is durable.
func (s *Server) write(ctx context.Context, c write) (written, error) {
	hash := c.args.hash()
	if c.document == nil {
		s.warm(ctx, c.runID)
	}
	var files map[string]run.File
	if c.args.namesFiles() {
		again, ok, err := s.replayed(ctx, c.id, c.args)
		if ok || err != nil {
			return again, err
		}
		if files, err = s.evidenceFiles(ctx, c.args); err != nil {
			return written{}, err
		}
	}
	var done written
	var refusal error
	var recorded *Request
	err := s.store.Write(ctx, func(w Writer) (err error) {
		done, refusal, recorded = written{}, nil, nil
		req, err := w.Request(c.args.text("requestId"))
		if err == nil {
			recorded = &req
			return nil
		}
		if !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("looking up the request: %w", err)
		}
		done, refusal, err = s.perform(w, c, hash, files)
		return err
	})
	switch {
	case err != nil:
		return written{}, storeError(err)
	case recorded != nil:
		return s.replay(ctx, c.args, c.id, hash, *recorded)
	default:
		return done, refusal
	}
}

// perform decides a write inside the writer and stores what follows. A refusal still keeps the events that came with it:
// timers that were due, and what a refused submission leaves for the next attempt.
func (s *Server) perform(w Writer, c write, hash []byte, files map[string]run.File) (done written, refusal, err error) {
	defer recovered(&err)
	before := foldedRun{}
	doc := c.document
	if doc == nil {
		row, err := w.Run(c.runID)
		if errors.Is(err, ErrNotFound) {
			return written{}, unknownRun(c.runID), nil
		}
		if err != nil {
			return written{}, nil, fmt.Errorf("reading run %s: %w", c.runID, err)
		}
		if doc, before.state, err = s.folded(w, row); err != nil {
			return written{}, nil, err
		}
		before.head = row.Head
	}
	env, err := s.env(w, doc, before.state)
	if err != nil {
		return written{}, nil, err
	}
	env.Files = files
	out := s.decide(doc, before.state, c, env)
	if err := s.append(w, doc, c.runID, before, out.State, out.Events); err != nil {
		return written{}, nil, err
	}
	if out.Err != nil {
		var known *Error
		if !errors.As(out.Err, &known) {
			return written{}, nil, fmt.Errorf("deciding %s on run %s: %w", c.args.tool.name, c.runID, out.Err)
		}
		return written{}, known, nil
	}
	ref := resultRef{Claim: out.Result.Ref.Claim, Lease: out.Result.Ref.Lease, ConsumedBy: out.Result.ConsumedBy}
	if hasFiles(out.State) {
		ref.BaseURL, ref.TTL = s.opts.BaseURL, s.opts.FileURLTTL
	}
	done = written{doc: doc, state: out.State, at: env.Now, ref: ref}
	return done, nil, s.record(w, c, hash, done)
}

// decide applies the caller's permission between the run's end and the command's own checks.
func (s *Server) decide(doc *process.Document, st *run.State, c write, env run.Env) run.Outcome {
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

// append seals events and stores them with the projection and notices that follow from them.
func (s *Server) append(w Writer, doc *process.Document, runID string, before foldedRun, after *run.State, events []run.Event) error {
	if len(events) == 0 {
		return nil
	}
	seq := 0
	if before.state != nil {
		seq = before.state.Seq
	}
	entries := run.Seal(runID, seq, before.head, events)
	head := entries[len(entries)-1].Hash
	projection := project(doc, after, head)
	if seq == 0 {
		var err error
		if projection.Inputs, err = inputKeys(after.Inputs); err != nil {
			return err
		}
	}
	notices := noticesOf(doc, before.state, after, events, s.opts.Operators)
	if err := w.Append(projection, entries, notices); err != nil {
		return fmt.Errorf("appending to run %s: %w", runID, err)
	}
	bytes := entryWeight * len(events)
	for _, ev := range events {
		bytes += len(ev.Data)
	}
	if cached, ok := s.states.get(runID); ok && seq > 0 {
		bytes += cached.bytes
	}
	s.states.put(runID, foldedRun{after, head, bytes}, bytes)
	return nil
}

// record keeps a write under its requestId, so that the same call returns the same result.
func (s *Server) record(w Writer, c write, hash []byte, done written) error {
	req := Request{
		ID: c.args.text("requestId"), Tool: c.args.tool.name, Args: hash, By: c.id.By(),
		RunID: c.runID, Seq: done.state.Seq, At: done.at,
	}
	if done.ref != (resultRef{}) {
		ref, err := json.Marshal(done.ref)
		if err != nil {
			return fmt.Errorf("encoding the request's result: %w", err)
		}
		req.Ref = ref
	}
	if err := w.PutRequest(req); err != nil {
		return fmt.Errorf("recording the request: %w", err)
	}
	return nil
}

// replay returns what a recorded request did, from the journal: the run as it was at that entry, at that time.
func (s *Server) replay(ctx context.Context, a *arguments, id Identity, hash []byte, req Request) (written, error) {
	if err := sameRequest(a, id, hash, req); err != nil {
		return written{}, err
	}
	done := written{at: req.At}
	if len(req.Ref) > 0 {
		if err := json.Unmarshal(req.Ref, &done.ref); err != nil {
			return written{}, fmt.Errorf("reading the result of request %q: %w", req.ID, err)
		}
	}
	err := s.store.Read(ctx, func(r Reader) (err error) {
		done.doc, done.state, err = s.foldTo(r, req.RunID, req.Seq)
		return err
	})
	return done, storeError(err)
}

// sameRequest refuses a requestId that was used for something else (protocol.md 7).
func sameRequest(a *arguments, id Identity, hash []byte, req Request) error {
	if req.Tool == a.tool.name && req.By == id.By() && string(req.Args) == string(hash) {
		return nil
	}
	return conflict("This requestId was used for another call; use a new one for every new call", run.IssueRequestIDReused)
}

// replayed returns the result of a recorded request before work that a replay doesn't need, or that would refuse it; ok
// is false for a new one.
func (s *Server) replayed(ctx context.Context, id Identity, a *arguments) (done written, ok bool, err error) {
	var req Request
	err = s.store.Read(ctx, func(r Reader) (err error) {
		req, ok, err = s.recorded(r, a)
		return err
	})
	if err != nil || !ok {
		return written{}, false, storeError(err)
	}
	done, err = s.replay(ctx, a, id, a.hash(), req)
	return done, true, err
}

// recorded looks a request up; ok is false for a new one.
func (s *Server) recorded(r Reader, a *arguments) (req Request, ok bool, err error) {
	req, err = r.Request(a.text("requestId"))
	if errors.Is(err, ErrNotFound) {
		return Request{}, false, nil
	}
	if err != nil {
		return Request{}, false, fmt.Errorf("looking up the request: %w", err)
	}
	return req, true, nil
}

// recovered turns a panic into an error: a defect in how one run is handled must not stop all the others.
func recovered(err *error) {
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
