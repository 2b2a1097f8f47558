package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"
)

func newVerifyCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check journal, projections and stored files against the record",
		Long: `Verify recomputes the hash of every journal entry, every projection of a run and the hash of every stored file, and reports what
differs. It changes nothing, and may run beside the server.`,
		GroupID: groupServer,
		Args:    nArgs(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.open(cmd.Context(), existingData)
			if err != nil {
				return err
			}
			defer b.close()
			total := 0
			show := !a.quiet && !a.json && isTerminal(a.err)
			problems, err := b.srv.Verify(cmd.Context(), func(runs int) {
				total = runs
				if show {
					fmt.Fprintf(a.err, "\r%d runs", runs)
				}
			})
			if show {
				fmt.Fprint(a.err, "\r\033[K")
			}
			if err != nil {
				return err
			}

			type problemJSON struct {
				RunID   string `json:"runId,omitempty"`
				Message string `json:"message"`
			}
			list := make([]problemJSON, len(problems))
			for i, p := range problems {
				list[i] = problemJSON{p.RunID, p.Message}
				if !a.json {
					a.print("%s", printable(fmt.Sprintf("%s: %s", cmp.Or(p.RunID, "data directory"), p.Message)))
				}
			}
			if a.json {
				if err := a.printJSON(map[string]any{"runs": total, "problems": list}); err != nil {
					return err
				}
			}
			if len(problems) > 0 {
				fmt.Fprintf(a.err, "ap: %s in %s; restore a backup, or find out who changed the data directory\n", plural(len(problems), "problem"), plural(total, "run"))
				return errIssues
			}
			a.say("%s checked: journal, projections and files are as recorded.", plural(total, "run"))
			return nil
		},
	}
}
