package process

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// reportSyntax reports what the YAML parser refused, in words for an author.
func (c *checker) reportSyntax(err error) {
	var at *yaml.LoadError
	if !errors.As(err, &at) {
		c.reportAt(ruleSyntax, c.front.spot(c.front.first, 1), "this can't be read as YAML: "+err.Error())
		return
	}
	mark, context := c.mark(at.Mark), c.mark(at.ContextMark)
	switch {
	case at.Message == errTooDeep.Error():
		c.reportAt(ruleTooDeep, mark, tooDeep)
	case at.Mark.Line == 0:
		c.reportAt(ruleSyntax, c.front.spot(c.front.first, 1), "this can't be read as YAML: "+at.Message)
	default:
		place, message := c.explain(at, mark, context)
		c.reportAt(ruleSyntax, place, message)
	}
}

// mark is a place that the library named, one character wide.
func (c *checker) mark(m yaml.Mark) Place {
	return c.front.spot(m.Line+c.front.first-1, m.Column)
}

// explain says what a refusal of the library most likely means, and where.
func (c *checker) explain(at *yaml.LoadError, mark, context Place) (Place, string) {
	here := c.front.after(mark.Line, mark.Column)
	switch at.Message {
	case "found unexpected end of stream", "found unexpected document indicator":
		return context, "the quote that opens here is never closed; close it"
	case "found unknown escape character":
		return mark, "in double quotes a backslash begins an escape, and this is none; write `\\\\` for a backslash, or use single quotes"
	case "did not find expected hexadecimal number":
		return mark, "this escape needs hexadecimal digits after it: two after `\\x`, four after `\\u`, eight after `\\U`"
	case "found invalid Unicode character escape code":
		return mark, "this escape names no character: half a surrogate pair, or a number beyond U+10FFFF"
	case "found character that cannot start any token":
		return mark, c.cannotStart(here)
	case "found a tab character that violates indentation", "found a tab character where an indentation space is expected", "found mixed spaces and tabs in indentation":
		return mark, "indent with spaces: YAML doesn't allow a tab here"
	case "mapping values are not allowed in this context":
		return c.secondColon(mark)
	case "could not find expected ':'":
		return c.wholeLine(context), "this line is neither `key: value` nor part of the text above it; add the colon, indent it under the text it belongs to, or put the text in quotes"
	case "did not find expected key", "did not find expected '-' indicator", "did not find expected <document start>",
		"block sequence entries are not allowed in this context", "mapping keys are not allowed in this context":
		return c.misplaced(at, mark, context, here)
	case "did not find expected ',' or ']'":
		return c.unclosed(mark, context, "list", "[", "]")
	case "did not find expected ',' or '}'":
		return c.unclosed(mark, context, "map", "{", "}")
	case "did not find expected node content":
		if strings.HasPrefix(here, ",") {
			return mark, "there is nothing before this comma; remove it, or write the value"
		}
		return mark, "a value is missing here"
	case "found a comment without preceding whitespace":
		return mark, "a comment needs a space before its `#`; put the text in quotes if the `#` belongs to it"
	case "did not find expected comment or line break":
		return mark, "only a comment may follow on this line"
	case "did not find expected alphabetic or numeric character":
		if strings.HasPrefix(c.front.after(context.Line, context.Column), "*") {
			return context, "text can't begin with `*`, which stands for an alias; put it in quotes"
		}
		return context, "text can't begin with `&`, which names an anchor; put it in quotes"
	case "found undefined tag handle", "did not find expected whitespace or line break", "did not find expected tag URI", "did not find the expected '>'", "did not find expected '!'":
		return mark, "text can't begin with `!`, which is for tags; put it in quotes"
	case "found incompatible YAML document":
		return mark, "a frontmatter is YAML 1.2; remove this line"
	case "found an indentation indicator equal to 0":
		return mark, "the number after `|` or `>` says how far the text is indented; it is 1 to 9, and rarely needed"
	}
	if name, found := strings.CutPrefix(at.Message, "unknown anchor "); found {
		name, _, _ = strings.Cut(strings.TrimPrefix(name, "'"), "'")
		mark.EndColumn += utf8.RuneCountInString(name)
		return mark, "there is no anchor `&" + shorten(name) + "` above that `*" + shorten(name) + "` could stand for; put text that begins with `*` in quotes"
	}
	return mark, "this can't be read as YAML: " + at.Message
}

