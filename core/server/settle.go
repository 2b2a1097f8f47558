package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/apserver/ap/core/run"
)

const (
	dueBatch  = 256 // runs whose timers are fired before looking again
	dueAtOnce = 64  // runs fired at the same time: they share commits
	// commitPause is the least time between two looks at the timers while writes keep coming.
	commitPause = 20 * time.Millisecond
	// stuckPause is how long a run whose timers can't be fired is left alone.
	stuckPause = time.Minute
)

// Run is the scheduler: it fires timers when they are due until ctx ends. Reads and writes don't depend on it.
func (s *Server) Run(ctx context.Context) error {
	changed, stop := s.store.Changes()
	defer stop()
	for ctx.Err() == nil {
		if _, err := s.settle(ctx); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "firing timers", "error", err)
			pause(ctx, time.Second)
		}
		next, err := s.nextTimer(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "reading the next timer", "error", err)
			pause(ctx, time.Second)
		}
		s.sleep(ctx, next, changed)
	}
	return nil
}

// sleep returns at the next timer, after a change or when ctx ends.
func (s *Server) sleep(ctx context.Context, next *time.Time, changed <-chan struct{}) {
	var due <-chan struct{}
	if next != nil {
		reached, giveUp := s.opts.Clock.At(*next)
		defer giveUp()
		due = reached
	}
	select {
	case <-ctx.Done():
	case <-due:
	case <-changed:
		pause(ctx, commitPause)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// nextTimer is when the next timer is due, runs that are stuck left out, or nil.
func (s *Server) nextTimer(ctx context.Context) (next *time.Time, err error) {
	err = s.store.Read(ctx, func(r Reader) (err error) {
		next, err = r.NextTimer()
		return err
	})
	if err == nil && next != nil && s.stuck.any() && !next.After(s.opts.Clock.Now()) {
		again := s.opts.Clock.Now().Add(stuckPause)
		next = &again
	}
	return next, err
}

// settle fires every timer that is due, earliest first, and returns the time it did so by. Lists call it before they
// read, so that they see every timer that has passed.
func (s *Server) settle(ctx context.Context) (now time.Time, err error) {
	now = s.opts.Clock.Now()
	for {
		due, err := s.dueRuns(ctx, now)
		if err != nil || len(due) == 0 {
			return now, storeError(err)
		}
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(dueAtOnce)
		for _, id := range due {
			g.Go(func() error { return s.fire(gctx, id) })
		}
		if err := g.Wait(); err != nil {
			return now, storeError(err)
		}
	}
}

// dueRuns lists the next runs whose timers are due and that are not stuck.
func (s *Server) dueRuns(ctx context.Context, now time.Time) ([]string, error) {
	var due []string
	err := s.store.Read(ctx, func(r Reader) error {
		due = nil
		next, err := r.NextTimer()
		if err != nil || next == nil || next.After(now) {
			return err
		}
		ids, err := r.DueRuns(now, dueBatch+s.stuck.count())
		if err != nil {
			return err
		}
		due = s.stuck.without(ids, s.opts.RealTime())
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading due timers: %w", err)
	}
	return due, nil
}

// fire applies a run's due timers through the writer. Only a store that can't be written is an error: a run that can't
// be handled is logged and left alone for a while, so that it doesn't hold up the others.
func (s *Server) fire(ctx context.Context, runID string) error {
	if _, _, err := s.likely(ctx, runID); err != nil {
		s.log.DebugContext(ctx, "folding a run ahead of the writer", "run", runID, "error", err) // the write says it again
	}
	err := s.store.Write(ctx, func(w Writer) error { return s.fireIn(w, runID) })
	if err == nil || errors.Is(err, ErrBusy) || ctx.Err() != nil {
		return err
	}
	s.stuck.add(runID, s.opts.RealTime())
	s.log.ErrorContext(ctx, "firing a run's timers", "run", runID, "error", err)
	return nil
}

func (s *Server) fireIn(w Writer, runID string) (err error) {
	defer caught(&err)
	row, err := w.Run(runID)
	if err != nil {
		return fmt.Errorf("reading run %s: %w", runID, err)
	}
	doc, before, err := s.folded(w, row)
	if err != nil {
		return err
	}
	groups, err := s.groups(w, doc)
	if err != nil {
		return err
	}
	env := s.env(before.state, groups)
	events, after := run.Advance(doc, before.state, env)
	if len(events) == 0 && row.NextTimer != nil && !row.NextTimer.After(env.Now) {
		return fmt.Errorf("run %s has a timer at %s that fires nothing", runID, run.Time(*row.NextTimer))
	}
	d := &decision{runID: runID, before: before, events: events, groups: groups, written: written{doc: doc, state: after, at: env.Now}}
	if err := s.complete(d); err != nil {
		return err
	}
	return s.append(w, d)
}

// stuckRuns are the runs whose timers couldn't be fired, with the real time at which they are tried again.
type stuckRuns struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (q *stuckRuns) add(runID string, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.until == nil {
		q.until = map[string]time.Time{}
	}
	q.until[runID] = now.Add(stuckPause)
}

func (q *stuckRuns) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.until)
}

func (q *stuckRuns) any() bool { return q.count() > 0 }

// without leaves out the stuck runs that are not to be tried again yet.
func (q *stuckRuns) without(ids []string, now time.Time) []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	var rest []string
	for _, id := range ids {
		until, stuck := q.until[id]
		switch {
		case !stuck:
		case now.Before(until):
			continue
		default:
			delete(q.until, id)
		}
		rest = append(rest, id)
	}
	return rest
}
