package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/apserver/ap/conformance/fixtures"
	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

// demoPerson is whom the visitor signs in as; she is in every group the examples need.
const demoPerson = "mira@example.com"

// demoAgentName is the agent that works the examples.
const demoAgentName = "demo-agent"

func newDemoCmd(a *app) *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show everything at once: examples, a server, an agent and an inbox",
		Long: `Demo publishes the example processes in a temporary directory, serves them on this machine, starts test runs, and lets a small
agent work their agent steps over MCP. The agent is a placeholder and says so: it shows the mechanics and researches nothing. What people
have to decide is left for you, in the inbox. Ctrl-C ends it and removes everything.`,
		GroupID: groupServer,
		Args:    nArgs(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends the program at once
			return a.demo(ctx, addr)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "where to listen, on this machine (`HOST:PORT`; port 0 takes a free one)")
	return cmd
}

// demo runs the demonstration until ctx ends.
func (a *app) demo(ctx context.Context, addr string) (err error) {
	if _, err := address(addr); err != nil {
		return usage("--addr: %v", err)
	}
	dir, err := os.MkdirTemp("", "ap-demo-")
	if err != nil {
		return failed("making a temporary directory", err)
	}
	defer func() {
		if removed := os.RemoveAll(dir); removed != nil && err == nil {
			err = failed("removing "+dir, removed)
		}
	}()
	s := defaultSettings()
	s.Data, s.Addr, s.Dev = dir, addr, true
	if problems := s.check(); len(problems) > 0 {
		return usage("--addr: %s", strings.Join(problems, "; "))
	}

	a.say("This demo runs in %s, which is removed when you stop it.\n", dir)
	site, err := listen(ctx, s, slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	defer site.close()
	if err := a.publishExamples(ctx, site.srv); err != nil {
		return err
	}
	key, err := site.srv.AddAgent(ctx, demoAgentName, nil, 0)
	if err != nil {
		return err
	}

	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error { return site.serve(inner) })
	group.Go(func() error { return a.demoVisit(inner, site, key) })
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		return err
	}
	a.say("\nStopped; %s is removed.", dir)
	return nil
}

// defaultSettings are the settings without any flag, variable or file.
func defaultSettings() *settings {
	s := &settings{}
	for _, x := range settingTable() {
		if x.def == "" {
			continue
		}
		if err := x.set(s, x.def); err != nil {
			panic(fmt.Sprintf("the default of %s: %v", x.name, err)) // a mistake in the table
		}
	}
	return s
}

// publishExamples imports and publishes the example processes; each role becomes a group of its own name, with
// demoPerson in it.
func (a *app) publishExamples(ctx context.Context, srv *server.Server) error {
	groups := map[string]bool{srv.Operators(): true}
	for _, name := range fixtures.Examples() {
		source, err := fixtures.Source(name)
		if err != nil {
			return failed("reading the example "+name, err)
		}
		doc, issues := process.Parse(source, process.Options{Folder: name})
		if doc == nil {
			return failed("reading the example "+name, errors.New(issues[0].Message))
		}
		roles := map[string]string{}
		for _, role := range doc.Roles() {
			roles[role] = role
			groups[role] = true
		}
		if err := srv.Import(ctx, source, doc); err != nil {
			return err
		}
		if len(roles) > 0 {
			if err := srv.Bind(ctx, name, roles); err != nil {
				return err
			}
		}
		version, err := srv.Publish(ctx, name)
		if err != nil {
			return err
		}
		a.say("  published  %s version %d: %s", name, version.Number, shorten(doc.Description, 90))
	}
	for group := range groups {
		if err := srv.AddMembers(ctx, group, []string{demoPerson}); err != nil {
			return err
		}
	}
	return nil
}

// demoRun is a run that the demo starts.
type demoRun struct {
	process string
	inputs  map[string]any
	// person says that demoPerson starts it; else the agent does, over MCP.
	person bool
}

