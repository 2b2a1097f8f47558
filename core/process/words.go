package process

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// isBlank says whether text is empty or only Unicode white space (protocol.md 1.1).
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// quote writes text for a message: in double quotes, on one line, not endlessly long.
func quote(text string) string { return `"` + shorten(text) + `"` }

// shorten cuts a long text for a message.
func shorten(text string) string {
	const most = 60
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	return string(runes[:most-1]) + "…"
}

// oneLine makes what a file says harmless inside a message: breaks and unprintable characters become visible.
func oneLine(message string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\u2028', r == '\u2029', r == '\u0085':
			return '⏎'
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return '�'
		}
		return r
	}, message)
}

// names lists names for a message: `a`, `b` and `c`.
func names(list []string, and string) string {
	marked := make([]string, len(list))
	for i, name := range list {
		marked[i] = "`" + shorten(name) + "`"
	}
	if last := len(marked) - 1; last > 0 {
		return strings.Join(marked[:last], ", ") + " " + and + " " + marked[last]
	}
	return strings.Join(marked, "")
}

// synonyms are words that people write from habit, with what they mean here.
var synonyms = map[string][]string{
	"text": {"string"}, "str": {"string"}, "int": {"number"}, "integer": {"number"}, "float": {"number"}, "double": {"number"},
	"decimal": {"number"}, "bool": {"boolean"}, "array": {"list"}, "map": {"object"}, "dict": {"object"}, "json": {"object"},
	"timestamp": {"datetime"}, "email": {"person"}, "user": {"person"},
	"prompt": {"agent"}, "instructions": {"agent"}, "approval": {"approve"}, "end": {"finish"}, "outcome": {"finish"},
	"assignee": {"person"}, "role": {"person"}, "owner": {"person"}, "deadline": {"due"}, "goto": {"next"}, "then": {"next"},
	"enum": {"one_of"}, "options": {"one_of"}, "choices": {"one_of"}, "allowed": {"one_of"}, "question": {"ask"}, "threshold": {"pass"},
	"target": {"to"}, "condition": {"when"}, "if": {"when"}, "title": {"name"}, "summary": {"description"},
}

// suggest returns the candidate that a word was most likely meant to be, or "".
func suggest(word string, candidates []string) string {
	if word == "" || len(word) > 200 {
		return ""
	}
	folded := fold(word)
	best, least := "", 1+utf8.RuneCountInString(folded)/3
	if least > 3 {
		least = 3
	}
	for _, candidate := range candidates {
		if candidate == word || abs(len(candidate)-len(word)) > 4 {
			continue
		}
		other := fold(candidate)
		distance := 0
		if other != folded {
			distance = levenshtein.ComputeDistance(folded, other)
			if swapped(folded, other) {
				distance = 1
			}
		}
		// A word as short as the distance has nothing in common with it.
		if distance < least || distance == least && best == "" && distance < utf8.RuneCountInString(folded) && folded[0] == other[0] {
			best, least = candidate, distance
		}
	}
	if best != "" {
		return best
	}
	for _, meant := range synonyms[strings.ToLower(word)] {
		for _, candidate := range candidates {
			if candidate == meant {
				return meant
			}
		}
	}
	return ""
}

// fold makes words that differ only in case or in how their parts are joined equal.
func fold(word string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' {
			return '-'
		}
		return unicode.ToLower(r)
	}, word)
}

// swapped says whether two words differ only in two neighbouring letters.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// meant is the end of a message that names the suggestion, or "".
func meant(word string, candidates []string) string {
	if s := suggest(word, candidates); s != "" {
		return "; did you mean `" + s + "`?"
	}
	return ""
}
