package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/apserver/ap/core/server"
)

func newGroupCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "group",
		Short: "Add people to groups, remove and list them",
		Long: `A person is in the groups their identity provider names and in those they were added to here. A group exists by being named: it
needs no members to be bound to a role.`,
		GroupID: groupAdmin,
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:     "add GROUP EMAIL...",
			Short:   "Add people to a group",
			Example: "  ap group add operators mira@example.com",
			Args:    nArgs(2, -1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.changeGroup(cmd, createData, args, (*server.Server).AddMembers)
			},
		},
		&cobra.Command{
			Use:   "remove GROUP EMAIL...",
			Short: "Take people out of a group",
			Args:  nArgs(2, -1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.changeGroup(cmd, existingData, args, (*server.Server).RemoveMembers)
			},
		},
		&cobra.Command{
			Use:   "list",
			Short: "List groups and the people added to them",
			Args:  nArgs(0, 0),
			RunE: func(cmd *cobra.Command, _ []string) error {
				b, err := a.open(cmd.Context(), existingData)
				if err != nil {
					return err
				}
				defer b.close()
				groups, err := b.srv.Groups(cmd.Context())
				if err != nil {
					return err
				}
				return a.listGroups(groups)
			},
		},
	)
	return cmd
}

// memberChange is Server.AddMembers or Server.RemoveMembers.
type memberChange func(s *server.Server, ctx context.Context, group string, emails []string) error

// changeGroup adds people to a group or takes them out, and shows who is in it then.
func (a *app) changeGroup(cmd *cobra.Command, mode openMode, args []string, change memberChange) error {
	b, err := a.open(cmd.Context(), mode)
	if err != nil {
		return err
	}
	defer b.close()
	group, emails := args[0], args[1:]
	if err := change(b.srv, cmd.Context(), group, emails); err != nil {
		return err
	}
	groups, err := b.srv.Groups(cmd.Context())
	if err != nil {
		return err
	}
	members := groups[group]
	slices.Sort(members)
	if a.json {
		return a.printJSON(map[string]any{"group": group, "members": orEmpty(members)})
	}
	if len(members) == 0 {
		a.say("Nobody is in %s now.", printable(group))
		return nil
	}
	a.say("In %s now: %s.", printable(group), printable(strings.Join(members, ", ")))
	return nil
}

func (a *app) listGroups(groups map[string][]string) error {
	if a.json {
		list := map[string][]string{}
		for group, members := range groups {
			list[group] = orEmpty(slices.Sorted(slices.Values(members)))
		}
		return a.printJSON(map[string]any{"groups": list})
	}
	if len(groups) == 0 {
		a.say("There are no groups yet. Make one with `ap group add GROUP EMAIL`.")
		return nil
	}
	var rows [][]string
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		rows = append(rows, []string{group, strings.Join(slices.Sorted(slices.Values(groups[group])), ", ")})
	}
	a.table([]string{"GROUP", "MEMBERS"}, rows)
	return nil
}

// orEmpty makes a nil list an empty one, which marshals to [].
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
