package web

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/alexedwards/scs/v2"

	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/templates"
)

// site is the state the handlers share.
type site struct {
	srv      *server.Server
	opts     Options
	base     *url.URL // of opts.BaseURL
	log      *slog.Logger
	sessions *scs.SessionManager
	// issuer is nil when nobody can sign in.
	issuer  *issuer
	metrics *metrics
	// calls limits callers on /mcp, badTokens and loginStarts addresses.
	calls, badTokens, loginStarts *limiters
	// streams has a place for each open stream of /events.
	streams   chan struct{}
	heartbeat time.Duration
}

// login is who a browser session belongs to, as the last OIDC sign-in said.
type login struct {
	Email  string
	Name   string
	Groups []string
	// At is when the issuer authenticated the person; zero when it didn't say.
	At time.Time
}

// Keys of a browser session.
const (
	sessionLogin   = "login"   // a login, as JSON
	sessionIDToken = "idToken" // the ID token, for the issuer's logout
	sessionSeen    = "seen"    // Unix seconds of the last request, to the minute
	sessionFlows   = "flows"   // sign-ins under way, as JSON
)

// seenStep is how exactly a session's last use is kept: writing it at every request would cost a commit each.
const seenStep = time.Minute

// newSessions returns the session manager: HttpOnly, SameSite=Lax, and with the __Host- prefix (RFC 6265bis 4.1.3.2)
// over https. Over http the cookie's name has the port in it, since cookies don't tell ports apart.
func newSessions(opts Options, base *url.URL) *scs.SessionManager {
	m := scs.New()
	m.Store = opts.Sessions
	m.Lifetime = opts.SessionLifetime
	m.Cookie.Name = "ap-session"
	if port := base.Port(); port != "" {
		m.Cookie.Name += "-" + port
	}
	if base.Scheme == "https" {
		m.Cookie.Name = "__Host-ap-session"
		m.Cookie.Secure = true
	}
	return m
}

type contextKey int

const (
	ctxSession contextKey = iota // set once a session was loaded
	ctxPerson                    // *personOf
)

// personOf caches who a request's session belongs to.
type personOf struct {
	id  server.Identity
	who login
	ok  bool
}

// withSession loads the browser session of a request and saves what the handler changes in it.
func (h *site) withSession(next http.Handler) http.Handler {
	return h.sessions.LoadAndSave(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), ctxSession, true)
		next.ServeHTTP(w, r.WithContext(ctx))
	}))
}

func hasSession(r *http.Request) bool { return r.Context().Value(ctxSession) != nil }

// person returns the identity of the request's session, its groups read afresh; ok is false when nobody is signed in.
func (h *site) person(r *http.Request) (id server.Identity, who login, ok bool) {
	p, err := h.whose(r)
	if err != nil {
		h.log.ErrorContext(r.Context(), "reading a person's groups", "error", err)
		return server.Identity{}, login{}, false
	}
	return p.id, p.who, p.ok
}

// whose is person, with what kept it from finding out.
func (h *site) whose(r *http.Request) (*personOf, error) {
	if p, cached := r.Context().Value(ctxPerson).(*personOf); cached {
		return p, nil
	}
	if !hasSession(r) {
		return &personOf{}, nil
	}
	who, ok := h.sessionLogin(r.Context())
	if !ok {
		return &personOf{}, nil
	}
	id, err := h.srv.Person(r.Context(), who.Email, who.Groups)
	if err != nil {
		return nil, err
	}
	infoOf(r.Context()).by = who.Email
	return &personOf{id: id, who: who, ok: true}, nil
}

// sessionLogin reads the login of a session that was used recently enough.
func (h *site) sessionLogin(ctx context.Context) (who login, ok bool) {
	kept := h.sessions.GetString(ctx, sessionLogin)
	if kept == "" || json.Unmarshal([]byte(kept), &who) != nil || who.Email == "" {
		return login{}, false
	}
	seen := time.Unix(h.sessions.GetInt64(ctx, sessionSeen), 0)
	if time.Since(seen) > h.opts.SessionIdle {
		return login{}, false
	}
	return who, true
}

// touch keeps the time of a session's last use.
func (h *site) touch(ctx context.Context) {
	now := time.Now()
	if now.Sub(time.Unix(h.sessions.GetInt64(ctx, sessionSeen), 0)) >= seenStep {
		h.sessions.Put(ctx, sessionSeen, now.Unix())
	}
}

// signedIn sends whoever has no session to the login page, to come back to the page that was asked for.
func (h *site) signedIn(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := h.whose(r)
		if err != nil {
			h.log.ErrorContext(r.Context(), "reading a person's groups", "error", err)
			h.internal(w, r)
			return
		}
		if !p.ok {
			h.toLogin(w, r, returnPath(r), false)
			return
		}
		if !isLiveUpdate(r) {
			h.touch(r.Context())
		}
		next(w, r.WithContext(context.WithValue(r.Context(), ctxPerson, p)))
	})
}

