package process

import (
	"strings"
	"unicode/utf8"
)

// lines finds places in a text by line and column. Line numbers count as YAML's do: LF, CRLF and CR alone end a line.
type lines struct {
	text string
	// starts are the offsets of the lines, made when first needed.
	starts []int
	// The last place that was found: the next is mostly behind it, perhaps on the same endless line.
	line, column, offset int
}

// get returns a line, counted from 1, without its break, and the offset in it of a column that counts code points.
func (l *lines) get(line, column int) (text string, offset int) {
	if l.starts == nil {
		for at := 0; ; {
			l.starts = append(l.starts, at)
			if at += lineEnd(l.text[at:]); at == len(l.text) {
				break
			}
		}
	}
	if line < 1 || line > len(l.starts) {
		return "", 0
	}
	end := len(l.text)
	if line < len(l.starts) {
		end = l.starts[line]
	}
	text = strings.TrimRight(l.text[l.starts[line-1]:end], "\r\n")
	at := 1
	if l.line == line && column > l.column/2 {
		at, offset = l.column, l.offset
	}
	for ; at > column; at-- {
		_, size := utf8.DecodeLastRuneInString(text[:offset])
		offset -= size
	}
	for ; at < column && offset < len(text); at++ {
		_, size := utf8.DecodeRuneInString(text[offset:])
		offset += size
	}
	l.line, l.column, l.offset = line, at, offset
	return text, offset
}

// lineEnd returns the length of the first line with its break.
func lineEnd(text string) int {
	i := strings.IndexAny(text, "\r\n")
	switch {
	case i < 0:
		return len(text)
	case text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n':
		return i + 2
	}
	return i + 1
}
