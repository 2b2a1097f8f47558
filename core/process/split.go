package process

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

const byteOrderMark = "\uFEFF"

// split finds the frontmatter and the body (protocol.md 1.1). It reports what makes the file no PROCESS.md at all.
func (c *checker) split(src []byte) bool {
	if len(src) > MaxBytes {
		c.reportAt(ruleFileSize, Place{1, 1, 2}, "the file is larger than 1 MiB (1,048,576 bytes), the most a process may have; keep what is long in a document that the body links to")
		return false
	}
	if !c.encoded(src) {
		return false
	}
	text, bom := bytes.CutPrefix(src, []byte(byteOrderMark))
	if bom {
		c.reportAt(ruleByteOrderMark, Place{1, 1, 2}, "the file begins with a byte order mark, which is dropped; save it as UTF-8 without one")
	}
	first, rest, _ := cutLine(text)
	if first != "---" {
		c.reportAt(ruleFence, Place{1, 1, 1 + max(1, utf8.RuneCountInString(first))}, noOpening(first))
		return false
	}
	start := len(text) - len(rest)
	for at := start; ; {
		if at >= len(text) {
			c.noClosing(text[start:])
			return false
		}
		l, after, _ := cutLine(text[at:])
		if l == "---" {
			front := string(text[start:at])
			c.front = source{lines: lines{text: front}, first: 2, closing: 2 + breaks(front)}
			c.doc.Body = string(after)
			break
		}
		at = len(text) - len(after)
	}
	if strings.TrimSpace(c.doc.Body) == "" {
		c.reportAt(ruleNoBody, Place{c.front.closing, 1, 4}, "there is no body; say under the frontmatter, for agents and people, what the process is for and how to work it")
	}
	return true
}

// encoded reports bytes that no PROCESS.md has.
func (c *checker) encoded(src []byte) bool {
	if bytes.HasPrefix(src, []byte{0xFF, 0xFE}) || bytes.HasPrefix(src, []byte{0xFE, 0xFF}) {
		c.reportAt(ruleEncoding, Place{1, 1, 2}, "the file is UTF-16; save it as UTF-8")
		return false
	}
	bad := -1
	if !utf8.Valid(src) {
		for bad = 0; ; {
			r, size := utf8.DecodeRune(src[bad:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			bad += size
		}
	}
	nul := bytes.IndexByte(src, 0)
	if bad < 0 && nul < 0 {
		return true
	}
	if nul >= 0 && (bad < 0 || nul < bad) {
		c.reportAt(ruleEncoding, placeOf(string(src), nul), "there is a NUL byte here; a PROCESS.md is text, so remove it (is this the right file?)")
		return false
	}
	c.reportAt(ruleEncoding, placeOf(string(src), bad), fmt.Sprintf("the byte 0x%02X here is not valid UTF-8; save the file as UTF-8", src[bad]))
	return false
}

// placeOf is the place of a byte of a text.
func placeOf(text string, at int) Place {
	text = text[:at]
	begin := 1 + strings.LastIndexAny(text, "\r\n")
	column := 1 + utf8.RuneCountInString(strings.TrimPrefix(text[begin:], byteOrderMark))
	return Place{1 + breaks(text), column, column + 1}
}

// breaks counts the line breaks of a text.
func breaks(text string) int {
	return strings.Count(text, "\n") + strings.Count(text, "\r") - strings.Count(text, "\r\n")
}

// cutLine returns the first line without its LF or CRLF, what follows it, and whether it had one.
func cutLine(text []byte) (line string, rest []byte, ended bool) {
	l, rest, ended := bytes.Cut(text, []byte{'\n'})
	if ended {
		l = bytes.TrimSuffix(l, []byte{'\r'})
	}
	return string(l), rest, ended
}

func noOpening(first string) string {
	switch trimmed := strings.TrimSpace(first); {
	case trimmed == "---":
		return "the first line must be exactly `---`, without white space around it"
	case trimmed == "":
		return "the first line must be `---`, which opens the frontmatter; nothing may stand before it"
	case strings.Trim(trimmed, "-—–") == "":
		return "the first line must be exactly three hyphens, `---`, which open the frontmatter"
	default:
		return "the first line must be `---`, which opens the frontmatter"
	}
}

// noClosing reports that no line closes the frontmatter, at the line that looks most like one.
func (c *checker) noClosing(front []byte) {
	for line := 2; len(front) > 0; line++ {
		l, rest, _ := cutLine(front)
		trimmed := strings.TrimSpace(l)
		width := utf8.RuneCountInString(l)
		switch {
		case trimmed == "---":
			c.reportAt(ruleFence, Place{line, 1, width + 1}, "the line that closes the frontmatter must be exactly `---`, without white space around it")
			return
		case trimmed != "" && strings.Trim(trimmed, "-—–") == "" || trimmed == "...":
			c.reportAt(ruleFence, Place{line, 1, width + 1}, "the line that closes the frontmatter must be exactly three hyphens, `---`")
			return
		}
		front = rest
	}
	c.reportAt(ruleFence, Place{1, 1, 4}, "the frontmatter that this line opens is never closed; put a line `---` under it, before the body")
}
