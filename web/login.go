package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/templates"
)

// A sign-in has so long, and a browser so many of them at once (tabs).
const (
	flowTime = 20 * time.Minute
	flowsMax = 5
)

// anonymousTime is how long the session of a browser that isn't signed in is kept.
const anonymousTime = time.Hour

// flow is a sign-in under way, kept in the browser's session until the issuer sends the browser back.
type flow struct {
	State    string
	Nonce    string
	Verifier string
	Next     string
	Started  time.Time
	// MaxAge is how old the sign-in at the issuer may be, 0 for any age.
	MaxAge time.Duration
}

func (h *site) registerLogin(mux *http.ServeMux) {
	mux.HandleFunc("GET /login", h.login)
	mux.HandleFunc("GET /auth/callback", h.callback)
	mux.HandleFunc("GET /logout", h.askLogout)
	mux.HandleFunc("POST /logout", h.logout)
	mux.HandleFunc("GET /signed-out", h.signedOut)
}

// login sends the browser to the issuer: authorization code flow with PKCE S256, state and nonce (OpenID Connect Core
// 3.1, RFC 9700 2.1.1).
func (h *site) login(w http.ResponseWriter, r *http.Request) {
	next, fresh := ownPath(r.URL.Query().Get("next")), r.URL.Query().Get("fresh") != ""
	if to, other := h.canonical(r); other {
		http.Redirect(w, r, to, http.StatusFound)
		return
	}
	if _, who, ok := h.person(r); ok && (!fresh || h.freshEnough(who)) {
		http.Redirect(w, r, next, http.StatusFound)
		return
	}
	if h.issuer == nil {
		h.fail(w, r, http.StatusServiceUnavailable, "Nobody can sign in yet",
			"This server has no identity provider. Its administrator can name one with the setting oidc-issuer.")
		return
	}
	if wait, ok := h.loginStarts.allow(remoteAddress(r)); !ok {
		retryAfter(w, wait)
		h.fail(w, r, http.StatusTooManyRequests, "Too many sign-ins", "Too many sign-ins were started from your address. Wait a minute and try again.")
		return
	}
	idp, err := h.issuer.get(r.Context())
	if err != nil {
		h.issuerDown(w, r, err, next)
		return
	}
	f := flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Next: next, Started: time.Now()}
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	if fresh && h.opts.OIDC.DecideMaxAge > 0 {
		f.MaxAge = h.opts.OIDC.DecideMaxAge
		options = append(options, oauth2.SetAuthURLParam("max_age", strconv.Itoa(int(f.MaxAge.Seconds()))))
	}
	h.keepFlow(r.Context(), f)
	http.Redirect(w, r, idp.oauth.AuthCodeURL(f.State, options...), http.StatusFound)
}

// canonical is the URL of a request under the server's own name, when a browser on this machine used another one
// (localhost for 127.0.0.1): the issuer sends it back to the former, which would not get the latter's cookie.
func (h *site) canonical(r *http.Request) (to string, other bool) {
	if r.Host == h.base.Host || !isLoopback(r.Host) || !isLoopback(h.base.Host) {
		return "", false
	}
	return h.opts.BaseURL + r.URL.RequestURI(), true
}

func (h *site) issuerDown(w http.ResponseWriter, r *http.Request, err error, next string) {
	h.log.ErrorContext(r.Context(), "the identity provider can't be used", "issuer", h.opts.OIDC.Issuer, "error", err)
	h.metrics.signIns.WithLabelValues("browser", "issuer_down").Inc()
	retryAfter(w, 5*time.Second)
	h.problem(w, r, http.StatusServiceUnavailable, templates.Message{
		Title:    "Sign-in is not available",
		Text:     "The identity provider does not answer. Nothing is lost: try again in a moment. If it lasts, tell your administrator.",
		Link:     "/login?" + url.Values{"next": {next}}.Encode(),
		LinkText: "Try again",
	})
}

