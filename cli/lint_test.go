package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
)

var update = flag.Bool("update", false, "write the expected output of the examples in core/process/testdata")

// runAp runs ap in this process.
func runAp(in string, args ...string) (out, errOut string, status int) {
	var o, e bytes.Buffer
	status = Main(context.Background(), args, strings.NewReader(in), &o, &e)
	return o.String(), e.String(), status
}

// examples returns the example files of a folder, relative to it.
func examples(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.md"))
	require.NoError(t, err)
	nested, err := filepath.Glob(filepath.Join(folder, "*", "*", "PROCESS.md"))
	require.NoError(t, err)
	for i, f := range append(files, nested...) {
		rel, err := filepath.Rel(folder, f)
		require.NoError(t, err)
		if i < len(files) {
			files[i] = rel
		} else {
			files = append(files, rel)
		}
	}
	require.NotEmpty(t, files)
	return files
}

// outputOf is where the expected output of an example stands.
func outputOf(example string) string {
	return strings.TrimSuffix(strings.SplitN(example, string(filepath.Separator), 2)[0], ".md") + ".out"
}

// TestLintPrintsTheExpected is each bad example with its output beside it, byte for byte.
func TestLintPrintsTheExpected(t *testing.T) {
	t.Chdir(filepath.Join("..", "core", "process", "testdata", "err"))
	for _, example := range examples(t, ".") {
		out, errOut, status := runAp("", "lint", "--strict", "--quiet", example)
		require.Equal(t, exitRefused, status, example)
		require.Empty(t, errOut)
		if *update {
			require.NoError(t, os.WriteFile(outputOf(example), []byte(out), 0o644))
		}
		want, err := os.ReadFile(outputOf(example))
		require.NoError(t, err)
		require.Equal(t, string(want), out, example)
	}
}

func TestLintIsSilentAboutGoodFiles(t *testing.T) {
	t.Chdir(filepath.Join("..", "core", "process", "testdata", "ok"))
	files := examples(t, ".")
	out, errOut, status := runAp("", append([]string{"lint", "--strict"}, files...)...)
	require.Equal(t, fmt.Sprintf("%d files, nothing to mend.\n", len(files)), out)
	require.Empty(t, errOut)
	require.Equal(t, exitDone, status)
	out, _, status = runAp("", append([]string{"lint", "--strict", "--quiet"}, files...)...)
	require.Empty(t, out)
	require.Equal(t, exitDone, status)
}

// lintTree makes a folder with processes and returns it.
func lintTree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	good := "---\nname: %s\ndescription: x\nsteps: [{id: a, finish: done}]\n---\nBody.\n"
	for path, text := range map[string]string{
		"b/PROCESS.md":              fmt.Sprintf(good, "b"),
		"a/PROCESS.md":              fmt.Sprintf(good, "other"),
		"c/d/PROCESS.md":            "---\nname: d\ndescription: x\nsteps: [{id: a, wait: 0m, next: b}, {id: b, finish: done}]\n---\nBody.\n",
		"c/notes.md":                "no process",
		".git/PROCESS.md":           "hidden",
		"node_modules/x/PROCESS.md": "not ours",
		"empty/PROCESS.md":          "",
		"binary/PROCESS.md":         "\x7fELF\x02\x00\x00\xff\xfe",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(text), 0o644))
	}
	require.NoError(t, os.Mkdir(filepath.Join(root, "none"), 0o755))
	return root
}

func TestLintSearchesFoldersInAStableOrder(t *testing.T) {
	root := lintTree(t)
	t.Chdir(root)
	var report lintReport
	out, _, status := runAp("", "--json", "lint")
	require.Equal(t, exitRefused, status)
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.Equal(t, 5, report.Files)
	var found []string
	for _, i := range report.Issues {
		found = append(found, i.File+" "+i.Rule)
	}
	require.Equal(t, []string{"a/PROCESS.md name-folder", "binary/PROCESS.md encoding", "c/d/PROCESS.md zero-duration", "empty/PROCESS.md fence"}, found)
	require.Equal(t, lintIssue{File: "a/PROCESS.md", Line: 2, Column: 7, Severity: "error", Rule: "name-folder", Path: "name",
		Message: "`name` is `other`, but the folder is called \"a\"; give both the same name"}, report.Issues[0])
	for range 5 {
		again, _, _ := runAp("", "lint", "--json", ".", "a", "b/PROCESS.md", "./c/../a")
		require.Equal(t, out, again)
	}
	text, _, _ := runAp("", "lint", "a")
	require.Contains(t, text, filepath.Join("a", "PROCESS.md")+":2:7: error: ")
}

func TestLintStatus(t *testing.T) {
	root := lintTree(t)
	t.Chdir(root)
	for _, row := range []struct {
		args   []string
		status int
		err    string
	}{
		{[]string{"b"}, exitDone, ""},
		{[]string{"a"}, exitRefused, ""},
		{[]string{"c"}, exitDone, ""},
		{[]string{"c", "--strict"}, exitRefused, ""},
		{[]string{"gone"}, exitFailed, "ap: gone: there is no such file or folder\n"},
		{[]string{"gone", "a", "none"}, exitFailed, "ap: gone: there is no such file or folder\n    none: no file in it is called PROCESS.md\n"},
		{[]string{"--format", "xml", "a"}, exitFailed, "ap: --format xml is unknown; use one of text, json, sarif, github\n"},
	} {
		_, errOut, status := runAp("", append([]string{"lint"}, row.args...)...)
		require.Equal(t, row.status, status, row.args)
		require.Equal(t, row.err, errOut, row.args)
	}
	out, _, _ := runAp("", "lint", "gone", "a")
	require.Contains(t, out, "[name-folder]", "what can be read is linted all the same")
}

