package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// maxAttempts bounds how often a write is decided again because something else was written meanwhile.
const maxAttempts = 5

// write carries out a write once: a requestId that was used before returns what it did then, or a conflict
// (protocol.md 7). It returns when everything is durable.
//
// A run is decided on before the writer is asked, on the state that is most likely still current, so that the one writer
// only has to store. Where the run has moved on, or the requestId was used meanwhile, the write is decided again inside the
// writer, where nothing can come between.
func (s *Server) write(ctx context.Context, c write) (written, error) {
	hash := c.args.hash()
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
	ahead, err := s.decideAhead(ctx, c, files)
	if refused := (*Error)(nil); errors.As(err, &refused) {
		return s.unlessReplayed(ctx, c.id, c.args, refused)
	} else if err != nil {
		return written{}, err
	}
	if ahead.refusal != nil && len(ahead.events) == 0 {
		stands, err := s.isCurrent(ctx, c.runID, ahead.before)
		if err != nil {
			return written{}, err
		}
		if stands {
			return s.unlessReplayed(ctx, c.id, c.args, ahead.refusal)
		}
	}
	if ahead.refusal != nil {
		ahead = nil // to be decided after the requestId was looked up
	}
	return s.commit(ctx, c, hash, files, ahead)
}

// commit stores a write as it was decided ahead, if it was and still may, and else decides it inside the writer.
func (s *Server) commit(ctx context.Context, c write, hash []byte, files map[string]run.File, ahead *decision) (written, error) {
	for range maxAttempts {
		var d *decision
		var recorded *Request
		err := s.store.Write(ctx, func(w Writer) (err error) {
			d, recorded, err = s.attempt(w, c, hash, files, ahead)
			return err
		})
		if err != nil {
			s.states.remove(c.runID) // it may be the state of a write that was undone
		}
		switch {
		case errors.Is(err, ErrConflict):
			ahead = nil
		case err != nil:
			return written{}, storeError(err)
		case recorded != nil:
			return s.replay(ctx, c.args, c.id, hash, *recorded)
		default:
			return d.written, d.refusal
		}
	}
	return written{}, busy
}

// attempt stores a write inside the writer, or finds the request that it repeats.
func (s *Server) attempt(w Writer, c write, hash []byte, files map[string]run.File, ahead *decision) (d *decision, recorded *Request, err error) {
	defer caught(&err)
	if ahead != nil {
		fits, err := s.stillFits(w, ahead)
		if err != nil {
			return nil, nil, err
		}
		if fits {
			return ahead, nil, s.keep(w, c, hash, ahead)
		}
	}
	req, again, err := s.recorded(w, c.args)
	if err != nil {
		return nil, nil, err
	}
	if again {
		return nil, &req, nil
	}
	if d, err = s.decideInside(w, c, files); err != nil {
		return nil, nil, err
	}
	return d, nil, s.keep(w, c, hash, d)
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

// unlessReplayed refuses a write that isn't a replay.
func (s *Server) unlessReplayed(ctx context.Context, id Identity, a *arguments, refusal error) (written, error) {
	again, ok, err := s.replayed(ctx, id, a)
	if ok || err != nil {
		return again, err
	}
	return written{}, refusal
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