// keepFlow keeps a sign-in in the browser's session, and as few others as a browser has use for.
func (h *site) keepFlow(ctx context.Context, f flow) {
	flows := append(h.flows(ctx), f)
	if len(flows) > flowsMax {
		flows = flows[len(flows)-flowsMax:]
	}
	h.putFlows(ctx, flows)
	if h.sessions.GetString(ctx, sessionLogin) == "" {
		h.sessions.SetDeadline(ctx, time.Now().Add(anonymousTime))
	}
}

func (h *site) flows(ctx context.Context) []flow {
	var flows []flow
	if json.Unmarshal([]byte(h.sessions.GetString(ctx, sessionFlows)), &flows) != nil {
		return nil
	}
	return slices.DeleteFunc(flows, func(f flow) bool { return time.Since(f.Started) > flowTime })
}

func (h *site) putFlows(ctx context.Context, flows []flow) {
	if len(flows) == 0 {
		h.sessions.Remove(ctx, sessionFlows)
		return
	}
	kept, err := json.Marshal(flows)
	if err != nil {
		panic(err) // strings and times always marshal
	}
	h.sessions.Put(ctx, sessionFlows, string(kept))
}

// takeFlow returns the sign-in that a state belongs to, once.
func (h *site) takeFlow(ctx context.Context, state string) (flow, bool) {
	flows := h.flows(ctx)
	i := slices.IndexFunc(flows, func(f flow) bool { return state != "" && f.State == state })
	if i < 0 {
		return flow{}, false
	}
	f := flows[i]
	h.putFlows(ctx, slices.Delete(flows, i, i+1))
	return f, true
}

// refusal is a sign-in that failed in a way its person can understand.
type refusal struct {
	status        int
	title, advice string
	reason        string // for metrics
	cause         error
}

// Error implements error.
func (e *refusal) Error() string { return fmt.Sprintf("%s: %v", e.title, e.cause) }

// callback takes the browser back from the issuer.
func (h *site) callback(w http.ResponseWriter, r *http.Request) {
	f, ok := h.takeFlow(r.Context(), r.URL.Query().Get("state"))
	if !ok {
		h.metrics.signIns.WithLabelValues("browser", "unknown_state").Inc()
		h.problem(w, r, http.StatusBadRequest, templates.Message{
			Title:    "This sign-in is no longer open",
			Text:     "It took too long, was used already, or was started in another browser. Sign in again.",
			Link:     "/login",
			LinkText: "Sign in",
		})
		return
	}
	who, idToken, err := h.signIn(r, f)
	if err != nil {
		h.refuseSignIn(w, r, f, err)
		return
	}
	if err := h.openSession(r.Context(), who, idToken); err != nil {
		h.log.ErrorContext(r.Context(), "opening a session", "error", err)
		h.internal(w, r)
		return
	}
	infoOf(r.Context()).by = who.Email
	h.metrics.signIns.WithLabelValues("browser", "ok").Inc()
	h.log.InfoContext(r.Context(), "signed in", "person", who.Email)
	http.Redirect(w, r, f.Next, http.StatusSeeOther)
}

func (h *site) refuseSignIn(w http.ResponseWriter, r *http.Request, f flow, err error) {
	var refused *refusal
	switch {
	case errors.Is(err, errIssuerDown):
		h.issuerDown(w, r, err, f.Next)
		return
	case !errors.As(err, &refused):
		refused = &refusal{status: http.StatusBadGateway, reason: "invalid", cause: err,
			title:  "The sign-in could not be checked",
			advice: "What the identity provider sent did not pass the checks, so nobody was signed in. Try again; if it happens again, tell your administrator."}
	}
	h.metrics.signIns.WithLabelValues("browser", refused.reason).Inc()
	h.log.LogAttrs(r.Context(), slog.LevelWarn, "sign-in refused", slog.String("request", infoOf(r.Context()).id),
		slog.String("reason", refused.reason), slog.Any("error", refused.cause))
	h.problem(w, r, refused.status, templates.Message{Title: refused.title, Text: refused.advice,
		Link: "/login?" + url.Values{"next": {f.Next}}.Encode(), LinkText: "Sign in again"})
}

