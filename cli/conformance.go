package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/apserver/ap/conformance"
)

// conformanceFlags are what `ap conformance` takes; each is a key of the file given with --from too.
type conformanceFlags struct {
	URL      string   `yaml:"url"`
	Agent    string   `yaml:"agent"`
	Agent2   string   `yaml:"agent2"`
	Person   []string `yaml:"person"`
	Operator string   `yaml:"operator"`
	Clock    string   `yaml:"clock"`
	Import   string   `yaml:"import"`

	from, prepare, report, format, folder string
	only                                  []string
	self, list, slow                      bool
	parallel                              int
}

func newConformanceCmd(a *app) *cobra.Command {
	var f conformanceFlags
	cmd := &cobra.Command{
		Use:   "conformance URL",
		Short: "Test whether a server conforms to Agent Process",
		Long: `Conformance tests any process server from outside, over MCP, with the tokens it is given. What isn't given skips the cases
that need it. First publish the fixtures at the server under test: --prepare writes them and says which role has to be bound to
which group. Tokens can be given as AP_CONFORMANCE_AGENT, _AGENT2, _PERSON (EMAIL=TOKEN, separated by spaces) and _OPERATOR too,
or in a YAML file with --from. docs/conformance.md leads from nothing to a report.`,
		Example: `  ap conformance --prepare fixtures
  ap conformance https://process.example.com/mcp --agent $A --agent2 $B --person ada@example.com=$P --operator ops@example.com=$O
  ap conformance --self`,
		GroupID: groupAuthor,
		Args:    nArgs(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return a.conformance(ctx, &f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Agent, "agent", "", "bearer `TOKEN` of an agent")
	flags.StringVar(&f.Agent2, "agent2", "", "bearer `TOKEN` of a second agent")
	flags.StringArrayVar(&f.Person, "person", nil, "`EMAIL=TOKEN` of a person; the first two are in the fixtures' group, the third is not")
	flags.StringVar(&f.Operator, "operator", "", "`EMAIL=TOKEN` of an operator")
	flags.StringVar(&f.Clock, "clock", "", "`URL` of a movable clock: POST {\"advance\":\"90s\"}")
	flags.BoolVar(&f.slow, "slow", false, "without a clock, really wait in the cases that need time")
	flags.StringVar(&f.Import, "import", "", "`COMMAND` that offers a file for publication: {path}, {name} and {roles} are replaced")
	flags.StringVar(&f.from, "from", "", "read url, tokens, clock and import from a YAML `FILE`")
	flags.StringVar(&f.prepare, "prepare", "", "write the fixtures into `DIR`, say how to publish them, and stop")
	flags.StringSliceVar(&f.only, "only", nil, "run only these cases or groups (`ID,GROUP,…`)")
	flags.StringVar(&f.folder, "folder", "", "also work every PROCESS.md below `DIR` to its end (published already, or by --import)")
	flags.BoolVar(&f.list, "list", false, "list the cases and stop")
	flags.BoolVar(&f.self, "self", false, "test a fresh server of our own, with everything configured")
	flags.StringVar(&f.format, "format", "text", "the report's format: `text|json|junit`")
	flags.StringVar(&f.report, "report", "", "write the report to `FILE` instead of stdout")
	flags.IntVar(&f.parallel, "parallel", 4, "how many cases run at once (`N`)")
	return cmd
}

func (a *app) conformance(ctx context.Context, f *conformanceFlags, args []string) error {
	switch {
	case f.list:
		return a.listConformance(f.only)
	case f.prepare != "":
		return a.prepareConformance(f.prepare)
	case !slices.Contains(conformance.Formats(), f.format) && !a.json:
		return usage("--format: %q is none of %s", f.format, strings.Join(conformance.Formats(), ", "))
	}
	if a.json {
		f.format = "json"
	}
	if unknown := conformance.Unknown(f.only); len(unknown) > 0 {
		return usage("--only: no case and no group is called %s%s", strings.Join(unknown, ", "), didYouMean(unknown[0], conformance.Names()))
	}
	if f.self {
		if len(args) > 0 {
			return usage("--self tests a server of our own; give a URL or --self, not both")
		}
		return a.conformanceSelf(ctx, f)
	}
	opts, err := f.options(args)
	if err != nil {
		return err
	}
	return a.runConformance(ctx, f, opts)
}

// options puts together what the flags, the environment and the file say, in this order.
func (f *conformanceFlags) options(args []string) (conformance.Options, error) {
	var file conformanceFlags
	if f.from != "" {
		if err := readStrictYAML(f.from, &file); err != nil {
			return conformance.Options{}, err
		}
	}
	first := func(values ...string) string {
		for _, v := range values {
			if v != "" {
				return v
			}
		}
		return ""
	}
	url := ""
	if len(args) == 1 {
		url = args[0]
	}
	opts := conformance.Options{
		URL:      first(url, file.URL),
		Agent:    first(f.Agent, os.Getenv("AP_CONFORMANCE_AGENT"), file.Agent),
		Agent2:   first(f.Agent2, os.Getenv("AP_CONFORMANCE_AGENT2"), file.Agent2),
		Clock:    first(f.Clock, os.Getenv("AP_CONFORMANCE_CLOCK"), file.Clock),
		Import:   first(f.Import, os.Getenv("AP_CONFORMANCE_IMPORT"), file.Import),
		Slow:     f.slow,
		Only:     f.only,
		Folder:   f.folder,
		Parallel: f.parallel,
	}
	people := f.Person
	if len(people) == 0 {
		people = strings.Fields(os.Getenv("AP_CONFORMANCE_PERSON"))
	}
	if len(people) == 0 {
		people = file.Person
	}
	for _, p := range people {
		person, ok := parsePerson(p)
		if !ok {
			return opts, usage("--person: expected EMAIL=TOKEN")
		}
		opts.People = append(opts.People, person)
	}
	if operator := first(f.Operator, os.Getenv("AP_CONFORMANCE_OPERATOR"), file.Operator); operator != "" {
		person, ok := parsePerson(operator)
		if !ok {
			return opts, usage("--operator: expected EMAIL=TOKEN")
		}
		opts.Operator = person
	}
	switch {
	case opts.URL == "":
		return opts, usage("the URL of the MCP endpoint is missing; give it as argument, or --self to test a server of our own")
	case !strings.HasPrefix(opts.URL, "http://") && !strings.HasPrefix(opts.URL, "https://"):
		return opts, usage("%q is no http or https URL; give that of the MCP endpoint, such as https://process.example.com/mcp", opts.URL)
	case opts.Agent == "":
		return opts, usage("an agent's token is missing; give it with --agent, AP_CONFORMANCE_AGENT or --from")
	}
	return opts, nil
}

func parsePerson(s string) (conformance.Person, bool) {
	email, token, found := strings.Cut(s, "=")
	return conformance.Person{Email: email, Token: token}, found && strings.Contains(email, "@") && token != ""
}

// readStrictYAML reads a YAML file in which unknown keys are errors.
func readStrictYAML(path string, into any) error {
	file, err := os.Open(path)
	if err != nil {
		return failed("reading "+path, err)
	}
	defer file.Close()
	d := yaml.NewDecoder(file)
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		return failed("reading "+path, err)
	}
	return nil
}

// runConformance runs the suite, shows progress on stderr and writes the report.
func (a *app) runConformance(ctx context.Context, f *conformanceFlags, opts conformance.Options) (err error) {
	live := !a.quiet && isTerminal(a.err)
	opts.Progress = func(done, total int, o conformance.Outcome) {
		switch {
		case live:
			fmt.Fprintf(a.err, "\r\033[K%d/%d %s", done, total, o.ID)
		case o.Status == conformance.Failed && !a.quiet && f.report != "":
			fmt.Fprintf(a.err, "failed: %s\n", o.ID)
		}
	}
	report, err := conformance.Run(ctx, opts)
	if live {
		fmt.Fprint(a.err, "\r\033[K")
	}
	if err != nil {
		if ctx.Err() != nil {
			return failed("interrupted", ctx.Err())
		}
		return failed("testing", err)
	}
	out := a.out
	if f.report != "" {
		file, err := os.Create(f.report)
		if err != nil {
			return failed("writing the report", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		out = file
	}
	if err := report.Write(out, f.format); err != nil {
		return failed("writing the report", err)
	}
	if report.Count(conformance.Failed) > 0 {
		return errIssues
	}
	return nil
}

func (a *app) listConformance(only []string) error {
	rows := [][]string{}
	for _, c := range conformance.Cases() {
		if len(only) == 0 || slices.Contains(only, c.ID) || slices.Contains(only, c.Group()) {
			rows = append(rows, []string{c.ID, c.Rule})
		}
	}
	if a.json {
		list := make([]map[string]string, len(rows))
		for i, r := range rows {
			list[i] = map[string]string{"id": r[0], "rule": r[1]}
		}
		return a.printJSON(list)
	}
	a.table([]string{"CASE", "RULE"}, rows)
	return nil
}

// prepareConformance writes the fixtures and says what has to be true at the server under test.
func (a *app) prepareConformance(dir string) error {
	if err := conformance.Prepare(dir); err != nil {
		return failed("preparing", err)
	}
	if a.json {
		return a.printJSON(conformance.Fixtures())
	}
	a.print("The fixtures are in %s. At the server under test:\n\n", dir)
	a.print("1. Publish each folder, with the role bound to the group as shown:\n")
	for _, x := range conformance.Fixtures() {
		line := "   " + x.Name
		for role, group := range x.Roles {
			line += fmt.Sprintf("   %s=%s", role, group)
		}
		if x.Profile != "" {
			line += "   (only where the profile " + x.Profile + " is offered)"
		}
		a.print("%s\n", line)
	}
	a.print(`
2. Put the first two people you name with --person into the group %q, the third into no group, and the operator into
   whatever makes an operator there, but not into %q.
3. Run: ap conformance URL --agent TOKEN --agent2 TOKEN --person EMAIL=TOKEN --person EMAIL=TOKEN --person EMAIL=TOKEN --operator EMAIL=TOKEN
`, conformance.Group, conformance.Group)
	return nil
}
