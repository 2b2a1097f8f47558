package process_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
)

var writeDocs = flag.Bool("docs", false, "write docs/rules.md")

// example returns a file of testdata, the one named after the rule.
func example(t *testing.T, kind, rule string) (path string, src []byte) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("testdata", kind, rule, "*", "PROCESS.md"))
	require.NoError(t, err)
	path = filepath.Join("testdata", kind, rule+".md")
	if len(found) > 0 {
		path = found[0]
	}
	src, err = os.ReadFile(path)
	require.NoError(t, err)
	return path, src
}

func parseFile(path string, src []byte) (*process.Document, []process.Issue) {
	folder := ""
	if filepath.Base(path) == "PROCESS.md" {
		folder = filepath.Base(filepath.Dir(path))
	}
	return process.Parse(src, process.Options{Folder: folder})
}

// TestEachRuleHasItsExamples: the bad one breaks this rule and no other, the good one breaks none.
func TestEachRuleHasItsExamples(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, rule := range process.Rules() {
		require.False(t, seen[rule.ID], rule.ID)
		seen[rule.ID] = true
		require.Regexp(t, `^[a-z]+(-[a-z]+)*$`, rule.ID)
		if rule.ID == "file-size" {
			continue
		}
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			doc, issues := parseFile(example(t, "err", rule.ID))
			require.NotEmpty(t, issues)
			for _, i := range issues {
				require.Equal(t, rule.ID, i.Rule, i.Message)
				require.Equal(t, rule.Severity, i.Severity)
			}
			require.Equal(t, rule.Severity == process.Error, doc == nil)

			doc, issues = parseFile(example(t, "ok", rule.ID))
			require.Empty(t, issues)
			require.NotNil(t, doc)
		})
	}
}

// TestRulesAreDocumented keeps docs/rules.md what the table and the examples say.
func TestRulesAreDocumented(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	intro, err := os.ReadFile(filepath.Join("testdata", "rules-intro.md"))
	require.NoError(t, err)
	b.Write(intro)
	topic := ""
	for _, r := range process.Rules() {
		if r.Topic != topic {
			topic = r.Topic
			fmt.Fprintf(&b, "\n- %s: ", topic)
		} else {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "[%s](#%s)", r.ID, r.ID)
	}
	b.WriteString("\n")
	topic = ""
	for _, r := range process.Rules() {
		if r.Topic != topic {
			topic = r.Topic
			fmt.Fprintf(&b, "\n## %s\n", topic)
		}
		fmt.Fprintf(&b, "\n### %s\n\n", r.ID)
		if r.Severity == process.Warning {
			b.WriteString("Warning. ")
		}
		fmt.Fprintf(&b, "%s\n\n*Why:* %s\n\n", r.What, r.Why)
		if r.ID != "file-size" {
			path, src := example(t, "err", r.ID)
			out, err := os.ReadFile(filepath.Join("testdata", "err", r.ID+".out"))
			require.NoError(t, err, "run the tests of cli with -update first")
			if rel, _ := filepath.Rel(filepath.Join("testdata", "err"), path); filepath.Dir(rel) != "." {
				fmt.Fprintf(&b, "In `%s`:\n\n", filepath.ToSlash(rel))
			}
			fmt.Fprintf(&b, "````markdown\n%s````\n\n````text\n%s````\n\n", shownSource(string(src)), out)
		}
		fmt.Fprintf(&b, "*Mend:* %s\n", r.Mend)
	}
	page := filepath.Join("..", "..", "docs", "rules.md")
	if *writeDocs {
		require.NoError(t, os.WriteFile(page, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "run this test with -docs")
}

// shownSource makes an example fit a page: its unseen characters visible, its endless lines cut.
func shownSource(src string) string {
	src = strings.NewReplacer("\x00", "␀", "\ufeff", "").Replace(src)
	lines := strings.Split(src, "\n")
	for i, l := range lines {
		if runes := []rune(l); len(runes) > 110 {
			lines[i] = string(runes[:109]) + "…"
		}
		if i == 20 && len(lines) > 30 {
			lines = append(lines[:i+1:i+1], append([]string{"  …"}, lines[len(lines)-8:]...)...)
			break
		}
	}
	return strings.Join(lines, "\n")
}
