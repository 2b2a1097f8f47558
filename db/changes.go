package db

import (
	"sync"
	"time"
)

// changes tells subscribers that something was committed.
type changes struct {
	mu   sync.Mutex
	subs map[chan struct{}]struct{}
	// poll ticks while there are subscribers.
	poll *time.Ticker
}

func newChanges() *changes {
	c := &changes{subs: map[chan struct{}]struct{}{}, poll: time.NewTicker(time.Hour)}
	c.poll.Stop()
	return c
}

func (c *changes) subscribe() (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subs) == 0 {
		c.poll.Reset(pollEvery)
	}
	c.subs[ch] = struct{}{}
	return ch, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.subs, ch)
		if len(c.subs) == 0 {
			c.poll.Stop()
		}
	}
}

// notify wakes every subscriber that isn't woken already.
func (c *changes) notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ch := range c.subs {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
