package process

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// addFiles seeds a fuzz target with the examples of testdata.
func addFiles(f *testing.F) {
	f.Helper()
	for _, pattern := range []string{"testdata/err/*.md", "testdata/ok/*.md", "../../conformance/fixtures/*/PROCESS.md"} {
		files, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, file := range files {
			src, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(src)
		}
	}
}

// FuzzParse: any bytes are refused or make a document whose steps lead somewhere, and every issue can be shown.
func FuzzParse(f *testing.F) {
	addFiles(f)
	known := map[string]Severity{}
	for _, r := range rules {
		known[r.ID] = r.Severity
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		begin := time.Now()
		doc, issues := Parse(src, Options{})
		require.Less(t, time.Since(begin), 30*time.Second)
		failed := false
		excerpts := NewExcerpts(src)
		last := 0
		for _, i := range issues {
			failed = failed || i.Severity == Error
			require.Equal(t, known[i.Rule], i.Severity, i.Rule)
			require.NotEmpty(t, i.Message)
			require.True(t, utf8.ValidString(i.Message))
			require.Equal(t, i.Message, oneLine(i.Message))
			require.GreaterOrEqual(t, i.Line, max(1, last))
			require.LessOrEqual(t, i.Line, breaks(string(src))+1)
			require.Positive(t, i.Column)
			require.Greater(t, i.EndColumn, i.Column)
			last = i.Line
			line, caret := excerpts.Show(i)
			require.NotContains(t, line+caret, "\n")
			require.NotContains(t, line+caret, "\x1b")
			require.Less(t, len(caret), 200)
		}
		require.Equal(t, failed, doc == nil)
		if doc != nil {
			sound(t, doc)
		}
	})
}

// sound checks what readers of a document rely on.
func sound(t *testing.T, doc *Document) {
	t.Helper()
	require.Regexp(t, namePattern, doc.Name)
	require.NotEmpty(t, doc.Steps)
	declared := func(fields Fields) {
		b, err := fields.MarshalJSON()
		require.NoError(t, err)
		require.True(t, json.Valid(b), "%s", b)
	}
	declared(doc.Inputs)
	for i := range doc.Steps {
		s := &doc.Steps[i]
		require.Equal(t, i, doc.Index(s.ID))
		declared(s.Output)
		targets := append([]string{s.Next, s.OnReject, s.OnTimeout}, s.Branches...)
		for _, r := range s.Routes {
			require.NotEmpty(t, r.To)
			targets = append(targets, r.To)
		}
		for _, to := range targets {
			require.True(t, to == "" || doc.Index(to) >= 0 || to == Join && s.Fork != "", to)
		}
		require.Equal(t, s.Kind == Finish, s.Next == "" && s.Routes == nil, s.ID)
		require.Equal(t, s.Branch != "", s.Fork != "")
		require.True(t, s.Check == nil || json.Valid(s.Check))
		if s.Kind == Task || s.Kind == Approve {
			require.NotEmpty(t, s.Person)
		}
	}
}

// FuzzHash: a frontmatter written as JSON, which is YAML, has the same content hash.
func FuzzHash(f *testing.F) {
	addFiles(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		c := &checker{}
		if len(src) > MaxBytes/2 || !c.split(src) {
			return
		}
		top, ok := c.load()
		if !ok {
			return
		}
		root, ok := c.build(top)
		if !ok {
			return
		}
		doc, _ := Parse(src, Options{})
		if doc == nil || longKey(root) {
			return
		}
		again := []byte("---\n")
		again = append(again, root.appendJSON(nil)...)
		again = append(again, "\n---\n"+doc.Body...)
		same, issues := Parse(again, Options{})
		require.NotNil(t, same, "%v\n%s", issues, again)
		require.Equal(t, doc.Hash, same.Hash)
	})
}

// longKey says whether a key is longer than YAML lets one be on a line.
func longKey(n *node) bool {
	for _, k := range n.keys {
		if len(k.text) > 200 {
			return true
		}
	}
	for _, v := range n.values {
		if longKey(v) {
			return true
		}
	}
	return false
}

// FuzzValue: values are checked without a panic, and as other means of checking them say.
func FuzzValue(f *testing.F) {
	for _, v := range []string{`1`, `-0.0e-5`, `1e999999999`, `"2026-10-06"`, `"2026-10-06T09:00:00.5+02:00"`, `"2016-12-31T23:59:60Z"`, `"a@b.c"`, `[1,[2]]`, `{"a":null}`, `null`, `true`, `"\ud83d\ude00"`} {
		f.Add([]byte(v), []byte(`1.0`))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if !json.Valid(a) || !json.Valid(b) || len(a)+len(b) > 10000 {
			return
		}
		a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
		for _, typ := range types {
			field := Field{Type: typ, Items: &Field{Type: List, Items: &Field{Type: typ}}}
			issues := field.CheckValue("x", a)
			var text string
			switch {
			case json.Unmarshal(a, &text) != nil || a[0] != '"':
			case typ == Date:
				_, err := time.Parse(time.DateOnly, text)
				require.Equal(t, err == nil, len(issues) == 0, text)
			case typ == Datetime && len(issues) == 0:
				if strings.Contains(text, ":60") {
					continue
				}
				want, err := time.Parse(time.RFC3339, strings.ToUpper(text))
				got, ok := ParseDatetime(text)
				require.NoError(t, err, text)
				require.True(t, ok && got.Equal(want), text)
			}
		}
		Fields{{Name: "a", Type: Number}}.Check("output", a)
		if Number.accepts(a) && Number.accepts(b) {
			sameNumber(t, string(a), string(b))
		}
	})
}

// sameNumber compares NumberKey with exact arithmetic, where that is affordable.
func sameNumber(t *testing.T, a, b string) {
	t.Helper()
	for _, n := range []string{a, b} {
		if i := strings.IndexAny(n, "eE"); i >= 0 && len(n)-i > 5 {
			NumberKey(n)
			return
		}
	}
	x, ok := new(big.Rat).SetString(a)
	require.True(t, ok, a)
	y, ok := new(big.Rat).SetString(b)
	require.True(t, ok, b)
	require.Equal(t, x.Cmp(y) == 0, NumberKey(a) == NumberKey(b), "%s %s", a, b)
}
