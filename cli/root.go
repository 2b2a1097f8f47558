// Package cli is the command line: one file a command, its settings in config.go.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// app is what every command is made with: where it reads and writes, and the switches that all commands share.
// A command's file has one constructor, newNAMECmd(a *app), which newRoot attaches.
type app struct {
	in  io.Reader
	out io.Writer
	err io.Writer

	// json asks for one JSON document on stdout; quiet for no more than was asked for.
	json, quiet bool
	// configFile is --config, "" when it was not given.
	configFile string
	// flags are those of the command that runs, for the settings among them.
	flags *pflag.FlagSet
}

// Main runs ap with its arguments (without the program's name) and returns the exit status: 0 done, 1 refused or issues
// found, 2 wrong usage or failed input and output.
func Main(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	checked := &checkedWriter{w: out}
	a := &app{in: in, out: checked, err: errOut}
	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil && checked.err != nil {
		err = failed("the output could not be written", checked.err)
	}
	return a.report(err)
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "ap",
		Short: "A process server for Agent Process",
		Long: `ap lints PROCESS.md files, publishes them, runs them, hands their steps to agents over MCP and gives people an inbox in
which they decide.

New here? ` + "`ap demo`" + ` shows everything at once, in a temporary directory.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			a.flags = cmd.Flags()
			a.json = a.json || envSwitch("AP_JSON")
			a.quiet = a.quiet || envSwitch("AP_QUIET")
		},
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommandGroupID(groupServer)

	flags := root.PersistentFlags()
	addSettingFlags(flags, "data")
	flags.StringVar(&a.configFile, "config", "", "read settings from `FILE` (default: ap.yaml, when there is one)")
	flags.BoolVar(&a.json, "json", false, "print one JSON document")
	flags.BoolVar(&a.quiet, "quiet", false, "print only what was asked for")

	root.AddGroup(
		&cobra.Group{ID: groupAuthor, Title: "For process authors:"},
		&cobra.Group{ID: groupAdmin, Title: "Processes, people and agents:"},
		&cobra.Group{ID: groupServer, Title: "The server and its data:"},
	)
	root.AddCommand(
		newLintCmd(a), newHashCmd(a), newMapCmd(a), newSchemaCmd(a),
		newImportCmd(a), newBindCmd(a), newPublishCmd(a), newProcessesCmd(a),
		newRunCmd(a), newRunsCmd(a), newGroupCmd(a), newAgentCmd(a),
		newServeCmd(a), newDemoCmd(a), newConformanceCmd(a), newBackupCmd(a), newVerifyCmd(a),
		newVersionCmd(a),
		newCompletionCmd(a),
	)
	for _, cmd := range root.Commands() {
		cmd.SetFlagErrorFunc(flagError)
		asParent(cmd)
	}
	asParent(root)
	return root
}

// The groups in which `ap --help` lists the commands.
const (
	groupAuthor = "author"
	groupAdmin  = "admin"
	groupServer = "server"
)

// asParent makes a command that only has subcommands say which ones, and name the nearest to what was typed.
func asParent(cmd *cobra.Command) {
	if !cmd.HasSubCommands() || cmd.Runnable() {
		return
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		if !cmd.HasParent() {
			return cmd.Help()
		}
		return usage("%s needs one of %s", cmd.CommandPath(), strings.Join(subcommands(cmd), ", "))
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		// What was meant is the flag of a command whose name is misspelt.
		if args := cmd.Flags().Args(); len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return flagError(cmd, err)
	})
}

func unknownCommand(cmd *cobra.Command, name string) error {
	return usage("%s has no command %q%s", cmd.CommandPath(), name, didYouMean(name, subcommands(cmd)))
}

func subcommands(cmd *cobra.Command) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// flagError words what the flag parser found.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		if len(name) > 1 {
			return usage("%s has no flag --%s%s; see `%s --help`", cmd.CommandPath(), name, didYouMeanFlag(name, names), cmd.CommandPath())
		}
	}
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError
	if errors.As(err, &invalid) && errors.As(err, &number) {
		problem := "is no whole number"
		if invalid.GetFlag().Value.Type() == "bool" {
			problem = "is neither true nor false"
		}
		return usage("--%s: %q %s; see `%s --help`", invalid.GetFlag().Name, invalid.GetValue(), problem, cmd.CommandPath())
	}
	return usage("%v; see `%s --help`", err, cmd.CommandPath())
}

// nArgs checks that a command gets the arguments its usage line names, at least min and at most max (-1: any number).
func nArgs(minimum, maximum int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < minimum:
			return usage("an argument is missing; the usage is `%s`", cmd.UseLine())
		case maximum >= 0 && len(args) > maximum:
			return usage("%q is one argument too many; the usage is `%s`", args[maximum], cmd.UseLine())
		}
		return nil
	}
}

// envSwitch says whether a variable turns a switch on.
func envSwitch(name string) bool {
	switch strings.ToLower(os.Getenv(name)) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// isTerminal says whether a reader or writer is a terminal.
func isTerminal(stream any) bool {
	if c, ok := stream.(*checkedWriter); ok {
		stream = c.w
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colour says whether w is a terminal on which colour is welcome (no-color.org).
func colour(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// checkedWriter keeps the first error of a writer, so that output lost on a full disk isn't reported as success.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if err != nil && c.err == nil {
		c.err = err
	}
	return n, err
}

// say prints a line for a person: nothing with --quiet or --json.
func (a *app) say(format string, args ...any) {
	if !a.quiet && !a.json {
		fmt.Fprintf(a.out, format+"\n", args...)
	}
}

// print prints what was asked for.
func (a *app) print(format string, args ...any) {
	fmt.Fprintf(a.out, format+"\n", args...)
}
