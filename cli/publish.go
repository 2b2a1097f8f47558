package cli

import (
	"github.com/spf13/cobra"
)

func newPublishCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "publish NAME",
		Short: "Publish the draft of a process as its next version",
		Long: `Publish makes the draft the next version, which never changes. A running server offers it at once; runs that are under way
stay with the version they started with. Publishing a draft that is the latest version already returns that version.`,
		GroupID: groupAdmin,
		Args:    nArgs(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.open(cmd.Context(), existingData)
			if err != nil {
				return err
			}
			defer b.close()
			version, err := b.srv.Publish(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{
					"process": version.Process, "version": version.Number, "contentHash": version.Hash,
				})
			}
			a.say("Published %s version %d (%s).", version.Process, version.Number, version.Hash[:12])
			return nil
		},
	}
}
