package process

import (
	"strings"
	"unicode/utf8"
)

// Place is where something stands in the file: a 1-based line and column, and the column after its last character on
// that line. Columns count characters (code points).
type Place struct {
	Line, Column, EndColumn int
}

// source is the frontmatter's text and where it lies in the file.
type source struct {
	lines
	// first is the file's line number of the text's first line; closing that of the fence below it.
	first, closing int
}

// after returns what stands on a line of the file from a column on.
func (s *source) after(line, column int) string {
	text, offset := s.get(line-s.first+1, column)
	return text[offset:]
}

// spot is the place of one character that YAML named.
func (s *source) spot(line, column int) Place {
	if line >= s.closing {
		return Place{s.closing, 1, 4}
	}
	return Place{line, column, column + 1}
}

// place is that of a node's token: a scalar with its quotes, an alias, a flow collection on one line. Of a block
// collection it is the first token, of anything with a tag or an anchor that stands on a line of its own, the tag.
func (s *source) place(n *node) Place {
	text := s.after(n.line, n.column)
	column := n.column
	for {
		skip := property(text)
		if skip == 0 {
			break
		}
		text = text[skip:]
		column += skip
	}
	return Place{n.line, column, column + max(1, utf8.RuneCountInString(token(n, text)))}
}

// property returns the length of a tag or an anchor and the white space after it, when something follows on the line.
func property(text string) int {
	if text == "" || text[0] != '&' && text[0] != '!' {
		return 0
	}
	end := strings.IndexAny(text, " \t")
	if end < 0 {
		return 0
	}
	rest := strings.TrimLeft(text[end:], " \t")
	if rest == "" || rest[0] == '#' {
		return 0
	}
	return len(text) - len(rest)
}

// token returns the node's token, which text begins with, as far as it goes on that line.
func token(n *node, text string) string {
	switch {
	case text == "" || n.isEmpty():
		return ""
	case n.kind == mapNode && text[0] != '{', n.kind == listNode && text[0] != '[':
		return firstToken(text)
	}
	switch text[0] {
	case '"', '\'':
		return quoted(text)
	case '[', '{':
		return flowToken(text)
	case '|', '>', '*', '&', '!':
		return firstToken(text)
	}
	if strings.HasPrefix(text, n.raw) {
		return n.raw
	}
	return strings.TrimRight(text, " \t")
}

// quoted returns a quoted scalar with its quotes.
func quoted(text string) string {
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return text[:i+1]
		}
	}
	return strings.TrimRight(text, " \t")
}

// flowToken returns a flow collection that ends on this line, else its opening bracket.
func flowToken(text string) string {
	depth := 0
	for i := 0; i < len(text); {
		switch text[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return text[:i+1]
			}
		case '"', '\'':
			// A quote inside a plain scalar is only a character.
			if i > 0 && strings.IndexByte(" \t[{,:", text[i-1]) >= 0 {
				i += len(quoted(text[i:]))
				continue
			}
		case '#':
			if i > 0 && (text[i-1] == ' ' || text[i-1] == '\t') {
				return text[:1]
			}
		}
		i++
	}
	return text[:1]
}

// firstToken returns text up to white space or a flow indicator.
func firstToken(text string) string {
	if i := strings.IndexAny(text, " \t,]}"); i > 0 {
		return text[:i]
	}
	return text
}
