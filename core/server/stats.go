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
