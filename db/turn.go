package db

import (
	"time"

	"github.com/gofrs/flock"
)

// turn lets processes that write take turns. SQLite's own waiting polls, so one process that commits without a pause
// would starve the others. Whoever wants to write holds the turn until it has the write lock; as long as one waits for the
// write lock, nobody else asks for it.
//
// It is a courtesy: correctness is SQLite's. A turn that can't be had in time is gone without, and then asked for only in
// passing until it is free again: a process that was stopped while it had the turn holds nobody up for long.
type turn struct {
	lock *flock.Flock
	// late says that the last wait was in vain.
	late bool
}

// turnWait is how long a turn is waited for: many times what a commit takes.
const turnWait = 2 * time.Second

func newTurn(path string) *turn {
	return &turn{lock: flock.New(path, flock.SetPermissions(0o600))}
}

// take waits for the turn and returns the function that passes it on.
func (t *turn) take() (release func()) {
	pause := 100 * time.Microsecond
	for deadline := time.Now().Add(turnWait); ; {
		ok, err := t.lock.TryLock()
		if ok {
			t.late = false
			return func() { _ = t.lock.Unlock() }
		}
		if err != nil || t.late || time.Now().After(deadline) {
			t.late = true
			return func() {}
		}
		time.Sleep(pause)
		pause = min(2*pause, 5*time.Millisecond)
	}
}
