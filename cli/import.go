package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/apserver/ap/core/process"
)

func newImportCmd(a *app) *cobra.Command {
	var roles []string
	var publish bool
	cmd := &cobra.Command{
		Use:   "import PATH",
		Short: "Make or replace the draft of a process",
		Long: `Import reads a PROCESS.md, or the one in a folder, and makes it the draft of its process. Roles bound before stay bound; on a
terminal, import asks for the groups of those that are not. --publish publishes the draft at once.`,
		Example: "  ap import processes/new-supplier --role purchasing=buyers\n  ap import PROCESS.md --publish",
		GroupID: groupAdmin,
		Args:    nArgs(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			source, doc, err := a.readProcess(args[0])
			if err != nil {
				return err
			}
			bindings, err := parseBindings(roles, doc)
			if err != nil {
				return err
			}
			b, err := a.open(cmd.Context(), createData)
			if err != nil {
				return err
			}
			defer b.close()
			return a.importProcess(cmd.Context(), b, source, doc, bindings, publish)
		},
	}
	cmd.Flags().StringArrayVar(&roles, "role", nil, "bind `ROLE=GROUP` (repeatable)")
	cmd.Flags().BoolVar(&publish, "publish", false, "publish the draft at once")
	return cmd
}

// importResult is the JSON of import; Roles has a null for a role without a group.
type importResult struct {
	Process     string             `json:"process"`
	ContentHash string             `json:"contentHash"`
	Roles       map[string]*string `json:"roles"`
	Requires    *requires          `json:"requires"`
	Version     int                `json:"version,omitempty"`
}

// requires has the form it has in a PROCESS.md; nil where the process declares nothing.
type requires struct {
	Systems []string `json:"systems"`
}

func requiresOf(doc *process.Document) *requires {
	if doc == nil || len(doc.Requires) == 0 {
		return nil
	}
	return &requires{Systems: doc.Requires}
}

func (a *app) importProcess(ctx context.Context, b *backend, source []byte, doc *process.Document, bindings map[string]string, publish bool) error {
	if err := b.srv.Import(ctx, source, doc); err != nil {
		return err
	}
	info, err := b.srv.Process(ctx, doc.Name)
	if err != nil {
		return err
	}
	if a.interactive() {
		if err := a.askRoles(ctx, b, doc, info.Roles, bindings); err != nil {
			return err
		}
	}
	if len(bindings) > 0 {
		if err := b.srv.Bind(ctx, doc.Name, bindings); err != nil {
			return err
		}
		maps.Copy(info.Roles, bindings)
	}

	result := importResult{Process: doc.Name, ContentHash: doc.Hash, Roles: map[string]*string{}, Requires: requiresOf(doc)}
	for role, group := range info.Roles {
		result.Roles[role] = nil
		if group != "" {
			result.Roles[role] = &group
		}
	}
	if publish {
		version, err := b.srv.Publish(ctx, doc.Name)
		if err != nil {
			return err
		}
		result.Version = version.Number
	}
	if a.json {
		return a.printJSON(result)
	}
	a.say("Imported %s as a draft (%s).", doc.Name, doc.Hash[:12])
	a.showNeeds(doc, info.Roles)
	if err := a.noteEmptyGroups(ctx, b, bindings); err != nil {
		return err
	}
	if publish {
		a.say("Published %s version %d.", doc.Name, result.Version)
	} else if len(unbound(info.Roles)) == 0 {
		a.say("Publish it with `ap publish %s`.", doc.Name)
	}
	return nil
}

// noteEmptyGroups says which groups of bindings have nobody in them that was added here. That is fine where the identity
// provider fills them, and a slip where another group has nearly the same name.
func (a *app) noteEmptyGroups(ctx context.Context, b *backend, bindings map[string]string) error {
	groups, err := b.srv.Groups(ctx)
	if err != nil {
		return err
	}
	var filled []string
	for group, members := range groups {
		if len(members) > 0 {
			filled = append(filled, group)
		}
	}
	slices.Sort(filled)
	for _, group := range slices.Compact(slices.Sorted(maps.Values(bindings))) {
		if !slices.Contains(filled, group) {
			a.say("Nobody was added to the group %s here%s", printable(group),
				cmp.Or(didYouMean(group, filled), fmt.Sprintf("; the identity provider may name its members, or `ap group add %s EMAIL` adds them.", printable(group))))
		}
	}
	return nil
}

// showNeeds says what a process needs before it can run: systems, and groups for its roles.
func (a *app) showNeeds(doc *process.Document, roles map[string]string) {
	if len(doc.Requires) > 0 {
		a.say("It requires access to: %s.", strings.Join(doc.Requires, ", "))
	}
	for _, role := range doc.Roles() {
		if group := roles[role]; group != "" {
			a.say("Role %s is the group %s.", role, group)
		}
	}
	if missing := unbound(roles); len(missing) > 0 {
		a.say("Not bound to a group yet: %s. Bind with `ap bind %s %s=GROUP`.", strings.Join(missing, ", "), doc.Name, missing[0])
	}
}

// unbound lists the roles without a group.
func unbound(roles map[string]string) []string {
	var missing []string
	for role, group := range roles {
		if group == "" {
			missing = append(missing, role)
		}
	}
	slices.Sort(missing)
	return missing
}

// interactive says whether somebody is there to be asked.
func (a *app) interactive() bool {
	return !a.json && !a.quiet && isTerminal(a.in) && isTerminal(a.err)
}

// askRoles asks for the group of each role that has none, and adds the answers to bindings. An empty answer leaves the
// role for later.
func (a *app) askRoles(ctx context.Context, b *backend, doc *process.Document, bound, bindings map[string]string) error {
	groups, err := b.srv.Groups(ctx)
	if err != nil {
		return err
	}
	in := bufio.NewReader(a.in)
	for _, role := range doc.Roles() {
		if bound[role] != "" || bindings[role] != "" {
			continue
		}
		hint := ""
		if len(groups) > 0 {
			hint = " (there are " + strings.Join(slices.Sorted(maps.Keys(groups)), ", ") + ")"
		}
		fmt.Fprintf(a.err, "Which group is the role %s?%s Empty to decide later: ", printable(role), printable(hint))
		answer, err := in.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return failed("reading the answer", err)
		}
		if group := strings.TrimSpace(answer); group != "" {
			bindings[role] = group
		}
		if err != nil {
			fmt.Fprintln(a.err)
			return nil
		}
	}
	return nil
}

// parseBindings reads ROLE=GROUP arguments; doc, if not nil, names the roles there are. All problems come at once.
func parseBindings(args []string, doc *process.Document) (map[string]string, error) {
	bindings := map[string]string{}
	var problems []string
	for _, arg := range args {
		role, group, ok := strings.Cut(arg, "=")
		role, group = strings.TrimSpace(role), strings.TrimSpace(group)
		switch {
		case !ok || role == "" || group == "":
			problems = append(problems, fmt.Sprintf("%q is not ROLE=GROUP", arg))
		case doc != nil && !slices.Contains(doc.Roles(), role):
			problems = append(problems, fmt.Sprintf("%s has no role %q%s", doc.Name, role, didYouMean(role, doc.Roles())))
		default:
			if before, twice := bindings[role]; twice && before != group {
				problems = append(problems, fmt.Sprintf("role %q is given two groups, %q and %q", role, before, group))
			}
			bindings[role] = group
		}
	}
	if len(problems) > 0 {
		return nil, usage("%s", joinLines(problems))
	}
	return bindings, nil
}
