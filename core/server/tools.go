package server

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// tool is one of the fourteen: what it tells a model, what it takes and what it does.
type tool struct {
	name        string
	description string
	args        []arg
	// sorted are the positions of args by name.
	sorted []int
	// more finds the issues between arguments that each are right alone.
	more func(a *arguments) []string
	// call runs the tool; what it returns is marshalled as the result's data.
	call func(s *Server, ctx context.Context, id Identity, a *arguments) (any, error)
}

// newTool completes a tool's table.
func newTool(t tool) *tool {
	for i := range t.args {
		t.sorted = append(t.sorted, i)
	}
	slices.SortFunc(t.sorted, func(a, b int) int { return strings.Compare(t.args[a].name, t.args[b].name) })
	return &t
}

// Names of the tools (protocol.md 8).
const (
	toolDescribe      = "describe"
	toolListProcesses = "list_processes"
	toolStartRun      = "start_run"
	toolGetRun        = "get_run"
	toolGetWork       = "get_work"
	toolClaim         = "claim"
	toolRenew         = "renew"
	toolSubmit        = "submit"
	toolEscalate      = "escalate"
	toolDecide        = "decide"
	toolCancel        = "cancel"
	toolUpload        = "upload"
	toolSendEvent     = "send_event"
	toolListRuns      = "list_runs"
)

// Tools are the names of the fourteen tools, in the protocol's order.
func Tools() []string {
	return []string{toolDescribe, toolListProcesses, toolStartRun, toolGetRun, toolGetWork, toolClaim, toolRenew,
		toolSubmit, toolEscalate, toolDecide, toolCancel, toolUpload, toolSendEvent, toolListRuns}
}

// position is where an argument stands in the table, or -1.
func (t *tool) position(name string) int {
	for i := range t.args {
		if t.args[i].name == name {
			return i
		}
	}
	return -1
}

// tools are the tools by name. Filled in init: their code refers to the table.
var tools map[string]*tool

func init() {
	tools = map[string]*tool{}
	for _, t := range []*tool{describeTool(), listProcessesTool(), startRunTool(), getRunTool(), getWorkTool(),
		claimTool(), renewTool(), submitTool(), escalateTool(), decideTool(), cancelTool(), uploadTool(), sendEventTool(),
		listRunsTool()} {
		tools[t.name] = t
	}
}

// ArgumentSchema is the JSON Schema (draft 2020-12) of a tool's arguments; nil for an unknown tool.
func ArgumentSchema(name string) json.RawMessage {
	if t := tools[name]; t != nil {
		return t.schema()
	}
	return nil
}

// ResultSchema is the JSON Schema (draft 2020-12) of a tool's whole result, refusals included; nil for an unknown tool.
func ResultSchema(name string) json.RawMessage {
	if t := tools[name]; t != nil {
		return resultSchema(t.name)
	}
	return nil
}

// Description is what a tool tells a model about itself; "" for an unknown tool.
func Description(name string) string {
	if t := tools[name]; t != nil {
		return t.description
	}
	return ""
}
