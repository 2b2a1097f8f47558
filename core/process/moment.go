package process

import (
	"strings"
	"time"
)

// IsDate says whether text is a `date`: YYYY-MM-DD, a day that exists (protocol.md 2, Values).
func IsDate(text string) bool {
	_, ok := parseDay(text)
	return ok
}

// ParseDatetime reads a `datetime`: RFC 3339 with its offset, `t` and `z` in either case, a day and a time that exist;
// second 60 only at 23:59:60 UTC, which is taken as the following midnight. Digits beyond nanoseconds are dropped.
func ParseDatetime(text string) (t time.Time, ok bool) {
	if len(text) < len("2006-01-02T15:04:05Z") || text[10] != 'T' && text[10] != 't' {
		return time.Time{}, false
	}
	day, ok := parseDay(text[:10])
	if !ok || text[13] != ':' || text[16] != ':' {
		return time.Time{}, false
	}
	hour, okH := twoDigits(text[11:13], 23)
	minute, okM := twoDigits(text[14:16], 59)
	second, okS := twoDigits(text[17:19], 60)
	if !okH || !okM || !okS {
		return time.Time{}, false
	}
	nanos, rest, ok := parseFraction(text[19:])
	if !ok {
		return time.Time{}, false
	}
	offset, ok := parseOffset(rest)
	if !ok {
		return time.Time{}, false
	}
	t = day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute - offset)
	if second == 60 {
		if t.Hour() != 23 || t.Minute() != 59 {
			return time.Time{}, false
		}
		return t.Add(time.Minute), true
	}
	return t.Add(time.Duration(second)*time.Second + nanos), true
}

// parseDay reads exactly YYYY-MM-DD.
func parseDay(text string) (time.Time, bool) {
	if len(text) != 10 || text[4] != '-' || text[7] != '-' {
		return time.Time{}, false
	}
	century, okC := twoDigits(text[0:2], 99)
	year, okY := twoDigits(text[2:4], 99)
	month, okM := twoDigits(text[5:7], 12)
	day, okD := twoDigits(text[8:10], 31)
	if !okC || !okY || !okM || !okD || month == 0 || day == 0 {
		return time.Time{}, false
	}
	t := time.Date(century*100+year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return t, t.Day() == day
}

// parseFraction reads an optional fraction of a second at the start of text and returns what follows it.
func parseFraction(text string) (nanos time.Duration, rest string, ok bool) {
	digits, found := strings.CutPrefix(text, ".")
	if !found {
		return 0, text, true
	}
	n := 0
	unit := 100 * time.Millisecond
	for n < len(digits) && digits[n] >= '0' && digits[n] <= '9' {
		nanos += time.Duration(digits[n]-'0') * unit
		unit /= 10
		n++
	}
	return nanos, digits[n:], n > 0
}

// parseOffset reads exactly Z, z or ±HH:MM.
func parseOffset(text string) (time.Duration, bool) {
	if text == "Z" || text == "z" {
		return 0, true
	}
	if len(text) != 6 || text[0] != '+' && text[0] != '-' || text[3] != ':' {
		return 0, false
	}
	hours, okH := twoDigits(text[1:3], 23)
	minutes, okM := twoDigits(text[4:6], 59)
	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if text[0] == '-' {
		offset = -offset
	}
	return offset, okH && okM
}

func twoDigits(text string, most int) (int, bool) {
	if text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9' {
		return 0, false
	}
	n := int(text[0]-'0')*10 + int(text[1]-'0')
	return n, n <= most
}
