package templates

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words turns a name into words: `check_vendor`, `check-vendor` and `checkVendor` are “Check vendor”. A run of capitals
// stays as it is (`vendorID` is “Vendor ID”).
func Words(name string) string {
	var words []string
	for _, part := range strings.FieldsFunc(name, func(r rune) bool {
		return r == '_' || r == '-' || unicode.IsSpace(r)
	}) {
		words = append(words, splitCamel(part)...)
	}
	for i, w := range words {
		if !allUpper(w) {
			w = strings.ToLower(w)
			if i == 0 {
				first, size := utf8.DecodeRuneInString(w)
				w = string(unicode.ToUpper(first)) + w[size:]
			}
		}
		words[i] = w
	}
	if len(words) == 0 {
		return name
	}
	return strings.Join(words, " ")
}

func splitCamel(s string) []string {
	runes := []rune(s)
	var words []string
	start := 0
	for i := 1; i < len(runes); i++ {
		upper := unicode.IsUpper(runes[i])
		after := unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1])
		ends := unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if upper && (after || ends) {
			words = append(words, string(runes[start:i]))
			start = i
		}
	}
	return append(words, string(runes[start:]))
}

func allUpper(s string) bool {
	upper := false
	for _, r := range s {
		if unicode.IsLower(r) {
			return false
		}
		upper = upper || unicode.IsUpper(r)
	}
	return upper && utf8.RuneCountInString(s) > 1
}

// Bytes writes a size the way a person reads it: “312 bytes”, “4.2 KB”, “1.3 MB”.
func Bytes(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " bytes"
	}
	size, unit := float64(n)/1000, "KB"
	for _, next := range []string{"MB", "GB", "TB"} {
		if size < 999.95 {
			break
		}
		size, unit = size/1000, next
	}
	return fmt.Sprintf("%.1f %s", size, unit)
}

// Count writes a number with its noun: Count(1, "item") is “1 item”, Count(2, "item") “2 items”.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Line is text as one line of at most max characters, cut at a word where it can be.
func Line(text string, max int) string {
	line := strings.Join(strings.Fields(cutRunes(text, 4*max)), " ")
	if utf8.RuneCountInString(line) <= max {
		return line
	}
	cut := cutRunes(line, max-1)
	if space := strings.LastIndexByte(cut, ' '); space > len(cut)/2 {
		cut = cut[:space]
	}
	return strings.TrimRight(cut, " ,;:") + "…"
}

// cutRunes is at most the first n characters of s.
func cutRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Paragraphs puts a text that an author wrapped by hand back into paragraphs of lines: a line that doesn't end a
// sentence goes on in the next one, so that it can wrap to any screen.
func Paragraphs(text string) [][]string {
	var paragraphs [][]string
	var lines []string
	var line string
	flushLine := func() {
		if line != "" {
			lines = append(lines, line)
		}
		line = ""
	}
	flush := func() {
		flushLine()
		if lines != nil {
			paragraphs = append(paragraphs, lines)
		}
		lines = nil
	}
	for raw := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		s := strings.TrimSpace(raw)
		switch {
		case s == "":
			flush()
		case line == "":
			line = s
		case startsItem(s):
			flushLine()
			line = s
		default:
			line += " " + s
		}
		if s != "" && strings.ContainsRune(".!?:;", rune(s[len(s)-1])) {
			flushLine()
		}
	}
	flush()
	return paragraphs
}

// codeSpans splits a line at its pairs of backticks: every second part, counted from one, stood between them.
func codeSpans(line string) []string {
	parts := strings.Split(line, "`")
	if len(parts)%2 == 0 { // one is left over: it is a character like any other
		last := len(parts) - 1
		parts[last-1] += "`" + parts[last]
		parts = parts[:last]
	}
	return parts
}

func startsItem(s string) bool {
	if strings.HasPrefix(s, "- ") || strings.HasPrefix(s, "* ") {
		return true
	}
	digits := strings.TrimLeft(s, "0123456789")
	return len(digits) < len(s) && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
}

// Person is how somebody is named in a sentence: an agent without its prefix.
func Person(by string) string {
	if name, ok := strings.CutPrefix(by, "agent:"); ok {
		return name
	}
	if by == "server" {
		return "the server"
	}
	return by
}

// ByKind is "agent", "server" or "person": it picks the icon beside a name.
func ByKind(by string) string {
	switch {
	case strings.HasPrefix(by, "agent:"):
		return "agent"
	case by == "server":
		return "server"
	default:
		return "person"
	}
}

// hintStart is a field's description, as a sentence where the control adds one of its own.
func hintStart(description string, c Control) string {
	last, _ := utf8.DecodeLastRuneInString(description)
	if (c == LinesControl || c == JSONControl || c == NumberControl) && !unicode.IsPunct(last) && !unicode.IsSpace(last) {
		return description + "."
	}
	return description
}

// overrides are the characters that can make text read as something else (Unicode UAX #9 directional overrides).
var overrides = strings.NewReplacer("\u202d", "⟨LRO⟩", "\u202e", "⟨RLO⟩", "\u0000", "⟨NUL⟩")

// Plain is text with its directional overrides made visible, so that “invoice⟨RLO⟩fdp.exe” can't pass for a PDF.
func Plain(s string) string { return overrides.Replace(s) }
