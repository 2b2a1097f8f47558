package web

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/templates"
)

func raws(values ...string) []json.RawMessage {
	list := make([]json.RawMessage, len(values))
	for i, v := range values {
		list[i] = json.RawMessage(v)
	}
	return list
}

// TestWhatPeopleTypeBecomesJSON has a row a thing typed: the field, what was typed, and the value; "" is nothing given.
func TestWhatPeopleTypeBecomesJSON(t *testing.T) {
	t.Parallel()
	text, number := process.Field{Type: process.String}, process.Field{Type: process.Number}
	list := func(items process.Field) process.Field { return process.Field{Type: process.List, Items: &items} }
	for _, c := range []struct {
		field process.Field
		typed string
		want  string
	}{
		{text, "", ""},
		{text, " \r\n ", ""},
		{text, "two\r\nlines ", `"two\nlines "`},
		{number, "48000.00", "48000.00"},
		{number, " 9007199254740993 ", "9007199254740993"},
		{number, "1e2", "1e2"},
		{number, "+5", "5"},
		{number, ".5", "0.5"},
		{number, "-.50", "-0.50"},
		{number, "5.", "5"},
		{number, "007", "7"},
		{number, "0", "0"},
		{number, "-0", "-0"},
		{number, "48,000", `"48,000"`},
		{number, "12 000", `"12 000"`},
		{number, "1.2.3", `"1.2.3"`},
		{number, ".", `"."`},
		{number, "NaN", `"NaN"`},
		{number, "0x10", `"0x10"`},
		{process.Field{Type: process.Boolean}, "true", "true"},
		{process.Field{Type: process.Boolean}, "false", "false"},
		{process.Field{Type: process.Boolean}, "maybe", `"maybe"`},
		{process.Field{Type: process.Date}, " 2026-10-06 ", `"2026-10-06"`},
		{process.Field{Type: process.Person}, " mira@example.com ", `"mira@example.com"`},
		{process.Field{Type: process.String, OneOf: raws(`"a"`, `"b"`)}, "b", `"b"`},
		{process.Field{Type: process.String, OneOf: raws(`"a"`, `"b"`)}, "c", `"c"`},
		{process.Field{Type: process.Number, OneOf: raws("1.0", "2")}, "1.0", "1.0"},
		{process.Field{Type: process.Boolean, OneOf: raws("true")}, "true", "true"},
		{process.Field{Type: process.List}, "a\n\n b \r\nc", `["a","b","c"]`},
		{process.Field{Type: process.List}, `[1, {"a": 2}]`, `[1, {"a": 2}]`},
		{process.Field{Type: process.List}, "[draft] first", `["[draft] first"]`},
		{list(number), "1\n2.50\nx", `[1,2.50,"x"]`},
		{list(process.Field{Type: process.Boolean}), "yes\nNo\ntrue", `[true,false,true]`},
		{process.Field{Type: process.Object}, `{"a": 1.50}`, `{"a": 1.50}`},
		{process.Field{Type: process.Object}, "street: Hafenstr. 1\ncity: Hamburg\nfloor: 2\nzip: 020457\nnote: a: b", `{"street":"Hafenstr. 1","city":"Hamburg","floor":2,"zip":"020457","note":"a: b"}`},
		{process.Field{Type: process.Object}, "empty:\nnothing: null", `{"empty":"","nothing":"null"}`},
		{process.Field{Type: process.Object}, "just a sentence", `"just a sentence"`},
		{process.Field{Type: process.Object}, `{"a": }`, `"{\"a\": }"`},
		{list(process.Field{Type: process.Object}), "a: 1\nb: x\n\na: 2", `[{"a":1,"b":"x"},{"a":2}]`},
		{list(process.Field{Type: process.Object}), `[{"a":1}]`, `[{"a":1}]`},
		{list(process.Field{Type: process.List}), `[["a"]]`, `[["a"]]`},
		{list(process.Field{Type: process.List}), "a, b", `"a, b"`},
	} {
		c.field.Name = "x"
		got := typedField(c.field, url.Values{templates.FieldPrefix + "x": {c.typed}})
		require.Equal(t, c.want, string(got), "%s %q", c.field.Type, c.typed)
		require.True(t, got == nil || json.Valid(got), "%s", got)
	}
}

