package servertest

import (
	"fmt"
	"sync"
	"time"
)

// Clock is a clock that stands still until a test moves it.
type Clock struct {
	mu      sync.Mutex
	now     time.Time
	waiting map[chan struct{}]time.Time
}

// NewClock returns a clock that shows start.
func NewClock(start time.Time) *Clock {
	return &Clock{now: start.UTC().Truncate(time.Millisecond), waiting: map[chan struct{}]time.Time{}}
}

// Now implements server.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// At implements server.Clock.
func (c *Clock) At(t time.Time) (<-chan struct{}, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reached := make(chan struct{})
	if !c.now.Before(t) {
		close(reached)
		return reached, func() {}
	}
	c.waiting[reached] = t
	return reached, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, reached)
	}
}

// Advance moves the clock forward and wakes whoever waits for a time that has come.
func (c *Clock) Advance(d time.Duration) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d).Truncate(time.Millisecond)
	for reached, t := range c.waiting {
		if !c.now.Before(t) {
			close(reached)
			delete(c.waiting, reached)
		}
	}
	return c.now, nil
}

// Waiting is how many sleepers wait for the clock.
func (c *Clock) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// IDs counts: "r_000001", "f_000002", …
type IDs struct {
	mu sync.Mutex
	n  int
}

// New implements server.IDs.
func (i *IDs) New(prefix string, _ time.Time) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.n++
	return fmt.Sprintf("%s%06d", prefix, i.n)
}
