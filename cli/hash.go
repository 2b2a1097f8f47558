package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/apserver/ap/core/process"
)

func newHashCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "hash PATH...",
		Short: "Print the content hash of PROCESS.md files",
		Long: `Hash prints the content hash of each PROCESS.md (a file, or the one in a folder; - is standard input), one a line: the hash, two
spaces, the path. It is the hash a published version has: SHA-256 over the canonical frontmatter and the body.

A file with an error has no hash; ` + "`ap lint`" + ` shows what is wrong with it.`,
		Example: "  ap hash processes/new-supplier",
		GroupID: groupAuthor,
		Args:    nArgs(1, -1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.hash(args)
		},
	}
}

// hashed is one line of the JSON of hash.
type hashed struct {
	File string `json:"file"`
	Hash string `json:"hash"`
}

func (a *app) hash(args []string) error {
	hashes := []hashed{}
	var unread, bad []string
	for _, arg := range args {
		file, doc, issues, err := a.parseArg(arg)
		switch {
		case err != nil:
			unread = append(unread, err.Error())
		case doc == nil:
			bad = append(bad, fmt.Sprintf("%s has no hash, for it has %s; `ap lint` shows them", file.path, plural(errorsAmong(issues), "error")))
		default:
			hashes = append(hashes, hashed{file.path, doc.Hash})
		}
	}
	if a.json {
		if err := a.printJSON(hashes); err != nil {
			return err
		}
	} else {
		for _, h := range hashes {
			a.print("%s  %s", h.Hash, h.File)
		}
	}
	if len(unread) > 0 {
		return usage("%s", joinLines(append(unread, bad...)))
	}
	if len(bad) > 0 {
		return refused("%s", joinLines(bad))
	}
	return nil
}

func errorsAmong(issues []process.Issue) int {
	n := 0
	for _, i := range issues {
		if i.Severity == process.Error {
			n++
		}
	}
	return n
}
