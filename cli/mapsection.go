package cli

import (
	"bytes"
	"errors"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	md "github.com/yuin/goldmark/text"
)

// mapHeading is the heading of the section that holds a process's map.
const mapHeading = "Process map"

// withMap returns a PROCESS.md whose body, from bodyStart on, holds the Mermaid map under “## Process map”: in place of
// what that section held, or in a new section at the end. Every other byte stays.
func withMap(source []byte, bodyStart int, mermaid string) ([]byte, error) {
	eol := lineEnd(source)
	fence := strings.ReplaceAll("\n```mermaid\n"+mermaid+"```\n", "\n", eol)

	var out []byte
	if s, found := findSection(source[bodyStart:], mapHeading); found {
		from, to := bodyStart+s.start, bodyStart+s.end
		out = append(out, source[:from]...)
		out = append(out, endLine(source[:from], eol)...)
		out = append(out, fence...)
		if to < len(source) {
			out = append(out, eol...)
		}
		out = append(out, source[to:]...)
	} else {
		out = append(out, source...)
		out = append(out, endLine(source, eol)...)
		if !endsBlank(source[bodyStart:]) {
			out = append(out, eol...)
		}
		out = append(out, "## "+mapHeading+eol+fence...)
	}

	// A fence or a comment that the body opens and never closes would swallow the map.
	body := out[min(bodyStart+len(endLine(source[:bodyStart], eol)), len(out)):]
	s, found := findSection(body, mapHeading)
	if !found || !bytes.Contains(body[s.start:s.end], []byte(fence)) {
		return nil, errors.New("the body ends inside a code block or a comment that is never closed; close it, so that the map can follow")
	}
	return out, nil
}

// lineEnd is how the file's lines end, going by the first.
func lineEnd(source []byte) string {
	if i := bytes.IndexByte(source, '\n'); i > 0 && source[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// endLine is what ends the last line, if nothing does yet.
func endLine(b []byte, eol string) string {
	if len(b) == 0 || b[len(b)-1] == '\n' {
		return ""
	}
	return eol
}

// endsBlank says whether a body ends with a blank line.
func endsBlank(body []byte) bool {
	rest, ended := bytes.CutSuffix(body, []byte("\n"))
	return ended && len(bytes.TrimSpace(rest[lineStart(rest, len(rest)):])) == 0
}

// section is a part of a body: what follows a heading's line, up to the next heading of its level or above.
type section struct{ start, end int }

// findSection finds the first section under a second-level heading of that name, in any case. Markdown decides what a
// heading is: in a code block, a comment or a quotation there is none.
func findSection(body []byte, name string) (section, bool) {
	blocks := parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)
	doc := blocks.Parse(md.NewReader(body))
	s, found := section{end: len(body)}, false
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok || h.Level > 2 {
			continue
		}
		if found {
			s.end = lineStart(body, h.Pos())
			return s, true
		}
		if h.Level == 2 && strings.EqualFold(headingText(h, body), name) {
			s.start, found = headingEnd(h, body), true
		}
	}
	return s, found
}

// headingText is what a heading says.
func headingText(h *ast.Heading, body []byte) string {
	return strings.Join(strings.Fields(string(h.Lines().Value(body))), " ")
}

// headingEnd is where the line after a heading begins, and after its underline if it has one.
func headingEnd(h *ast.Heading, body []byte) int {
	lines := h.Lines()
	end := nextLine(body, lines.At(lines.Len()-1).Stop-1)
	if first := lineStart(body, lines.At(0).Start); !bytes.HasPrefix(bytes.TrimLeft(body[first:], " "), []byte("#")) {
		end = nextLine(body, end)
	}
	return end
}

func lineStart(body []byte, at int) int {
	return bytes.LastIndexByte(body[:at], '\n') + 1
}

// nextLine is where the line after the one that holds a byte begins.
func nextLine(body []byte, at int) int {
	if i := bytes.IndexByte(body[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(body)
}
