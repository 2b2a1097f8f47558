package server

import (
	"context"
	"encoding/json"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

func sendEventTool() *tool {
	return newTool(tool{
		name: toolSendEvent,
		description: "Deliver an event to a run, from an agent or an operator: something outside happened that a wait_for step waits for. " +
			"data becomes that step's output. consumedBy is the step that took it, or null when no step waits for it yet: then it is held for the first one that will.",
		args: []arg{
			runIDArg(),
			{name: "name", required: true, pattern: eventName, patternIssue: "not an event name: a lower-case letter, then up to 63 lower-case letters, digits, _ or -",
				help: "The event's name, exactly as the wait_for step has it."},
			{name: "data", kind: object, help: "What the event says, as an object. Default: {}."},
			requestIDArg(),
		},
		call: func(s *Server, ctx context.Context, id Identity, a *arguments) (any, error) {
			return s.sendEvent(ctx, id, a)
		},
	})
}

// eventResult is the result of send_event; null is an event that is held.
type eventResult struct {
	ConsumedBy *string `json:"consumedBy"`
}

func (s *Server) sendEvent(ctx context.Context, id Identity, a *arguments) (eventResult, error) {
	done, err := s.write(ctx, write{
		args: a, id: id, runID: a.text("runId"),
		command: run.SendEvent{
			By: id.By(), Allowed: id.Kind == Agent || s.operates(id),
			Name: a.text("name"), Data: a.raw("data"),
		},
		permit: func(doc *process.Document) error {
			if id.Kind == Agent && !id.MayWork(doc.Name) {
				return forbidden("This agent isn't open to the process %s", doc.Name)
			}
			return nil
		},
	})
	if err != nil || done.ref.ConsumedBy == "" {
		return eventResult{}, err
	}
	return eventResult{&done.ref.ConsumedBy}, nil
}

// SendEvent delivers an event (an agent, an operator or the admin); consumedBy is "" when it is held.
func (s *Server) SendEvent(ctx context.Context, id Identity, runID, name string, data json.RawMessage, requestID string) (consumedBy string, err error) {
	var args members
	args.add("runId", runID)
	args.add("name", name)
	if len(data) > 0 {
		args.add("data", data)
	}
	args.add("requestId", requestID)
	result, err := invoke[eventResult](ctx, s, id, toolSendEvent, args)
	if err != nil || result.ConsumedBy == nil {
		return "", err
	}
	return *result.ConsumedBy, nil
}
