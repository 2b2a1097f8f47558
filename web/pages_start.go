package web

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/templates"
)

// start shows the form that starts a run.
func (h *site) start(w http.ResponseWriter, r *http.Request) {
	id, _, _ := h.person(r)
	a := reply{status: http.StatusOK}
	if typed, ok := h.takeTyped(r, id); ok {
		a.typed, a.restored = typed, true
	}
	v, doc, err := h.srv.VersionSource(r.Context(), r.PathValue("name"), 0)
	if err != nil {
		h.refused(w, r, err, "reading a process")
		return
	}
	h.showStart(w, r, id, v, doc, a)
}

func (h *site) showStart(w http.ResponseWriter, r *http.Request, id server.Identity, v server.Version, doc *process.Document, a reply) {
	view := templates.Start{
		Form:    templates.Form{Action: "/processes/" + doc.Name + "/start", Key: newKey(), Typed: a.typed, Issues: a.issues},
		Process: doc.Name, Description: doc.Description, Version: v.Number, Fields: doc.Inputs, Requires: doc.Requires,
		Refusal: a.refusal, RefusalText: a.text, Restored: a.restored, Person: id.Name,
	}
	if hasPerson(doc.Inputs) {
		view.People = h.people(r)
	}
	title := "Start " + templates.Words(doc.Name)
	if a.refusal != "" {
		title = a.refusal + ": " + title
	}
	h.render(w, r, a.status, templates.StartPage(h.chrome(r, title, "processes"), view))
}

// startRun starts a run from what was typed.
func (h *site) startRun(w http.ResponseWriter, r *http.Request) {
	id, _, signedIn := h.person(r)
	typed, err := h.readForm(w, r, nil)
	if err != nil {
		h.refusedForm(w, r, err)
		return
	}
	name := r.PathValue("name")
	if !signedIn {
		h.signInFirst(w, r, "/processes/"+url.PathEscape(name)+"/start", typed, false)
		return
	}
	h.touch(r.Context())
	number, _ := strconv.Atoi(typed.Get("version")) // 0 is the latest
	v, doc, err := h.srv.VersionSource(r.Context(), name, max(number, 0))
	if err != nil {
		h.refused(w, r, err, "reading a process")
		return
	}
	args := server.StartRunArgs{
		Process: name, Version: v.Number, Inputs: typedObject(doc.Inputs, typed), Mode: run.Live, RequestID: typed.Get("requestId"),
	}
	if typed.Get("mode") == string(run.Test) {
		args.Mode = run.Test
	}
	started, err := h.srv.StartRun(r.Context(), id, args)
	if err == nil {
		h.say(r, "The run has started.")
		http.Redirect(w, r, "/runs/"+url.PathEscape(started.Run.ID), http.StatusSeeOther)
		return
	}
	a := reply{status: http.StatusUnprocessableEntity, typed: typed, refusal: "Not started yet", text: "Nothing was started. What you typed is still here."}
	var refusal *server.Error
	switch {
	case !errors.As(err, &refusal) || refusal.Code == run.NotFound || refusal.Code == run.Forbidden:
		h.refused(w, r, err, "starting a run")
		return
	case refusal.Code == run.Conflict:
		a.status, a.refusal, a.text = http.StatusConflict, "This form was sent before", "It was sent with something else in it, and that run has started. The list of runs shows it."
	case refusal.Code == run.Retry:
		a.status, a.refusal, a.text = http.StatusServiceUnavailable, "The server is busy", "Nothing was started. Send it again in a moment."
	case len(refusal.Issues) > 0:
		a.issues = explain(refusal.Issues, "inputs", doc.Inputs)
	default:
		a.text = sentence(refusal.Message)
	}
	h.showStart(w, r, id, v, doc, a)
}