// isLiveUpdate says whether an open page asks what changed, which is no use of the session: the page alone would keep it
// alive for ever.
func isLiveUpdate(r *http.Request) bool { return strings.HasSuffix(r.Pattern, "/now") }

// returnPath is the page to come back to after a sign-in: the one asked for, or for a form the page it was on.
func returnPath(r *http.Request) string {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return ownPath(r.URL.RequestURI())
	}
	if from, err := url.Parse(r.Referer()); err == nil && from.Host == r.Host {
		return ownPath(from.RequestURI())
	}
	return ownPath(r.URL.Path)
}

// toLogin sends the browser to the login page, to come back to next, a path of this site. fresh asks the issuer for a
// new sign-in where the last one is too old for a decision. A form's answer must not redirect to another site
// (form-action of our CSP), so that a POST is answered with a page that goes on by itself.
func (h *site) toLogin(w http.ResponseWriter, r *http.Request, next string, fresh bool) {
	q := url.Values{"next": {ownPath(next)}}
	if fresh {
		q.Set("fresh", "1")
	}
	to := "/login?" + q.Encode()
	switch {
	case r.Header.Get("HX-Request") == "true":
		w.Header().Set("HX-Redirect", to)
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		http.Redirect(w, r, to, http.StatusFound)
	default:
		h.goOn(w, r, to, "Sign in", "Your sign-in has ended. You are being taken to the sign-in page.")
	}
}

// goOn answers with a page that leads on to a URL by itself, with a link for where it doesn't.
func (h *site) goOn(w http.ResponseWriter, r *http.Request, to, title, text string) {
	w.Header().Set("Refresh", "0; url="+to)
	h.message(w, r, http.StatusOK, templates.Message{Title: title, Text: text, Link: to, LinkText: "Continue"})
}

// ownPath returns path if it is a page of this site that is worth returning to, and the inbox otherwise: never another
// site ("//host", "/\host"), and not the sign-in itself.
func ownPath(path string) string {
	const inbox = "/inbox"
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || len(path) > 2000 {
		return inbox
	}
	for _, c := range path {
		if c <= ' ' || c == '\\' || c == 0x7f || c == '\ufffd' {
			return inbox
		}
	}
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || u.Scheme != "" || strings.HasPrefix(u.Path, "//") || strings.ContainsFunc(u.Path, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\\' }) {
		return inbox
	}
	for _, own := range []string{"/login", "/logout", "/auth/", "/signed-out", "/events", "/dev/"} {
		if strings.HasPrefix(u.Path, own) {
			return inbox
		}
	}
	return u.RequestURI()
}

// freshEnough says whether a login is recent enough for a decision (OIDCOptions.DecideMaxAge). When it isn't, toLogin
// with fresh asks for a new one.
func (h *site) freshEnough(who login) bool {
	return h.opts.OIDC.DecideMaxAge <= 0 || time.Since(who.At) <= h.opts.OIDC.DecideMaxAge
}

// fail answers with the error page: what went wrong and what to do next, never an internal detail.
func (h *site) fail(w http.ResponseWriter, r *http.Request, status int, title, advice string) {
	h.problem(w, r, status, templates.Message{Title: title, Text: advice, Link: "/inbox", LinkText: "Go to the inbox"})
}

// problem is fail with a way on of its own.
func (h *site) problem(w http.ResponseWriter, r *http.Request, status int, m templates.Message) {
	m.Status, m.Problem = status, true
	h.message(w, r, status, m)
}

// message answers with a page that says what happened and what to do next.
func (h *site) message(w http.ResponseWriter, r *http.Request, status int, m templates.Message) {
	h.render(w, r, status, templates.ErrorPage(h.plainChrome(r, m.Title), m))
}

// plainChrome is what is around a page that may be shown to anybody.
func (h *site) plainChrome(r *http.Request, title string) templates.Chrome {
	_, who, _ := h.person(r)
	return templates.Chrome{Title: title, Email: who.Email, Open: -1, Now: h.srv.Now(), Dev: h.opts.Dev}
}

// render answers with a page, once it is known that it could be written.
func (h *site) render(w http.ResponseWriter, r *http.Request, status int, c templ.Component) {
	var page bytes.Buffer
	if err := c.Render(r.Context(), &page); err != nil {
		h.log.ErrorContext(r.Context(), "rendering a page", "path", r.URL.Path, "error", err)
		http.Error(w, "The page could not be written.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(page.Bytes())
}