func TestLintReadsStandardInput(t *testing.T) {
	t.Parallel()
	out, _, status := runAp("---\nname: a\n---\n", "lint", "-")
	require.Equal(t, exitRefused, status)
	require.Contains(t, out, "<stdin>:1:1: error: `description` is missing")
}

// TestLintOfALargeFileIsFast reads no more of a file than shows that it is too large.
func TestLintOfALargeFileIsFast(t *testing.T) {
	t.Chdir(t.TempDir())
	f, err := os.Create("large.md")
	require.NoError(t, err)
	require.NoError(t, f.Truncate(100<<20))
	require.NoError(t, f.Close())
	begin := time.Now()
	out, _, status := runAp("", "lint", "large.md")
	require.Equal(t, exitRefused, status)
	require.Contains(t, out, "large.md:1:1: error: the file is larger than 1 MiB")
	require.Less(t, time.Since(begin), 30*time.Second)
	require.Less(t, len(out), 1000)
}

func TestLintForGitHub(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("a,b%c", 0o755))
	require.NoError(t, os.WriteFile("a,b%c/x:y.md", []byte("---\nname: a\ndescription: x\nsteps: [{id: a, wait: 0m, next: \"b\\n%\"}, {id: b, finish: done}]\n---\nBody.\n"), 0o644))
	out, _, status := runAp("", "lint", "--format", "github", ".", "a,b%c/x:y.md")
	require.Equal(t, exitFailed, status)
	require.Equal(t, "::warning file=a%2Cb%25c/x%3Ay.md,line=4,col=23,endColumn=25,title=zero-duration::`wait` of \"0m\" passes at once; is that meant?\n"+
		"::error file=a%2Cb%25c/x%3Ay.md,line=4,col=33,endColumn=39,title=unknown-step::there is no step `b⏎%25`; did you mean `b`?\n", out)
}

func TestLintSARIF(t *testing.T) {
	root := lintTree(t)
	t.Chdir(root)
	require.NoError(t, os.MkdirAll("ü b", 0o755))
	require.NoError(t, os.WriteFile("ü b/PROCESS.md", []byte("---\nname: 🙂x\n---\nBody.\n"), 0o644))
	out, _, status := runAp("", "lint", "--format", "sarif")
	require.Equal(t, exitRefused, status)
	var log sarifLog
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&log))
	require.Equal(t, "2.1.0", log.Version)
	require.Len(t, log.Runs, 1)
	run := log.Runs[0]
	require.Equal(t, "unicodeCodePoints", run.ColumnKind)
	require.Len(t, run.Tool.Driver.Rules, len(process.Rules()))
	for _, r := range run.Results {
		require.Equal(t, r.RuleID, run.Tool.Driver.Rules[r.RuleIndex].ID)
		require.Contains(t, []string{"error", "warning"}, r.Level)
		require.NotEmpty(t, r.Message.Text)
	}
	last := run.Results[len(run.Results)-1]
	require.Equal(t, "name-format", last.RuleID)
	require.Equal(t, "%C3%BC%20b/PROCESS.md", last.Locations[0].Physical.Artifact.URI)
	require.Equal(t, sarifRegion{2, 7, 9}, last.Locations[0].Physical.Region)
	out, _, status = runAp("", "lint", "--format", "sarif", "b")
	require.Equal(t, exitDone, status)
	require.Contains(t, out, `"results": []`)
}

// TestLintOutputIsHarmless shows nothing of a file that a terminal would obey.
func TestLintOutputIsHarmless(t *testing.T) {
	t.Parallel()
	src := "---\nname: \"a\\u202e\"\ndescription: x\nsteps: [{id: \"\u202ea\u200b\", finish: \"b\u009b\"}]\n\x1b[2Jq: 1\n---\nBody.\n"
	for _, format := range lintFormats {
		out, _, _ := runAp(src, "lint", "--format", format, "-")
		for _, r := range []string{"\x1b", "\u009b", "\u202e", "\u200b"} {
			require.NotContains(t, out, r, format)
		}
	}
}

func TestHash(t *testing.T) {
	root := lintTree(t)
	t.Chdir(root)
	out, errOut, status := runAp("", "hash", "b", "b/PROCESS.md")
	require.Equal(t, exitDone, status, errOut)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 2)
	require.Equal(t, lines[0], lines[1])
	require.Regexp(t, `^[0-9a-f]{64}  b/PROCESS\.md$`, lines[0])

	out, errOut, status = runAp("", "hash", "a", "b", "gone")
	require.Equal(t, exitFailed, status)
	require.Equal(t, lines[0]+"\n", out)
	require.Equal(t, "ap: gone: there is no such file or folder\n    a/PROCESS.md has no hash, for it has 1 error; `ap lint` shows them\n", errOut)
	_, _, status = runAp("", "hash", "a")
	require.Equal(t, exitRefused, status)
	_, _, status = runAp("", "hash")
	require.Equal(t, exitFailed, status)

	out, _, _ = runAp("", "hash", "b", "--json")
	var hashes []hashed
	require.NoError(t, json.Unmarshal([]byte(out), &hashes))
	require.Equal(t, []hashed{{"b/PROCESS.md", lines[0][:64]}}, hashes)
}

func TestSchemaCommandPrintsTheSchema(t *testing.T) {
	t.Parallel()
	out, _, status := runAp("", "schema")
	require.Equal(t, exitDone, status)
	require.JSONEq(t, string(process.JSONSchema()), out)
}
