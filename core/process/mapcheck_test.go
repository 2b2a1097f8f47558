package process

import (
	"encoding/xml"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
)

// element is a parsed SVG element.
type element struct {
	name     string
	attrs    map[string]string
	children []*element
	text     string
}

func parseSVG(t require.TestingT, svg string) *element {
	root := &element{}
	stack := []*element{root}
	for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err, svg)
		top := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attrs: map[string]string{}}
			for _, a := range token.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			top.children = append(top.children, e)
			stack = append(stack, e)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.text += string(token)
		case xml.Comment, xml.ProcInst, xml.Directive:
			require.Fail(t, "an SVG holds elements and text alone", "%T", token)
		}
	}
	require.Len(t, root.children, 1)
	return root.children[0]
}

func (e *element) number(t require.TestingT, attr string) float64 {
	n, err := strconv.ParseFloat(e.attrs[attr], 64)
	require.NoError(t, err, "%s of %v", attr, e.attrs)
	return n
}

var (
	svgElements   = regexp.MustCompile(`^(svg|title|desc|style|g|rect|path|circle|text)$`)
	svgAttributes = regexp.MustCompile(`^(xmlns|class|role|width|height|viewBox|font-family|font-size|font-weight|text-anchor|transform|overflow|data-step|x|y|rx|cx|cy|r|d|fill|stroke|stroke-width|stroke-dasharray|stroke-linecap|stroke-linejoin)$`)
	mermaidLines  = regexp.MustCompile(`^(flowchart TD` +
		`|  accTitle: TEXT` +
		`|  subgraph lane_\d+\["TEXT"\]` +
		`|  end` +
		`|    NODE(\(\["TEXT"\]\)|\[\["TEXT"\]\]|\{\{"TEXT"\}\}|\[/"TEXT"/\]|\("TEXT"\)|\["TEXT"\]|\{"TEXT"\})` +
		`|  NODE (-->|-\.->)(\|"TEXT"\|)? NODE)$`)
)

func init() {
	s := mermaidLines.String()
	s = strings.ReplaceAll(s, "TEXT", `(?:[\p{L}\p{M}0-9 ,.?!'()_-]|#\d+;|<br/>)+`)
	s = strings.ReplaceAll(s, "NODE", `((?:start|step_[a-zX0-9_]+|choice_[a-zX0-9_]+|join_[a-zX0-9_]+|rejected_[a-zX0-9_]+))`)
	mermaidLines = regexp.MustCompile(s)
}

// CheckMap checks what holds for the map of any process: the SVG is well formed, holds nothing that runs or loads
// anything, its text stays within its frames, and each step has a card within the picture; the Mermaid has only lines
// of known forms, and each name in it is declared once.
func CheckMap(t require.TestingT, d *Document) {
	marks := map[string]string{}
	for i, s := range d.Steps {
		marks[s.ID] = []string{"ready", "claimed", "waiting", "done", "failed", "cancelled", ""}[i%7]
	}
	checkSVG(t, d, SVG(d, MapOptions{}), true)
	checkSVG(t, d, SVG(d, MapOptions{Marks: marks, Current: d.Steps[0].ID, Embedded: true}), false)
	checkMermaid(t, d, Mermaid(d))
}

func checkSVG(t require.TestingT, d *Document, svg string, alone bool) {
	root := parseSVG(t, svg)
	require.Equal(t, "img", root.attrs["role"])
	require.Equal(t, "title", root.children[0].name)
	require.Equal(t, "desc", root.children[1].name)
	width, height := root.number(t, "width"), root.number(t, "height")
	cards, styles := 0, 0
	var walk func(e, frame *element)
	walk = func(e, frame *element) {
		require.Regexp(t, svgElements, e.name)
		for a, v := range e.attrs {
			require.Regexp(t, svgAttributes, a)
			require.NotContains(t, v, "url(")
		}
		switch e.name {
		case "style":
			styles++
		case "svg":
			frame = e
		case "text":
			checkText(t, e, frame)
		case "rect":
			if frame == root {
				require.LessOrEqual(t, e.number(t, "x")+e.number(t, "width"), width)
				require.LessOrEqual(t, e.number(t, "y")+e.number(t, "height"), height)
			}
		}
		if e.attrs["data-step"] != "" {
			cards++
			require.Equal(t, "title", e.children[0].name)
		}
		for _, c := range e.children {
			walk(c, frame)
		}
	}
	walk(root, root)
	require.Equal(t, len(d.Steps), cards)
	require.Equal(t, alone, styles == 1)
}

// checkText checks that a line of text fits its frame, whatever common face it is shown in.
func checkText(t require.TestingT, e, frame *element) {
	if e.attrs["text-anchor"] == "middle" {
		require.Contains(t, []string{"Start", "?"}, e.text)
		return
	}
	face := typeface{size: e.number(t, "font-size"), bold: e.attrs["font-weight"] == "600"}
	require.LessOrEqual(t, e.number(t, "x")+face.width(e.text), frame.number(t, "width")+0.5, "%q overflows", e.text)
	require.LessOrEqual(t, e.number(t, "y")+3, frame.number(t, "height"), "%q is below its frame", e.text)
	require.GreaterOrEqual(t, e.number(t, "y"), face.size*0.8, "%q is above its frame", e.text)
}

func checkMermaid(t require.TestingT, d *Document, m string) {
	declared, used := map[string]bool{}, map[string]bool{}
	open := 0
	for _, line := range strings.Split(strings.TrimSuffix(m, "\n"), "\n") {
		match := mermaidLines.FindStringSubmatch(line)
		require.NotNil(t, match, "%q is no line of a map", line)
		switch {
		case strings.HasPrefix(line, "  subgraph "):
			open++
		case line == "  end":
			open--
		case match[2] != "":
			require.False(t, declared[match[2]], "%s is declared twice", match[2])
			declared[match[2]] = true
			require.Equal(t, 1, open)
		case match[4] != "":
			used[match[4]], used[match[7]] = true, true
		}
		require.GreaterOrEqual(t, open, 0)
	}
	require.Zero(t, open)
	for name := range used {
		require.True(t, declared[name], "an edge names %s, which isn't there", name)
	}
	require.GreaterOrEqual(t, len(declared), len(d.Steps)+1)
}
