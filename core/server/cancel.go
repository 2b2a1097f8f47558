package server

import (
	"context"

	"github.com/apserver/ap/core/run"
)

func cancelTool() *tool {
	return newTool(tool{
		name: toolCancel,
		description: "Cancel a run for good, with a reason. Operators only. " +
			"Every open step and work item ends and every claim's token is dead; what was done outside stays done. Returns the run view.",
		args: []arg{
			runIDArg(),
			{name: "reason", required: true, max: 4000, nonBlank: true, help: "Why the run is cancelled; it is kept with the run."},
			requestIDArg(),
		},
		call: func(s *Server, ctx context.Context, id Identity, a *arguments) (any, error) {
			done, err := s.write(ctx, write{args: a, id: id, runID: a.text("runId"), command: run.Cancel{
				By: id.By(), Operator: s.operates(id), Reason: a.text("reason"),
			}})
			if err != nil {
				return nil, err
			}
			return s.runView(done), nil
		},
	})
}

// operates says whether a caller is an operator: a person in the operators' group, or the admin.
func (s *Server) operates(id Identity) bool {
	return id.Kind == Admin || id.In(s.opts.Operators)
}

// Cancel cancels a run (an operator or the admin).
func (s *Server) Cancel(ctx context.Context, id Identity, runID, reason, requestID string) (*run.View, error) {
	var args members
	args.add("runId", runID)
	args.add("reason", reason)
	args.add("requestId", requestID)
	return invoke[*run.View](ctx, s, id, toolCancel, args)
}
