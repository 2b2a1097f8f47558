package cli

import (
	"github.com/spf13/cobra"
)

func newBackupCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "backup DIR",
		Short: "Copy database, files and secret into an empty folder, while the server runs",
		Long: `Backup writes a consistent copy into a folder that is empty or doesn't exist. The copy is a data directory: ` + "`ap verify --data DIR`" + `
checks it and ` + "`ap serve --data DIR`" + ` serves it. It holds the secret key: keep it as safe as the original.`,
		GroupID: groupServer,
		Args:    nArgs(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.open(cmd.Context(), existingData)
			if err != nil {
				return err
			}
			defer b.close()
			if err := b.srv.Backup(cmd.Context(), args[0]); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"backup": args[0]})
			}
			a.say("The backup is in %s. Check it with `ap verify --data %s`.", args[0], args[0])
			return nil
		},
	}
}
