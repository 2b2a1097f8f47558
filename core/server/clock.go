package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Clock is where time comes from.
type Clock interface {
	// Now is the current time: UTC, whole milliseconds.
	Now() time.Time
	// At returns a channel that is closed once Now has reached t, and a function that gives it up.
	At(t time.Time) (<-chan struct{}, func())
}

// maxSleep bounds one sleep: the system's time may be set while we sleep.
const maxSleep = time.Minute

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// At implements Clock.
func (c SystemClock) At(t time.Time) (<-chan struct{}, func()) {
	a := newAlarm(c, t)
	a.check()
	return a.reached, a.stop
}

// alarm closes reached once its clock's time has come. It looks again at least every maxSleep, and whenever it is told
// that the clock was moved.
type alarm struct {
	clock   Clock
	at      time.Time
	reached chan struct{}

	mu    sync.Mutex
	done  bool
	timer *time.Timer
}

func newAlarm(clock Clock, at time.Time) *alarm {
	return &alarm{clock: clock, at: at, reached: make(chan struct{})}
}

// check closes reached if the time has come, and else sleeps until it may have.
func (a *alarm) check() {
	left := a.at.Sub(a.clock.Now())
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.done:
	case left <= 0:
		a.done = true
		close(a.reached)
	case a.timer == nil:
		a.timer = time.AfterFunc(min(left, maxSleep), a.check)
	default:
		a.timer.Reset(min(left, maxSleep))
	}
}

func (a *alarm) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = true
	if a.timer != nil {
		a.timer.Stop()
	}
}

// maxOffset bounds how far a movable clock can be moved in all.
const maxOffset = 100 * 365 * 24 * time.Hour

// MovableClock is the system's clock moved forward by an offset: what rehearsals and dev mode go by. It runs on after
// each move.
type MovableClock struct {
	save func(time.Duration) error

	moving sync.Mutex // held over a move, its saving included
	mu     sync.Mutex
	offset time.Duration
	alarms map[*alarm]bool
}

// NewMovableClock returns a clock that starts at an offset and hands each new one to save before it takes effect.
func NewMovableClock(offset time.Duration, save func(offset time.Duration) error) *MovableClock {
	return &MovableClock{offset: offset, save: save, alarms: map[*alarm]bool{}}
}

// clockSetting is the setting that keeps a movable clock's offset.
const clockSetting = "clock_offset"

// OpenMovableClock returns a movable clock that keeps its offset in the store, and so keeps its place over a restart.
func OpenMovableClock(ctx context.Context, store Store) (*MovableClock, error) {
	var saved string
	err := store.Read(ctx, func(r Reader) (err error) {
		saved, err = r.Setting(clockSetting)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the clock's offset: %w", err)
	}
	var offset time.Duration
	if saved != "" {
		if offset, err = time.ParseDuration(saved); err != nil {
			return nil, fmt.Errorf("reading the clock's offset: %w", err)
		}
	}
	return NewMovableClock(offset, func(offset time.Duration) error {
		return store.Write(context.WithoutCancel(ctx), func(w Writer) error {
			return w.SetSetting(clockSetting, offset.String())
		})
	}), nil
}

// Now implements Clock.
func (c *MovableClock) Now() time.Time {
	return time.Now().Add(c.Offset()).UTC().Truncate(time.Millisecond)
}

// Offset is how far the clock was moved in all.
func (c *MovableClock) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset
}

// At implements Clock.
func (c *MovableClock) At(t time.Time) (<-chan struct{}, func()) {
	a := newAlarm(c, t)
	c.mu.Lock()
	c.alarms[a] = true
	c.mu.Unlock()
	a.check()
	return a.reached, func() {
		c.mu.Lock()
		delete(c.alarms, a)
		c.mu.Unlock()
		a.stop()
	}
}

// Advance moves the clock forward and returns its new time. It never moves back: a run's times only grow.
func (c *MovableClock) Advance(d time.Duration) (now time.Time, err error) {
	c.moving.Lock()
	defer c.moving.Unlock()
	if d < 0 {
		return time.Time{}, errors.New("the clock only moves forward")
	}
	c.mu.Lock()
	offset := c.offset
	c.mu.Unlock()
	if d > maxOffset || offset+d > maxOffset {
		return time.Time{}, errors.New("the clock can be moved by 100 years in all")
	}
	offset = (offset + d).Truncate(time.Millisecond)
	if err := c.save(offset); err != nil {
		return time.Time{}, fmt.Errorf("saving the clock's offset: %w", err)
	}
	c.mu.Lock()
	c.offset = offset
	alarms := make([]*alarm, 0, len(c.alarms))
	for a := range c.alarms {
		alarms = append(alarms, a)
	}
	c.mu.Unlock()
	for _, a := range alarms {
		a.check()
	}
	return c.Now(), nil
}
