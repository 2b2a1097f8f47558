package issuer_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/apserver/ap/web/issuer"
)

// bundle is a dev issuer on a real port and a browser without redirects.
type bundle struct {
	dev      *issuer.Dev
	url      string
	provider *oidc.Provider
	oauth    oauth2.Config
	browser  *http.Client
}

func setup(t *testing.T, secret []byte) *bundle {
	t.Helper()
	var dev *issuer.Dev
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { dev.ServeHTTP(w, r) }))
	t.Cleanup(ts.Close)
	b := &bundle{url: ts.URL + "/dev/oidc"}
	var err error
	dev, err = issuer.New(issuer.Options{
		Issuer: b.url, ClientID: "ap-dev", RedirectURIs: []string{ts.URL + "/auth/callback"},
		LoggedOutURIs: []string{ts.URL + "/signed-out"}, Secret: secret,
	})
	require.NoError(t, err)
	b.dev = dev
	b.provider, err = oidc.NewProvider(t.Context(), b.url)
	require.NoError(t, err)
	b.oauth = oauth2.Config{ClientID: "ap-dev", Endpoint: b.provider.Endpoint(), RedirectURL: ts.URL + "/auth/callback", Scopes: []string{"openid", "email"}}
	b.browser = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return b
}

func (b *bundle) get(t *testing.T, at string) (status int, body, location string) {
	t.Helper()
	r, err := b.browser.Get(at)
	require.NoError(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, string(text), r.Header.Get("Location")
}

func (b *bundle) post(t *testing.T, at string, form url.Values) (status int, body, location string) {
	t.Helper()
	r, err := b.browser.PostForm(at, form)
	require.NoError(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, string(text), r.Header.Get("Location")
}

// signIn goes through the pages up to the redirect to the client.
func (b *bundle) signIn(t *testing.T, email string, options ...oauth2.AuthCodeOption) url.Values {
	t.Helper()
	_, _, login := b.get(t, b.oauth.AuthCodeURL("the-state", options...))
	status, page, _ := b.get(t, login)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, `<label for="email">E-mail</label>`)
	require.Contains(t, page, "<button>Sign in</button>")
	action := regexp.MustCompile(`action="([^"]+)"`).FindStringSubmatch(page)[1]
	_, _, callback := b.post(t, action, url.Values{"email": {email}})
	_, _, back := b.get(t, callback)
	to, err := url.Parse(back)
	require.NoError(t, err)
	require.Equal(t, "/auth/callback", to.Path)
	return to.Query()
}

func TestSignsInWhoeverIsTyped(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	verifier := oauth2.GenerateVerifier()
	q := b.signIn(t, "mira@example.com", oidc.Nonce("the-nonce"), oauth2.S256ChallengeOption(verifier))
	require.Equal(t, "the-state", q.Get("state"))

	token, err := b.oauth.Exchange(t.Context(), q.Get("code"), oauth2.VerifierOption(verifier))
	require.NoError(t, err)
	id, err := b.provider.Verifier(&oidc.Config{ClientID: "ap-dev"}).Verify(t.Context(), token.Extra("id_token").(string))
	require.NoError(t, err)
	require.Equal(t, "the-nonce", id.Nonce)
	require.NoError(t, id.VerifyAccessToken(token.AccessToken))
	var claims struct {
		Email    string `json:"email"`
		Verified bool   `json:"email_verified"`
		AuthTime int64  `json:"auth_time"`
	}
	require.NoError(t, id.Claims(&claims))
	require.Equal(t, "mira@example.com", claims.Email)
	require.True(t, claims.Verified)
	require.NotZero(t, claims.AuthTime)

	info, err := b.provider.UserInfo(t.Context(), oauth2.StaticTokenSource(token))
	require.NoError(t, err)
	require.Equal(t, "mira@example.com", info.Email)

	t.Run("ACodeWorksOnce", func(t *testing.T) {
		_, err := b.oauth.Exchange(t.Context(), q.Get("code"), oauth2.VerifierOption(verifier))
		require.Error(t, err)
	})
}

func TestDemandsPKCE(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	_, _, back := b.get(t, b.oauth.AuthCodeURL("s"))
	require.Contains(t, back, "error=invalid_request")

	q := b.signIn(t, "mira@example.com", oauth2.S256ChallengeOption(oauth2.GenerateVerifier()))
	_, err := b.oauth.Exchange(t.Context(), q.Get("code"), oauth2.VerifierOption(oauth2.GenerateVerifier()))
	require.Error(t, err, "another verifier")
}

func TestRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	pkce := oauth2.S256ChallengeOption(oauth2.GenerateVerifier())

	t.Run("ARedirectToAnotherSite", func(t *testing.T) {
		oauth := b.oauth
		oauth.RedirectURL = "https://evil.example/auth/callback"
		status, _, location := b.get(t, oauth.AuthCodeURL("s", pkce))
		require.Equal(t, http.StatusBadRequest, status)
		require.Empty(t, location)
	})
	t.Run("AnotherClient", func(t *testing.T) {
		oauth := b.oauth
		oauth.ClientID = "other"
		status, _, location := b.get(t, oauth.AuthCodeURL("s", pkce))
		require.Equal(t, http.StatusBadRequest, status)
		require.Empty(t, location)
	})
	t.Run("ASignInThatIsNotOpen", func(t *testing.T) {
		status, page, _ := b.get(t, b.url+"/login?request=nope")
		require.Equal(t, http.StatusBadRequest, status)
		require.Contains(t, page, "no longer open")
		status, _, _ = b.post(t, b.url+"/login?request=nope", url.Values{"email": {"mira@example.com"}})
		require.Equal(t, http.StatusBadRequest, status)
	})
	t.Run("SilentSignIn", func(t *testing.T) {
		_, _, back := b.get(t, b.oauth.AuthCodeURL("s", pkce, oauth2.SetAuthURLParam("prompt", "none")))
		require.Contains(t, back, "error=login_required")
	})
	t.Run("WhatIsNoEmail", func(t *testing.T) {
		_, _, login := b.get(t, b.oauth.AuthCodeURL("s", pkce))
		for _, email := range []string{"", "  ", "mira", "Mira <mira@example.com>", "<script>@", strings.Repeat("a", 300) + "@example.com"} {
			status, page, _ := b.post(t, login, url.Values{"email": {email}})
			require.Equal(t, http.StatusUnprocessableEntity, status, email)
			require.Contains(t, page, `role="alert"`)
			require.NotContains(t, page, "<script>")
		}
		status, _, callback := b.post(t, login, url.Values{"email": {" mira@example.com "}})
		require.Equal(t, http.StatusSeeOther, status, "the sign-in is still open")
		require.Contains(t, callback, "/authorize/callback")
	})
}

