package web

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
)

// signedInAs is who a browser is signed in as; empty for nobody.
func (br *browser) signedInAs() login {
	br.b.t.Helper()
	at, err := url.Parse(br.b.url)
	require.NoError(br.b.t, err)
	for _, c := range br.Jar.Cookies(at) {
		h := &site{opts: Options{SessionIdle: time.Hour}}
		h.sessions = newSessions(Options{Sessions: br.b.db.Sessions(), SessionLifetime: time.Hour}, at)
		ctx, err := h.sessions.Load(br.b.t.Context(), c.Value)
		require.NoError(br.b.t, err)
		who, _ := h.sessionLogin(ctx)
		return who
	}
	return login{}
}

func TestSignInAtAForeignIssuer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		id, info map[string]any
		want     login
	}{
		"GroupsInTheIDToken": {id: map[string]any{"groups": []string{"legal", "ops"}, "name": "Mira"}, want: login{Email: "mira@example.com", Name: "Mira", Groups: []string{"legal", "ops"}}},
		"OneGroup":           {id: map[string]any{"groups": "legal"}, want: login{Email: "mira@example.com", Groups: []string{"legal"}}},
		"NoGroups":           {want: login{Email: "mira@example.com"}},
		"GroupsOfNoUse":      {id: map[string]any{"groups": map[string]any{"a": 1}}, want: login{Email: "mira@example.com"}},
		"EverythingInUserinfo": {
			id:   map[string]any{"email": nil, "email_verified": nil},
			info: map[string]any{"email": "Joe@Example.com", "email_verified": true, "groups": []string{"legal"}},
			want: login{Email: "joe@example.com", Groups: []string{"legal"}},
		},
		"GroupsInUserinfo":        {info: map[string]any{"groups": []string{"legal"}, "email": "other@example.com"}, want: login{Email: "mira@example.com", Groups: []string{"legal"}}},
		"VerifiedAsAString":       {id: map[string]any{"email_verified": "true"}, want: login{Email: "mira@example.com"}},
		"NothingSaidOfVerified":   {id: map[string]any{"email_verified": nil}, want: login{Email: "mira@example.com"}},
		"AClockTwoMinutesAhead":   {id: map[string]any{"iat": time.Now().Add(2 * time.Minute).Unix(), "nbf": time.Now().Add(2 * time.Minute).Unix()}, want: login{Email: "mira@example.com"}},
		"AnAudienceAmongOthers":   {id: map[string]any{"aud": []string{"x", foreignClient}, "azp": foreignClient}, want: login{Email: "mira@example.com"}},
		"UserinfoOfSomebodyElse":  {info: map[string]any{"sub": "u2", "groups": []string{"legal"}}},
		"AnotherNonce":            {id: map[string]any{"nonce": "x"}},
		"NoNonce":                 {id: map[string]any{"nonce": nil}},
		"AnotherAudience":         {id: map[string]any{"aud": "other"}},
		"ForAnotherParty":         {id: map[string]any{"aud": []string{"x", foreignClient}, "azp": "x"}},
		"AnotherIssuer":           {id: map[string]any{"iss": "https://evil.example"}},
		"Expired":                 {id: map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}},
		"NotYetValid":             {id: map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}},
		"IssuedInTheFuture":       {id: map[string]any{"iat": time.Now().Add(time.Hour).Unix()}},
		"AnotherAccessToken":      {id: map[string]any{"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}},
		"Unverified":              {id: map[string]any{"email_verified": false}},
		"UnverifiedAsAString":     {id: map[string]any{"email_verified": "false"}},
		"UnverifiedInUserinfo":    {id: map[string]any{"email_verified": nil}, info: map[string]any{"email": "mira@example.com", "email_verified": false}},
		"VerifiedForAnotherEmail": {id: map[string]any{"email_verified": false}, info: map[string]any{"email": "joe@example.com", "email_verified": true}},
		"NoEmail":                 {id: map[string]any{"email": nil}},
		"WhatIsNoEmail":           {id: map[string]any{"email": "Mira <mira@example.com>"}},
		"AnEmailWithAControl":     {id: map[string]any{"email": "mira\n@example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForeignIssuer(t)
			f.idClaims, f.infoClaims = c.id, c.info
			b := setup(t, f.options)
			br := b.browser()
			r, page := br.get("/login?next=/runs")
			got := br.signedInAs()
			got.At = time.Time{}
			require.Equal(t, c.want, got)
			if c.want.Email != "" {
				require.Equal(t, "/runs", r.Request.URL.Path)
				return
			}
			require.Contains(t, []int{http.StatusForbidden, http.StatusBadGateway}, r.StatusCode)
			require.Contains(t, page, `role="alert"`)
			require.Contains(t, page, "/login?next=%2Fruns", "it can be tried again")
		})
	}
}

func TestWhatIsAskedOfTheIssuer(t *testing.T) {
	t.Parallel()
	f := newForeignIssuer(t)
	b := setup(t, f.options)
	b.browser().get("/login")
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Equal(t, "code", f.asked["response_type"])
	require.Equal(t, foreignClient, f.asked["client_id"])
	require.Equal(t, b.url+"/auth/callback", f.asked["redirect_uri"])
	require.Equal(t, "S256", f.asked["code_challenge_method"])
	require.Len(t, f.asked["code_challenge"], 43)
	require.NotEmpty(t, f.asked["state"])
	require.NotEmpty(t, f.asked["nonce"])
	require.Equal(t, "openid email profile", f.asked["scope"])
	require.Empty(t, f.asked["max_age"])
}