func TestMomentsGetTheirOffset(t *testing.T) {
	t.Parallel()
	f := process.Field{Name: "at", Type: process.Datetime}
	for _, c := range []struct{ local, offset, want string }{
		{"2026-10-06T14:30", "+02:00", "2026-10-06T14:30:00+02:00"},
		{"2026-10-06T14:30:15", "-05:30", "2026-10-06T14:30:15-05:30"},
		{"2026-10-06T14:30", "Z", "2026-10-06T14:30:00Z"},
		{"2026-10-06T14:30", "utc", "2026-10-06T14:30:00Z"},
		{"2026-10-06T14:30", "2", "2026-10-06T14:30:00+02:00"},
		{"2026-10-06T14:30", "+0545", "2026-10-06T14:30:00+05:45"},
		{"2026-10-06T14:30", "−3", "2026-10-06T14:30:00-03:00"},
		{"2026-10-06T14:30", "", "2026-10-06T14:30:00"},
		{"2026-10-06T14:30", "CET", "2026-10-06T14:30:00CET"},
		{"2026-10-06T14:30:00Z", "+02:00", "2026-10-06T14:30:00Z"},
		{"2026-10-06T14:30:00-01:00", "+02:00", "2026-10-06T14:30:00-01:00"},
		{"tomorrow", "+02:00", "tomorrow"},
	} {
		got := typedField(f, url.Values{templates.FieldPrefix + "at": {c.local}, templates.OffsetPrefix + "at": {c.offset}})
		require.Equal(t, `"`+c.want+`"`, string(got))
	}
}

func TestTypedObjectHoldsWhatWasGiven(t *testing.T) {
	t.Parallel()
	fields := process.Fields{
		{Name: "b", Type: process.Number}, {Name: "a \"quoted\"", Type: process.String}, {Name: "none", Type: process.List},
		{Name: "left out", Type: process.String}, {Name: "some", Type: process.List, Items: &process.Field{Type: process.String, OneOf: raws(`"x"`, `"y"`, `"z"`)}},
	}
	typed := url.Values{"field.b": {"1.50"}, "field.a \"quoted\"": {"<x>"}, "none.none": {"1"}, "field.some": {"z", "x"}, "field.undeclared": {"ignored"}}
	require.Equal(t, `{"b":1.50,"a \"quoted\"":"\u003cx\u003e","none":[],"some":["z","x"]}`, string(typedObject(fields, typed)))
	require.Equal(t, `{}`, string(typedObject(nil, typed)))
	typed.Set("field.none", "something after all")
	require.Contains(t, string(typedObject(fields, typed)), `"none":["something after all"]`)
}

func FuzzTypedFields(f *testing.F) {
	f.Add("48000.00", "a: b\nc", "+02:00")
	f.Add("[", "{", "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		fields := process.Fields{
			{Name: "s", Type: process.String}, {Name: "n", Type: process.Number}, {Name: "o", Type: process.Object}, {Name: "l", Type: process.List},
			{Name: "r", Type: process.List, Items: &process.Field{Type: process.Object}}, {Name: "d", Type: process.Datetime},
		}
		typed := url.Values{"offset.d": {c}}
		for _, text := range []string{a, b, c} {
			for _, field := range fields {
				typed.Set("field."+field.Name, text)
			}
			require.True(t, json.Valid(typedObject(fields, typed)))
		}
	})
}

