package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/templates"
)

const runRows = 50

// runs lists runs, newest first.
func (h *site) runs(w http.ResponseWriter, r *http.Request) {
	id, _, _ := h.person(r)
	q := r.URL.Query()
	query := server.RunsQuery{Process: q.Get("process"), Cursor: q.Get("cursor"), Limit: runRows}
	if s := run.RunState(q.Get("state")); s == run.RunActive || s == run.RunWaiting || s == run.RunEnded || s == run.RunCancelled {
		query.State = s
	}
	page, err := h.srv.ListRuns(r.Context(), id, query)
	if err != nil {
		h.refused(w, r, err, "listing runs")
		return
	}
	names, err := h.srv.ProcessNames(r.Context())
	if err != nil {
		h.refused(w, r, err, "listing processes")
		return
	}
	view := templates.Runs{Process: query.Process, State: string(query.State), Processes: names, Later: query.Cursor != ""}
	for _, row := range page.Runs {
		view.Rows = append(view.Rows, templates.RunRow{
			ID: row.ID, Process: row.Process, Version: row.Version, Subject: templates.Subject(row.Inputs),
			State: string(row.State), Outcome: row.Outcome, Test: row.Mode == run.Test,
			StartedBy: row.StartedBy, StartedAt: row.StartedAt, UpdatedAt: row.UpdatedAt,
		})
	}
	if page.NextCursor != "" {
		view.Next = filterURL("/runs", q, page.NextCursor, "process", "state")
	}
	pushURL(w, filterURL("/runs", q, query.Cursor, "process", "state"))
	h.render(w, r, http.StatusOK, templates.RunsPage(h.chrome(r, "Runs", "runs"), view))
}

// run shows one run.
func (h *site) run(w http.ResponseWriter, r *http.Request) {
	id, _, _ := h.person(r)
	a := reply{status: http.StatusOK}
	if typed, ok := h.takeTyped(r, id); ok {
		a.typed, a.restored = typed, true
	}
	h.showRun(w, r, id, r.PathValue("id"), a)
}

func (h *site) showRun(w http.ResponseWriter, r *http.Request, id server.Identity, runID string, a reply) {
	page, err := h.srv.RunPage(r.Context(), id, runID)
	if err != nil {
		h.refused(w, r, err, "reading a run")
		return
	}
	t := newTeller(page)
	view := h.runView(t, id)
	view.Moments, view.Left = t.moments(r.URL.Query().Get("all") != "")
	if id.In(h.srv.Operators()) && !t.st.Over() {
		view.Cancel = actionForm("/runs/"+runID+"/cancel", "cancel", a, id)
		view.Send = actionForm("/runs/"+runID+"/event", "event", a, id)
		view.Send.Choices = eventNames(t.doc)
	}
	if h.opts.Dev && h.opts.DevClock != nil && t.st.Mode == run.Test && !t.st.Over() {
		view.Clock = actionForm("/runs/"+runID+"/clock", "clock", a, id)
	}
	title := templates.Words(view.Process) + " · Run"
	if a.refusal != "" {
		title = a.refusal + ": " + title
	}
	c := h.chrome(r, title, "runs")
	c.Now, c.Map, c.Said = page.Now, true, h.said(r)
	h.render(w, r, a.status, templates.RunPage(c, view))
}

// actionForm is one of the small forms of a run page, with what was typed into that one.
func actionForm(action, name string, a reply, id server.Identity) *templates.ActionForm {
	f := &templates.ActionForm{Form: templates.Form{Action: action, Key: newKey()}, Name: name, Person: id.Name}
	if a.typed.Get("form") == name {
		f.Typed, f.Issues, f.Refusal, f.Restored = a.typed, a.issues, a.refusal, a.restored
		f.RefusalText = a.text
	}
	return f
}

