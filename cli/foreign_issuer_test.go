package cli

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
)

// provider is an identity provider that nobody here wrote (testdata/foreign/issuer.mjs), and a server that uses it.
type provider struct {
	*foreign
	s   *running
	url string
	key string
	cmd *exec.Cmd
}

// newProvider starts a server with the provider, which isn't up yet.
func newProvider(t *testing.T) *provider {
	t.Helper()
	f := newForeign(t)
	o := &provider{foreign: f, url: "http://" + freeAddr(t), key: filepath.Join(f.dir, "key.json")}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	key, err := json.Marshal(jose.JSONWebKey{Key: private, KeyID: "k1", Algorithm: "RS256", Use: "sig"})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(o.key, key, 0o600))
	p := newProgram(t)
	p.publish("new-supplier", "purchasing")
	o.s = p.serve("--addr", "127.0.0.1:0", "--oidc-issuer", o.url, "--oidc-client-id", "ap", "--oidc-client-secret", "ap-secret",
		"--oidc-scopes", "openid,email,profile,groups")
	t.Cleanup(o.down)
	return o
}

// up starts the provider and waits until it listens.
func (o *provider) up() {
	o.t.Helper()
	cmd := o.command(nil, "issuer.mjs", o.url, o.s.url, o.key)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.StdoutPipe()
	require.NoError(o.t, err)
	require.NoError(o.t, cmd.Start())
	o.cmd = cmd
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
	}
	require.Equal(o.t, "ready\n", line, "%s", &errOut)
}

// down ends the provider, if it is up.
func (o *provider) down() {
	if o.cmd != nil {
		_ = o.cmd.Process.Kill()
		_ = o.cmd.Wait()
		o.cmd = nil
	}
}

