package web

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	br := b.browser()

	r, page := br.signIn("Mira@Example.com", "/login?next="+url.QueryEscape("/runs?state=active"))
	require.Equal(t, "/runs?state=active", r.Request.URL.RequestURI(), "the page that was asked for:\n%s", page)
	require.Contains(t, page, "mira@example.com")

	t.Run("WhoIsSignedInGoesStraightOn", func(t *testing.T) {
		r, _ := br.get("/login?next=/processes")
		require.Equal(t, "/processes", r.Request.URL.Path)
	})
	t.Run("ReturnsToOwnPagesOnly", func(t *testing.T) {
		for _, next := range []string{"//evil.example", "https://evil.example/", `/\evil.example`, "/%09/evil.example"} {
			r, _ := br.get("/login?next=" + url.QueryEscape(next))
			require.Equal(t, b.url+"/inbox", r.Request.URL.String(), next)
			r, _ = b.browser().signIn("joe@example.com", "/login?next="+url.QueryEscape(next))
			require.Equal(t, b.url+"/inbox", r.Request.URL.String(), next)
		}
	})
}

func TestSignInTakesANewSessionToken(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	br := b.browser()
	at, err := url.Parse(b.url)
	require.NoError(t, err)
	br.get("/login")
	before := br.Jar.Cookies(at)
	require.Len(t, before, 1)
	br.signIn("mira@example.com", "/login")
	after := br.Jar.Cookies(at)
	require.Len(t, after, 1)
	require.Equal(t, before[0].Name, after[0].Name)
	require.NotEqual(t, before[0].Value, after[0].Value)

	thief := b.browser()
	thief.Jar.SetCookies(at, before)
	_, page := thief.get("/login")
	require.Contains(t, page, "E-mail", "the old token opens nothing")
}

func TestSessionCookie(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	cookie := func(b *bundle) *http.Cookie {
		c := *http.DefaultClient
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		r, err := c.Get(b.url + "/login")
		require.NoError(t, err)
		r.Body.Close()
		require.Len(t, r.Cookies(), 1)
		return r.Cookies()[0]
	}
	plain := cookie(b)
	require.True(t, plain.HttpOnly)
	require.Equal(t, http.SameSiteLaxMode, plain.SameSite)
	require.Equal(t, "/", plain.Path)

	secure := cookie(setup(t, func(o *Options) { o.BaseURL = "https://ap.example" }))
	require.Equal(t, "__Host-ap-session", secure.Name)
	require.True(t, secure.Secure)
	require.Empty(t, secure.Domain)
	require.Equal(t, "/", secure.Path)
	require.True(t, secure.HttpOnly)
}

func TestASignInWorksOnceAndOnlyWhereItBegan(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	br := b.browser()
	var callback string
	br.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/auth/callback" {
			callback = r.URL.RequestURI()
			return http.ErrUseLastResponse
		}
		return nil
	}
	br.signIn("mira@example.com", "/login")
	require.NotEmpty(t, callback)

	r, page := b.browser().get(callback)
	require.Equal(t, http.StatusBadRequest, r.StatusCode, "another browser")
	require.Contains(t, page, "no longer open")

	other := strings.Replace(callback, "state=", "state=x", 1)
	r, _ = br.get(other)
	require.Equal(t, http.StatusBadRequest, r.StatusCode, "another state")

	br.CheckRedirect = nil
	r, _ = br.get(callback)
	require.Equal(t, "/inbox", r.Request.URL.Path)
	r, _ = br.get(callback)
	require.Equal(t, http.StatusBadRequest, r.StatusCode, "again")
}

func TestTheIssuerRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	br := b.browser()
	var state string
	br.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		state = r.URL.Query().Get("state")
		return http.ErrUseLastResponse
	}
	br.get("/login?next=/runs")
	r, page := br.get("/auth/callback?state=" + state + "&error=access_denied&error_description=%3Cscript%3Eno")
	require.Equal(t, http.StatusForbidden, r.StatusCode)
	require.Contains(t, page, "refused the sign-in")
	require.Contains(t, page, "/login?next=%2Fruns")
	require.NotContains(t, page, "script&gt;no")
}

