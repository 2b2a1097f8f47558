package server

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/apserver/ap/core/run"
)

func listRunsTool() *tool {
	return newTool(tool{
		name: toolListRuns,
		description: "Runs, newest first, with their state and inputs. Filter by process, by state and by the exact value of any input, for example to see whether a run for this customer exists already. " +
			"Call it again with cursor set to nextCursor until that is null.",
		args: []arg{
			{name: "process", help: "Only runs of this process."},
			{name: "state", enum: []string{string(run.RunActive), string(run.RunWaiting), string(run.RunEnded), string(run.RunCancelled)}, help: "Only runs in this state."},
			{name: "inputs", kind: object, help: "Only runs whose inputs have these values."},
			limitArg(),
			cursorArg(),
		},
		call: func(s *Server, ctx context.Context, _ Identity, a *arguments) (any, error) {
			return s.listRuns(ctx, a)
		},
	})
}

// RunsQuery selects runs for a list.
type RunsQuery struct {
	Process string
	State   run.RunState
	Inputs  json.RawMessage
	Cursor  string
	Limit   int
}

// RunsPage is a page of runs, newest first.
type RunsPage struct {
	Runs       []RunRow
	NextCursor string
}

// ListRuns lists runs (anyone).
func (s *Server) ListRuns(ctx context.Context, id Identity, q RunsQuery) (*RunsPage, error) {
	if id.Kind == Nobody {
		return nil, errNobody
	}
	query := RunQuery{Process: q.Process, State: q.State, Limit: q.Limit}
	if len(q.Inputs) > 0 {
		if issues := wellFormed(q.Inputs); issues != nil {
			return nil, invalid("The inputs aren't right", issues...)
		}
		var err error
		if query.Inputs, err = inputKeys(q.Inputs); err != nil {
			return nil, invalid("The inputs aren't right", "inputs: "+err.Error())
		}
	}
	if query.Limit <= 0 || query.Limit > maxLimit {
		query.Limit = defaultLimit
	}
	page, err := s.runsPage(ctx, query, q.Cursor)
	return &page, err
}

// runList is the result of list_runs.
type runList struct {
	Items      []runItem `json:"items"`
	NextCursor *string   `json:"nextCursor"`
}

type runItem struct {
	ID        string          `json:"id"`
	Process   string          `json:"process"`
	Version   int             `json:"version"`
	State     run.RunState    `json:"state"`
	Outcome   *string         `json:"outcome"`
	StartedAt run.Time        `json:"startedAt"`
	UpdatedAt run.Time        `json:"updatedAt"`
	Inputs    json.RawMessage `json:"inputs"`
}

func (s *Server) listRuns(ctx context.Context, a *arguments) (runList, error) {
	list := runList{Items: []runItem{}}
	inputs, err := inputKeys(a.raw("inputs"))
	if err != nil {
		return list, invalid("The inputs aren't right", "inputs: "+err.Error())
	}
	query := RunQuery{Process: a.text("process"), State: run.RunState(a.text("state")), Inputs: inputs, Limit: a.number("limit", defaultLimit)}
	page, err := s.runsPage(ctx, query, a.text("cursor"))
	if err != nil {
		return list, err
	}
	if a.has("process") && a.text("process") == "" {
		return list, nil // an unknown process matches nothing
	}
	if page.NextCursor != "" {
		list.NextCursor = &page.NextCursor
	}
	for _, row := range page.Runs {
		item := runItem{
			ID: row.ID, Process: row.Process, Version: row.Version, State: row.State,
			StartedAt: run.Time(row.StartedAt), UpdatedAt: run.Time(row.UpdatedAt), Inputs: row.Inputs,
		}
		if row.Outcome != "" {
			item.Outcome = &row.Outcome
		}
		list.Items = append(list.Items, item)
	}
	return list, nil
}

// runsPage reads one page; query.Limit is its size.
func (s *Server) runsPage(ctx context.Context, query RunQuery, cursor string) (RunsPage, error) {
	key, err := s.sign.openCursor(toolListRuns, cursor)
	if err != nil {
		return RunsPage{}, err
	}
	if _, err := s.settle(ctx); err != nil {
		return RunsPage{}, err
	}
	limit := query.Limit
	query.AfterStarted, query.AfterID, query.Limit = key.At, key.ID, limit+1
	var page RunsPage
	err = s.store.Read(ctx, func(r Reader) (err error) {
		page = RunsPage{}
		if page.Runs, err = r.Runs(query); err != nil {
			return fmt.Errorf("listing runs: %w", err)
		}
		return nil
	})
	if len(page.Runs) > limit {
		page.Runs = page.Runs[:limit]
		last := page.Runs[limit-1]
		page.NextCursor = s.sign.cursor(toolListRuns, cursorKey{At: last.StartedAt, ID: last.ID})
	}
	return page, storeError(err)
}
