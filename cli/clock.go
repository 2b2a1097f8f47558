package cli

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/apserver/ap/core/server"
)

// clockSetting keeps how far the clock of dev mode was moved, as a Go duration.
const clockSetting = "dev-clock-offset"

// maxClockOffset keeps the moved clock within times that every part can write down.
const maxClockOffset = 100 * 365 * 24 * time.Hour

// recheckClock bounds one sleep, so that a machine that was suspended or whose time was set is noticed.
const recheckClock = time.Minute

// clock is the system's time, moved by an offset that dev mode can enlarge. It implements server.Clock and web.DevClock.
type clock struct {
	// save keeps the offset over a restart.
	save func(context.Context, time.Duration) error

	mu     sync.Mutex
	offset time.Duration
	alarms map[*alarm]struct{}
}

// alarm is one call of At that has not been reached or given up.
type alarm struct {
	at      time.Time
	reached chan struct{}
	timer   *time.Timer
}

func newClock(offset time.Duration, save func(context.Context, time.Duration) error) *clock {
	return &clock{offset: offset, save: save, alarms: map[*alarm]struct{}{}}
}

// Now implements server.Clock.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *clock) now() time.Time {
	return time.Now().Add(c.offset).UTC().Truncate(time.Millisecond)
}

// At implements server.Clock.
func (c *clock) At(t time.Time) (<-chan struct{}, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := &alarm{at: t, reached: make(chan struct{})}
	c.alarms[x] = struct{}{}
	c.arm(x)
	return x.reached, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.drop(x)
	}
}

// arm closes the alarm's channel when its time has come, and else sets its timer.
func (c *clock) arm(x *alarm) {
	left := x.at.Sub(c.now())
	if left <= 0 {
		close(x.reached)
		c.drop(x)
		return
	}
	if x.timer != nil {
		x.timer.Stop()
	}
	x.timer = time.AfterFunc(min(left, recheckClock), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, waiting := c.alarms[x]; waiting {
			c.arm(x)
		}
	})
}

func (c *clock) drop(x *alarm) {
	if x.timer != nil {
		x.timer.Stop()
	}
	delete(c.alarms, x)
}

// Advance implements web.DevClock: it moves the clock forward.
func (c *clock) Advance(d time.Duration) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d < 0 {
		return time.Time{}, fmt.Errorf("the clock only moves forward, not by %s", d)
	}
	if d > math.MaxInt64-c.offset || c.offset+d > maxClockOffset {
		return time.Time{}, fmt.Errorf("the clock can't be moved by more than %d days in all", int(maxClockOffset.Hours()/24))
	}
	if err := c.save(context.Background(), c.offset+d); err != nil {
		return time.Time{}, fmt.Errorf("keeping the clock's place: %w", err)
	}
	c.offset += d
	for x := range c.alarms {
		c.arm(x)
	}
	return c.now(), nil
}

// storedOffset reads how far the data directory's clock was moved.
func storedOffset(ctx context.Context, store server.Store) (offset time.Duration, err error) {
	err = store.Read(ctx, func(r server.Reader) error {
		text, err := r.Setting(clockSetting)
		if err != nil || text == "" {
			return err
		}
		offset, err = time.ParseDuration(text)
		return err
	})
	if err != nil {
		return 0, failed("reading the clock's place", err)
	}
	return offset, nil
}

// saveOffset returns the function that keeps the clock's place in the store.
func saveOffset(store server.Store) func(context.Context, time.Duration) error {
	return func(ctx context.Context, offset time.Duration) error {
		return store.Write(ctx, func(w server.Writer) error {
			return w.SetSetting(clockSetting, offset.String())
		})
	}
}
