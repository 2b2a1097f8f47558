package web

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/templates"
)

// decide takes the form of a work item. Whatever is refused comes back with everything that was typed.
func (h *site) decide(w http.ResponseWriter, r *http.Request) {
	id, who, signedIn := h.person(r)
	var uploaded []templates.KeptFile
	var issues []templates.Issue
	lost := false
	files := func(_, _, _ string, content io.Reader) error {
		lost = true
		_, err := io.Copy(io.Discard, content)
		return err
	}
	if signedIn {
		files = h.storeFiles(r, id, &uploaded, &issues)
	}
	typed, err := h.readForm(w, r, files)
	if err != nil {
		h.refusedForm(w, r, err)
		return
	}
	if typed.Del("lost"); lost {
		typed.Set("lost", "1")
	}
	itemID := r.PathValue("id")
	for _, f := range uploaded {
		keepFile(typed, f)
	}
	if !signedIn || !h.freshEnough(who) {
		h.signInFirst(w, r, "/items/"+url.PathEscape(itemID), typed, signedIn)
		return
	}
	h.touch(r.Context())
	page, err := h.srv.ItemPage(r.Context(), id, itemID)
	if err != nil {
		h.refused(w, r, err, "reading a work item")
		return
	}
	if len(issues) == 0 {
		args := decideArgs(page, typed)
		if _, err = h.srv.Decide(r.Context(), id, args); err == nil {
			h.say(r, decidedWords(args.Decision))
			http.Redirect(w, r, "/items/"+url.PathEscape(itemID), http.StatusSeeOther)
			return
		}
	}
	h.refuseDecision(w, r, id, page, typed, issues, err)
}

// keepFile puts an uploaded file among what was typed.
func keepFile(typed url.Values, f templates.KeptFile) {
	if slices.Contains(typed["kept"], f.ID) {
		return
	}
	typed.Add("kept", f.ID)
	typed.Set("name."+f.ID, f.Name)
	typed.Set("size."+f.ID, itoa64(f.Size))
}

// decideArgs makes a decision of what was typed. Only what belongs to the decision goes with it: reasons for failing a run
// come without the fields that were filled in before giving up.
func decideArgs(page *server.ItemPage, typed url.Values) server.DecideArgs {
	a := server.DecideArgs{
		RunID: page.State.ID, WorkItemID: page.Item.ID,
		Snapshot: typed.Get("snapshot"), Decision: typed.Get("decision"), RequestID: typed.Get("requestId"),
		Note: written(typed.Get("note")),
	}
	if a.Decision != "completed" {
		return a
	}
	step := page.Document.Step(page.Item.StepID)
	if len(step.Output) > 0 {
		a.Output = typedObject(step.Output, typed)
	}
	for _, f := range keptFiles(typed) {
		a.Evidence = append(a.Evidence, run.Evidence{Kind: "file", Ref: f.ID})
	}
	for line := range strings.Lines(typed.Get("link")) {
		if link := strings.TrimSpace(line); link != "" {
			a.Evidence = append(a.Evidence, run.Evidence{Kind: "link", Ref: link})
		}
	}
	a.Summary = written(typed.Get("summary"))
	if len(step.Routes) > 0 {
		a.Next, a.Reason = written(typed.Get("next")), written(typed.Get("reason"))
	}
	return a
}

// written is a text as it was written, or nil where there is none.
func written(s string) *string {
	if s = strings.ReplaceAll(s, "\r\n", "\n"); strings.TrimSpace(s) == "" {
		return nil
	}
	return &s
}

// refuseDecision shows the item again with what was typed and why it wasn't decided. page is the item as it was just
// before.
func (h *site) refuseDecision(w http.ResponseWriter, r *http.Request, id server.Identity, page *server.ItemPage, typed url.Values, issues []templates.Issue, err error) {
	a := reply{status: http.StatusUnprocessableEntity, typed: typed, issues: issues, refusal: "Not accepted yet", text: "Nothing was decided. What you typed is still here."}
	var refusal *server.Error
	switch {
	case err == nil: // a file was refused before anything was decided
	case !errors.As(err, &refusal):
		h.refused(w, r, err, "deciding a work item")
		return
	case refusal.Code == run.Stale:
		a.status, a.refusal, a.text = http.StatusConflict, "", ""
		a.stale, a.since = true, typed.Get("snapshot")
	case refusal.Code == run.NotAccepted, refusal.Code == run.Invalid && len(refusal.Issues) > 0:
		step := page.Document.Step(page.Item.StepID)
		a.issues = explain(refusal.Issues, "output", step.Output)
	case refusal.Code == run.Conflict && slices.Contains(refusal.Issues, run.IssueRequestIDReused):
		a.status, a.refusal, a.text = http.StatusConflict, "This form was sent before", "It was sent with something else in it, and that is what counted. Check what you see now."
	case refusal.Code == run.Retry:
		w.Header().Set("Retry-After", "2")
		a.status, a.refusal, a.text = http.StatusServiceUnavailable, "The server is busy", "Nothing was decided. Send it again in a moment."
	case refusal.Code == run.Forbidden:
		a.status, a.refusal, a.text = http.StatusForbidden, "You can't decide this", sentence(refusal.Message)
	case refusal.Code == run.Conflict || refusal.Code == run.NotFound:
		a.status, a.refusal, a.text = http.StatusConflict, "Something else happened first", sentence(refusal.Message)
	default:
		a.text = sentence(refusal.Message)
	}
	now, err := h.srv.ItemPage(r.Context(), id, page.Item.ID)
	if err != nil {
		h.refused(w, r, err, "reading a work item")
		return
	}
	h.showItem(w, r, id, now, a)
}

// decidedWords confirms a decision.
func decidedWords(decision string) string {
	switch decision {
	case "approved":
		return "Approved. Your decision is on record."
	case "rejected":
		return "Rejected. Your decision and your note are on record."
	case "completed":
		return "Completed. What you entered is on record."
	case "returned":
		return "Returned to the agent, with your note."
	default:
		return "The run has failed. Your decision and your note are on record."
	}
}
