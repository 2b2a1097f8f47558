package web

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/static"
	"github.com/apserver/ap/templates"
)

// registerPages registers the inbox, items, runs, processes and static files.
func (h *site) registerPages(mux *http.ServeMux) {
	mux.Handle("GET /static/", static.Handler())
	mux.HandleFunc("GET "+templates.MapStylePath, mapStyle)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/inbox", http.StatusFound)
	})
	for pattern, handler := range map[string]http.HandlerFunc{
		"GET /inbox":                              h.inbox,
		"GET /inbox/now":                          h.inboxNow,
		"GET /items/{id}":                         h.item,
		"GET /items/{id}/now":                     h.itemNow,
		"GET /runs":                               h.runs,
		"GET /runs/{id}":                          h.run,
		"GET /runs/{id}/data":                     h.runData,
		"GET /runs/{id}/files/{file}":             h.runFile,
		"GET /runs/{id}/files/{file}/preview":     h.preview,
		"GET /processes":                          h.processes,
		"GET /processes/{name}":                   h.process,
		"GET /processes/{name}/versions/{number}": h.version,
		"GET /processes/{name}/start":             h.start,
		"POST /uploads":                           h.upload,
	} {
		mux.Handle(pattern, h.signedIn(handler))
	}
	// What is typed into these outlives the sign-in, so they look at it themselves.
	mux.HandleFunc("POST /items/{id}", h.decide)
	mux.HandleFunc("POST /processes/{name}/start", h.startRun)
	mux.HandleFunc("POST /runs/{id}/cancel", h.cancelRun)
	mux.HandleFunc("POST /runs/{id}/event", h.sendEvent)
	if h.opts.Dev && h.opts.DevClock != nil {
		mux.Handle("POST /runs/{id}/clock", h.signedIn(h.moveClock))
	}
}

// mapStyle serves the style sheet of process maps. Its address changes with its content.
func mapStyle(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	fmt.Fprint(w, process.MapCSS())
}

// chrome is what is around a page for whoever is signed in.
func (h *site) chrome(r *http.Request, title, nav string) templates.Chrome {
	c := h.plainChrome(r, title)
	c.Nav = nav
	id, _, ok := h.person(r)
	if !ok {
		return c
	}
	n, more, err := h.srv.Waiting(r.Context(), id)
	if err != nil {
		h.log.ErrorContext(r.Context(), "counting what waits", "person", id.Name, "error", err)
		return c
	}
	c.Open, c.More = n, more
	return c
}

// sessionSaid keeps what is to be confirmed on the next page.
const sessionSaid = "said"

// say confirms something on the next page that takes it with said.
func (h *site) say(r *http.Request, text string) { h.sessions.Put(r.Context(), sessionSaid, text) }

func (h *site) said(r *http.Request) string { return h.sessions.PopString(r.Context(), sessionSaid) }

// refused answers with the page for an error of the server: a refusal in its own words, anything else as ours.
func (h *site) refused(w http.ResponseWriter, r *http.Request, err error, doing string) {
	var refusal *server.Error
	if !errors.As(err, &refusal) {
		h.log.ErrorContext(r.Context(), doing, "path", r.URL.Path, "error", err)
		h.internal(w, r)
		return
	}
	status, title := http.StatusBadRequest, "That can't be done"
	switch refusal.Code {
	case run.NotFound:
		status, title = http.StatusNotFound, "There is no such page"
	case run.Forbidden:
		status, title = http.StatusForbidden, "You can't do this"
	case run.Conflict, run.Stale:
		status, title = http.StatusConflict, "Something else happened first"
	case run.Retry:
		status, title = http.StatusServiceUnavailable, "The server is busy"
		w.Header().Set("Retry-After", "2")
	}
	h.fail(w, r, status, title, sentence(strings.Join(append([]string{refusal.Message}, refusal.Issues...), ": ")))
}

// sentence ends a text with a full stop.
func sentence(s string) string {
	if s == "" || strings.ContainsRune(".!?", rune(s[len(s)-1])) {
		return s
	}
	return s + "."
}

// newKey is a requestId for a form: whoever sends the form twice means it once.
func newKey() string { return "page-" + rand.Text() }