// cannotStart explains a character that no plain text begins with.
func (c *checker) cannotStart(here string) string {
	r, _ := utf8.DecodeRuneInString(here)
	switch r {
	case '\t':
		return "indent with spaces: YAML doesn't allow a tab here"
	case '`':
		return "text can't begin with a backtick; put it in quotes"
	case '@', '%':
		return "text can't begin with `" + string(r) + "`; put it in quotes"
	}
	return "this can't begin a value; put text in quotes"
}

// secondColon explains a colon where no key may be: in a text that needs quotes, after a line that isn't `key: value`,
// or in a line whose indent is wrong.
func (c *checker) secondColon(mark Place) (Place, string) {
	before := c.before(mark)
	if strings.Contains(before, ": ") {
		return mark, "a second `: ` on this line makes YAML look for another key; put the text in quotes, or write it below after `|`"
	}
	indent := indentOf(before)
	if mark.Line > c.front.first {
		above := c.front.after(mark.Line-1, 1)
		if text := strings.TrimSpace(above); text != "" && indentOf(above) == indent && !strings.Contains(text, ": ") && !strings.HasSuffix(text, ":") {
			return c.wholeLine(Place{Line: mark.Line - 1, Column: indent + 1}), "this line is not `key: value`; a colon is missing, or the space after it"
		}
	}
	return Place{mark.Line, indent + 1, max(indent+2, mark.Column)}, "this key is indented too far, or the line above it already has a value; put it at the same indent as the keys beside it"
}

// before returns what stands on a line before a place.
func (c *checker) before(at Place) string {
	line, offset := c.front.get(at.Line-c.front.first+1, at.Column)
	return line[:offset]
}

// indentOf counts the spaces and tabs that a line begins with.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// misplaced explains a line that doesn't fit the lines above it.
func (c *checker) misplaced(at *yaml.LoadError, mark, context Place, here string) (Place, string) {
	where := ""
	if at.ContextMark.Line != 0 && context.Line < mark.Line {
		where = " that begins on line " + strconv.Itoa(context.Line)
	}
	what := "map"
	if strings.Contains(at.ContextMsg, "collection") {
		what = "list"
	}
	start := c.front.after(context.Line, context.Column)
	before := strings.TrimRight(c.before(mark), " \t")
	switch dash := strings.HasPrefix(here, "- ") || here == "-"; {
	case strings.HasPrefix(here, "]") || strings.HasPrefix(here, "}"):
		return mark, "nothing is open that this bracket could close; remove it, or put the text in quotes"
	case mark.Line >= c.front.closing:
		return mark, "the frontmatter ends in the middle of the " + what + where
	case before != "" && strings.HasSuffix(before, "'"):
		return mark, "nothing may follow the quote that closes before this; put all of the text in quotes, and write an apostrophe inside single quotes twice: ''"
	case before != "" && strings.ContainsAny(before[len(before)-1:], `"]}`):
		return mark, "nothing may follow what closes before this; put all of the text in quotes"
	case dash && before != "" && !strings.HasSuffix(before, "-"):
		return mark, "a list begins on a line of its own; to begin a text with `-`, put it in quotes"
	case dash && len(start) > 1 && start[0] == '-' && start[1] != ' ':
		return Place{context.Line, context.Column, context.Column + 1}, "a `-` that begins an element of a list needs a space after it"
	case dash:
		return mark, "this `-` is not indented like the other elements of its list" + where + "; line them up"
	}
	return mark, "this is not indented like the rest of the " + what + where + "; line it up"
}

// unclosed explains a flow collection that isn't closed, or lacks a comma.
func (c *checker) unclosed(mark, context Place, what, open, closing string) (Place, string) {
	if mark.Line != context.Line {
		return context, "the " + what + " that this `" + open + "` opens isn't closed on line " + strconv.Itoa(mark.Line) + " or before; add `" + closing + "`, or a comma between its elements"
	}
	if here := c.front.after(mark.Line, mark.Column); strings.HasPrefix(here, ":") {
		return mark, "a comma is missing before this key"
	}
	return mark, "a comma is missing before this, or a `" + closing + "` to close the " + what
}

// wholeLine is the place of all text on a line from a place on.
func (c *checker) wholeLine(at Place) Place {
	text := strings.TrimRight(c.front.after(at.Line, at.Column), " \t")
	at.EndColumn = at.Column + max(1, utf8.RuneCountInString(text))
	return at
}
