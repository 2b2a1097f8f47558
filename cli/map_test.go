package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
)

// frontmatter is of a process called sample that keeps every rule.
const frontmatter = `---
name: sample
description: Draft and approve.
steps:
  - id: draft
    agent: Write it.
  - id: review
    person: editor
    approve: Read it.
    on_reject: draft
  - id: done
    finish: published
---
`

// mapFile is a PROCESS.md in a folder of its own.
func mapFile(t *testing.T, content string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sample")
	require.NoError(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "PROCESS.md")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o640))
	return path
}

// runMap runs `ap map ARGS`.
func runMap(t *testing.T, args ...string) (status int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	status = Main(context.Background(), append([]string{"map"}, args...), strings.NewReader(frontmatter), &o, &e)
	return status, o.String(), e.String()
}

// drawn is the section that --write makes of the sample, from its fence on.
func drawn(t *testing.T) string {
	t.Helper()
	doc, issues := process.Parse([]byte(frontmatter), process.Options{})
	require.NotNil(t, doc, "%v", issues)
	return "```mermaid\n" + process.Mermaid(doc) + "```\n"
}

func TestMapPrintsMermaidByDefault(t *testing.T) {
	t.Parallel()
	path := mapFile(t, frontmatter)
	for _, arg := range []string{path, filepath.Dir(path), "-"} {
		status, out, errOut := runMap(t, arg)
		require.Equal(t, 0, status, errOut)
		require.Equal(t, drawn(t), "```mermaid\n"+out+"```\n")
		require.Empty(t, errOut, "warnings are ap lint's")
	}
}

func TestMapPrintsSVG(t *testing.T) {
	t.Parallel()
	status, out, errOut := runMap(t, mapFile(t, frontmatter), "--format", "svg")
	require.Equal(t, 0, status, errOut)
	require.True(t, strings.HasPrefix(out, "<svg "), out)
	for dec := xml.NewDecoder(strings.NewReader(out)); ; {
		_, err := dec.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
	}
}

func TestMapAsJSON(t *testing.T) {
	t.Parallel()
	path := mapFile(t, frontmatter)
	status, out, _ := runMap(t, path, "--json")
	require.Equal(t, 0, status)
	var printed mapResult
	require.NoError(t, json.Unmarshal([]byte(out), &printed))
	require.Equal(t, "sample", printed.Process)
	require.Equal(t, "mermaid", printed.Format)
	require.Contains(t, printed.Map, "flowchart")

	for _, changed := range []bool{true, false} {
		status, out, _ = runMap(t, path, "--json", "--write")
		require.Equal(t, 0, status)
		var written mapWritten
		require.NoError(t, json.Unmarshal([]byte(out), &written))
		require.Equal(t, mapWritten{File: path, Changed: changed}, written)
	}
}