// signIn exchanges the code and checks everything the issuer says (OpenID Connect Core 3.1.3).
func (h *site) signIn(r *http.Request, f flow) (who login, idToken string, err error) {
	q := r.URL.Query()
	if iss := q.Get("iss"); iss != "" && iss != h.opts.OIDC.Issuer { // RFC 9207
		return login{}, "", fmt.Errorf("the answer is from another issuer, %q", iss)
	}
	if code := q.Get("error"); code != "" {
		return login{}, "", &refusal{status: http.StatusForbidden, reason: "refused", cause: fmt.Errorf("the issuer says %q: %q", code, q.Get("error_description")),
			title: "The identity provider refused the sign-in", advice: "You were not signed in. Try again, or ask your administrator for access."}
	}
	ctx, cancel := context.WithTimeout(h.issuer.context(r.Context()), 2*issuerTimeout)
	defer cancel()
	idp, err := h.issuer.get(ctx)
	if err != nil {
		return login{}, "", err
	}
	token, err := idp.oauth.Exchange(ctx, q.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return login{}, "", fmt.Errorf("exchanging the code: %w", err)
	}
	idToken, _ = token.Extra("id_token").(string)
	checked, err := verify(ctx, idp.idTokens, idToken)
	if err != nil {
		return login{}, "", fmt.Errorf("the ID token: %w", err)
	}
	if checked.Nonce != f.Nonce {
		return login{}, "", errors.New("the ID token has another nonce")
	}
	if checked.AccessTokenHash != "" {
		if err := checked.VerifyAccessToken(token.AccessToken); err != nil {
			return login{}, "", err
		}
	}
	said := claims{}
	if err := checked.Claims(&said); err != nil {
		return login{}, "", fmt.Errorf("reading the claims: %w", err)
	}
	if party := said.text("azp"); party != "" && party != h.opts.OIDC.ClientID {
		return login{}, "", fmt.Errorf("the ID token is for the client %q", party)
	}
	if err := h.userInfo(ctx, idp, token, checked.Subject, said); err != nil {
		return login{}, "", err
	}
	who, err = h.loginFrom(said, f)
	return who, idToken, err
}

// userInfo asks the userinfo endpoint for what the ID token doesn't say: many issuers keep e-mail and groups there
// (OpenID Connect Core 5.3, 5.4).
func (h *site) userInfo(ctx context.Context, idp *discovered, token *oauth2.Token, subject string, said claims) error {
	if idp.provider.UserInfoEndpoint() == "" || said["email"] != nil && said["email_verified"] != nil && said[h.opts.OIDC.GroupsClaim] != nil {
		return nil
	}
	info, err := idp.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		if said["email"] != nil {
			h.log.WarnContext(ctx, "the userinfo endpoint can't be used", "error", err)
			return nil
		}
		return fmt.Errorf("asking the userinfo endpoint: %w", err)
	}
	if info.Subject != subject {
		return errors.New("the userinfo endpoint speaks of another subject")
	}
	more := claims{}
	if err := info.Claims(&more); err != nil {
		return fmt.Errorf("reading the userinfo: %w", err)
	}
	if said["email"] != nil && more.text("email") != said.text("email") {
		delete(more, "email_verified") // which is about its own e-mail only
	}
	said.fill(more)
	return nil
}

