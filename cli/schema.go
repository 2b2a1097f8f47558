package cli

import (
	"github.com/spf13/cobra"

	"github.com/apserver/ap/core/process"
)

func newSchemaCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the frontmatter, for editors",
		Long: `Schema prints a JSON Schema (draft 2020-12) of a PROCESS.md's frontmatter. An editor that knows it completes keys and marks
mistakes while you type; what a schema can't express, such as where steps lead, ` + "`ap lint`" + ` checks.

Most editors check YAML files only. To use it there, keep the frontmatter's text in a .yaml file while you write, with this as
its first line:

  # yaml-language-server: $schema=./process.schema.json`,
		Example: "  ap schema > process.schema.json",
		GroupID: groupAuthor,
		Args:    nArgs(0, 0),
		RunE: func(*cobra.Command, []string) error {
			a.print("%s", process.JSONSchema())
			return nil
		},
	}
}
