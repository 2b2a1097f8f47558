package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// foreignIssuer is an identity provider that does what a test wants: it signs in whoever its claims say.
type foreignIssuer struct {
	t   *testing.T
	ts  *httptest.Server
	url string

	mu   sync.Mutex
	keys []jose.JSONWebKey // private; the last one signs
	down bool
	// idClaims and infoClaims change the claims of the next ID token and userinfo; nil deletes one.
	idClaims, infoClaims map[string]any
	// asked are the parameters of the last authorization request.
	asked map[string]string
	codes map[string]map[string]string
	// noInfo leaves the userinfo endpoint out, noLogout the end of sessions.
	noInfo, noLogout bool
}

const foreignClient = "ap-client"

func newForeignIssuer(t *testing.T) *foreignIssuer {
	t.Helper()
	f := &foreignIssuer{t: t, codes: map[string]map[string]string{}}
	f.rotate("k1")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", f.discovery)
	mux.HandleFunc("GET /keys", f.serveKeys)
	mux.HandleFunc("GET /authorize", f.authorize)
	mux.HandleFunc("POST /token", f.token)
	mux.HandleFunc("GET /userinfo", f.userinfo)
	f.ts = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		down := f.down
		f.mu.Unlock()
		if down {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(f.ts.Close)
	f.url = f.ts.URL
	return f
}

// set changes the issuer between requests.
func (f *foreignIssuer) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// rotate makes a new key that signs from now on; the old ones are gone.
func (f *foreignIssuer) rotate(id string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(f.t, err)
	f.set(func() { f.keys = []jose.JSONWebKey{{Key: key, KeyID: id, Algorithm: "ES256", Use: "sig"}} })
}

func (f *foreignIssuer) discovery(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	answer := map[string]any{
		"issuer": f.url, "authorization_endpoint": f.url + "/authorize", "token_endpoint": f.url + "/token", "jwks_uri": f.url + "/keys",
		"userinfo_endpoint": f.url + "/userinfo", "end_session_endpoint": f.url + "/end", "id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
	}
	if f.noInfo {
		delete(answer, "userinfo_endpoint")
	}
	if f.noLogout {
		delete(answer, "end_session_endpoint")
	}
	writeJSON(w, http.StatusOK, answer)
}

func (f *foreignIssuer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	set := jose.JSONWebKeySet{}
	for _, k := range f.keys {
		set.Keys = append(set.Keys, k.Public())
	}
	writeJSON(w, http.StatusOK, set)
}

func (f *foreignIssuer) authorize(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = map[string]string{}
	for name := range r.URL.Query() {
		f.asked[name] = r.URL.Query().Get(name)
	}
	code := rand.Text()
	f.codes[code] = f.asked
	http.Redirect(w, r, f.asked["redirect_uri"]+"?code="+code+"&state="+f.asked["state"], http.StatusFound)
}

func (f *foreignIssuer) token(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	asked, ok := f.codes[r.FormValue("code")]
	delete(f.codes, r.FormValue("code"))
	claims := f.claims(map[string]any{"aud": foreignClient, "nonce": asked["nonce"], "auth_time": time.Now().Unix()}, f.idClaims)
	f.mu.Unlock()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != asked["code_challenge"] {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"access_token": "opaque", "token_type": "Bearer", "expires_in": 60, "id_token": f.sign(claims)})
}

func (f *foreignIssuer) userinfo(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	answer := map[string]any{"sub": "u1"}
	change(answer, f.infoClaims)
	writeJSON(w, http.StatusOK, answer)
}

func change(claims, changes map[string]any) {
	for name, value := range changes {
		if value == nil {
			delete(claims, name)
			continue
		}
		claims[name] = value
	}
}

// claims are the claims of a good token for mira, changed.
func (f *foreignIssuer) claims(changes ...map[string]any) map[string]any {
	now := time.Now()
	claims := map[string]any{
		"iss": f.url, "sub": "u1", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "email": "mira@example.com", "email_verified": true,
	}
	for _, c := range changes {
		change(claims, c)
	}
	return claims
}

// sign signs claims with the issuer's key.
func (f *foreignIssuer) sign(claims map[string]any) string {
	f.mu.Lock()
	key := f.keys[len(f.keys)-1]
	f.mu.Unlock()
	return signJWT(f.t, jose.ES256, key, key.KeyID, claims)
}

