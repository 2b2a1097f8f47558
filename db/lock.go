package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// holder is what the server that serves a directory says of itself.
type holder struct {
	PID int    `json:"pid"`
	URL string `json:"url"`
}

func (h holder) String() string {
	switch {
	case h.PID == 0:
		return "another ap serve"
	case h.URL == "":
		return fmt.Sprintf("ap serve (process %d)", h.PID)
	default:
		return fmt.Sprintf("ap serve (process %d) at %s", h.PID, h.URL)
	}
}

// serveWait is how long LockServe asks before it believes that another server has the lock.
const serveWait = 200 * time.Millisecond

// LockServe makes this process the one that serves the directory at url, until unlock is called or the process ends,
// however it ends. A second one is refused with the first one's process and URL. Other uses of the directory go on.
func (d *DB) LockServe(url string) (unlock func(), err error) {
	lock := flock.New(d.path(serveFile), flock.SetPermissions(0o600))
	// Another process that only looks whether one serves has the lock for a moment.
	wait, cancel := context.WithTimeout(context.Background(), serveWait)
	defer cancel()
	ok, err := lock.TryLockContext(wait, serveWait/20)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("lock the data directory %s: %w", d.dir, err)
	}
	if !ok {
		other, _ := d.serving()
		return nil, fmt.Errorf("%s serves the data directory %s already: stop it first, or name another directory with --data", other,
			d.dir)
	}
	content, err := json.Marshal(holder{os.Getpid(), url})
	if err == nil {
		err = os.WriteFile(d.path(serveFile), content, 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the data directory %s: %w", d.dir, err), lock.Unlock())
	}
	return func() {
		_ = os.Truncate(d.path(serveFile), 0)
		_ = lock.Unlock()
	}, nil
}

// ServingAt returns the URL of the server that serves the directory now; ok is false when none does.
func (d *DB) ServingAt() (url string, ok bool) {
	h, ok := d.serving()
	return h.URL, ok && h.URL != ""
}

// serving returns the process that serves the directory now, if one does. What a file says whose lock is free is of a
// process that is gone.
func (d *DB) serving() (holder, bool) {
	lock := flock.New(d.path(serveFile), flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); ok || err != nil {
		_ = lock.Unlock()
		return holder{}, false
	}
	var h holder
	if content, err := os.ReadFile(d.path(serveFile)); err == nil {
		_ = json.Unmarshal(content, &h)
	}
	return h, true
}