// demoRuns are the runs that the demo starts, in the order in which they are to appear in the inbox.
func demoRuns(now time.Time) []demoRun {
	day := 24 * time.Hour
	return []demoRun{
		{process: "new-supplier", person: true, inputs: map[string]any{
			"supplier": "Lindwurm Pumpen GmbH", "country": "AT", "yearlySpend": json.Number("48000.00"),
			"neededBy": now.Add(30 * day).Format(time.DateOnly)}},
		{process: "press-release", inputs: map[string]any{
			"title": "A quieter pump",
			"draft": "Our new pump runs at 38 decibels. No competitor comes close."}},
		{process: "customer-reply", inputs: map[string]any{
			"customer": "Ines Abara", "complaint": "The pump came a week late and nobody told me."}},
		{process: "customer-reply", inputs: map[string]any{
			"customer": "Tomo Reiter", "complaint": "Your pump leaked and I slipped: an injury to my wrist. I have told a journalist."}},
		{process: "travel-request", person: true, inputs: map[string]any{
			"traveller": demoPerson, "manager": demoPerson, "destination": "Graz", "from": now.Add(7 * day).Format(time.DateOnly),
			"to": now.Add(9 * day).Format(time.DateOnly), "reason": "Visit to the foundry"}},
		{process: "trial-access", inputs: map[string]any{
			"customer": "Hofer Installations", "contact": demoPerson, "trialEnds": now.Add(14 * day).Format(time.RFC3339)}},
	}
}

// demoVisit starts the runs, lets the agent work, says where to go, and reports what happens until ctx ends.
func (a *app) demoVisit(ctx context.Context, site *site, key string) error {
	tools, err := connectTools(ctx, site.url+"/mcp", key)
	if err != nil {
		return failed("connecting the demo agent", err)
	}
	defer tools.close()
	agent := &demoAgent{toolClient: tools, report: a.demoLine}
	mira, err := site.srv.Person(ctx, demoPerson, nil)
	if err != nil {
		return err
	}

	a.say("\n  serving    %s, with a sign-in that takes any e-mail", site.url)
	for _, r := range demoRuns(site.srv.Now()) {
		if err := startDemoRun(ctx, site.srv, mira, agent, r); err != nil {
			return fmt.Errorf("starting %s: %w", r.process, err)
		}
	}
	a.say("  started    %d runs, all of them test runs", len(demoRuns(site.srv.Now())))
	a.say("\nThe demo agent works over MCP. Its work is a placeholder: it researches and sends nothing.\n")
	if err := agent.workAll(ctx); err != nil {
		return err
	}
	watch := newDemoWatch(site.srv, a.demoLine)
	if err := watch.look(ctx, false); err != nil {
		return err
	}
	if err := a.demoInvite(ctx, site, mira); err != nil {
		return err
	}

	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error { return agent.workUntil(inner) })
	group.Go(func() error { return watch.until(inner) })
	return group.Wait()
}

func startDemoRun(ctx context.Context, srv *server.Server, mira server.Identity, agent *demoAgent, r demoRun) error {
	_, doc, err := srv.VersionSource(ctx, r.process, 0)
	if err != nil {
		return err
	}
	var given members // in the declared order, which says best what a run is about
	for _, field := range doc.Inputs {
		if value, ok := r.inputs[field.Name]; ok {
			raw, err := json.Marshal(value)
			if err != nil {
				return err
			}
			given = given.with(field.Name, raw)
		}
	}
	inputs, err := given.marshal()
	if err != nil {
		return err
	}
	if !r.person {
		return agent.start(ctx, r.process, inputs)
	}
	_, err = srv.StartRun(ctx, mira, server.StartRunArgs{Process: r.process, Inputs: inputs, Mode: run.Test, RequestID: newRequestID()})
	return err
}

// demoInvite says where to go and what to try.
func (a *app) demoInvite(ctx context.Context, site *site, mira server.Identity) error {
	inbox, err := site.srv.Inbox(ctx, mira, server.InboxQuery{Limit: 100})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{
			"url": site.url + "/inbox", "email": demoPerson, "data": site.settings.Data, "openItems": len(inbox.Items),
		})
	}
	bold, plain := "", ""
	if colour(a.out) {
		bold, plain = "\033[1m", "\033[0m"
	}
	a.print(`
%sNow it is your turn: %s wait for you.%s

  open       %s%s/inbox%s
  sign in    %s%s%s (no password)

Try this: reject the new supplier with a note, see the agent take your note up here below, then approve.
Beside the demo, the command line works too: %s runs --data %s
Ctrl-C ends the demo.
`, bold, plural(len(inbox.Items), "item"), plain, bold, site.url, plain, bold, demoPerson, plain, os.Args[0], site.settings.Data)
	return nil
}

// demoLine prints one thing that happened, with its time.
func (a *app) demoLine(who, what string) {
	a.say("  %s  %-18s %s", time.Now().Format("15:04:05"), printable(who), printable(what))
}
