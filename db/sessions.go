package db

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/apserver/ap/core/server"
)

// sessions keeps browser sessions in the database, by a hash of their token: whoever reads the database, or a backup,
// can't sign in with it. Their times are real ones, never those of a moved clock. Nobody is told of their changes: a page
// that shows what is new would otherwise cause the next change itself, by being seen.
type sessions struct {
	d *DB
	// cleaned is when expired sessions were last removed, in Unix milliseconds.
	cleaned atomic.Int64
}

var _ scs.CtxStore = (*sessions)(nil)

// cleanEvery is how often a session that is written takes expired ones with it.
const cleanEvery = 5 * time.Minute

// Sessions returns the store of browser sessions.
func (d *DB) Sessions() scs.Store { return &sessions{d: d} }

func tokenHash(token string) []byte {
	h := sha256.Sum256([]byte(token))
	return h[:]
}

// FindCtx implements scs.CtxStore.
func (s *sessions) FindCtx(ctx context.Context, token string) (data []byte, found bool, err error) {
	err = s.d.readers.read(ctx, func(r reader) error {
		return r.get(&data, sqlFindSession, tokenHash(token), time.Now().UnixMilli())
	})
	if errors.Is(err, server.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("find session: %w", err)
	}
	return data, true, nil
}

// CommitCtx implements scs.CtxStore.
func (s *sessions) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	now := time.Now().UnixMilli()
	last := s.cleaned.Load()
	clean := now-last >= cleanEvery.Milliseconds() && s.cleaned.CompareAndSwap(last, now)
	err := s.d.write(ctx, func(t *tx) error {
		if clean {
			if _, err := t.quietly(sqlExpireSessions, now); err != nil {
				return err
			}
		}
		_, err := t.quietly(sqlPutSession, tokenHash(token), data, ms(expiry))
		return err
	})
	if err != nil {
		return fmt.Errorf("keep session: %w", err)
	}
	return nil
}

// DeleteCtx implements scs.CtxStore.
func (s *sessions) DeleteCtx(ctx context.Context, token string) error {
	err := s.d.write(ctx, func(t *tx) error {
		_, err := t.quietly(sqlDelSession, tokenHash(token))
		return err
	})
	if err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	return nil
}

// Find implements scs.Store.
func (s *sessions) Find(token string) ([]byte, bool, error) {
	return s.FindCtx(context.Background(), token)
}

// Commit implements scs.Store.
func (s *sessions) Commit(token string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expiry)
}

// Delete implements scs.Store.
func (s *sessions) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }
