package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/templates"
)

// item shows one work item: what is asked, on what grounds, and the form to decide it.
func (h *site) item(w http.ResponseWriter, r *http.Request) {
	id, _, _ := h.person(r)
	page, err := h.srv.ItemPage(r.Context(), id, r.PathValue("id"))
	if err != nil {
		h.refused(w, r, err, "reading a work item")
		return
	}
	a := reply{status: http.StatusOK}
	if typed, ok := h.takeTyped(r, id); ok && page.Open != nil && page.Mine {
		a.typed, a.restored = typed, true
		a.since = typed.Get("snapshot")
		a.stale = a.since != page.Open.Snapshot
	}
	h.showItem(w, r, id, page, a)
}

// reply is what came of a form that was sent: what was typed, and what was wrong with it.
type reply struct {
	status   int
	typed    url.Values
	restored bool
	refusal  string
	text     string
	issues   []templates.Issue
	// stale says that run data has changed since the answer was begun; since is the snapshot it was begun on.
	stale bool
	since string
}

func (h *site) showItem(w http.ResponseWriter, r *http.Request, id server.Identity, page *server.ItemPage, a reply) {
	t := newTeller(&page.RunPage)
	view := h.itemView(t, page, id)
	if page.Open != nil && page.Mine {
		view.Form = h.decideForm(r, t, page, id, a)
		if len(a.issues) > 0 {
			view.Handoff.Issues = nil // the form says so itself
		}
		if a.stale {
			changes, known, err := h.srv.Changes(r.Context(), id, t.st.ID, a.since)
			if err != nil {
				h.refused(w, r, err, "comparing run data")
				return
			}
			view.Changes = t.changes(changes, known)
		}
	} else {
		view.Next = h.nextItem(r, id, page.Item.ID)
		if a.refusal != "" {
			view.Late = &templates.LateAnswer{Title: a.refusal, Text: a.text, Typed: typedTexts(a.typed)}
		}
	}
	title := templates.Words(view.Step) + " · " + templates.Words(view.Process)
	switch {
	case view.Changes != nil:
		title = "Changed meanwhile: " + title
	case a.refusal != "":
		title = "Not accepted: " + title
	}
	c := h.chrome(r, title, "inbox")
	c.Now, c.Map, c.Said = page.Now, true, h.said(r)
	if view.Form != nil {
		c.Live = "/items/" + page.Item.ID + "/now"
	}
	h.render(w, r, a.status, templates.ItemPage(c, view))
}

// typedTexts are the texts of a form that a person would not like to lose.
func typedTexts(typed url.Values) []templates.Member {
	var texts []templates.Member
	for _, name := range []string{"note", "summary", "reason"} {
		if text := written(typed.Get(name)); text != nil {
			texts = append(texts, templates.Member{Name: name, Value: templates.Value{Kind: templates.TextValue, Text: *text}})
		}
	}
	return texts
}

func (h *site) itemView(t teller, page *server.ItemPage, id server.Identity) templates.Item {
	item, step := page.Item, t.doc.Index(page.Item.StepID)
	s := &t.doc.Steps[step]
	view := templates.Item{
		ID: item.ID, RunID: t.st.ID, Process: t.st.Process, Version: t.st.Version, Step: s.ID, Kind: s.Kind,
		Test: t.st.Mode == run.Test, Question: s.Text, Subject: templates.Subject(t.st.Inputs), Description: t.doc.Description,
		Group: item.Group, Person: item.Person, Me: server.NormalEmail(item.Person) == id.Name,
		OpenedAt: item.OpenedAt, StartedBy: t.st.StartedBy, StartedAt: t.st.StartedAt,
		Escalation: noteOf(item.Escalation), Inputs: t.inputs(), Rounds: t.rounds(),
		Map: t.processMap(s.ID), Body: h.markdown(t.doc), Run: t.brief(), State: itemState(page),
	}
	view.Said, view.Earlier = t.said(step)
	if page.Open != nil {
		view.LastRejection = t.rejection(step)
		view.Due = timeOf(page.Open.Due)
		view.Overdue = pastDue(view.Due, page.Now)
		view.Handoff = handoffOf(page.Open.Handoff, s)
	}
	if d := item.Decided; d != nil {
		view.Decided = &templates.Decided{Decision: d.Decision, By: d.By, At: d.At, Note: d.Note, ByMe: d.By == id.By()}
	}
	return view
}

