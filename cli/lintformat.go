package cli

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/apserver/ap/core/process"
)

// lintText prints issues, and a summary for people.
func (a *app) lintText(files []linted) error {
	if err := printIssues(a.out, files); err != nil {
		return err
	}
	a.say("%s", lintSummary(files))
	return nil
}

// printIssues prints PATH:LINE:COL: SEVERITY: MESSAGE [RULE] with the source line and a caret.
func printIssues(out io.Writer, files []linted) error {
	w := bufio.NewWriter(out)
	paint := painter(colour(out))
	for _, f := range files {
		excerpts := process.NewExcerpts(f.source)
		for _, i := range f.issues {
			tint := red
			if i.Severity == process.Warning {
				tint = yellow
			}
			fmt.Fprintf(w, "%s %s %s %s\n", paint(bold, fmt.Sprintf("%s:%d:%d:", printable(f.path), i.Line, i.Column)),
				paint(tint, string(i.Severity)+":"), printable(i.Message), paint(dim, "["+i.Rule+"]"))
			line, caret := excerpts.Show(i)
			margin := fmt.Sprintf("%5d", i.Line)
			fmt.Fprintf(w, "%s %s\n%s %s\n", paint(dim, margin+" |"), line, paint(dim, strings.Repeat(" ", len(margin))+" |"), paint(tint, caret))
		}
	}
	return w.Flush()
}

// lintSummary counts what was found.
func lintSummary(files []linted) string {
	errs, warnings, bad := 0, 0, 0
	for _, f := range files {
		if len(f.issues) > 0 {
			bad++
		}
		for _, i := range f.issues {
			if i.Severity == process.Error {
				errs++
			} else {
				warnings++
			}
		}
	}
	if bad == 0 {
		return fmt.Sprintf("%s, nothing to mend.", plural(len(files), "file"))
	}
	var found []string
	if errs > 0 {
		found = append(found, plural(errs, "error"))
	}
	if warnings > 0 {
		found = append(found, plural(warnings, "warning"))
	}
	return fmt.Sprintf("%s in %d of %s.", strings.Join(found, " and "), bad, plural(len(files), "file"))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Colours, as the numbers of their escape sequences.
const (
	bold   = 1
	dim    = 2
	red    = 31
	yellow = 33
)

// painter returns what colours a text, or leaves it.
func painter(on bool) func(tint int, text string) string {
	return func(tint int, text string) string {
		if !on {
			return text
		}
		return fmt.Sprintf("\x1b[%dm%s\x1b[0m", tint, text)
	}
}

// lintReport is the JSON of lint.
type lintReport struct {
	Files  int         `json:"files"`
	Issues []lintIssue `json:"issues"`
}

type lintIssue struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`
	Rule     string `json:"rule"`
	Path     string `json:"path"`
	Message  string `json:"message"`
}

func (a *app) lintJSON(files []linted) error {
	report := lintReport{Files: len(files), Issues: []lintIssue{}}
	for _, f := range files {
		for _, i := range f.issues {
			report.Issues = append(report.Issues, lintIssue{f.path, i.Line, i.Column, string(i.Severity), i.Rule, i.Path, i.Message})
		}
	}
	return a.printJSON(report)
}

// lintGitHub prints the workflow commands that annotate a pull request.
func (a *app) lintGitHub(files []linted) error {
	value := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, f := range files {
		for _, i := range f.issues {
			a.print("::%s file=%s,line=%d,col=%d,endColumn=%d,title=%s::%s", i.Severity, property.Replace(filepath.ToSlash(f.path)),
				i.Line, i.Column, i.EndColumn, property.Replace(i.Rule), value.Replace(printable(i.Message)))
		}
	}
	return nil
}
