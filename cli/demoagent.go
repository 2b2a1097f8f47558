package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// demoPoll is how often the demo agent asks for work.
const demoPoll = time.Second

// demoAgent works agent steps over MCP as any agent would: it knows what the tools tell it and nothing else. Its work is
// a placeholder, and says so wherever it appears.
type demoAgent struct {
	*toolClient
	report func(who, what string)
}

func (g *demoAgent) start(ctx context.Context, name string, inputs json.RawMessage) error {
	return g.call(ctx, "start_run", map[string]any{
		"process": name, "inputs": inputs, "mode": run.Test, "requestId": newRequestID(),
	}, nil)
}

// demoWork is an item of get_work.
type demoWork struct {
	RunID   string   `json:"runId"`
	StepID  string   `json:"stepId"`
	Process string   `json:"process"`
	Mode    run.Mode `json:"mode"`
}

// demoClaim is the result of claim.
type demoClaim struct {
	Token string `json:"token"`
	Step  struct {
		ID           string               `json:"id"`
		Instructions string               `json:"instructions"`
		Output       map[string]demoField `json:"output"`
		Evidence     []string             `json:"evidence"`
		Next         []process.Route      `json:"next"`
	} `json:"step"`
	Handoff *run.HandoffView `json:"handoff"`
	Data    demoData         `json:"data"`
}

// demoData is run data, as far as the demo reads it.
type demoData struct {
	Inputs map[string]json.RawMessage `json:"inputs"`
	Steps  map[string]demoRecord      `json:"steps"`
}

// demoRecord is a step's record in run data.
type demoRecord struct {
	Decision string    `json:"decision"`
	Note     string    `json:"note"`
	By       string    `json:"by"`
	At       *run.Time `json:"at"`
	History  []struct {
		By string `json:"by"`
	} `json:"history"`
}

// rejection is the note of an approval that sent the work back, or "".
func (d demoData) rejection() string {
	for _, record := range d.Steps {
		if record.Decision == "rejected" {
			return record.Note
		}
	}
	return ""
}