func TestMapWrite(t *testing.T) {
	t.Parallel()
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	m := drawn(t)
	for name, c := range map[string]struct{ before, after string }{
		"AddsTheSectionAtTheEnd": {
			frontmatter + "# Sample\n\nText.\n",
			frontmatter + "# Sample\n\nText.\n\n## Process map\n\n" + m,
		},
		"EndsTheLastLineFirst": {
			frontmatter + "Text.",
			frontmatter + "Text.\n\n## Process map\n\n" + m,
		},
		"AddsNoSecondBlankLine": {
			frontmatter + "Text.\n \t\n",
			frontmatter + "Text.\n \t\n## Process map\n\n" + m,
		},
		"MakesABody": {
			frontmatter,
			frontmatter + "\n## Process map\n\n" + m,
		},
		"MakesABodyAfterAClosingFenceWithoutALineEnd": {
			strings.TrimSuffix(frontmatter, "\n"),
			frontmatter + "\n## Process map\n\n" + m,
		},
		"ReplacesTheLastSection": {
			frontmatter + "Text.\n\n## Process map\n\nOld words.\n\n```mermaid\nold\n```\n",
			frontmatter + "Text.\n\n## Process map\n\n" + m,
		},
		"ReplacesASectionInTheMiddle": {
			frontmatter + "Text.\n\n## Process map\nOld\n### Part\nof it\n\n## After  \n\n\n  kept as is \n",
			frontmatter + "Text.\n\n## Process map\n\n" + m + "\n## After  \n\n\n  kept as is \n",
		},
		"EndsTheSectionAtAFirstLevelHeading": {
			frontmatter + "## Process map\nOld\n# After\n",
			frontmatter + "## Process map\n\n" + m + "\n# After\n",
		},
		"EndsTheSectionAtAnUnderlinedHeading": {
			frontmatter + "## Process map\n\nOld\n\nAfter\nall\n---\nkept\n",
			frontmatter + "## Process map\n\n" + m + "\nAfter\nall\n---\nkept\n",
		},
		"EndsTheSectionAtAnEmptyHeading": {
			frontmatter + "## Process map\nOld\n##\nkept\n",
			frontmatter + "## Process map\n\n" + m + "\n##\nkept\n",
		},
		"KnowsAnUnderlinedHeading": {
			frontmatter + "Process map\n-----------\nOld\n",
			frontmatter + "Process map\n-----------\n\n" + m,
		},
		"KnowsTheHeadingInOtherDress": {
			frontmatter + "  ##  Process 	 MAP ##\nOld\n",
			frontmatter + "  ##  Process 	 MAP ##\n\n" + m,
		},
		"FillsAHeadingWithNothingBelow": {
			frontmatter + "## Process map",
			frontmatter + "## Process map\n\n" + m,
		},
		"TakesNoHeadingInACodeFence": {
			frontmatter + "````md\n## Process map\n```mermaid\nx\n```\n````\n",
			frontmatter + "````md\n## Process map\n```mermaid\nx\n```\n````\n\n## Process map\n\n" + m,
		},
		"EndsNoSectionAtAHeadingInACodeFence": {
			frontmatter + "## Process map\n\n```\n## After\n```\nOld\n",
			frontmatter + "## Process map\n\n" + m,
		},
		"TakesNoHeadingInACommentAQuotationOrAnIndent": {
			frontmatter + "<!--\n## Process map\n-->\n\n> ## Process map\n> x\n\n    ## Process map\n\n- ## Process map\n",
			frontmatter + "<!--\n## Process map\n-->\n\n> ## Process map\n> x\n\n    ## Process map\n\n- ## Process map\n\n## Process map\n\n" + m,
		},
		"TakesNoHeadingOfAnotherLevelOrName": {
			frontmatter + "# Process map\n\n### Process map\n\n## Process maps\nx\n",
			frontmatter + "# Process map\n\n### Process map\n\n## Process maps\nx\n\n## Process map\n\n" + m,
		},
		"KeepsCRLF": {
			crlf(frontmatter + "Text.\n\n## Process map\n\nOld\n\n## After\nkept\n"),
			crlf(frontmatter + "Text.\n\n## Process map\n\n" + m + "\n## After\nkept\n"),
		},
		"AddsInCRLF": {
			crlf(frontmatter + "Text.\n"),
			crlf(frontmatter + "Text.\n\n## Process map\n\n" + m),
		},
		"MakesABodyInCRLF": {
			crlf(frontmatter),
			crlf(frontmatter + "\n## Process map\n\n" + m),
		},
		"KeepsAByteOrderMark": {
			"\uFEFF" + frontmatter + "Text.\n",
			"\uFEFF" + frontmatter + "Text.\n\n## Process map\n\n" + m,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := mapFile(t, c.before)
			for _, words := range []string{"Wrote the map into", "is up to date"} {
				status, out, errOut := runMap(t, path, "--write")
				require.Equal(t, 0, status, errOut)
				require.Contains(t, out, words)
				after, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, c.after, string(after))
			}
		})
	}
}