func TestLogoutReturnsToTheClient(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	verifier := oauth2.GenerateVerifier()
	q := b.signIn(t, "mira@example.com", oauth2.S256ChallengeOption(verifier))
	token, err := b.oauth.Exchange(t.Context(), q.Get("code"), oauth2.VerifierOption(verifier))
	require.NoError(t, err)
	back := strings.TrimSuffix(b.url, "/dev/oidc") + "/signed-out"
	ask := url.Values{"id_token_hint": {token.Extra("id_token").(string)}, "post_logout_redirect_uri": {back}}
	status, _, location := b.get(t, b.url+"/end_session?"+ask.Encode())
	require.Equal(t, http.StatusFound, status)
	require.Equal(t, back, location)

	ask.Set("post_logout_redirect_uri", "https://evil.example/")
	status, _, _ = b.get(t, b.url+"/end_session?"+ask.Encode())
	require.Equal(t, http.StatusBadRequest, status)
}

func TestToken(t *testing.T) {
	t.Parallel()
	secret := []byte("0123456789abcdef0123456789abcdef")
	b := setup(t, secret)
	token, err := b.dev.Token(t.Context(), "mira@example.com", "http://x/mcp")
	require.NoError(t, err)
	checked, err := b.provider.Verifier(&oidc.Config{ClientID: "http://x/mcp"}).Verify(context.Background(), token)
	require.NoError(t, err)
	var claims map[string]any
	require.NoError(t, checked.Claims(&claims))
	require.Equal(t, "mira@example.com", claims["email"])
	require.Equal(t, true, claims["email_verified"])
	require.Equal(t, "ap-dev", claims["azp"])
	require.Equal(t, "ap-dev", claims["client_id"])
	require.InDelta(t, issuer.TokenLifetime.Seconds(), claims["exp"].(float64)-claims["iat"].(float64), 2)

	_, err = b.dev.Token(t.Context(), "mira", "x")
	require.Error(t, err)

	t.Run("OutlivesARestart", func(t *testing.T) {
		key := func(b *bundle) string {
			_, body, _ := b.get(t, b.url+"/keys")
			var set struct {
				Keys []struct {
					Kid, X string
				}
			}
			require.NoError(t, json.Unmarshal([]byte(body), &set))
			return set.Keys[0].Kid + set.Keys[0].X
		}
		require.Equal(t, key(b), key(setup(t, secret)))
		require.NotEqual(t, key(b), key(setup(t, nil)))
	})
}
