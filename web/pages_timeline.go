package web

import (
	"encoding/hex"
	"fmt"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/templates"
)

// momentsShown is how many journal entries the run page shows at first, momentsMax how many at all.
const (
	momentsShown = 100
	momentsMax   = 5000
)

// moments tells a run's journal, newest first; left is how many older entries are left out.
func (t teller) moments(all bool) (told []templates.Moment, left int) {
	most := momentsShown
	if all {
		most = momentsMax
	}
	entries := t.page.Entries
	if len(entries) > most {
		left = len(entries) - most
	}
	for i := len(entries) - 1; i >= left; i-- {
		told = append(told, t.moment(entries[i]))
	}
	return told, left
}

// moment tells one journal entry in a sentence that begins with who did it.
func (t teller) moment(e run.Entry) templates.Moment {
	m := templates.Moment{Seq: e.Seq, At: e.At, By: e.By, Hash: hex.EncodeToString(e.Hash)}
	payload, err := e.Payload()
	if err != nil {
		m.Text = "recorded " + e.Type
		return m
	}
	switch p := payload.(type) {
	case run.StartedPayload:
		m.Text = "started the run"
		if p.Mode == run.Test {
			m.Text = "started a test run"
		}
	case run.ReadiedPayload:
		m.By, m.Step, m.Text = "server", p.Step, "made ready for an agent:"
		if p.Item != nil {
			m.Text = "asked " + whoOf(p.Item) + " for"
		}
	case run.ClaimedPayload:
		m.Text, m.Step = "took on", p.Step
	case run.RenewedPayload:
		m.Text, m.Step, m.Note = "goes on with", t.claimed(p.Claim), p.Progress
	case run.LeaseEndedPayload:
		m.By, m.Text, m.Step, m.Tone = "server", "took back, for its time had run out:", t.claimed(p.Claim), "wait"
	case run.RefusedPayload:
		m.Text, m.Step, m.Issues, m.Tone = "handed in what wasn't accepted for", p.Step, p.Issues, "wait"
	case run.CompletedPayload:
		m.Text, m.Step, m.Note, m.Tone = "completed", p.Step, p.Summary, "good"
		switch {
		case p.Decision == "approved":
			m.Text, m.Note = "approved", p.Note
		case p.TimedOut:
			m.Text, m.Tone = "stopped waiting at", ""
		case p.Claim == 0 && p.Item == "":
			m.Text, m.Tone = "finished waiting at", ""
		}
	case run.RejectedPayload:
		m.Text, m.Step, m.Note, m.Tone = "rejected", p.Step, p.Note, "bad"
	case run.RewoundPayload:
		m.By, m.Text, m.Step = "server", "sent the work back to", p.To
	case run.EscalatedPayload:
		m.Text, m.Step, m.Note, m.Tone = "asked the operators for help with", t.claimed(p.Claim), p.Note, "wait"
	case run.ReturnedPayload:
		m.Text, m.Step, m.Note = "returned to an agent:", p.Step, p.Note
	case run.FailedPayload:
		m.Text, m.Step, m.Note, m.Tone = "failed", p.Step, p.Note, "bad"
	case run.OverduePayload:
		m.By, m.Text, m.Step, m.Tone = "server", "noted as overdue:", p.Step, "wait"
	case run.WaitPayload:
		m.By, m.Text, m.Step = "server", "began to wait at", p.Step
		if p.Wake != nil {
			m.Note = "Until " + templates.Exact(*p.Wake)
		}
	case run.HeldPayload:
		m.Text = fmt.Sprintf("sent the event %s, which nothing waits for yet", p.Name)
	case run.ConsumedPayload:
		m.Text, m.Step, m.Tone = "sent the event that ended the wait at", p.Step, "good"
	case run.ForkPayload:
		m.By, m.Text, m.Step = "server", "started every branch of", p.Step
	case run.JoinPayload:
		m.By, m.Text, m.Step = "server", "joined every branch of", p.Step
	case run.EndedPayload:
		m.By, m.Text, m.Tone = "server", "ended the run: "+templates.Words(p.Outcome), "good"
		if p.Outcome == "rejected" || p.Outcome == "failed" {
			m.Tone = "bad"
		}
	case run.CancelledPayload:
		m.Text, m.Note, m.Tone = "cancelled the run", p.Reason, "bad"
	default:
		m.Text = "recorded " + e.Type
	}
	return m
}

func whoOf(item *run.OpenedItem) string {
	if item.Group != "" {
		return item.Group
	}
	return item.Person
}

// claimed is the step that a claim was on.
func (t teller) claimed(claim int) string {
	if claim < 1 || claim > len(t.st.Claims) {
		return ""
	}
	return t.st.Claims[claim-1].StepID
}