func TestMapWriteRefusesWhatWouldSwallowTheMap(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"```\nnever closed\n", "<!-- never closed\n", "~~~~\n```\n"} {
		before := frontmatter + body
		path := mapFile(t, before)
		status, _, errOut := runMap(t, path, "--write")
		require.Equal(t, 1, status)
		require.Contains(t, errOut, "never closed; close it")
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, string(after))
	}
}

func TestMapRefusesAFileThatBreaksARule(t *testing.T) {
	t.Parallel()
	before := strings.Replace(frontmatter, "on_reject: draft", "on_reject: drat", 1)
	path := mapFile(t, before)
	for _, args := range [][]string{{path}, {path, "--format", "svg"}, {path, "--write"}} {
		status, out, errOut := runMap(t, args...)
		require.Equal(t, 1, status)
		require.Empty(t, out)
		require.Contains(t, errOut, path+":10:")
		require.Contains(t, errOut, "    on_reject: drat\n")
		require.Contains(t, errOut, "^~~~")
	}
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, string(after))
}

func TestMapWriteRefusesToMakeTheFileTooLarge(t *testing.T) {
	t.Parallel()
	before := frontmatter + strings.Repeat("x", process.MaxBytes-len(frontmatter))
	path := mapFile(t, before)
	status, _, errOut := runMap(t, path, "--write")
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "1 MiB")
	require.Contains(t, errOut, "was left as it is")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, string(after))
}

func TestMapWriteKeepsPermissionsAndLinks(t *testing.T) {
	t.Parallel()
	target := mapFile(t, frontmatter)
	link := filepath.Join(t.TempDir(), "link.md")
	require.NoError(t, os.Symlink(target, link))
	status, _, errOut := runMap(t, link, "--write")
	require.Equal(t, 0, status, errOut)
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type())
	info, err = os.Stat(target)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Dir(target))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file is left")
}

func TestMapUsage(t *testing.T) {
	t.Parallel()
	path := mapFile(t, frontmatter)
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "an argument is missing"},
		{[]string{path, path}, "one argument too many"},
		{[]string{path, "--format", "mermade"}, `did you mean "mermaid"?`},
		{[]string{path, "--format", "svg", "--write"}, "--write writes Mermaid"},
		{[]string{"-", "--write"}, "--write needs a file"},
		{[]string{filepath.Join(path, "nowhere")}, "name a PROCESS.md or the folder it is in"},
	} {
		status, _, errOut := runMap(t, c.args...)
		require.Equal(t, 2, status, errOut)
		require.Contains(t, errOut, c.says)
	}
}

// FuzzMapSection checks what no body may break: what is outside the section stays, and a second time changes nothing.
func FuzzMapSection(f *testing.F) {
	for _, seed := range []string{
		"", "text", "## Process map\nold\n\n## After\n", "```\n## Process map\n", "Process map\n---\nx\n===\n", "<!--\n## Process map\n-->\r\n",
		"## Process map ##\r\n\r\n# x", "- ## Process map\n\n> ## Process map", "\t## Process map", "##\n## Process map\n##", "\r## Process map\r\n", "[a]: b\n## Process map",
	} {
		f.Add(seed)
	}
	const mermaid = "flowchart TD\n  start\n"
	f.Fuzz(func(t *testing.T, body string) {
		source := []byte("---\n---\n" + body)
		out, err := withMap(source, 8, mermaid)
		if err != nil {
			return
		}
		before, found := findSection(source[8:], mapHeading)
		if !found {
			before = section{start: len(body), end: len(body)}
		}
		require.True(t, bytes.HasPrefix(out, source[:8+before.start]))
		require.True(t, bytes.HasSuffix(out, source[8+before.end:]))
		again, err := withMap(out, 8, mermaid)
		require.NoError(t, err)
		require.Equal(t, string(out), string(again))
	})
}
