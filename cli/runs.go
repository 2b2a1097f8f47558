package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

// admin is whoever runs ap on the data directory.
var admin = server.Identity{Kind: server.Admin}

func newRunsCmd(a *app) *cobra.Command {
	var q server.RunsQuery
	var state string
	cmd := &cobra.Command{
		Use:     "runs [ID]",
		Short:   "List runs, newest first, or show one",
		Example: "  ap runs --process new-supplier --state waiting\n  ap runs cancel r_… --reason \"entered twice\"\n  ap runs event r_… terms_signed --data '{\"by\":\"post\"}'",
		GroupID: groupAdmin,
		Args:    nArgs(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			states := []string{string(run.RunActive), string(run.RunWaiting), string(run.RunEnded), string(run.RunCancelled)}
			if state != "" {
				if _, err := oneOf(states...)(state); err != nil {
					return usage("--state: %v", err)
				}
				q.State = run.RunState(state)
			}
			b, err := a.open(cmd.Context(), existingData)
			if err != nil {
				return err
			}
			defer b.close()
			if len(args) == 0 {
				return a.listRuns(cmd.Context(), b, q)
			}
			view, err := b.srv.GetRun(cmd.Context(), admin, args[0])
			if err != nil {
				return err
			}
			return a.printRun(view)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Process, "process", "", "only runs of the process `NAME`")
	flags.StringVar(&state, "state", "", "only runs in this `STATE`: active, waiting, ended or cancelled")
	flags.IntVar(&q.Limit, "limit", 20, "at most `N` runs")
	flags.StringVar(&q.Cursor, "cursor", "", "go on after the list that gave this `CURSOR`")
	cmd.AddCommand(newRunsCancelCmd(a), newRunsEventCmd(a))
	return cmd
}

// runRowJSON is a run in the JSON of `ap runs`: as list_runs returns it, and a little more.
type runRowJSON struct {
	ID        string          `json:"id"`
	Process   string          `json:"process"`
	Version   int             `json:"version"`
	Mode      run.Mode        `json:"mode"`
	State     run.RunState    `json:"state"`
	Outcome   *string         `json:"outcome"`
	StartedBy string          `json:"startedBy"`
	StartedAt run.Time        `json:"startedAt"`
	UpdatedAt run.Time        `json:"updatedAt"`
	Inputs    json.RawMessage `json:"inputs"`
}

func (a *app) listRuns(ctx context.Context, b *backend, q server.RunsQuery) error {
	if q.Limit < 1 || q.Limit > 100 {
		return usage("--limit %d: it can be 1 to 100", q.Limit)
	}
	if q.Process != "" {
		if _, err := b.srv.Process(ctx, q.Process); err != nil {
			return err
		}
	}
	page, err := b.srv.ListRuns(ctx, admin, q)
	if err != nil {
		return err
	}
	if a.json {
		rows := make([]runRowJSON, len(page.Runs))
		for i, r := range page.Runs {
			rows[i] = runRowJSON{r.ID, r.Process, r.Version, r.Mode, r.State, nil, r.StartedBy, run.Time(r.StartedAt), run.Time(r.UpdatedAt), r.Inputs}
			if r.State == run.RunEnded {
				rows[i].Outcome = &page.Runs[i].Outcome
			}
		}
		var next *string
		if page.NextCursor != "" {
			next = &page.NextCursor
		}
		return a.printJSON(map[string]any{"items": rows, "nextCursor": next})
	}
	if len(page.Runs) == 0 {
		a.say("There are no such runs. Start one with `ap run NAME`.")
		return nil
	}
	var rows [][]string
	for _, r := range page.Runs {
		rows = append(rows, []string{r.ID, fmt.Sprintf("%s %d", r.Process, r.Version), stateOf(r.State, r.Outcome, r.Mode), r.StartedBy, when(r.StartedAt)})
	}
	a.table([]string{"RUN", "PROCESS", "STATE", "STARTED BY", "STARTED"}, rows)
	if page.NextCursor != "" {
		a.say("There are more: add --cursor %s", page.NextCursor)
	}
	return nil
}

func stateOf(state run.RunState, outcome string, mode run.Mode) string {
	words := string(state)
	if state == run.RunEnded {
		words += ": " + outcome
	}
	if mode == run.Test {
		words += " (test)"
	}
	return words
}

// printRun prints a run view as the switches ask.
func (a *app) printRun(view *run.View) error {
	switch {
	case a.json:
		return a.printJSON(view)
	case a.quiet:
		a.print("%s", view.Run.ID)
	default:
		a.showRun(view)
	}
	return nil
}

// showRun shows a run to a person: where it is, what waits for whom, and its data.
func (a *app) showRun(view *run.View) {
	r := view.Run
	outcome := ""
	if r.Outcome != nil {
		outcome = *r.Outcome
	}
	a.print("Run %s: %s version %d, %s", r.ID, r.Process, r.Version, printable(stateOf(r.State, outcome, r.Mode)))
	a.print("  started by %s, %s", printable(r.StartedBy), when(time.Time(r.StartedAt)))
	if r.Ended != nil && r.Ended.Note != nil {
		a.print("  ended by %s: %s", printable(r.Ended.By), printable(*r.Ended.Note))
	}
	for _, s := range view.Steps {
		if s.State == nil {
			continue
		}
		late := ""
		if s.Overdue != nil && *s.Overdue {
			late = ", overdue"
		}
		a.print("  %s: %s%s", s.ID, stepWords(s.Kind, *s.State), late)
	}
	for _, item := range view.WorkItems {
		who := item.AssignedTo.Group
		if who == "" {
			who = item.AssignedTo.Person
		}
		a.print("  waits for %s: %s", printable(who), printable(shorten(item.Text, 90)))
	}
	var data bytes.Buffer
	if json.Indent(&data, view.Data, "  ", "  ") == nil {
		a.print("  data: %s", printable(data.String()))
	}
}

func newRunsCancelCmd(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel a run",
		Args:  nArgs(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return usage("a run is cancelled for a reason; give it with --reason")
			}
			b, err := a.open(cmd.Context(), existingData)
			if err != nil {
				return err
			}
			defer b.close()
			view, err := b.srv.Cancel(cmd.Context(), admin, args[0], reason, newRequestID())
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(view)
			}
			a.say("Run %s is cancelled.", view.Run.ID)
			return nil
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, as the run's record will say (`TEXT`, required)")
	return cmd
}