func TestVerificationMayBeDemanded(t *testing.T) {
	t.Parallel()
	f := newForeignIssuer(t)
	f.idClaims = map[string]any{"email_verified": nil}
	b := setup(t, func(o *Options) { f.options(o); o.OIDC.RequireEmailVerified = true })
	br := b.browser()
	r, page := br.get("/login")
	require.Equal(t, http.StatusForbidden, r.StatusCode)
	require.Contains(t, page, "not verified")
	require.Empty(t, br.signedInAs().Email)
}

// The server starts while the issuer is down, says so to whoever wants to sign in, and needs no restart.
func TestTheIssuerIsDownForSignIn(t *testing.T) {
	t.Parallel()
	f := newForeignIssuer(t)
	f.set(func() { f.down = true })
	b := setup(t, f.options)
	br := b.browser()
	r, page := br.get("/login?next=/runs")
	require.Equal(t, http.StatusServiceUnavailable, r.StatusCode)
	require.Contains(t, page, "does not answer")
	require.Contains(t, page, "/login?next=%2Fruns")
	require.NotEmpty(t, r.Header.Get("Retry-After"))
	require.NotContains(t, page, f.url)

	f.set(func() { f.down = false })
	r, _ = br.get("/login?next=/runs")
	require.Equal(t, "/runs", r.Request.URL.Path)
	require.Equal(t, "mira@example.com", br.signedInAs().Email)

	f.set(func() { f.down = true })
	r, _ = br.get("/login?next=/runs")
	require.Equal(t, "/runs", r.Request.URL.Path, "whoever is signed in stays so")
}

func TestNobodyCanSignInWithoutAnIssuer(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Dev = false })
	r, page := b.browser().get("/login")
	require.Equal(t, http.StatusServiceUnavailable, r.StatusCode)
	require.Contains(t, page, "oidc-issuer")
}

// Groups are the union of the claim and of what an admin said, read at each request (design: identity).
func TestGroupsAreAUnion(t *testing.T) {
	t.Parallel()
	f := newForeignIssuer(t)
	b := setup(t, func(o *Options) { f.options(o); o.PeopleOverMCP = true })
	require.NoError(t, b.srv.AddMembers(t.Context(), "legal", []string{"mira@example.com"}))
	id, err := b.srv.Person(t.Context(), "mira@example.com", []string{"ops"})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"legal", "ops"}, id.Groups)
	require.Equal(t, server.Person, id.Kind)
}

// Decisions may demand a fresh sign-in: the issuer is asked with max_age, and has to say when it was.
func TestStepUp(t *testing.T) {
	t.Parallel()
	f := newForeignIssuer(t)
	old := time.Now().Add(-time.Hour)
	f.idClaims = map[string]any{"auth_time": old.Unix()}
	b := setup(t, func(o *Options) { f.options(o); o.OIDC.DecideMaxAge = 5 * time.Minute })
	h := &site{opts: Options{OIDC: OIDCOptions{DecideMaxAge: 5 * time.Minute}}}
	br := b.browser()
	br.get("/login")
	who := br.signedInAs()
	require.Equal(t, old.Unix(), who.At.Unix())
	require.False(t, h.freshEnough(who))

	r, page := br.get("/login?next=/runs&fresh=1")
	require.Equal(t, http.StatusForbidden, r.StatusCode, "the issuer didn't ask again")
	require.Contains(t, page, "fresh sign-in")
	f.mu.Lock()
	require.Equal(t, "300", f.asked["max_age"])
	f.mu.Unlock()
	require.Equal(t, "mira@example.com", br.signedInAs().Email, "still signed in as before")

	f.set(func() { f.idClaims = map[string]any{"auth_time": nil} })
	r, _ = br.get("/login?next=/runs&fresh=1")
	require.Equal(t, http.StatusForbidden, r.StatusCode, "an issuer that doesn't say when")

	f.set(func() { f.idClaims = nil })
	r, _ = br.get("/login?next=/runs&fresh=1")
	require.Equal(t, "/runs", r.Request.URL.Path)
	require.True(t, h.freshEnough(br.signedInAs()))
	r, _ = br.get("/login?next=/runs&fresh=1")
	require.Equal(t, "/runs", r.Request.URL.Path, "fresh enough already")
	require.True(t, (&site{}).freshEnough(login{}), "never demanded by default")
}

func TestAnotherPersonInTheSameBrowserFindsNothingOfTheFirst(t *testing.T) {
	t.Parallel()
	f := newForeignIssuer(t)
	b := setup(t, func(o *Options) { f.options(o); o.OIDC.DecideMaxAge = time.Minute })
	f.idClaims = map[string]any{"auth_time": time.Now().Add(-time.Hour).Unix()}
	br := b.browser()
	br.get("/login")
	at, err := url.Parse(b.url)
	require.NoError(t, err)
	sessions := newSessions(Options{Sessions: b.db.Sessions(), SessionLifetime: time.Hour}, at)
	ctx, err := sessions.Load(t.Context(), br.Jar.Cookies(at)[0].Value)
	require.NoError(t, err)
	sessions.Put(ctx, "typed", "a secret note")
	_, _, err = sessions.Commit(ctx)
	require.NoError(t, err)

	f.set(func() { f.idClaims = map[string]any{"email": "joe@example.com"} })
	br.get("/login?fresh=1")
	require.Equal(t, "joe@example.com", br.signedInAs().Email)
	ctx, err = sessions.Load(t.Context(), br.Jar.Cookies(at)[0].Value)
	require.NoError(t, err)
	require.Empty(t, sessions.GetString(ctx, "typed"))
}