// workUntil works whatever comes until ctx ends.
func (g *demoAgent) workUntil(ctx context.Context) error {
	tick := time.NewTicker(demoPoll)
	defer tick.Stop()
	for {
		if err := g.workAll(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// workAll works until there is nothing left to claim.
func (g *demoAgent) workAll(ctx context.Context) error {
	for ctx.Err() == nil {
		var page struct {
			Items []demoWork `json:"items"`
		}
		if err := g.call(ctx, "get_work", map[string]any{"limit": 20}, &page); err != nil {
			return endedBy(ctx, err)
		}
		worked := false
		for _, work := range page.Items {
			// A run that the visitor started for real isn't worked with placeholders.
			if work.Mode != run.Test {
				continue
			}
			if err := g.work(ctx, work); err != nil {
				return endedBy(ctx, err)
			}
			worked = true
		}
		if !worked {
			return nil
		}
	}
	return nil
}

// endedBy drops an error that only says that the demo was stopped.
func endedBy(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// work claims a step and submits or escalates it.
func (g *demoAgent) work(ctx context.Context, work demoWork) error {
	var claim demoClaim
	err := g.call(ctx, "claim", map[string]any{"runId": work.RunID, "stepId": work.StepID, "requestId": newRequestID()}, &claim)
	var refusal *run.Error
	if errors.As(err, &refusal) && refusal.Code == run.Conflict {
		return nil // somebody else took it, or the run ended
	}
	if err != nil {
		return err
	}
	returned := claim.Handoff != nil && claim.Handoff.Returned != nil
	if topic := mustEscalate(claim); topic != "" && !returned {
		g.report(demoAgentName, fmt.Sprintf("escalated %s: it is about %s, which a person has to judge", demoStep(work), topic))
		return g.call(ctx, "escalate", map[string]any{
			"token": claim.Token, "requestId": newRequestID(),
			"note": fmt.Sprintf("The complaint is about %s. My instructions say that a person judges that: return it to me with what to say, or complete it yourself.", topic),
		}, nil)
	}
	return g.submit(ctx, work, claim)
}

// mustEscalate returns what a step's instructions and inputs together make an agent hand over, or "". The word has to
// stand in both.
func mustEscalate(claim demoClaim) string {
	if !strings.Contains(claim.Step.Instructions, "Escalate") {
		return ""
	}
	for _, input := range claim.Data.Inputs {
		for _, topic := range []string{"injury", "threat", "journalist"} {
			if strings.Contains(string(input), topic) && strings.Contains(claim.Step.Instructions, topic) {
				return "an " + topic
			}
		}
	}
	return ""
}

func (g *demoAgent) submit(ctx context.Context, work demoWork, claim demoClaim) error {
	answer := ""
	note := claim.Data.rejection()
	if claim.Handoff != nil && claim.Handoff.Returned != nil {
		note = claim.Handoff.Returned.Note
	}
	if note != "" {
		answer = fmt.Sprintf(" It was sent back with the note “%s”, which a real agent would now act on.", note)
	}
	args := map[string]any{
		"token":     claim.Token,
		"output":    placeholders(claim.Step.Output),
		"summary":   "Placeholder work by the demo agent: nothing was researched." + answer,
		"requestId": newRequestID(),
	}
	if len(claim.Step.Next) > 0 {
		args["next"] = claim.Step.Next[0].To
		args["reason"] = "The demo agent takes the first route it is offered."
	}
	var evidence []map[string]string
	for _, kind := range claim.Step.Evidence {
		item, err := g.evidence(ctx, kind, work, claim, answer)
		if err != nil {
			return err
		}
		evidence = append(evidence, item)
	}
	if evidence != nil {
		args["evidence"] = evidence
	}
	if err := g.call(ctx, "submit", args, nil); err != nil {
		return err
	}
	done := "submitted " + demoStep(work)
	if note != "" {
		done += fmt.Sprintf(", after reading the note “%s”", shorten(note, 60))
	}
	g.report(demoAgentName, done)
	return nil
}

func (g *demoAgent) evidence(ctx context.Context, kind string, work demoWork, claim demoClaim, answer string) (map[string]string, error) {
	if kind == "link" {
		return map[string]string{"kind": "link", "ref": "https://example.com/placeholder-by-the-demo-agent"}, nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "PLACEHOLDER REPORT\n\nWritten by the demo agent to show how evidence travels. Nothing in it was researched.%s\n\n", answer)
	fmt.Fprintf(&text, "Process: %s\nStep:    %s\n\nWhat the run started with:\n", work.Process, work.StepID)
	for _, name := range sortedKeys(claim.Data.Inputs) {
		fmt.Fprintf(&text, "  %s: %s\n", name, claim.Data.Inputs[name])
	}
	fmt.Fprintf(&text, "\nWhat a real agent would have done:\n  %s\n", strings.ReplaceAll(strings.TrimSpace(claim.Step.Instructions), "\n", "\n  "))
	var file struct {
		ID string `json:"id"`
	}
	err := g.call(ctx, "upload", map[string]any{
		"fileName": "placeholder-report.txt", "contentType": "text/plain",
		"contentBase64": base64.StdEncoding.EncodeToString([]byte(text.String())), "requestId": newRequestID(),
	}, &file)
	return map[string]string{"kind": "file", "ref": file.ID}, err
}

func demoStep(work demoWork) string { return work.StepID + " of " + work.Process }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// demoField is a declared field as a claim shows it: a type name, or an object.
type demoField struct {
	Type     process.Type      `json:"type"`
	Optional bool              `json:"optional"`
	OneOf    []json.RawMessage `json:"one_of"`
	Items    *demoField        `json:"items"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *demoField) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &f.Type) == nil {
		return nil
	}
	type object demoField
	return json.Unmarshal(b, (*object)(f))
}

// placeholders makes up a value for each field that has to be there, and for optional texts and lists.
func placeholders(fields map[string]demoField) map[string]any {
	output := map[string]any{}
	for name, f := range fields {
		if !f.Optional || f.Type == process.String || f.Type == process.List {
			output[name] = f.placeholder(name)
		}
	}
	return output
}

func (f demoField) placeholder(name string) any {
	if len(f.OneOf) > 0 {
		return f.OneOf[0]
	}
	switch f.Type {
	case process.Number:
		return 1
	case process.Boolean:
		return true
	case process.Date:
		return "2000-01-01"
	case process.Datetime:
		return "2000-01-01T00:00:00Z"
	case process.Person:
		return demoPerson
	case process.Object:
		return map[string]any{"placeholder": true}
	case process.List:
		if f.Items == nil {
			return []any{"placeholder"}
		}
		return []any{f.Items.placeholder(name)}
	}
	return "placeholder for " + name
}
