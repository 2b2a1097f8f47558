package web

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
)

// bundle is a whole server on a real port: the database in a temporary directory, dev mode, a movable clock.
type bundle struct {
	t     *testing.T
	url   string
	ts    *httptest.Server
	srv   *server.Server
	db    *db.DB
	clock *server.MovableClock
	log   *logBuffer
}

// logBuffer keeps what the server logs.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// setup starts a server; change, if not nil, changes its options.
func setup(t *testing.T, change func(o *Options)) *bundle {
	t.Helper()
	b := &bundle{t: t, log: &logBuffer{}}
	var handler http.Handler
	b.ts = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	b.url = "http://" + b.ts.Listener.Addr().String()
	var err error
	b.db, err = db.Open(t.Context(), t.TempDir(), db.Options{})
	require.NoError(t, err)
	b.clock, err = server.OpenMovableClock(t.Context(), b.db)
	require.NoError(t, err)
	logger := slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.srv = server.New(b.db, b.db.Files(), server.Options{Secret: b.db.Secret(), BaseURL: b.url, Clock: b.clock, Logger: logger, MaxUploadBytes: 3 << 20})
	opts := Options{BaseURL: b.url, Logger: logger, Dev: true, DevClock: b.clock, Sessions: b.db.Sessions(), Ready: b.db.Writable, Version: "test", Collectors: b.db.Collectors()}
	if change != nil {
		change(&opts)
	}
	handler, err = Handler(b.srv, opts)
	require.NoError(t, err)
	b.ts.Start()
	t.Cleanup(func() {
		b.ts.CloseClientConnections()
		b.ts.Close()
		require.NoError(t, b.db.Close())
	})
	return b
}

const twoSteps = `---
name: two-steps
description: An agent writes, a person approves.
inputs:
  amount: number
steps:
  - id: write
    agent: Write.
    output: { total: number }
  - id: approve
    person: approver
    approve: Is it right?
    on_reject: write
  - id: done
    finish: done
---
Body.
`

// publish publishes a process and binds its role approver to the group approvers, in which mira is.
func (b *bundle) publish(source string) {
	b.t.Helper()
	doc, issues := process.Parse([]byte(source), process.Options{})
	require.NotNil(b.t, doc, "%v", issues)
	ctx := b.t.Context()
	require.NoError(b.t, b.srv.Import(ctx, []byte(source), doc))
	require.NoError(b.t, b.srv.Bind(ctx, doc.Name, map[string]string{"approver": "approvers"}))
	require.NoError(b.t, b.srv.AddMembers(ctx, "approvers", []string{"mira@example.com"}))
	_, err := b.srv.Publish(ctx, doc.Name)
	require.NoError(b.t, err)
}

// agent makes an agent and returns its key.
func (b *bundle) agent(name string) string {
	b.t.Helper()
	key, err := b.srv.AddAgent(b.t.Context(), name, nil, 0)
	require.NoError(b.t, err)
	return key
}

// devToken asks for an access token.
func (b *bundle) devToken(email string) string {
	b.t.Helper()
	var answer struct {
		Token string `json:"access_token"`
	}
	status, body := b.postJSON("/dev/token", `{"email":"`+email+`"}`)
	require.Equal(b.t, http.StatusOK, status, body)
	require.NoError(b.t, json.Unmarshal([]byte(body), &answer))
	return answer.Token
}

func (b *bundle) postJSON(path, body string) (status int, answer string) {
	b.t.Helper()
	r, err := http.Post(b.url+path, "application/json", strings.NewReader(body))
	require.NoError(b.t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(b.t, err)
	return r.StatusCode, string(text)
}

// withToken is an http.RoundTripper that sends a bearer token.
type withToken string

func (k withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// connect connects the SDK's client with a token.
func (b *bundle) connect(token string) *mcp.ClientSession {
	b.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(b.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: b.url + "/mcp", HTTPClient: &http.Client{Transport: withToken(token)},
	}, nil)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { session.Close() })
	return session
}

// rpc posts one JSON-RPC body to /mcp as it is.
func (b *bundle) rpc(token, body string, headers ...string) (*http.Response, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url+"/mcp", strings.NewReader(body))
	require.NoError(b.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2025-06-18")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(b.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(b.t, err)
	return answer, string(text)
}

// callResult is a tool's result on the wire.
type callResult struct {
	Result struct {
		IsError           bool            `json:"isError"`
		StructuredContent json.RawMessage `json:"structuredContent"`
		Content           []struct{ Type, Text string }
	} `json:"result"`
	Error *struct {
		Code    int
		Message string
	} `json:"error"`
}

// call calls a tool with arguments as they are and returns its result.
func (b *bundle) call(token, tool, arguments string) callResult {
	b.t.Helper()
	answer, text := b.rpc(token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`)
	require.Equal(b.t, http.StatusOK, answer.StatusCode, text)
	var result callResult
	require.NoError(b.t, json.Unmarshal([]byte(text), &result))
	return result
}

// data is the data of a result that is ok.
func (b *bundle) data(r callResult, into any) {
	b.t.Helper()
	require.Nil(b.t, r.Error)
	require.False(b.t, r.Result.IsError, "%s", r.Result.StructuredContent)
	var whole struct {
		OK   bool
		Data json.RawMessage
	}
	require.NoError(b.t, json.Unmarshal(r.Result.StructuredContent, &whole))
	require.True(b.t, whole.OK)
	require.NoError(b.t, json.Unmarshal(whole.Data, into))
}

// browser is a client with cookies that follows redirects.
type browser struct {
	*http.Client
	b *bundle
}

func (b *bundle) browser() *browser {
	b.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(b.t, err)
	return &browser{Client: &http.Client{Jar: jar, Timeout: 30 * time.Second}, b: b}
}

// get opens a page and returns where that ended.
func (br *browser) get(path string) (r *http.Response, body string) {
	br.b.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = br.b.url + path
	}
	r, err := br.Get(path)
	require.NoError(br.b.t, err)
	return r, br.read(r)
}

// post sends a form as a page of the site would.
func (br *browser) post(path string, form url.Values) (r *http.Response, body string) {
	br.b.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = br.b.url + path
	}
	req, err := http.NewRequestWithContext(br.b.t.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
	require.NoError(br.b.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	r, err = br.Do(req)
	require.NoError(br.b.t, err)
	return r, br.read(r)
}

func (br *browser) read(r *http.Response) string {
	br.b.t.Helper()
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(br.b.t, err)
	return string(text)
}

var formAction = regexp.MustCompile(`(?s)<form[^>]* class="stack login"[^>]* action="([^"]+)"`)

// signIn signs in at the dev issuer, beginning at a page.
func (br *browser) signIn(email, at string) (r *http.Response, body string) {
	br.b.t.Helper()
	_, page := br.get(at)
	m := formAction.FindStringSubmatch(page)
	require.NotNil(br.b.t, m, "no sign-in form:\n%s", page)
	return br.post(strings.ReplaceAll(m[1], "&amp;", "&"), url.Values{"email": {email}})
}
