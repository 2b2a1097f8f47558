package db

import (
	"time"

	"github.com/gofrs/flock"
)

// turn lets processes that write take turns. SQLite's own waiting polls, so one process that commits without a pause
// would starve the others. Whoever wants to write holds the turn until it has the write lock; as long as one waits for the
// write lock, nobody else asks for it.
//
// It is a courtesy: correctness is SQLite's. A turn that can't be had in time is gone without.
type turn struct {
	lock *flock.Flock
	wait time.Duration
}

func newTurn(path string, wait time.Duration) *turn {
	return &turn{lock: flock.New(path, flock.SetPermissions(0o600)), wait: wait}
}

// take waits for the turn and returns the function that passes it on.
func (t *turn) take() (release func()) {
	pause := 100 * time.Microsecond
	for deadline := time.Now().Add(t.wait); ; {
		ok, err := t.lock.TryLock()
		if ok {
			return func() { _ = t.lock.Unlock() }
		}
		if err != nil || time.Now().After(deadline) {
			return func() {}
		}
		time.Sleep(pause)
		pause = min(2*pause, 5*time.Millisecond)
	}
}