func TestIssuesAreExplainedBesideTheirFields(t *testing.T) {
	t.Parallel()
	fields := process.Fields{{Name: "total", Type: process.Number}, {Name: "total.net", Type: process.Number}, {Name: "tags", Type: process.List}, {Name: "a: b", Type: process.Date}}
	for code, want := range map[string]templates.Issue{
		"output.total: missing":                {About: "field.total", Label: "total", Text: "This is needed."},
		"output.total.net: expected number":    {About: "field.total.net", Label: "total.net", Text: "Enter a number with a point for decimals and no separators, like 1250.50."},
		"output.a: b: missing":                 {About: "field.a: b", Label: "a: b", Text: "This is needed."},
		"output.tags[2]: expected string":      {About: "field.tags", Label: "tags", Text: "Element 3: Enter a string."},
		"output.tags[19]: not one of x, y":     {About: "field.tags", Label: "tags", Text: "Element 20: Choose one of x, y."},
		"output.other: not declared":           {Text: "Output.other: not declared."},
		"evidence: file required":              {About: "file", Label: "Evidence file", Text: "At least one file is needed."},
		"evidence: link required":              {About: "link", Label: "Evidence link", Text: "At least one link is needed."},
		"evidence f_1: not found":              {About: "file", Label: "Evidence file", Text: "A file is no longer there. Choose it again."},
		"next: required, one of a, b":          {About: "next", Label: "Next step", Text: "Choose one."},
		"reason: required":                     {About: "reason", Label: "Reason", Text: "Say why."},
		"note: required":                       {About: "note", Label: "Note", Text: "Say why, for whoever works on it next and for the record."},
		"note: not allowed with completed":     {About: "note", Label: "Note", Text: "A note isn't kept with Complete. Move it to the summary, or clear it."},
		"run data: 300000 bytes, limit 262144": {Text: "This is more than a run may hold. Shorten it, or attach a file instead."},
		"something new: odd":                   {Text: "Something new: odd."},
		"":                                     {},
	} {
		want.Code = code
		require.Equal(t, []templates.Issue{want}, explain([]string{code}, "output", fields), code)
	}
	require.Equal(t, "field.total", explain([]string{"inputs.total: missing"}, "inputs", fields)[0].About)
}

func TestMarkdownOfABodyIsSafe(t *testing.T) {
	t.Parallel()
	html := safeMarkdown("# Title\n\nText with <b>HTML</b>, *stress* and ![a picture](https://elsewhere.example/p.png).\n\n" +
		"[good](https://example.com/) [bad](javascript:alert(1)) [own](/inbox) <script>alert(1)</script>\n\n" +
		"| a | b |\n|---|---|\n| 1 | 2 |\n\n```mermaid\nflowchart TD\n```\n\n```\ncode <x>\n```\n\n###### deep\n")
	for _, part := range []string{"<h3>Title</h3>", "<em>stress</em>", `href="https://example.com/"`, "nofollow", "noopener", "<td>1</td>", "code &lt;x&gt;", "<h6>deep</h6>"} {
		require.Contains(t, html, part)
	}
	for _, part := range []string{"<script", "javascript:", "<img", "elsewhere", "flowchart", "style=", "class=", " id=", `href="/inbox"`} {
		require.NotContains(t, html, part)
	}
	require.Empty(t, safeMarkdown(" \n"))
	require.NotPanics(t, func() { safeMarkdown(strings.Repeat("[", 300_000) + strings.Repeat("> ", 10_000) + "ä") })
}

func TestVersionsAreComparedLineByLine(t *testing.T) {
	t.Parallel()
	d := versionDiff(server.Version{Number: 1, Source: []byte("a\nb\nc\nd\ne\nf\ng\nh\n")}, server.Version{Process: "p", Number: 2, Source: []byte("a\nb\nc\nd\nE\nf\ng\nh\ni\n")})
	require.Equal(t, 1, d.From)
	require.Len(t, d.Hunks, 1)
	var changed []string
	for _, l := range d.Hunks[0].Lines {
		if l.Op != "=" {
			changed = append(changed, l.Op+l.Text)
		}
	}
	require.Equal(t, []string{"-e", "+E", "+i"}, changed)
	require.Equal(t, templates.DiffLine{Op: "+", Text: "E", New: 5}, d.Hunks[0].Lines[4])
	same := server.Version{Number: 1, Source: []byte("a\n")}
	require.Empty(t, versionDiff(same, same).Hunks)
}
