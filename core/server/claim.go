package server

import (
	"context"
	"encoding/json"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

func runIDArg() arg {
	return arg{name: "runId", required: true, help: "The run's id."}
}

func tokenArg() arg {
	return arg{name: "token", required: true, help: "The token that claim, or the last renew, returned."}
}

func claimTool() *tool {
	return newTool(tool{
		name: toolClaim,
		description: "Take a ready agent step for yourself, with the call that get_work gave you and a requestId of your own. " +
			"Returns a token that proves your claim until expiresAt, the step (instructions; output: the fields submit must bring; evidence: the kinds to attach; next: the routes to choose from), " +
			"the process's text (body), all run data so far, and handoff: what an earlier attempt left. Read the note of a rejection in data.steps. " +
			"Then do the work with your own tools and submit; renew before expiresAt if it takes longer; escalate when you can't finish. conflict: somebody else has it, move on.",
		args: []arg{
			runIDArg(),
			{name: "stepId", required: true, help: "The step's id."},
			requestIDArg(),
		},
		call: func(s *Server, ctx context.Context, id Identity, a *arguments) (any, error) {
			return s.claim(ctx, id, a)
		},
	})
}

func renewTool() *tool {
	return newTool(tool{
		name: toolRenew,
		description: "Extend your claim before it expires: returns a new token and its expiresAt. The old token is dead at once. " +
			"progress is a short note of what is done so far; whoever continues after you, should your claim end, reads it. stale: the claim is gone, stop and call get_work.",
		args: []arg{
			tokenArg(),
			{name: "progress", max: 4000, help: "What is done so far, for whoever continues."},
			requestIDArg(),
		},
		call: func(s *Server, ctx context.Context, id Identity, a *arguments) (any, error) {
			return s.renew(ctx, id, a)
		},
	})
}

// claimResult is the result of claim.
type claimResult struct {
	Token     string           `json:"token"`
	ExpiresAt run.Time         `json:"expiresAt"`
	Mode      run.Mode         `json:"mode"`
	Step      run.StepSpec     `json:"step"`
	Handoff   *run.HandoffView `json:"handoff"`
	Body      string           `json:"body"`
	Data      json.RawMessage  `json:"data"`
}

// renewResult is the result of renew.
type renewResult struct {
	Token     string   `json:"token"`
	ExpiresAt run.Time `json:"expiresAt"`
}

func (s *Server) claim(ctx context.Context, id Identity, a *arguments) (claimResult, error) {
	done, err := s.write(ctx, write{
		args: a, id: id, runID: a.text("runId"),
		command: run.Claim{StepID: a.text("stepId"), By: id.By()},
		permit: func(doc *process.Document) error {
			if id.Kind != Agent {
				return forbidden("Only an agent claims a step")
			}
			if !id.MayWork(doc.Name) {
				return forbidden("This agent isn't open to the process %s", doc.Name)
			}
			return nil
		},
	})
	if err != nil {
		return claimResult{}, err
	}
	lease := s.lease(done)
	step := done.state.Claims[done.ref.Claim-1].StepID
	return claimResult{
		Token: lease.Token, ExpiresAt: lease.ExpiresAt,
		Mode:    done.state.Mode,
		Step:    run.Spec(done.doc, step),
		Handoff: run.HandoffOf(done.state, done.doc.Index(step)),
		Body:    done.doc.Body,
		Data:    run.DataView(done.doc, done.state, s.viewOptions(done)),
	}, nil
}

func (s *Server) renew(ctx context.Context, id Identity, a *arguments) (renewResult, error) {
	done, err := s.writeWithToken(ctx, id, a, func(ref run.ClaimRef) run.Command {
		return run.Renew{Ref: ref, By: id.By(), Progress: a.optional("progress")}
	})
	if err != nil {
		return renewResult{}, err
	}
	return s.lease(done), nil
}

// lease is the token and expiry of the lease that a claim or a renewal began.
func (s *Server) lease(done written) renewResult {
	return renewResult{
		Token:     s.sign.token(done.state.ID, done.ref.claim()),
		ExpiresAt: run.Time(done.state.Claims[done.ref.Claim-1].ExpiresAt),
	}
}