func newRunsEventCmd(a *app) *cobra.Command {
	data := &eventDataFlag{settingFlag: settingFlag{name: "data", value: "JSON"}}
	cmd := &cobra.Command{
		Use:   "event ID NAME",
		Short: "Send a run an event",
		Long: `Event delivers an event to a run. A step that waits for it takes it; else it is held until one does or the run ends.

Here --data gives what the event carries, as a JSON object; given a folder, it still names the data directory.`,
		Args: nArgs(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.open(cmd.Context(), existingData)
			if err != nil {
				return err
			}
			defer b.close()
			step, err := b.srv.SendEvent(cmd.Context(), admin, args[0], args[1], data.event, newRequestID())
			if err != nil {
				return err
			}
			if a.json {
				var consumedBy *string
				if step != "" {
					consumedBy = &step
				}
				return a.printJSON(map[string]any{"consumedBy": consumedBy})
			}
			if step == "" {
				a.say("No step waits for %s yet; it is held until one does or the run ends.", printable(args[1]))
			} else {
				a.say("The step %s took %s.", step, printable(args[1]))
			}
			return nil
		},
	}
	cmd.Flags().Var(data, "data", "what the event carries, as a JSON object")
	return cmd
}

// eventDataFlag is --data of `ap runs event`: the event's data, or the data directory as everywhere else. An object tells
// itself apart from a folder.
type eventDataFlag struct {
	settingFlag
	event json.RawMessage
}

func (f *eventDataFlag) Set(text string) error {
	if info, err := os.Stat(text); err == nil && info.IsDir() {
		return f.settingFlag.Set(text)
	}
	if _, err := objectMembers([]byte(text)); err != nil {
		return fmt.Errorf("%w; it takes a JSON object such as {\"by\":\"post\"}", err)
	}
	f.event = json.RawMessage(text)
	return nil
}
