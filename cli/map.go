package cli

import (
	"bytes"
	"path/filepath"

	"github.com/natefinch/atomic"
	"github.com/spf13/cobra"

	"github.com/apserver/ap/core/process"
)

func newMapCmd(a *app) *cobra.Command {
	var format string
	var write bool
	cmd := &cobra.Command{
		Use:   "map PATH",
		Short: "Draw the process map",
		Long: `Map draws a PROCESS.md, or the one in a folder (- is standard input), as a flow in lanes: one for the agent and one for
each role or person. It prints Mermaid, which GitHub and many editors render, or SVG, which every browser shows.

--write puts the Mermaid map into the file itself, under “## Process map”: at the end of the body, or in place of what that
section holds. Nothing else in the file changes.`,
		Example: "  ap map processes/new-supplier\n  ap map processes/new-supplier --format svg > map.svg\n  ap map processes/new-supplier --write",
		GroupID: groupAuthor,
		Args:    nArgs(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case format != formatMermaid && format != formatSVG:
				return usage("--format is mermaid or svg, not %q%s", format, didYouMean(format, []string{formatMermaid, formatSVG}))
			case write && args[0] == stdin:
				return usage("--write needs a file to write to; leave it out to print the map of standard input")
			case write && format == formatSVG:
				return usage("--write writes Mermaid; for SVG use `ap map %s --format svg > map.svg`", args[0])
			}
			file, doc, err := a.readForMap(args[0])
			if err != nil {
				return err
			}
			if write {
				return a.writeMap(file, doc)
			}
			return a.printMap(doc, format)
		},
	}
	cmd.Flags().StringVar(&format, "format", formatMermaid, "print `FORMAT`: mermaid or svg")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{formatMermaid, formatSVG}, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&write, "write", false, "put the Mermaid map into the file, under “## Process map”")
	return cmd
}

const (
	formatMermaid = "mermaid"
	formatSVG     = "svg"
)

// mapResult is the JSON of map; mapWritten is that of map --write.
type (
	mapResult struct {
		Process string `json:"process"`
		Format  string `json:"format"`
		Map     string `json:"map"`
	}
	mapWritten struct {
		File    string `json:"file"`
		Changed bool   `json:"changed"`
	}
)

// readForMap reads a process that keeps every rule. What breaks one is printed as ap lint prints it; warnings alone are
// left to ap lint.
func (a *app) readForMap(path string) (processFile, *process.Document, error) {
	file, doc, issues, err := a.parseArg(path)
	switch {
	case err != nil:
		return file, nil, usage("%v; name a PROCESS.md or the folder it is in", err)
	case doc == nil:
		if err := a.explain(file.path, file.source, issues); err != nil {
			return file, nil, err
		}
		return file, nil, errIssues
	}
	return file, doc, nil
}

// explain prints issues on stderr, since stdout is the map's.
func (a *app) explain(path string, source []byte, issues []process.Issue) error {
	beside := *a
	beside.out = a.err
	return beside.lintText([]linted{{path: path, issues: issues, source: source}})
}

func (a *app) printMap(doc *process.Document, format string) error {
	result := mapResult{Process: doc.Name, Format: format}
	if format == formatSVG {
		result.Map = process.SVG(doc, process.MapOptions{})
	} else {
		result.Map = process.Mermaid(doc)
	}
	if a.json {
		return a.printJSON(result)
	}
	_, err := a.out.Write([]byte(result.Map))
	return err
}

// writeMap puts the map into the file, which is replaced as a whole or not at all and keeps its permissions.
func (a *app) writeMap(file processFile, doc *process.Document) error {
	source, err := withMap(file.source, len(file.source)-len(doc.Body), process.Mermaid(doc))
	if err != nil {
		return refused("%s: %v", file.path, err)
	}
	if written, issues := process.Parse(source, process.Options{Folder: file.folder}); written == nil {
		if err := a.explain(file.path, source, issues); err != nil {
			return err
		}
		return refused("%s was left as it is: with its map it would break a rule, as above", file.path)
	}
	result := mapWritten{File: file.path, Changed: !bytes.Equal(source, file.source)}
	if result.Changed {
		// A link stays a link: what it leads to is replaced.
		path, err := filepath.EvalSymlinks(file.path)
		if err != nil {
			return failed("finding the file", err)
		}
		if err := atomic.WriteFile(path, bytes.NewReader(source)); err != nil {
			return failed("writing the map", err)
		}
	}
	switch {
	case a.json:
		return a.printJSON(result)
	case result.Changed:
		a.say("Wrote the map into %s.", printable(file.path))
	default:
		a.say("The map in %s is up to date.", printable(file.path))
	}
	return nil
}
