package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apserver/ap/core/process"
)

const (
	kindFile = "file"
	kindLink = "link"
)

// checkSubmission checks the shapes of a submission's arguments.
func checkSubmission(sub Submission) []string {
	var issues []string
	if sub.Output != nil && !looksObject(sub.Output) {
		issues = append(issues, "output: expected object")
	}
	for i, e := range sub.Evidence {
		if e.Kind != kindFile && e.Kind != kindLink {
			issues = append(issues, fmt.Sprintf("evidence[%d].kind: not one of file, link", i))
		}
		if e.Ref == "" {
			issues = append(issues, fmt.Sprintf("evidence[%d].ref: required", i))
		}
	}
	return issues
}

// accept is acceptance (protocol.md 3): it returns what completes the step, and every issue at once, in this order:
// summary, output, evidence, next, reason, run data.
func (f *fold) accept(step int, by string, sub Submission, agent bool) (CompletedPayload, []string) {
	s := &f.doc.Steps[step]
	p := CompletedPayload{Step: s.ID, Evidence: []FileEvidence{}}
	p.Output, _ = compactObject(sub.Output)
	var issues []string
	if sub.Summary != nil && !blank(*sub.Summary) {
		p.Summary = *sub.Summary
	} else if agent {
		issues = append(issues, "summary: missing")
	}
	issues = append(issues, s.Output.Check("output", p.Output)...)
	evidence, found := f.acceptEvidence(s, sub.Evidence)
	p.Evidence = evidence
	issues = append(issues, found...)
	issues = append(issues, acceptRoute(s, sub, &p)...)
	if n, limit := f.bytesWith(step, p.record(by, f.env.Now)), f.env.RunDataBytes; limit > 0 && n > limit {
		issues = append(issues, overCap(n, limit))
	}
	return p, issues
}

// acceptEvidence checks what is attached: each required kind is there, and each file is what was uploaded. A file that
// isn't doesn't count as attached.
func (f *fold) acceptEvidence(s *process.Step, items []Evidence) (attached []FileEvidence, issues []string) {
	attached = make([]FileEvidence, 0, len(items))
	var wrong []string
	for _, e := range items {
		file := f.env.Files[e.Ref]
		switch {
		case e.Kind != kindFile:
			attached = append(attached, FileEvidence{Evidence: e})
		case !file.Found:
			wrong = append(wrong, "evidence "+e.Ref+": not found")
		case file.Changed:
			wrong = append(wrong, "evidence "+e.Ref+": bytes changed")
		default:
			attached = append(attached, FileEvidence{Evidence: e, SHA256: file.SHA256})
		}
	}
	var missing []string
	for _, kind := range s.Evidence {
		if !slices.ContainsFunc(attached, func(e FileEvidence) bool { return e.Kind == kind }) {
			missing = append(missing, "evidence: "+kind+" required")
		}
	}
	return attached, unique(append(missing, wrong...))
}

// unique drops repeated issues: a kind required twice, a file attached twice.
func unique(issues []string) []string {
	var u []string
	for _, s := range issues {
		if !slices.Contains(u, s) {
			u = append(u, s)
		}
	}
	return u
}

// acceptRoute checks next and reason: required where the step has a list of routes, else not allowed.
func acceptRoute(s *process.Step, sub Submission, p *CompletedPayload) []string {
	var issues []string
	if s.Routes == nil {
		if sub.Next != nil {
			issues = append(issues, "next: not allowed")
		}
		if sub.Reason != nil {
			issues = append(issues, "reason: not allowed")
		}
		return issues
	}
	targets := make([]string, len(s.Routes))
	for i, r := range s.Routes {
		targets[i] = r.To
	}
	switch {
	case sub.Next == nil:
		issues = append(issues, "next: required, one of "+strings.Join(targets, ", "))
	case !slices.Contains(targets, *sub.Next):
		issues = append(issues, "next: not one of "+strings.Join(targets, ", "))
	default:
		p.Next = *sub.Next
	}
	if sub.Reason == nil || blank(*sub.Reason) {
		issues = append(issues, "reason: required")
	} else {
		p.Reason = *sub.Reason
	}
	return issues
}

// notAccepted keeps the issues for the next attempt, unless they are there already, and refuses the submission.
func (f *fold) notAccepted(step int, by string, issues []string) *Error {
	if kept := keep(issues); !slices.Equal(kept, f.st.Steps[step].Handoff.Issues) {
		f.emitSized(f.env.Now, by, RefusedPayload{Step: f.doc.Steps[step].ID, Issues: kept}, 256)
	}
	return refuse(NotAccepted, "The submission was not accepted and nothing changed: mend what the issues name and send it again.", issues...)
}

// keptBytes bounds the issues kept in a handoff: a submission of a thousand undeclared fields is no reason to store
// them all.
const keptBytes = 16 << 10

func keep(issues []string) []string {
	total := 0
	for i, s := range issues {
		if total += len(s); total > keptBytes {
			return append(slices.Clone(issues[:i]), fmt.Sprintf("and %d more", len(issues)-i))
		}
	}
	return issues
}

// complete records an accepted submission and moves on along the chosen or the declared next.
func (f *fold) complete(step int, by string, p CompletedPayload) {
	s := &f.doc.Steps[step]
	size := 256 + len(p.Output) + len(p.Summary) + len(p.Reason) + len(p.Note) + 160*len(p.Evidence)
	f.emitSized(f.env.Now, by, p, size)
	next := s.Next
	if p.Next != "" {
		next = p.Next
	}
	f.follow(s, next, f.env.Now)
}
