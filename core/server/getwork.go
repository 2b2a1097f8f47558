package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/apserver/ap/core/run"
)

func getWorkTool() *tool {
	return newTool(tool{
		name: toolGetWork,
		description: "The work that waits for you, oldest first. For an agent: ready steps, each with the exact claim call to make (put your own id in requestId). " +
			"For a person: open work items, each with the exact decide call. An empty list means there is nothing to do now: ask again later. " +
			"mode test marks a rehearsal: cause no real effects.",
		args: []arg{
			limitArg(),
			cursorArg(),
			{name: "process", help: "Only the work of this process."},
		},
		call: func(s *Server, ctx context.Context, id Identity, a *arguments) (any, error) {
			q := workQuery{process: a.text("process"), filtered: a.has("process"), cursor: a.text("cursor"), limit: a.number("limit", defaultLimit)}
			switch id.Kind {
			case Agent:
				return s.agentWork(ctx, id, q)
			case Person:
				return s.personWork(ctx, id, q)
			default:
				return nil, forbidden("Work waits for agents and people")
			}
		},
	})
}

type workQuery struct {
	process  string
	filtered bool // process was given, perhaps as ""
	cursor   string
	limit    int
}

// workList is the result of get_work.
type workList[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"nextCursor"`
}

// agentItem is a step that an agent may claim.
type agentItem struct {
	RunID      string           `json:"runId"`
	StepID     string           `json:"stepId"`
	Process    string           `json:"process"`
	Version    int              `json:"version"`
	Mode       run.Mode         `json:"mode"`
	ReadySince run.Time         `json:"readySince"`
	Due        *run.Time        `json:"due"`
	Overdue    bool             `json:"overdue"`
	Handoff    *run.HandoffView `json:"handoff"`
	Claim      claimCall        `json:"claim"`
}

// claimCall is the exact call that claims a step; requestId is the placeholder that the caller replaces.
type claimCall struct {
	Tool      string `json:"tool"`
	Arguments struct {
		RunID     string `json:"runId"`
		StepID    string `json:"stepId"`
		RequestID string `json:"requestId"`
	} `json:"arguments"`
}

// personItem is a work item that a person may decide.
type personItem struct {
	RunID    string       `json:"runId"`
	Process  string       `json:"process"`
	Version  int          `json:"version"`
	Mode     run.Mode     `json:"mode"`
	WorkItem run.ItemView `json:"workItem"`
}

func (s *Server) agentWork(ctx context.Context, id Identity, q workQuery) (workList[agentItem], error) {
	list := workList[agentItem]{Items: []agentItem{}}
	key, err := s.sign.openCursor("ready steps", q.cursor)
	if err != nil {
		return list, err
	}
	if q.filtered && (q.process == "" || !id.MayWork(q.process)) || id.Processes != nil && len(id.Processes) == 0 {
		return list, nil
	}
	now, err := s.settle(ctx)
	if err != nil {
		return list, err
	}
	query := ReadyQuery{Process: q.process, Processes: id.Processes, Limit: q.limit + 1,
		After: ReadyRow{Since: key.At, RunID: key.ID, StepID: key.Step}}
	if q.process != "" {
		query.Processes = nil
	}
	err = s.store.Read(ctx, func(r Reader) error {
		rows, err := r.Ready(query)
		if err != nil {
			return fmt.Errorf("listing ready steps: %w", err)
		}
		if len(rows) > q.limit {
			rows = rows[:q.limit]
			last := rows[q.limit-1]
			next := s.sign.cursor("ready steps", cursorKey{At: last.Since, ID: last.RunID, Step: last.StepID})
			list.NextCursor = &next
		}
		for _, row := range rows {
			item, ok, err := s.agentItem(r, row, now)
			if err != nil {
				return err
			}
			if ok {
				list.Items = append(list.Items, item)
			}
		}
		return nil
	})
	return list, storeError(err)
}

// agentItem renders a ready step; ok is false when it is no longer ready by now.
func (s *Server) agentItem(r Reader, row ReadyRow, now time.Time) (item agentItem, ok bool, err error) {
	c, err := s.advanced(r, row.RunID)
	if err != nil {
		return agentItem{}, false, err
	}
	ready := run.Ready(c.doc, c.state, later(now, c.now))
	i := slices.IndexFunc(ready, func(x run.ReadyStep) bool { return x.StepID == row.StepID })
	if i < 0 {
		return agentItem{}, false, nil
	}
	item = agentItem{
		RunID: row.RunID, StepID: row.StepID, Process: row.Process,
		Version: c.state.Version, Mode: c.state.Mode,
		ReadySince: run.Time(ready[i].Since), Overdue: ready[i].Overdue, Handoff: ready[i].Handoff,
	}
	if ready[i].Due != nil {
		due := run.Time(*ready[i].Due)
		item.Due = &due
	}
	item.Claim.Tool = toolClaim
	item.Claim.Arguments.RunID, item.Claim.Arguments.StepID = row.RunID, row.StepID
	item.Claim.Arguments.RequestID = run.NewUUID
	return item, true, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (s *Server) personWork(ctx context.Context, id Identity, q workQuery) (workList[personItem], error) {
	list := workList[personItem]{Items: []personItem{}}
	if q.filtered && q.process == "" {
		return list, nil
	}
	items, next, err := s.openItems(ctx, q.cursor, ItemQuery{Person: id.Name, Groups: id.Groups, Process: q.process, Limit: q.limit})
	if err != nil {
		return list, err
	}
	list.NextCursor = next
	for _, it := range items {
		list.Items = append(list.Items, personItem{
			RunID: it.state.ID, Process: it.state.Process, Version: it.state.Version, Mode: it.state.Mode,
			WorkItem: it.view,
		})
	}
	return list, nil
}

// openItem is an open work item with its run as a read sees it.
type openItem struct {
	current
	item run.Item
	view run.ItemView
}

// openItems lists open work items, oldest first, with the cursor of the next page or nil.
func (s *Server) openItems(ctx context.Context, cursor string, q ItemQuery) ([]openItem, *string, error) {
	key, err := s.sign.openCursor("work items", cursor)
	if err != nil {
		return nil, nil, err
	}
	now, err := s.settle(ctx)
	if err != nil {
		return nil, nil, err
	}
	limit := q.Limit
	q.AfterOpened, q.AfterID, q.Limit = key.At, key.ID, limit+1
	if q.Overdue != nil {
		q.Overdue = &now
	}
	var items []openItem
	var next *string
	err = s.store.Read(ctx, func(r Reader) error {
		items, next = nil, nil
		rows, err := r.Items(q)
		if err != nil {
			return fmt.Errorf("listing work items: %w", err)
		}
		if len(rows) > limit {
			rows = rows[:limit]
			last := rows[limit-1]
			c := s.sign.cursor("work items", cursorKey{At: last.OpenedAt, ID: last.ID})
			next = &c
		}
		for _, row := range rows {
			it, ok, err := s.openItem(r, row)
			if err != nil {
				return err
			}
			if ok {
				items = append(items, it)
			}
		}
		return nil
	})
	return items, next, storeError(err)
}

// openItem renders a work item; ok is false when it is no longer open by now.
func (s *Server) openItem(r Reader, row ItemRow) (openItem, bool, error) {
	c, err := s.advanced(r, row.RunID)
	if err != nil {
		return openItem{}, false, err
	}
	item, ok := c.state.FindItem(row.ID)
	if !ok || !item.Open() {
		return openItem{}, false, nil
	}
	return openItem{c, item, run.NewItemView(c.doc, c.state, item, s.viewNow(c.now))}, true, nil
}
