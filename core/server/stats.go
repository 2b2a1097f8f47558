package server

import (
	"context"
	"time"
)

// MaxUploadBytes is the largest upload taken.
func (s *Server) MaxUploadBytes() int64 { return s.opts.MaxUploadBytes }

// Counts are the numbers of open work, for /metrics.
func (s *Server) Counts(ctx context.Context) (counts Counts, err error) {
	err = s.store.Read(ctx, func(r Reader) error {
		counts, err = r.Counts()
		return err
	})
	return counts, err
}

// TimerLag is how long the next timer has been past due; 0 when none is.
func (s *Server) TimerLag(ctx context.Context) (lag time.Duration, err error) {
	err = s.store.Read(ctx, func(r Reader) error {
		next, err := r.NextTimer()
		if err == nil && next != nil {
			lag = max(0, s.Now().Sub(*next))
		}
		return err
	})
	return lag, err
}

// waitingMax is how many open items Waiting counts to.
const waitingMax = 99

// Waiting counts the open work items assigned to a person, up to 99; more says that there are more. It reads an index
// alone, so that every page can show it.
func (s *Server) Waiting(ctx context.Context, id Identity) (n int, more bool, err error) {
	if id.Kind != Person {
		return 0, false, nil
	}
	err = s.store.Read(ctx, func(r Reader) error {
		rows, err := r.Items(ItemQuery{Person: id.Name, Groups: id.Groups, Limit: waitingMax + 1})
		n, more = min(len(rows), waitingMax), len(rows) > waitingMax
		return err
	})
	return n, more, storeError(err)
}