// token asks the provider for an access token for a resource, or for one that names none.
func (o *provider) token(resource string) string {
	o.t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}}
	if resource != "" {
		form.Set("resource", resource)
	}
	r, err := http.NewRequestWithContext(o.t.Context(), http.MethodPost, o.url+"/token", strings.NewReader(form.Encode()))
	require.NoError(o.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth("robot", "robot-secret")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(o.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(o.t, err)
	var said struct {
		Token string `json:"access_token"`
	}
	require.NoError(o.t, json.Unmarshal(text, &said))
	require.NotEmpty(o.t, said.Token, "%s", text)
	return said.Token
}

// signIn signs a visitor in with a login, beginning at a page of the server, and returns where that ended.
func (o *provider) signIn(v *visitor, login, at string) *page {
	v.t.Helper()
	asked := v.open(o.s.url + at)
	require.True(v.t, strings.HasPrefix(asked.at.String(), o.url), "not at the provider but at %s (%d): %s", asked.at, asked.status, asked.text)
	return asked.press("Sign-in", map[string]string{"login": login, "password": "any"}).press("Continue", nil)
}

func TestAForeignProviderSignsPeopleIn(t *testing.T) {
	t.Parallel()
	o := newProvider(t)
	o.up()
	var started struct{ Run struct{ ID string } }
	o.s.json(&started, "run", "new-supplier", "--input", "supplier=Lindwurm", "--input", "country=AT", "--input", "yearlySpend=1")
	x := &story{T: t, s: o.s, key: strings.TrimSpace(o.s.ok("agent", "add", "trial", "--quiet"))}
	x.submit(x.claim(started.Run.ID).Token, x.upload("report.txt", "found"), "Checked.", "approval")
	item := x.view(started.Run.ID).WorkItems[0]

	t.Run("WithAGroupFromItsClaimWhoDecidesAndSignsOut", func(t *testing.T) {
		v := newVisitor(t)
		there := o.signIn(v, "mira@example.com", "/items/"+item.ID)
		require.Equal(t, "/items/"+item.ID, there.at.Path, "the page that was asked for")
		require.Equal(t, http.StatusOK, there.status)
		require.Contains(t, there.text, "Lindwurm")

		out := there.press("Sign out", nil).follow("Continue").press("Yes, sign me out", nil)
		require.Equal(t, o.s.url+"/signed-out", out.at.String())
		there = o.signIn(v, "mira@example.com", "/items/"+item.ID) // which has to ask again
		require.Equal(t, http.StatusOK, there.press("Approve", nil).status)
		var view runView
		o.s.json(&view, "runs", started.Run.ID)
		require.Equal(t, run.RunEnded, view.Run.State)
		require.Contains(t, string(view.Data), `"mira@example.com"`)
	})
	t.Run("WithoutAGroupsClaim", func(t *testing.T) {
		v := newVisitor(t)
		there := o.signIn(v, "joe@example.com", "/inbox")
		require.Equal(t, http.StatusOK, there.status)
		require.Equal(t, "/inbox", there.at.Path)
		require.Contains(t, there.text, "joe@example.com")
		require.NotContains(t, there.text, "/items/")
	})
	for _, login := range []string{"unverified@example.com", "nameless"} {
		t.Run("Not/"+login, func(t *testing.T) {
			v := newVisitor(t)
			there := o.signIn(v, login, "/inbox")
			require.Equal(t, http.StatusForbidden, there.status)
			require.Contains(t, there.text, `role="alert"`)
			o.nobody(v)
		})
	}
	t.Run("NotWhoeverBacksOut", func(t *testing.T) {
		v := newVisitor(t)
		there := v.open(o.s.url + "/inbox").follow("[ Cancel ]")
		require.Equal(t, http.StatusForbidden, there.status)
		require.Contains(t, there.text, "refused the sign-in")
		o.nobody(v)
	})
}

// nobody checks that a visitor isn't signed in: the server sends them to sign in.
func (o *provider) nobody(v *visitor) {
	v.t.Helper()
	client := *v.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := client.Get(o.s.url + "/inbox")
	require.NoError(v.t, err)
	defer answer.Body.Close()
	require.Equal(v.t, http.StatusFound, answer.StatusCode)
	require.Equal(v.t, "/login?next=%2Finbox", answer.Header.Get("Location"))
}

// What somebody between the browser and the two servers could bend is noticed.
func TestABentSignInAtAForeignProviderSignsNobodyIn(t *testing.T) {
	t.Parallel()
	o := newProvider(t)
	o.up()
	asking := func(to *url.URL) bool { return to.Host == strings.TrimPrefix(o.url, "http://") && to.Path == "/auth" }
	answering := func(to *url.URL) bool { return to.Path == "/auth/callback" }
	for name, c := range map[string]struct {
		when         func(to *url.URL) bool
		param, value string
		status       int
	}{
		"AnotherNonce":           {asking, "nonce", "bent", http.StatusBadGateway},
		"AnotherState":           {asking, "state", "bent", http.StatusBadRequest},
		"AnotherClientsAudience": {asking, "client_id", "another", http.StatusBadGateway},
		"AnotherChallenge":       {asking, "code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", http.StatusBadGateway},
		"AnotherStateInTheEnd":   {answering, "state", "bent", http.StatusBadRequest},
		"AnotherCode":            {answering, "code", "bent", http.StatusBadGateway},
		"AnotherIssuerAnswers":   {answering, "iss", "https://evil.example", http.StatusBadGateway},
	} {
		t.Run(name, func(t *testing.T) {
			v, bent := newVisitor(t), false
			v.bend = func(to *url.URL) {
				if q := to.Query(); c.when(to) {
					require.NotEmpty(t, q.Get(c.param))
					q.Set(c.param, c.value)
					to.RawQuery, bent = q.Encode(), true
				}
			}
			there := o.signIn(v, "mira@example.com", "/inbox")
			require.True(t, bent)
			require.Equal(t, c.status, there.status, there.text)
			require.Contains(t, there.text, `role="alert"`)
			o.nobody(v)
		})
	}
	t.Run("TheSameAnswerTwice", func(t *testing.T) {
		v := newVisitor(t)
		o.signIn(v, "mira@example.com", "/inbox")
		var answer *url.URL
		for _, to := range v.seen {
			if answering(to) {
				answer = to
			}
		}
		require.NotNil(t, answer)
		require.Equal(t, http.StatusBadRequest, v.open(answer.String()).status)
		require.Equal(t, http.StatusBadRequest, newVisitor(t).open(answer.String()).status, "in another browser")
	})
}

func TestAForeignProviderGoesDownAndComesBack(t *testing.T) {
	t.Parallel()
	o := newProvider(t)
	v := newVisitor(t)
	there := v.open(o.s.url + "/login?next=/runs")
	require.Equal(t, http.StatusServiceUnavailable, there.status)
	require.Contains(t, there.text, "does not answer")

	o.up()
	require.Equal(t, "/runs", o.signIn(v, "mira@example.com", "/login?next=/runs").at.Path)
	token := o.token(o.s.url + "/mcp")
	require.Equal(t, http.StatusOK, o.s.ping(token))

	o.down()
	require.Equal(t, http.StatusOK, v.open(o.s.url+"/runs").status, "whoever is signed in stays so")
	require.Equal(t, http.StatusOK, o.s.ping(token), "the provider's keys are known")
	late := newVisitor(t)
	asked, err := late.client.Get(o.s.url + "/inbox")
	if err == nil {
		asked.Body.Close()
	}
	require.Error(t, err, "the browser can't reach the provider either")

	o.up()
	require.Equal(t, "/inbox", o.signIn(late, "joe@example.com", "/inbox").at.Path)
	require.Equal(t, http.StatusOK, o.s.ping(o.token(o.s.url+"/mcp")))
}

// ping sends MCP's ping with a token and returns the status of the answer.
func (s *running) ping(token string) int {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(s.t, err)
	return answer.StatusCode
}

func TestAccessTokensOfAForeignProvider(t *testing.T) {
	t.Parallel()
	o := newProvider(t)
	o.up()

	// A client that knows nothing but the server's URL finds the provider, gets a token there and works.
	var started struct {
		OK   bool
		Data runView
	}
	require.NoError(t, json.Unmarshal([]byte(o.run(nil, "discover.mjs", o.s.url+"/mcp", "robot", "robot-secret")), &started))
	require.True(t, started.OK)
	require.Equal(t, "agent:robot/robot", started.Data.Run.StartedBy)

	var tokens struct{ Good, Bad map[string]string }
	require.NoError(t, json.Unmarshal([]byte(o.run(nil, "forge.mjs", o.url, o.s.url, o.key)), &tokens))
	tokens.Good["OfTheProvider"] = o.token(o.s.url + "/mcp")
	tokens.Bad["OfTheProviderForElsewhere"] = o.token("urn:example:elsewhere")
	tokens.Bad["OfTheProviderWithItsPublicKeyAsSecret"] = o.token("urn:example:public-key-as-secret")
	tokens.Bad["OfTheProviderOpaque"] = o.token("")
	require.Len(t, tokens.Good, 4)
	require.Len(t, tokens.Bad, 15)
	for name, token := range tokens.Good {
		require.Equal(t, http.StatusOK, o.s.ping(token), name)
	}
	for name, token := range tokens.Bad {
		require.Equal(t, http.StatusUnauthorized, o.s.ping(token), name)
		require.NotContains(t, o.s.log.String(), token, "a token in the log")
	}
	c := o.s.connect(tokens.Good["OneAudience"])
	var view runView
	require.NoError(t, c.call(t.Context(), "start_run", map[string]any{"process": "new-supplier", "requestId": newRequestID(),
		"inputs": map[string]any{"supplier": "Lindwurm", "country": "AT", "yearlySpend": 1}}, &view))
	require.Equal(t, "agent:desk/mira@example.com", view.Run.StartedBy, "a client acting for a person is no person")
}
