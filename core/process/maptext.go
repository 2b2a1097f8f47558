package process

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// typeface is a size and weight of the map's sans-serif text.
type typeface struct {
	size float64
	bold bool
}

// width is how wide a line of text gets at most, in pixels, in whatever common sans-serif face it is shown.
func (t typeface) width(s string) float64 {
	em := 0.0
	for _, r := range s {
		em += t.advance(r)
	}
	return em * t.size
}

func (t typeface) advance(r rune) float64 {
	widths := regularWidths
	if t.bold {
		widths = boldWidths
	}
	for _, first := range [...]rune{0x20, 0x370, 0x2010} {
		if i := r - first; i >= 0 && int(i) < len(widths[first]) && widths[first][i] > 0 {
			return float64(widths[first][i]) / 100
		}
	}
	switch {
	case joins(r):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return 1.05
	case r == 0xFDFD || unicode.In(r, unicode.Cuneiform, unicode.Egyptian_Hieroglyphs):
		return 10 // single characters as wide as a sentence
	}
	return 1.5 // as wide as emoji get
}

// joins says whether a character belongs to the one before it.
func joins(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || r >= 0x1F3FB && r <= 0x1F3FF
}

// wrap breaks text into at most lines lines of at most width pixels, at spaces where it can. What doesn't fit is cut
// off with an ellipsis, and cut says so.
func (t typeface) wrap(s string, width float64, lines int) (wrapped []string, cut bool) {
	for s != "" {
		line, rest := t.firstLine(s, width)
		if rest != "" && len(wrapped) == lines-1 {
			return append(wrapped, t.shorten(s, width)), true
		}
		wrapped = append(wrapped, line)
		s = rest
	}
	return wrapped, false
}

// firstLine splits off the longest start of s that fits: up to a space, or within a word when the word alone is too
// wide.
func (t typeface) firstLine(s string, width float64) (line, rest string) {
	used, end, space := 0.0, 0, 0
	for i, r := range s {
		used += t.advance(r) * t.size
		if r == ' ' {
			space = i
		}
		if used > width && r != ' ' && i > 0 {
			switch {
			case space > 0:
				return s[:space], s[space+1:]
			case end > 0:
				return s[:end], s[end:]
			}
		}
		if !glued(s, i+utf8.RuneLen(r)) {
			end = i + utf8.RuneLen(r)
		}
	}
	return strings.TrimRight(s, " "), ""
}

// shorten cuts s to what fits together with an ellipsis.
func (t typeface) shorten(s string, width float64) string {
	const ellipsis = "…"
	used, end := t.width(ellipsis), 0
	for i, r := range s {
		used += t.advance(r) * t.size
		if used > width {
			break
		}
		if next := i + utf8.RuneLen(r); !glued(s, next) {
			end = next
		}
	}
	return strings.TrimRight(s[:end], " ") + ellipsis
}

// glued says whether the characters before and after a place belong together.
func glued(s string, at int) bool {
	const joiner = 0x200D
	before, _ := utf8.DecodeLastRuneInString(s[:at])
	after, size := utf8.DecodeRuneInString(s[at:])
	return size > 0 && (joins(after) || before == joiner)
}

// plainText makes any text one harmless line: white space becomes single spaces, control and format characters
// (such as those that turn the direction of text around) are dropped, and so is what XML can't hold, and all but the
// first few marks that stand on one letter.
func plainText(s string) string {
	const marksPerLetter = 4
	var b strings.Builder
	space, marks := false, 0
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case r == 0x200C, r == 0x200D: // joiners shape emoji and several scripts
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == 0xFFFE, r == 0xFFFF:
			continue
		}
		if joins(r) {
			if marks++; marks > marksPerLetter {
				continue
			}
		} else {
			marks = 0
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// words reads a name as words: check_vendor becomes “Check vendor”. Any other text stays as it is; nothing visible is
// “(blank)”.
func words(name string) string {
	text := plainText(name)
	if text == "" {
		return "(blank)"
	}
	for _, r := range text {
		if !unicode.In(r, unicode.L, unicode.M, unicode.Nd) && !strings.ContainsRune("_-.", r) {
			return text
		}
	}
	spaced := plainText(strings.NewReplacer("_", " ", "-", " ", ".", " ").Replace(text))
	first, size := utf8.DecodeRuneInString(spaced)
	if size == 0 {
		return text
	}
	return string(unicode.ToUpper(first)) + spaced[size:]
}

// fieldWords reads a field's name as words, humps included: hiringManager becomes “Hiring manager”.
func fieldWords(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte('_')
			r = unicode.ToLower(r)
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(r)
	}
	return words(b.String())
}
