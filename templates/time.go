package templates

import (
	"fmt"
	"time"
)

// Exact is a time in full, for hovering and for screen readers.
func Exact(t time.Time) string { return t.UTC().Format("Mon 2 Jan 2006, 15:04 UTC") }

// Machine is a time as the datetime attribute wants it.
func Machine(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// Due says in plain words when something is due, seen from now: “due in 3 h”, “2 days overdue”.
func Due(due, now time.Time) string {
	if d := now.Sub(due); d >= 0 {
		if d < time.Minute {
			return "due now"
		}
		return span(d) + " overdue"
	}
	if due.Sub(now) < time.Minute {
		return "due now"
	}
	return "due in " + span(due.Sub(now))
}

// Ago says in plain words how long ago something was; more than 30 days ago, it is the date.
func Ago(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case d < 0:
		return "in " + span(-d)
	case d < time.Minute:
		return "just now"
	case d > 30*24*time.Hour:
		return t.UTC().Format("2 Jan 2006")
	default:
		return span(d) + " ago"
	}
}

// span is a duration in its largest sensible unit: minutes below 90, hours below 48, then days.
func span(d time.Duration) string {
	minutes := int(d / time.Minute)
	switch {
	case minutes < 1:
		return "a moment"
	case minutes < 90:
		return fmt.Sprintf("%d min", minutes)
	case minutes < 48*60:
		return fmt.Sprintf("%d h", minutes/60)
	default:
		return fmt.Sprintf("%d days", minutes/(24*60))
	}
}

// Span is a duration of a process, such as a step's due time: “3 days”, “36 h”, “45 min”.
func Span(d time.Duration) string {
	switch {
	case d == 24*time.Hour:
		return "1 day"
	case d >= 24*time.Hour && d%(24*time.Hour) == 0:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	default:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
}

// Soon says that something is due within a day.
func Soon(due, now time.Time) bool { return due.After(now) && due.Sub(now) < 24*time.Hour }
