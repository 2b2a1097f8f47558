package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

// demoWatch reports what people do to the runs of a demo, and how runs end.
type demoWatch struct {
	srv    *server.Server
	report func(who, what string)
	// seen maps a run and step to the time of the record reported last; ended holds the runs whose end was reported.
	seen  map[string]string
	ended map[string]bool
}

func newDemoWatch(srv *server.Server, report func(who, what string)) *demoWatch {
	return &demoWatch{srv: srv, report: report, seen: map[string]string{}, ended: map[string]bool{}}
}

// until reports until ctx ends.
func (w *demoWatch) until(ctx context.Context) error {
	changes, stop := w.srv.Changed()
	defer stop()
	tick := time.NewTicker(followAtLeast)
	defer tick.Stop()
	for {
		if err := w.look(ctx, true); err != nil {
			return endedBy(ctx, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changes:
		case <-tick.C:
		}
	}
}

// look looks at all runs, and reports what is new unless it is the first look.
func (w *demoWatch) look(ctx context.Context, report bool) error {
	page, err := w.srv.ListRuns(ctx, admin, server.RunsQuery{Limit: 100})
	if err != nil {
		return err
	}
	for _, row := range page.Runs {
		if w.ended[row.ID] {
			continue
		}
		view, err := w.srv.GetRun(ctx, admin, row.ID)
		if err != nil {
			return err
		}
		if err := w.lookAt(view, report); err != nil {
			return err
		}
	}
	return nil
}

func (w *demoWatch) lookAt(view *run.View, report bool) error {
	var data demoData
	if err := json.Unmarshal(view.Data, &data); err != nil {
		return fmt.Errorf("reading the data of run %s: %w", view.Run.ID, err)
	}
	for _, step := range view.Steps {
		record, ok := data.Steps[step.ID]
		if !ok || record.At == nil {
			continue
		}
		key, at := view.Run.ID+" "+step.ID, record.At.String()+record.Decision
		if w.seen[key] == at {
			continue
		}
		w.seen[key] = at
		if report && !strings.HasPrefix(record.By, "agent:") {
			w.report(record.By, demoDeed(record)+" "+step.ID+" of "+view.Run.Process)
		}
	}
	if view.Run.Ended != nil {
		w.ended[view.Run.ID] = true
		if report {
			w.report(view.Run.Process, "ended: "+outcomeOf(view))
		}
	}
	return nil
}

func demoDeed(record demoRecord) string {
	deed := record.Decision
	if deed == "" {
		deed = "completed"
	}
	if record.Note != "" {
		deed += fmt.Sprintf(" (“%s”)", shorten(record.Note, 60))
	}
	return deed
}

func outcomeOf(view *run.View) string {
	if view.Run.Outcome != nil {
		return *view.Run.Outcome
	}
	return string(view.Run.State)
}
