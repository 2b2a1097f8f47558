package process

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Excerpts shows where issues are in a source.
type Excerpts struct{ lines lines }

// NewExcerpts returns the excerpts of a source.
func NewExcerpts(src []byte) *Excerpts {
	return &Excerpts{lines{text: strings.TrimPrefix(string(src), byteOrderMark)}}
}

// Show returns the line of an issue, and a line with a caret under its token. Both fit in about a hundred columns of a
// terminal, where wide characters take two and a tab is shown as four spaces; what can't be printed is shown as a
// question mark. Issues are best shown in their order.
func (e *Excerpts) Show(i Issue) (line, caret string) {
	text, begin := e.lines.get(i.Line, i.Column)
	_, end := e.lines.get(i.Line, i.EndColumn)
	e.lines.get(i.Line, i.Column)
	const most, ahead = 100, 30
	before, indent := shownEnd(text[:begin], most-ahead)
	token, under := shownStart(text[begin:end], most-indent)
	rest, _ := shownStart(text[end:], most-indent-under)
	return strings.TrimRight(before+token+rest, " "), strings.Repeat(" ", indent) + "^" + strings.Repeat("~", max(0, under-1))
}

// shown is a character as it is shown, and the columns that takes.
func shown(r rune) (string, int) {
	switch {
	case r == '\t':
		return "    ", 4
	case unicode.In(r, unicode.Mn, unicode.Me) || r == '\u200D' || r == '\uFE0F':
		return string(r), 0
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029', r == utf8.RuneError:
		return "?", 1
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return string(r), 2
	}
	return string(r), 1
}

// shownStart shows the beginning of text in at most so many columns, and says how many it took.
func shownStart(text string, most int) (string, int) {
	var b strings.Builder
	columns := 0
	for _, r := range text {
		s, w := shown(r)
		if columns+w > most {
			if most > 0 {
				return b.String() + "…", columns + 1
			}
			return b.String(), columns
		}
		b.WriteString(s)
		columns += w
	}
	return b.String(), columns
}

// shownEnd shows the end of text in at most so many columns, and says how many it took.
func shownEnd(text string, most int) (string, int) {
	begin, columns := len(text), 0
	for begin > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:begin])
		_, w := shown(r)
		if columns+w > most {
			break
		}
		columns += w
		begin -= size
	}
	end, columns := shownStart(text[begin:], most)
	if begin > 0 {
		return "…" + end, columns + 1
	}
	return end, columns
}