func eventNames(doc *process.Document) []string {
	var names []string
	for _, s := range doc.Steps {
		if s.Kind == process.WaitFor {
			names = append(names, s.Text)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (h *site) runView(t teller, id server.Identity) templates.Run {
	st := t.st
	view := templates.Run{
		ID: st.ID, Process: st.Process, Version: st.Version, Hash: t.doc.Hash, Test: st.Mode == run.Test,
		Subject: templates.Subject(st.Inputs), State: string(st.State), Outcome: st.Outcome, StartedBy: st.StartedBy,
		StartedAt: st.StartedAt, UpdatedAt: st.UpdatedAt, Ended: t.ended(), Inputs: t.inputs(), Rounds: t.rounds(),
		Map: t.processMap(""), Body: h.markdown(t.doc), Description: t.doc.Description,
	}
	for i, s := range t.page.View.Steps {
		view.Steps = append(view.Steps, t.runStep(i, s))
		if rec := st.Steps[i].Current; rec != nil && telling(t.doc.Steps[i].Kind) {
			if rec.Decision != "rejected" || st.Over() {
				view.Records = append(view.Records, t.current(i))
			}
			view.Files = append(view.Files, t.files(t.doc.Steps[i].ID, rec)...)
		}
		for _, rec := range st.Steps[i].History {
			view.Files = append(view.Files, t.files(t.doc.Steps[i].ID, rec)...)
		}
	}
	slices.SortStableFunc(view.Records, func(a, b templates.Record) int { return a.At.Compare(b.At) })
	for _, w := range t.page.View.WorkItems {
		due := timeOf(w.Due)
		view.Items = append(view.Items, templates.RunItem{
			ID: w.ID, Step: w.StepID, Group: w.AssignedTo.Group, Person: w.AssignedTo.Person,
			Me: server.NormalEmail(w.AssignedTo.Person) == id.Name, Due: due, Overdue: pastDue(due, t.page.Now),
			Escalated: w.Escalation != nil,
		})
	}
	for _, e := range st.Held {
		view.Held = append(view.Held, templates.HeldEvent{Name: e.Name, By: e.By, At: e.At, Data: templates.ReadValue(e.Data)})
	}
	return view
}

func (t teller) runStep(i int, v run.StepView) templates.RunStep {
	s := t.st.Steps[i]
	told := templates.RunStep{ID: v.ID, Kind: v.Kind, Due: timeOf(v.Due), Overdue: v.Overdue != nil && *v.Overdue, Rounds: len(s.History)}
	if s.Current != nil || v.State != nil && *v.State != run.StepDone {
		told.Rounds++
	}
	if v.State != nil {
		told.State = string(*v.State)
	}
	switch s.State {
	case run.StepWaiting:
		told.Wakes = s.WakeAt
		if s.Item >= 0 && s.Item < len(t.st.Items) {
			told.Who = cmp.Or(t.st.Items[s.Item].Group, t.st.Items[s.Item].Person)
		}
	case run.StepClaimed:
		if s.Claim > 0 && s.Claim <= len(t.st.Claims) {
			told.Who = t.st.Claims[s.Claim-1].By
		}
	}
	return told
}

func (t teller) files(stepID string, rec *run.Record) []templates.RunFile {
	var files []templates.RunFile
	for _, e := range t.evidence(rec.Evidence) {
		if e.Kind == "file" {
			files = append(files, templates.RunFile{EvidenceItem: e, Step: stepID, By: rec.By, At: rec.At})
		}
	}
	return files
}

// runData shows a run's data as JSON, as part of a page that asks for it or as a page of its own.
func (h *site) runData(w http.ResponseWriter, r *http.Request) {
	id, _, _ := h.person(r)
	runID := r.PathValue("id")
	view, err := h.srv.GetRun(r.Context(), id, runID)
	if err != nil {
		h.refused(w, r, err, "reading a run")
		return
	}
	text := templates.Indented(view.Data)
	if r.Header.Get("HX-Request") == "true" {
		h.render(w, r, http.StatusOK, templates.RawData(text))
		return
	}
	h.render(w, r, http.StatusOK, templates.RawPage(h.chrome(r, "Run data", "runs"), "Run data", "/runs/"+runID, text))
}

// act reads the form of an operator's action; ok is false when the request was answered already.
func (h *site) act(w http.ResponseWriter, r *http.Request, name string) (id server.Identity, typed url.Values, ok bool) {
	id, _, signedIn := h.person(r)
	typed, err := h.readForm(w, r, nil)
	if err != nil {
		h.refusedForm(w, r, err)
		return id, nil, false
	}
	typed.Set("form", name)
	if !signedIn {
		h.signInFirst(w, r, "/runs/"+url.PathEscape(r.PathValue("id")), typed, false)
		return id, nil, false
	}
	h.touch(r.Context())
	return id, typed, true
}

// acted answers an action: the run page again, either way.
func (h *site) acted(w http.ResponseWriter, r *http.Request, id server.Identity, typed url.Values, said, refusal string, err error) {
	runID := r.PathValue("id")
	if err == nil {
		h.say(r, said)
		http.Redirect(w, r, "/runs/"+url.PathEscape(runID), http.StatusSeeOther)
		return
	}
	var refused *server.Error
	if !errors.As(err, &refused) || refused.Code == run.NotFound || refused.Code == run.Forbidden {
		h.refused(w, r, err, "acting on a run")
		return
	}
	a := reply{status: http.StatusUnprocessableEntity, typed: typed, refusal: refusal, text: sentence(refused.Message)}
	switch {
	case slices.Contains(refused.Issues, run.IssueRunEnded):
		h.say(r, "Nothing was done: the run had ended already.")
		http.Redirect(w, r, "/runs/"+url.PathEscape(runID), http.StatusSeeOther)
		return
	case refused.Code == run.Conflict:
		a.status = http.StatusConflict
	case len(refused.Issues) > 0:
		a.text, a.issues = "", explain(refused.Issues, "inputs", nil)
	}
	h.showRun(w, r, id, runID, a)
}

func (h *site) cancelRun(w http.ResponseWriter, r *http.Request) {
	id, typed, ok := h.act(w, r, "cancel")
	if !ok {
		return
	}
	_, err := h.srv.Cancel(r.Context(), id, r.PathValue("id"), strings.ReplaceAll(typed.Get("reason"), "\r\n", "\n"), typed.Get("requestId"))
	h.acted(w, r, id, typed, "The run is cancelled. Your reason is on record.", "Not cancelled", err)
}

func (h *site) sendEvent(w http.ResponseWriter, r *http.Request) {
	id, typed, ok := h.act(w, r, "event")
	if !ok {
		return
	}
	var data json.RawMessage
	if text := strings.TrimSpace(typed.Get("data")); text != "" {
		data = typedRecordOr(text)
	}
	consumedBy, err := h.srv.SendEvent(r.Context(), id, r.PathValue("id"), strings.TrimSpace(typed.Get("name")), data, typed.Get("requestId"))
	said := "The event is held until a step waits for it."
	if consumedBy != "" {
		said = "The event reached " + templates.Words(consumedBy) + "."
	}
	h.acted(w, r, id, typed, said, "Not sent", err)
}

func (h *site) moveClock(w http.ResponseWriter, r *http.Request) {
	id, typed, ok := h.act(w, r, "clock")
	if !ok {
		return
	}
	d, err := advanceBy(strings.TrimSpace(typed.Get("advance")))
	if err != nil {
		h.showRun(w, r, id, r.PathValue("id"), reply{
			status: http.StatusUnprocessableEntity, typed: typed, refusal: "The clock was not moved", text: sentence(capital(err.Error())),
		})
		return
	}
	now, err := h.opts.DevClock.Advance(d)
	h.acted(w, r, id, typed, "It is now "+templates.Exact(now)+".", "The clock was not moved", err)
}
