package web

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/apserver/ap/core/server"
)

// site is the state the handlers share.
type site struct {
	srv      *server.Server
	opts     Options
	log      *slog.Logger
	sessions *scs.SessionManager
}

// login is who a browser session belongs to, as the last OIDC sign-in said.
type login struct {
	Email  string
	Name   string
	Groups []string
	// At is when the issuer authenticated the person.
	At time.Time
}

// person returns the identity of the request's session, its groups read afresh; ok is false when nobody is signed in.
func (h *site) person(r *http.Request) (id server.Identity, who login, ok bool) { panic("not yet") }

// signedIn sends whoever has no session to the login page, to come back to the page that was asked for.
func (h *site) signedIn(next http.HandlerFunc) http.Handler { panic("not yet") }

// fail answers with the error page: what went wrong and what to do next, never an internal detail.
func (h *site) fail(w http.ResponseWriter, r *http.Request, status int, title, advice string) {
	panic("not yet")
}

// The parts of the site register their own routes.
func (h *site) registerPages(mux *http.ServeMux) { panic("not yet") } // inbox, items, runs, processes, static
