package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

func newAgentCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "agent",
		Short:   "Give agents keys, list and revoke them",
		GroupID: groupAdmin,
	}
	cmd.AddCommand(newAgentAddCmd(a), newAgentListCmd(a), newAgentRevokeCmd(a))
	return cmd
}

func newAgentAddCmd(a *app) *cobra.Command {
	var processes []string
	var expires string
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make an agent and print its key, once",
		Long: `The key is what an agent sends as its bearer token on /mcp. It is printed once and stored only as a hash: keep it where the
agent keeps its secrets. --process limits the agent to that process.`,
		Example: "  ap agent add researcher --process new-supplier --expires 90d",
		Args:    nArgs(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var lifetime time.Duration
			if expires != "" {
				var err error
				if lifetime, err = atLeast(time.Minute)(expires); err != nil {
					return usage("--expires: %v", err)
				}
			}
			b, err := a.open(cmd.Context(), createData)
			if err != nil {
				return err
			}
			defer b.close()
			key, err := b.srv.AddAgent(cmd.Context(), args[0], processes, lifetime)
			if err != nil {
				return err
			}
			switch {
			case a.json:
				return a.printJSON(struct {
					Name  string `json:"name"`
					Token string `json:"token"`
				}{args[0], key})
			case a.quiet:
				a.print("%s", key)
			default:
				a.print("%s", key)
				fmt.Fprintf(a.err, "This is the key of agent %s. It is not shown again.\n", printable(args[0]))
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&processes, "process", nil, "limit the agent to the process `NAME` (repeatable)")
	cmd.Flags().StringVar(&expires, "expires", "", "end the key after `DURATION`, such as 90d (default: never)")
	return cmd
}

// agentJSON is an agent in the JSON of `ap agent list`.
type agentJSON struct {
	Name      string    `json:"name"`
	Processes []string  `json:"processes"`
	State     string    `json:"state"`
	CreatedAt run.Time  `json:"createdAt"`
	ExpiresAt *run.Time `json:"expiresAt"`
	RevokedAt *run.Time `json:"revokedAt"`
	LastUsed  *run.Time `json:"lastUsed"`
}

func newAgentListCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List agents",
		Args:  nArgs(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.open(cmd.Context(), existingData)
			if err != nil {
				return err
			}
			defer b.close()
			agents, err := b.srv.Agents(cmd.Context())
			if err != nil {
				return err
			}
			return a.listAgents(agents)
		},
	}
}

func (a *app) listAgents(agents []server.AgentRow) error {
	if a.json {
		list := make([]agentJSON, len(agents))
		for i, x := range agents {
			list[i] = agentJSON{x.Name, x.Processes, agentState(x), run.Time(x.CreatedAt),
				timeOrNull(x.ExpiresAt), timeOrNull(x.RevokedAt), timeOrNull(x.LastUsed)}
		}
		return a.printJSON(map[string]any{"agents": list})
	}
	if len(agents) == 0 {
		a.say("There are no agents yet. Make one with `ap agent add NAME`.")
		return nil
	}
	var rows [][]string
	for _, x := range agents {
		limit, used := "all", "never"
		if x.Processes != nil {
			limit = strings.Join(slices.Sorted(slices.Values(x.Processes)), ", ")
		}
		if x.LastUsed != nil {
			used = when(*x.LastUsed)
		}
		rows = append(rows, []string{x.Name, agentState(x), limit, used})
	}
	a.table([]string{"NAME", "STATE", "PROCESSES", "LAST USED"}, rows)
	return nil
}

// agentState says whether a key works. Keys expire by real time, never by the moved clock of dev mode.
func agentState(x server.AgentRow) string {
	switch {
	case x.RevokedAt != nil:
		return "revoked"
	case x.ExpiresAt != nil && !x.ExpiresAt.After(time.Now()):
		return "expired"
	}
	return "active"
}

func timeOrNull(t *time.Time) *run.Time {
	if t == nil {
		return nil
	}
	converted := run.Time(*t)
	return &converted
}

func newAgentRevokeCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke NAME",
		Short: "End an agent's key at once, in a running server too",
		Args:  nArgs(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.open(cmd.Context(), existingData)
			if err != nil {
				return err
			}
			defer b.close()
			if err := b.srv.RevokeAgent(cmd.Context(), args[0]); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"name": args[0], "revoked": true})
			}
			a.say("The key of agent %s no longer works.", printable(args[0]))
			return nil
		},
	}
}