// loginFrom makes a login of checked claims, or refuses it.
func (h *site) loginFrom(said claims, f flow) (login, error) {
	email := said.text("email")
	switch {
	case email == "":
		return login{}, &refusal{status: http.StatusForbidden, reason: "no_email", cause: errors.New("no email claim"),
			title:  "Your account has no e-mail address",
			advice: "The identity provider sent no e-mail address, by which this server knows people. Ask your administrator to release it to this application (scope email)."}
	case !process.IsEmail(email):
		return login{}, &refusal{status: http.StatusForbidden, reason: "bad_email", cause: fmt.Errorf("the email claim is %q", email),
			title:  "Your e-mail address can't be used",
			advice: "The identity provider sent something that is not an e-mail address. Ask your administrator to correct it there."}
	case !said.mayUseEmail(h.opts.OIDC):
		return login{}, &refusal{status: http.StatusForbidden, reason: "unverified_email", cause: errors.New("the e-mail is not verified"),
			title:  "Your e-mail address is not verified",
			advice: "The identity provider has not verified that the address is yours. Confirm it there, then sign in again."}
	}
	who := login{Email: server.NormalEmail(email), Name: said.text("name"), Groups: said.list(h.opts.OIDC.GroupsClaim), At: said.time("auth_time")}
	if f.MaxAge > 0 && time.Since(who.At) > f.MaxAge+time.Minute {
		return login{}, &refusal{status: http.StatusForbidden, reason: "not_fresh", cause: fmt.Errorf("auth_time is %s", who.At.UTC()),
			title:  "A fresh sign-in is needed",
			advice: "Decisions here need a recent sign-in, and the identity provider did not ask you again. Sign out there, then sign in again."}
	}
	return who, nil
}

// openSession makes the session that of a person, under a new token (no fixation). What another person left in it goes.
func (h *site) openSession(ctx context.Context, who login, idToken string) error {
	before := login{}
	_ = json.Unmarshal([]byte(h.sessions.GetString(ctx, sessionLogin)), &before)
	if before.Email != "" && before.Email != who.Email {
		if err := h.sessions.Clear(ctx); err != nil {
			return err
		}
	}
	if err := h.sessions.RenewToken(ctx); err != nil {
		return err
	}
	kept, err := json.Marshal(who)
	if err != nil {
		return err
	}
	h.sessions.Put(ctx, sessionLogin, string(kept))
	h.sessions.Put(ctx, sessionIDToken, idToken)
	h.sessions.Put(ctx, sessionSeen, time.Now().Unix())
	h.sessions.SetDeadline(ctx, time.Now().Add(h.opts.SessionLifetime))
	return nil
}

func (h *site) askLogout(w http.ResponseWriter, r *http.Request) {
	if _, who, ok := h.person(r); ok {
		h.message(w, r, http.StatusOK, templates.Message{Title: "Sign out?", Text: "You are signed in as " + who.Email + ". To sign out, use the button at the top.",
			Link: "/inbox", LinkText: "Stay signed in"})
		return
	}
	http.Redirect(w, r, "/signed-out", http.StatusFound)
}

// logout ends the session, and the one at the issuer where it has RP-initiated logout (OpenID Connect RP-Initiated
// Logout 1.0).
func (h *site) logout(w http.ResponseWriter, r *http.Request) {
	_, _, ok := h.person(r)
	hint := h.sessions.GetString(r.Context(), sessionIDToken)
	if err := h.sessions.Destroy(r.Context()); err != nil {
		h.log.ErrorContext(r.Context(), "ending a session", "error", err)
		h.internal(w, r)
		return
	}
	if end := h.endSessionURL(r.Context(), hint); ok && end != "" {
		h.goOn(w, r, end, "Signing out", "You are signed out here, and are being taken to your identity provider to sign out there.")
		return
	}
	http.Redirect(w, r, "/signed-out", http.StatusSeeOther)
}

// endSessionURL is where the issuer ends its own session, or "" if it can't or doesn't answer.
func (h *site) endSessionURL(ctx context.Context, idToken string) string {
	if h.issuer == nil || idToken == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	idp, err := h.issuer.get(ctx)
	if err != nil {
		return ""
	}
	end, err := url.Parse(idp.endSession)
	if err != nil || end.Host == "" {
		return ""
	}
	q := end.Query()
	q.Set("id_token_hint", idToken)
	q.Set("client_id", h.opts.OIDC.ClientID)
	q.Set("post_logout_redirect_uri", h.opts.BaseURL+"/signed-out")
	end.RawQuery = q.Encode()
	return end.String()
}

func (h *site) signedOut(w http.ResponseWriter, r *http.Request) {
	h.message(w, r, http.StatusOK, templates.Message{Title: "Signed out", Text: "You are signed out of this server.", Link: "/login", LinkText: "Sign in again"})
}
