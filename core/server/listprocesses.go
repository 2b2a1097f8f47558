package server

import (
	"context"
	"fmt"

	"github.com/apserver/ap/core/process"
)

// defaultLimit and maxLimit are the sizes of a page (protocol.md 8).
const (
	defaultLimit = 20
	maxLimit     = 100
)

func cursorArg() arg {
	return arg{name: "cursor", help: "nextCursor of the page before, to get the next one."}
}

func limitArg() arg {
	return arg{name: "limit", kind: integer, min: 1, max: maxLimit, fallback: "20", help: "How many items to return at most."}
}

func listProcessesTool() *tool {
	return newTool(tool{
		name: toolListProcesses,
		description: "The published processes that can be started: name, description, latest version, the inputs start_run takes, and the outside systems the work needs (requires). " +
			"Call it again with cursor set to nextCursor until that is null.",
		args: []arg{cursorArg()},
		call: func(s *Server, ctx context.Context, _ Identity, a *arguments) (any, error) {
			return s.listProcesses(ctx, a.text("cursor"))
		},
	})
}

// processList is the result of list_processes.
type processList struct {
	Items      []processItem `json:"items"`
	NextCursor *string       `json:"nextCursor"`
}

type processItem struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Version     int            `json:"version"`
	Inputs      process.Fields `json:"inputs"`
	Requires    *requires      `json:"requires,omitempty"`
}

type requires struct {
	Systems []string `json:"systems"`
}

func (s *Server) listProcesses(ctx context.Context, cursor string) (processList, error) {
	key, err := s.sign.openCursor(toolListProcesses, cursor)
	if err != nil {
		return processList{}, err
	}
	list := processList{Items: []processItem{}}
	err = s.store.Read(ctx, func(r Reader) error {
		rows, err := r.Processes(true, key.ID, defaultLimit+1)
		if err != nil {
			return fmt.Errorf("listing processes: %w", err)
		}
		if len(rows) > defaultLimit {
			rows = rows[:defaultLimit]
			next := s.sign.cursor(toolListProcesses, cursorKey{ID: rows[defaultLimit-1].Name})
			list.NextCursor = &next
		}
		for _, row := range rows {
			doc, version, err := s.document(r, row.Name, row.Latest)
			if err != nil {
				return err
			}
			list.Items = append(list.Items, newProcessItem(doc, version))
		}
		return nil
	})
	return list, storeError(err)
}

func newProcessItem(doc *process.Document, version int) processItem {
	item := processItem{Name: doc.Name, Description: doc.Description, Version: version, Inputs: doc.Inputs}
	if item.Inputs == nil {
		item.Inputs = process.Fields{}
	}
	if doc.Requires != nil {
		item.Requires = &requires{doc.Requires}
	}
	return item
}