func signJWT(t *testing.T, alg jose.SignatureAlgorithm, key any, id string, claims map[string]any) string {
	t.Helper()
	options := (&jose.SignerOptions{}).WithType("at+jwt")
	if id != "" {
		options = options.WithHeader("kid", id)
	}
	if k, ok := key.(jose.JSONWebKey); ok {
		key = k.Key
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, options)
	require.NoError(t, err)
	payload, err := json.Marshal(claims)
	require.NoError(t, err)
	signed, err := signer.Sign(payload)
	require.NoError(t, err)
	token, err := signed.CompactSerialize()
	require.NoError(t, err)
	return token
}

// options make a server use the issuer.
func (f *foreignIssuer) options(o *Options) {
	o.Dev = false
	o.OIDC.Issuer, o.OIDC.ClientID, o.OIDC.ClientSecret = f.url, foreignClient, "secret"
}

// access is an access token for /mcp of a server, changed.
func (f *foreignIssuer) access(b *bundle, changes map[string]any) string {
	return f.sign(f.claims(map[string]any{"aud": b.url + "/mcp", "azp": "claude"}, changes))
}

// Everything an attacker could sign or bend: none of it is a token here (RFC 8725).
func TestTokensThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newForeignIssuer(t)
	b := setup(t, f.options)
	good := f.claims(map[string]any{"aud": b.url + "/mcp", "azp": "claude"})
	answer, body := b.rpc(f.sign(good), ping)
	require.Equal(t, http.StatusOK, answer.StatusCode, body)

	with := func(changes map[string]any) map[string]any {
		c := maps.Clone(good)
		change(c, changes)
		return c
	}
	unsigned := func(alg string, claims map[string]any) string {
		payload, err := json.Marshal(claims)
		require.NoError(t, err)
		return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"`+alg+`","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(payload) + "."
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	f.mu.Lock()
	key := f.keys[0]
	f.mu.Unlock()
	der, err := x509.MarshalPKIXPublicKey(key.Public().Key)
	require.NoError(t, err)
	public, err := key.Public().MarshalJSON()
	require.NoError(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	now := time.Now()

	for name, token := range map[string]string{
		"AnotherAudience":          f.sign(with(map[string]any{"aud": "https://other.example/mcp"})),
		"TheClientAsAudience":      f.sign(with(map[string]any{"aud": foreignClient})),
		"NoAudience":               f.sign(with(map[string]any{"aud": nil})),
		"AudienceWithoutPath":      f.sign(with(map[string]any{"aud": b.url})),
		"AnotherIssuer":            f.sign(with(map[string]any{"iss": "https://evil.example"})),
		"NoIssuer":                 f.sign(with(map[string]any{"iss": nil})),
		"Expired":                  f.sign(with(map[string]any{"exp": now.Add(-time.Second).Unix()})),
		"NoExpiry":                 f.sign(with(map[string]any{"exp": nil})),
		"NotYetValid":              f.sign(with(map[string]any{"nbf": now.Add(time.Hour).Unix()})),
		"IssuedInTheFuture":        f.sign(with(map[string]any{"iat": now.Add(time.Hour).Unix()})),
		"Nobody":                   f.sign(with(map[string]any{"sub": nil, "email": nil})),
		"AlgorithmNone":            unsigned("none", good),
		"AlgorithmNoneInCapitals":  unsigned("NONE", good),
		"NoSignature":              unsigned("ES256", good),
		"HS256WithThePublicKeyPEM": signJWT(t, jose.HS256, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), key.KeyID, good),
		"HS256WithThePublicKeyDER": signJWT(t, jose.HS256, der, key.KeyID, good),
		"HS256WithThePublicJWK":    signJWT(t, jose.HS256, public, key.KeyID, good),
		"AnotherKeyOfThatName":     signJWT(t, jose.ES256, other, key.KeyID, good),
		"AnotherKeyWithoutAName":   signJWT(t, jose.ES256, other, "", good),
		"AnRSAKeyOfThatName":       signJWT(t, jose.RS256, rsaKey, key.KeyID, good),
		"TamperedClaims":           tamper(f.sign(good), f.sign(with(map[string]any{"email": "boss@example.com"}))),
		"NoJWT":                    "a.b.c",
		"AnUnknownKey":             "ap_0123456789",
	} {
		t.Run(name, func(t *testing.T) {
			answer, body := b.rpc(token, ping, "X-Forwarded-For", "198.51.100.1")
			if answer.StatusCode == http.StatusTooManyRequests {
				answer, body = b.rpc(token, ping, "X-Forwarded-For", "198.51.100.2")
			}
			require.Equal(t, http.StatusUnauthorized, answer.StatusCode, body)
			require.Contains(t, answer.Header.Get("WWW-Authenticate"), `error="invalid_token"`)
			require.NotContains(t, b.log.String(), token)
			require.NotContains(t, body, token)
		})
	}
}

