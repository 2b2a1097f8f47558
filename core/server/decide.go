package server

import (
	"context"
	"encoding/json"

	"github.com/apserver/ap/core/run"
)

func decideTool() *tool {
	args := []arg{
		runIDArg(),
		{name: "workItemId", required: true, help: "The work item's id."},
		{name: "snapshot", required: true, help: "The work item's snapshot: it proves which run data the decision was made on."},
		{name: "decision", required: true, enum: []string{"completed", "approved", "rejected", "returned", "failed"}, help: "One of the decisions that the item lists."},
		{name: "output", kind: object, help: "With completed: the step's output fields by name."},
	}
	args = append(args, submissionArgs()...)
	return newTool(tool{
		name: toolDecide,
		description: "A person's decision on a work item; an agent is always refused. Take the call from the item, add decision and what it needs: " +
			"completed takes output, evidence, summary, and next with reason where the step has routes; rejected, returned and failed need a note. " +
			"stale: the run data changed since it was read; read the run again and decide on what it says now.",
		args: append(args,
			arg{name: "note", max: 4000, help: "Why, in the person's words. Required for rejected, returned and failed; allowed with approved."},
			requestIDArg()),
		more: func(a *arguments) []string { return run.CheckDecision(decisionCommand(a, Identity{})) },
		call: func(s *Server, ctx context.Context, id Identity, a *arguments) (any, error) {
			return s.decideItem(ctx, id, a)
		},
	})
}

// DecideArgs are the arguments of decide. Nil is an argument that was not given.
type DecideArgs struct {
	RunID, WorkItemID, Snapshot, Decision string
	Output                                json.RawMessage
	Evidence                              []run.Evidence
	Summary, Next, Reason, Note           *string
	RequestID                             string
}

// Decide decides a work item (a person inside the assignment).
func (s *Server) Decide(ctx context.Context, id Identity, a DecideArgs) (*run.View, error) {
	var args members
	args.add("runId", a.RunID)
	args.add("workItemId", a.WorkItemID)
	args.add("snapshot", a.Snapshot)
	args.add("decision", a.Decision)
	if a.Output != nil {
		args.add("output", a.Output)
	}
	if a.Evidence != nil {
		args.add("evidence", a.Evidence)
	}
	for _, text := range []struct {
		name  string
		value *string
	}{{"summary", a.Summary}, {"next", a.Next}, {"reason", a.Reason}, {"note", a.Note}} {
		if text.value != nil {
			args.add(text.name, *text.value)
		}
	}
	args.add("requestId", a.RequestID)
	return invoke[*run.View](ctx, s, id, toolDecide, args)
}

func (s *Server) decideItem(ctx context.Context, id Identity, a *arguments) (*run.View, error) {
	done, err := s.write(ctx, write{args: a, id: id, runID: a.text("runId"), command: decisionCommand(a, id)})
	if err != nil {
		return nil, err
	}
	return s.runView(done), nil
}

func decisionCommand(a *arguments, id Identity) run.Decision {
	return run.Decision{
		ItemID: a.text("workItemId"), Snapshot: a.text("snapshot"), Decision: a.text("decision"),
		By: id.By(), Human: id.Kind == Person, Groups: id.Groups,
		Note:       a.optional("note"),
		Submission: submission(a),
	}
}
