package run

import (
	"fmt"

	"github.com/apserver/ap/core/process"
)

// claimStep gives a ready agent step to one caller (protocol.md 3).
func (f *fold) claimStep(c Claim) (Result, *Error) {
	i := f.doc.Index(c.StepID)
	if i < 0 {
		return Result{}, f.unknownStep(c.StepID)
	}
	if f.doc.Steps[i].Kind != process.Agent {
		return Result{}, refuse(Forbidden, fmt.Sprintf("The step %s is not for an agent: it is of the kind %s.", c.StepID, f.doc.Steps[i].Kind))
	}
	switch s := f.st.Steps[i]; s.State {
	case StepReady:
	case StepClaimed:
		if f.st.Claims[s.Claim-1].By == c.By {
			return Result{}, refuse(Conflict, "You have claimed the step "+c.StepID+" already: go on with that claim, or wait until its lease has ended.", IssueClaimedByYou)
		}
		return Result{}, refuse(Conflict, "Someone else has claimed the step "+c.StepID+": take other work.", IssueClaimedByOther)
	default:
		return Result{}, refuse(Conflict, fmt.Sprintf("The step %s is %s, not ready: call get_work for what is.", c.StepID, stateName(s.State)), IssueNotReady)
	}
	n := len(f.st.Claims) + 1
	f.emit(f.env.Now, c.By, ClaimedPayload{Step: c.StepID, Claim: n, Expires: f.env.Now.Add(f.env.Lease)})
	return Result{Ref: ClaimRef{Claim: n, Lease: 1}}, nil
}

// held checks that a token's claim and lease still hold a step for its owner, and returns the step. A claim that this
// run doesn't know, or not yet in that lease, is one from after the backup the server was restored from.
func (f *fold) held(ref ClaimRef, by string) (int, *Error) {
	stale := func(why string) *Error {
		return refuse(Stale, why+" Call get_work for what is ready now.")
	}
	if ref.Claim < 1 || ref.Claim > len(f.st.Claims) {
		return 0, stale("This claim is not known here any more.")
	}
	c := f.st.Claims[ref.Claim-1]
	switch {
	case c.By != by:
		return 0, refuse(Forbidden, "This token belongs to another caller's claim.")
	case !c.Live:
		return 0, stale("This claim is over: its lease ended, or it was submitted or escalated.")
	case c.Lease != ref.Lease:
		return 0, stale("This token was replaced when the claim was renewed.")
	}
	return f.doc.Index(c.StepID), nil
}

// renew starts the next lease of a claim.
func (f *fold) renew(c Renew) (Result, *Error) {
	if _, err := f.held(c.Ref, c.By); err != nil {
		return Result{}, err
	}
	p := RenewedPayload{Claim: c.Ref.Claim, Lease: c.Ref.Lease + 1, Expires: f.env.Now.Add(f.env.Lease)}
	if c.Progress != nil && !blank(*c.Progress) {
		p.Progress = *c.Progress
	}
	f.emitSized(f.env.Now, c.By, p, 96+len(p.Progress))
	return Result{Ref: ClaimRef{Claim: p.Claim, Lease: p.Lease}}, nil
}

// checkSubmit checks the arguments of submit: those it requires are there.
func checkSubmit(c Submit) []string {
	var issues []string
	if c.Output == nil {
		issues = append(issues, "output: required")
	}
	if c.Summary == nil {
		issues = append(issues, "summary: required")
	}
	return append(issues, checkSubmission(c.Submission)...)
}

// submit completes a claimed step if the submission is accepted; if not, the claim stands and the issues are kept for
// whoever comes next.
func (f *fold) submit(c Submit) *Error {
	i, err := f.held(c.Ref, c.By)
	if err != nil {
		return err
	}
	p, issues := f.accept(i, c.By, c.Submission, true)
	if len(issues) > 0 {
		return f.notAccepted(i, c.By, issues)
	}
	p.Claim = c.Ref.Claim
	f.complete(i, c.By, p)
	return nil
}

// escalate ends a claim and hands the step to the operators.
func (f *fold) escalate(c Escalate) *Error {
	if _, err := f.held(c.Ref, c.By); err != nil {
		return err
	}
	f.emitSized(f.env.Now, c.By, EscalatedPayload{
		Claim: c.Ref.Claim,
		Note:  c.Note,
		Item:  &OpenedItem{ID: f.nextItem(), Group: f.env.Operators},
	}, 128+len(c.Note))
	return nil
}

func (f *fold) nextItem() string { return itemID(f.st.ID, len(f.st.Items)+1) }