// tamper puts the claims of one token between the header and the signature of another.
func tamper(a, b string) string {
	one, two := splitJWT(a), splitJWT(b)
	return one[0] + "." + two[1] + "." + one[2]
}

func splitJWT(token string) []string {
	var parts []string
	start := 0
	for i := range token {
		if token[i] == '.' {
			parts = append(parts, token[start:i])
			start = i + 1
		}
	}
	return append(parts, token[start:])
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestKeyRotation(t *testing.T) {
	t.Parallel()
	f := newForeignIssuer(t)
	b := setup(t, f.options)
	before := f.access(b, nil)
	answer, _ := b.rpc(before, ping)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	f.rotate("k2")
	answer, _ = b.rpc(f.access(b, nil), ping)
	require.Equal(t, http.StatusOK, answer.StatusCode, "a new key is found")
	answer, _ = b.rpc(before, ping)
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode, "the old key no longer counts")
}

// A token that can't be checked isn't called invalid: the client would throw it away.
func TestTheIssuerIsDownForTokens(t *testing.T) {
	t.Parallel()
	f := newForeignIssuer(t)
	f.set(func() { f.down = true })
	b := setup(t, f.options)
	token := f.access(b, nil)
	answer, _ := b.rpc(token, ping)
	require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
	require.NotEmpty(t, answer.Header.Get("Retry-After"))
	answer, _ = b.rpc(b.agent("intake"), ping)
	require.Equal(t, http.StatusOK, answer.StatusCode, "agent keys need no issuer")

	f.set(func() { f.down = false })
	answer, _ = b.rpc(token, ping)
	require.Equal(t, http.StatusOK, answer.StatusCode, "and it recovers")

	f.rotate("k2")
	f.set(func() { f.down = true })
	answer, _ = b.rpc(f.access(b, nil), ping)
	require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode, "the new key can't be read")
}

func TestWhoATokenStandsFor(t *testing.T) {
	t.Parallel()
	f := newForeignIssuer(t)
	startedBy := func(b *bundle, token string) string {
		var view struct {
			Run struct{ StartedBy string }
		}
		b.data(b.call(token, "start_run", `{"process":"two-steps","inputs":{"amount":1},"requestId":"`+rand.Text()+`"}`), &view)
		return view.Run.StartedBy
	}
	t.Run("TheClientActingForAPerson", func(t *testing.T) {
		b := setup(t, f.options)
		b.publish(twoSteps)
		require.Equal(t, "agent:claude/mira@example.com", startedBy(b, f.access(b, nil)))
		require.Equal(t, "agent:claude/mira@example.com", startedBy(b, f.access(b, map[string]any{"email": "Mira@Example.com"})))
		require.Equal(t, "agent:claude/u1", startedBy(b, f.access(b, map[string]any{"email": nil})))
		require.Equal(t, "agent:claude/u1", startedBy(b, f.access(b, map[string]any{"email_verified": false})), "an e-mail that isn't verified names nobody")
		require.Equal(t, "agent:unknown/mira@example.com", startedBy(b, f.access(b, map[string]any{"azp": nil})))

		r := b.call(f.access(b, nil), "decide", `{"runId":"r","workItemId":"w","snapshot":"s","decision":"approved","requestId":"x"}`)
		require.True(t, r.Result.IsError)
	})
	t.Run("ThePersonWithPeopleOverMCP", func(t *testing.T) {
		b := setup(t, func(o *Options) { f.options(o); o.PeopleOverMCP = true })
		b.publish(twoSteps)
		require.Equal(t, "mira@example.com", startedBy(b, f.access(b, nil)))
		require.Equal(t, "agent:claude/u1", startedBy(b, f.access(b, map[string]any{"email_verified": false})))
		require.Equal(t, "agent:claude/u1", startedBy(b, f.access(b, map[string]any{"email": nil})))
		require.Contains(t, b.log.String(), "people-over-mcp is on")
	})
	t.Run("AnAudienceOfItsOwn", func(t *testing.T) {
		b := setup(t, func(o *Options) { f.options(o); o.OIDC.Audience = "https://api.example" })
		answer, _ := b.rpc(f.access(b, map[string]any{"aud": []string{"x", "https://api.example"}}), ping)
		require.Equal(t, http.StatusOK, answer.StatusCode)
		answer, _ = b.rpc(f.access(b, nil), ping)
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	})
	t.Run("NobodyWithoutAnIssuer", func(t *testing.T) {
		b := setup(t, func(o *Options) { o.Dev = false })
		answer, _ := b.rpc(f.access(b, nil), ping)
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	})
}
