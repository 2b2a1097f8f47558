package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/apserver/ap/core/process"
)

func newLintCmd(a *app) *cobra.Command {
	var format string
	var strict bool
	cmd := &cobra.Command{
		Use:   "lint [PATH...]",
		Short: "Check PROCESS.md files against every rule",
		Long: `Lint checks PROCESS.md files and finds everything at once. A folder is searched for files called PROCESS.md, except in
hidden folders and node_modules; without a path that is the current folder. - reads one file from standard input.

It ends with status 0 when nothing is wrong, 1 when a file has an error (with --strict also a warning), and 2 when a path
can't be read. docs/rules.md explains each rule by the name that stands in brackets.`,
		Example: "  ap lint\n  ap lint processes/new-supplier --strict\n  ap lint --format sarif > lint.sarif",
		GroupID: groupAuthor,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.json && !cmd.Flags().Changed("format") {
				format = "json"
			}
			write, err := a.lintFormat(format)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				args = []string{"."}
			}
			return a.lint(args, strict, write)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "print issues as `text`, json, sarif or github")
	cmd.Flags().BoolVar(&strict, "strict", false, "fail on warnings too")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(lintFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

var lintFormats = []string{"text", "json", "sarif", "github"}

// linted is one file and what was found in it.
type linted struct {
	path   string
	issues []process.Issue
	// source is kept while the issues are still to be shown with their lines.
	source []byte
	err    error
}

// lintFormat returns what writes the files' issues in a format.
func (a *app) lintFormat(format string) (func([]linted) error, error) {
	switch format {
	case "text":
		return a.lintText, nil
	case "json":
		return a.lintJSON, nil
	case "sarif":
		return a.lintSARIF, nil
	case "github":
		return a.lintGitHub, nil
	}
	return nil, usage("--format %s is unknown; use one of %s%s", format, strings.Join(lintFormats, ", "), didYouMean(format, lintFormats))
}

func (a *app) lint(args []string, strict bool, write func([]linted) error) error {
	paths, problems := findProcessFiles(args)
	files := a.lintAll(paths)
	files = slices.DeleteFunc(files, func(f linted) bool {
		if f.err != nil {
			problems = append(problems, f.err)
		}
		return f.err != nil
	})
	if len(files) > 0 || len(problems) == 0 {
		if err := write(files); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		texts := make([]string, len(problems))
		for i, p := range problems {
			texts[i] = p.Error()
		}
		return usage("%s", joinLines(texts))
	}
	for _, f := range files {
		for _, i := range f.issues {
			if i.Severity == process.Error || strict {
				return errIssues
			}
		}
	}
	return nil
}

// stdin is the path that stands for standard input, and stdinName what messages call it.
const stdin, stdinName = "-", "<stdin>"

// findProcessFiles returns the files that paths name, in their order and each once: files as they are, folders for each
// PROCESS.md in them, in the order of their names.
func findProcessFiles(args []string) (paths []string, problems []error) {
	seen := map[string]bool{}
	add := func(path string) {
		if clean := filepath.Clean(path); !seen[clean] {
			seen[clean] = true
			paths = append(paths, path)
		}
	}
	for _, arg := range args {
		if arg == stdin {
			add(arg)
			continue
		}
		info, err := os.Stat(arg)
		switch {
		case err != nil:
			problems = append(problems, readError(arg, err))
		case !info.IsDir():
			add(arg)
		default:
			found, err := searchFolder(arg)
			if err == nil && len(found) == 0 {
				err = fmt.Errorf("%s: no file in it is called %s", arg, processFileName)
			}
			if err != nil {
				problems = append(problems, err)
			}
			for _, path := range found {
				add(path)
			}
		}
	}
	return paths, problems
}

// searchFolder finds the files called PROCESS.md in a folder.
func searchFolder(folder string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && path != folder && (strings.HasPrefix(name, ".") || name == "node_modules"):
			return fs.SkipDir
		case entry.IsDir() || name != processFileName:
		default:
			// A link to a folder isn't a file.
			if info, err := os.Stat(path); err != nil || !info.IsDir() {
				found = append(found, path)
			}
		}
		return nil
	})
	if err != nil {
		return found, readError(folder, err)
	}
	return found, nil
}

func readError(path string, err error) error {
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: there is no such file or folder", path)
	case errors.As(err, &at):
		return fmt.Errorf("%s: %w", cmp.Or(at.Path, path), at.Err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// lintAll checks files side by side and returns what it found in their order.
func (a *app) lintAll(paths []string) []linted {
	files := make([]linted, len(paths))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, path := range paths {
		group.Go(func() error {
			files[i] = a.lintOne(path)
			return nil
		})
	}
	group.Wait()
	return files
}

func (a *app) lintOne(path string) linted {
	file, _, issues, err := a.parseArg(path)
	if err != nil {
		return linted{path: path, err: err}
	}
	found := linted{path: file.path, issues: issues}
	if len(issues) > 0 {
		found.source = file.source
	}
	return found
}

// parseArg reads and checks the PROCESS.md that an argument names: a file, the one in a folder, or standard input.
func (a *app) parseArg(path string) (file processFile, doc *process.Document, issues []process.Issue, err error) {
	if path == stdin {
		file.path = stdinName
		file.source, err = io.ReadAll(io.LimitReader(a.in, process.MaxBytes+1))
	} else {
		file, err = openProcessFile(path)
	}
	if err != nil {
		return file, nil, nil, readError(path, err)
	}
	doc, issues = process.Parse(file.source, process.Options{Folder: file.folder})
	return file, doc, issues, nil
}

// joinLines sets messages under each other.
func joinLines(messages []string) string { return strings.Join(messages, "\n    ") }
