package cli

import (
	"github.com/spf13/cobra"
)

func newBindCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "bind NAME ROLE=GROUP...",
		Short: "Bind roles of a process to groups",
		Long: `Bind says which group does the work of a role. It takes effect at once, in a running server too; work that is already in
somebody's inbox stays with the group it was opened for. A group exists by being named.`,
		Example: "  ap bind new-supplier purchasing=buyers\n  ap group add buyers mira@example.com",
		GroupID: groupAdmin,
		Args:    nArgs(2, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			bindings, err := parseBindings(args[1:], nil)
			if err != nil {
				return err
			}
			b, err := a.open(cmd.Context(), existingData)
			if err != nil {
				return err
			}
			defer b.close()
			if err := b.srv.Bind(cmd.Context(), args[0], bindings); err != nil {
				return err
			}
			info, err := b.srv.Process(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				roles := map[string]*string{}
				for role, group := range info.Roles {
					roles[role] = nil
					if group != "" {
						roles[role] = &group
					}
				}
				return a.printJSON(map[string]any{"process": args[0], "roles": roles})
			}
			a.showNeeds(info.Draft, info.Roles)
			return a.noteEmptyGroups(cmd.Context(), b, bindings)
		},
	}
}