func TestSignOut(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	br := b.browser()
	br.signIn("mira@example.com", "/login")

	r, page := br.get("/logout")
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Contains(t, page, "mira@example.com", "a link alone signs nobody out")

	r, _ = br.post("/logout", nil)
	require.Equal(t, http.StatusOK, r.StatusCode)
	refresh := r.Header.Get("Refresh")
	require.Contains(t, refresh, b.url+"/dev/oidc/end_session?", "goes on to the issuer")
	require.Contains(t, refresh, "id_token_hint=")
	_, page = br.get("/login")
	require.Contains(t, page, "E-mail", "the session has ended")

	r, page = br.get(strings.TrimPrefix(refresh, "0; url="))
	require.Equal(t, "/signed-out", r.Request.URL.Path, "the issuer sends the browser back")
	require.Contains(t, page, "Sign in again")
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	t.Run("AfterTheirLifetime", func(t *testing.T) {
		t.Parallel()
		b := setup(t, func(o *Options) { o.SessionLifetime = time.Nanosecond })
		br := b.browser()
		br.signIn("mira@example.com", "/login")
		_, page := br.get("/login")
		require.Contains(t, page, "E-mail")
	})
	t.Run("WhenIdle", func(t *testing.T) {
		t.Parallel()
		b := setup(t, func(o *Options) { o.SessionIdle = time.Nanosecond })
		br := b.browser()
		br.signIn("mira@example.com", "/login")
		_, page := br.get("/login")
		require.Contains(t, page, "E-mail")
	})
}

// Using a page keeps the session alive; a page that is only open does not.
func TestAnOpenPageIsNoUseOfTheSession(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	br := b.browser()
	br.signIn("mira@example.com", "/login")
	at, err := url.Parse(b.url)
	require.NoError(t, err)
	sessions := newSessions(Options{Sessions: b.db.Sessions(), SessionLifetime: time.Hour}, at)
	load := func() context.Context {
		ctx, err := sessions.Load(t.Context(), br.Jar.Cookies(at)[0].Value)
		require.NoError(t, err)
		return ctx
	}
	ago := time.Now().Add(-90 * time.Second).Unix()
	ctx := load()
	sessions.Put(ctx, sessionSeen, ago)
	_, _, err = sessions.Commit(ctx)
	require.NoError(t, err)

	r, _ := br.get("/inbox/now")
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Equal(t, ago, sessions.GetInt64(load(), sessionSeen))
	r, _ = br.get("/inbox")
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Greater(t, sessions.GetInt64(load(), sessionSeen), ago)
}

// What another site makes a browser send is refused; what the browser sends itself is not.
func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	br := b.browser()
	br.signIn("mira@example.com", "/login")
	for _, path := range []string{"/logout", "/dev/clock", "/dev/token", "/dev/oidc/login?request=x"} {
		for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
			r, err := http.NewRequest(http.MethodPost, b.url+path, strings.NewReader(`{}`))
			require.NoError(t, err)
			r.Header.Set(name, value)
			answer, err := br.Do(r)
			require.NoError(t, err)
			require.Contains(t, br.read(answer), "another site")
			require.Equal(t, http.StatusForbidden, answer.StatusCode, path)
		}
	}
	_, page := br.get("/login")
	require.NotContains(t, page, "E-mail", "still signed in")
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	br := b.browser()
	r, _ := br.signIn("mira@example.com", "/login")
	h := r.Header
	require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
	require.Contains(t, h.Get("Cache-Control"), "no-store")
	policy := h.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		require.Contains(t, policy, want)
	}
	require.NotContains(t, policy, "unsafe")
	require.Empty(t, h.Get("Strict-Transport-Security"), "not over http")
	require.NotEmpty(t, h.Get("X-Request-Id"))

	https := setup(t, func(o *Options) { o.BaseURL = "https://ap.example" })
	r, err := http.Get(https.url + "/healthz")
	require.NoError(t, err)
	r.Body.Close()
	require.NotEmpty(t, r.Header.Get("Strict-Transport-Security"))
}

func TestNoSuchPage(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	r, page := b.browser().get("/nothing/here")
	require.Equal(t, http.StatusNotFound, r.StatusCode)
	require.Contains(t, page, `role="alert"`)
	require.Contains(t, page, "There is no such page")
}

// A browser that used another name of this machine is brought to the server's own, where its cookie will be.
func TestLoginUnderAnotherName(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	br := b.browser()
	r, page := br.get(strings.Replace(b.url, "127.0.0.1", "localhost", 1) + "/login?next=/runs")
	require.Contains(t, page, "E-mail")
	require.True(t, strings.HasPrefix(r.Request.URL.String(), b.url), r.Request.URL.String())
}

func TestEvents(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.publish(twoSteps)
	r, err := http.Get(b.url + "/events")
	require.NoError(t, err)
	r.Body.Close()
	require.Equal(t, http.StatusUnauthorized, r.StatusCode)

	br := b.browser()
	br.signIn("mira@example.com", "/login")
	r, err = br.Get(b.url + "/events")
	require.NoError(t, err)
	defer r.Body.Close()
	require.Equal(t, "text/event-stream", r.Header.Get("Content-Type"))
	lines := bufio.NewScanner(r.Body)
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), "retry:")

	b.data(b.call(b.agent("intake"), "start_run", `{"process":"two-steps","inputs":{"amount":1},"requestId":"a"}`), &struct{}{})
	seen := false
	for !seen && lines.Scan() {
		seen = lines.Text() == "event: changed"
	}
	require.True(t, seen)
}