func itemState(page *server.ItemPage) templates.ItemState {
	switch {
	case page.Item.Decided != nil:
		return templates.ItemDecided
	case page.State.Over():
		return templates.ItemRunEnded
	case page.Open == nil:
		return templates.ItemRemoved
	case !page.Mine:
		return templates.ItemNotMine
	}
	return templates.ItemOpen
}

func handoffOf(v *run.HandoffView, s *process.Step) templates.Handoff {
	if v == nil {
		return templates.Handoff{}
	}
	h := templates.Handoff{Progress: v.Progress, Issues: explain(v.Issues, "output", s.Output)}
	if v.Returned != nil {
		h.Returned = &templates.Note{Text: v.Returned.Note, By: v.Returned.By, At: time.Time(v.Returned.At)}
	}
	return h
}

// decideForm is the form of an open item, as it was typed so far.
func (h *site) decideForm(r *http.Request, t teller, page *server.ItemPage, id server.Identity, a reply) *templates.DecideForm {
	step := t.doc.Step(page.Item.StepID)
	f := &templates.DecideForm{
		Form: templates.Form{
			Action: "/items/" + page.Item.ID, Key: newKey(), Typed: a.typed, Issues: a.issues,
		},
		Item: page.Item.ID, Kind: step.Kind, Snapshot: page.Open.Snapshot, Escalated: page.Item.Escalation != nil,
		Decisions: page.Open.Decide.Decisions, Fields: step.Output, Evidence: step.Evidence, Routes: step.Routes,
		RejectTo: step.OnReject, Files: keptFiles(a.typed), MaxUpload: h.srv.MaxUploadBytes(),
		Refusal: a.refusal, RefusalText: a.text, Restored: a.restored, Person: id.Name,
	}
	f.NextStep, f.FinishesAs = t.whatFollows(step)
	f.Joins = step.Next == process.Join && step.Fork != ""
	if hasPerson(step.Output) {
		f.People = h.people(r)
	}
	return f
}

// whatFollows says which step follows one without routes, or the outcome when that is a finish.
func (t teller) whatFollows(s *process.Step) (next, outcome string) {
	to := s.Next
	if to == process.Join && s.Fork != "" {
		if fork := t.doc.Step(s.Fork); fork != nil {
			to = fork.Next
		}
	}
	follows := t.doc.Step(to)
	switch {
	case follows == nil:
		return "", ""
	case follows.Kind == process.Finish:
		return "", follows.Text
	}
	return follows.ID, ""
}

func hasPerson(fields process.Fields) bool {
	return slices.ContainsFunc(fields, func(f process.Field) bool {
		return f.Type == process.Person || f.Items != nil && f.Items.Type == process.Person
	})
}

// peopleMax is how many suggestions a page carries.
const peopleMax = 200

// people suggests e-mail addresses: those of whoever was added to a group here.
func (h *site) people(r *http.Request) []string {
	groups, err := h.srv.Groups(r.Context())
	if err != nil {
		h.log.ErrorContext(r.Context(), "listing groups", "error", err)
		return nil
	}
	var people []string
	for _, members := range groups {
		people = append(people, members...)
	}
	slices.Sort(people)
	people = slices.Compact(people)
	return people[:min(len(people), peopleMax)]
}

// itemNow says how an open item stands, for a page that shows it.
func (h *site) itemNow(w http.ResponseWriter, r *http.Request) {
	id, _, _ := h.person(r)
	page, err := h.srv.ItemPage(r.Context(), id, r.PathValue("id"))
	if err != nil {
		h.refused(w, r, err, "reading a work item")
		return
	}
	waiting, more, err := h.srv.Waiting(r.Context(), id)
	if err != nil {
		h.refused(w, r, err, "counting what waits")
		return
	}
	now := map[string]any{"open": page.Open != nil, "waiting": waiting, "more": more}
	if page.Open != nil {
		now["snapshot"] = page.Open.Snapshot
	} else if d := page.Item.Decided; d != nil {
		now["by"] = cmp.Or(d.By, "somebody")
	}
	writeJSON(w, http.StatusOK, now)
}
