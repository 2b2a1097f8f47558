package process

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxDays is the longest duration (protocol.md 1.3).
const maxDays = 36500

// duration checks a text of an integer and m, h or d (protocol.md 1.3); nil when it isn't one.
func (c *checker) duration(n *node, what string) *time.Duration {
	if n.kind == numberNode && !c.settled[n] {
		c.report(ruleDuration, n, fmt.Sprintf("%s needs a unit after the number: m for minutes, h for hours or d for days, such as `%sd`", what, shorten(n.raw)))
		return nil
	}
	text, ok := c.text(n, what)
	if !ok {
		return nil
	}
	if !durationRegexp.MatchString(text) {
		c.report(ruleDuration, n, fmt.Sprintf("%s is not a duration; write a whole number and m, h or d, %s", quote(text), durationIdea(text)))
		return nil
	}
	units := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}
	unit := units[text[len(text)-1]]
	digits := strings.TrimLeft(text[:len(text)-1], "0")
	count, err := strconv.ParseInt("0"+digits, 10, 64)
	if most := int64(maxDays * 24 * time.Hour / unit); err != nil || count > most {
		c.report(ruleDuration, n, fmt.Sprintf("%s is longer than %d days, the longest a duration may be", quote(text), maxDays))
		return nil
	}
	if count == 0 {
		c.report(ruleZeroDuration, n, fmt.Sprintf("%s of %s passes at once; is that meant?", what, quote(text)))
	}
	d := time.Duration(count) * unit
	return &d
}

var looseDuration = regexp.MustCompile(`(?i)^\s*(?:P|PT)?([0-9]{1,6})\s*(m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)\s*$`)

// durationIdea guesses what a text that is no duration means.
func durationIdea(text string) string {
	parts := looseDuration.FindStringSubmatch(text)
	if parts == nil {
		return "such as `30m`, `4h` or `3d`"
	}
	count, _ := strconv.Atoi(parts[1])
	unit := strings.ToLower(parts[2])[:1]
	if unit == "w" {
		count, unit = count*7, "d"
	}
	return fmt.Sprintf("here `%d%s`", count, unit)
}
