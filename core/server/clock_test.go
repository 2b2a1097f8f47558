package server

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheSystemClockShowsWholeMillisecondsInUTC(t *testing.T) {
	t.Parallel()
	now := SystemClock{}.Now()
	require.Equal(t, time.UTC, now.Location())
	require.Zero(t, now.Nanosecond()%int(time.Millisecond))
	require.WithinDuration(t, time.Now(), now, time.Minute)
}

func TestAtClosesOnceTheTimeHasCome(t *testing.T) {
	t.Parallel()
	for name, clock := range map[string]Clock{"system": SystemClock{}, "movable": NewMovableClock(time.Hour, nil)} {
		t.Run(name, func(t *testing.T) {
			past, _ := clock.At(clock.Now().Add(-time.Hour))
			<-past
			at := clock.Now().Add(3 * time.Millisecond)
			soon, _ := clock.At(at)
			<-soon
			require.False(t, clock.Now().Before(at))
			far, giveUp := clock.At(clock.Now().Add(time.Hour))
			giveUp()
			select {
			case <-far:
				t.Fatal("a time far off has come")
			default:
			}
		})
	}
}

func TestAMovableClockWakesWhoeverWaits(t *testing.T) {
	t.Parallel()
	var saved []time.Duration
	clock := NewMovableClock(0, func(d time.Duration) error { saved = append(saved, d); return nil })
	before := clock.Now()
	due, giveUp := clock.At(before.Add(72 * time.Hour))
	defer giveUp()
	now, err := clock.Advance(36 * time.Hour)
	require.NoError(t, err)
	require.WithinDuration(t, before.Add(36*time.Hour), now, time.Minute)
	select {
	case <-due:
		t.Fatal("half the way is not there yet")
	default:
	}
	_, err = clock.Advance(36 * time.Hour)
	require.NoError(t, err)
	<-due
	require.Equal(t, []time.Duration{36 * time.Hour, 72 * time.Hour}, saved)
}

func TestAMovableClockOnlyMovesForwardAndNotWithoutSaving(t *testing.T) {
	t.Parallel()
	fail := errors.New("no space")
	clock := NewMovableClock(0, func(time.Duration) error { return fail })
	_, err := clock.Advance(-time.Second)
	require.ErrorContains(t, err, "forward")
	_, err = clock.Advance(200 * 365 * 24 * time.Hour)
	require.ErrorContains(t, err, "100 years")
	_, err = clock.Advance(time.Hour)
	require.ErrorIs(t, err, fail)
	require.WithinDuration(t, time.Now(), clock.Now(), time.Minute)
}

func TestIDsSortByTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 10, 6, 9, 0, 0, 0, time.UTC)
	seen := map[string]bool{}
	last := ""
	for range 100 {
		id := RandomIDs{}.New("r_", at)
		require.Regexp(t, `^r_[0-9abcdefghjkmnpqrstvwxyz]{26}$`, id)
		require.False(t, seen[id])
		require.Greater(t, id, last)
		seen[id], last = true, id
		at = at.Add(time.Millisecond)
	}
}
