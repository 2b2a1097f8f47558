package web

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
)

func serve(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for _, url := range []string{"", "ap.example", "ftp://ap.example", "http://", "https://ap.example/", "https://ap.example/ap", "https://u:p@ap.example", "https://ap.example?x", "http://a b"} {
		_, err := Handler(b.srv, Options{BaseURL: url, Sessions: b.db.Sessions()})
		require.ErrorContains(t, err, "base URL", url)
	}
	for issuer, want := range map[string]string{"x": "https", "ftp://x": "https", "http://issuer.example": "plain http"} {
		_, err := Handler(b.srv, Options{BaseURL: "http://127.0.0.1:1", Sessions: b.db.Sessions(), OIDC: OIDCOptions{Issuer: issuer, ClientID: "a"}})
		require.ErrorContains(t, err, want, issuer)
	}
	_, err := Handler(b.srv, Options{BaseURL: "http://127.0.0.1:1", Sessions: b.db.Sessions(), OIDC: OIDCOptions{Issuer: "https://issuer.example"}})
	require.ErrorContains(t, err, "client id")
}

func TestHealth(t *testing.T) {
	t.Parallel()
	var broken error
	closing := make(chan struct{})
	b := setup(t, func(o *Options) {
		o.Ready = func() error { return broken }
		o.Closing = closing
	})
	get := func(path string) (int, string) {
		r, err := http.Get(b.url + path)
		require.NoError(t, err)
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return r.StatusCode, string(text)
	}
	status, text := get("/healthz")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ok\n", text)
	status, text = get("/readyz")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"ready":true,"database":"ok","issuer":"ok"}`, text)
	broken = errors.New("disk full at /secret/path")
	status, text = get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.JSONEq(t, `{"ready":false,"database":"not writable","issuer":"ok"}`, text)
	broken = nil
	close(closing)
	status, _ = get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	status, _ = get("/healthz")
	require.Equal(t, http.StatusOK, status)
}

func TestReadyWithAnIssuerThatIsDown(t *testing.T) {
	t.Parallel()
	f := newForeignIssuer(t)
	f.set(func() { f.down = true })
	b := setup(t, f.options)
	r, err := http.Get(b.url + "/readyz")
	require.NoError(t, err)
	defer r.Body.Close()
	var answer readiness
	require.NoError(t, json.NewDecoder(r.Body).Decode(&answer))
	require.Equal(t, readiness{Ready: true, Database: "ok", Issuer: "unreachable"}, answer)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.publish(twoSteps)
	key := b.agent("intake")
	b.data(b.call(key, "start_run", `{"process":"two-steps","inputs":{"amount":1},"requestId":"1"}`), &struct{}{})
	b.call(key, "get_run", `{"runId":"nope"}`)
	b.rpc("", ping)
	r, err := http.Get(b.url + "/metrics")
	require.NoError(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	for _, line := range []string{
		`ap_tool_calls_total{code="ok",tool="start_run"} 1`,
		`ap_tool_calls_total{code="not_found",tool="get_run"} 1`,
		`ap_tool_call_seconds_count{tool="start_run"} 1`,
		`ap_http_requests_total{route="/mcp",status="200"} 2`,
		`ap_http_requests_total{route="/mcp",status="401"} 1`,
		`ap_ready_steps 1`,
		`ap_active_runs 1`,
		`ap_open_items 0`,
		`ap_timer_lag_seconds 0`,
		`ap_store_up 1`,
		`ap_writes_waiting 0`,
		`ap_commit_writes_bucket{le="128"} `,
		`ap_commit_seconds_count `,
	} {
		require.Contains(t, string(text), "\n"+line)
	}
}

// docs/operations.md lists exactly the metrics there are.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(ap_[a-z_]+)` \\|").FindAllStringSubmatch(string(doc), -1) {
		documented = append(documented, m[1])
	}
	b := setup(t, nil)
	b.publish(twoSteps)
	b.call(b.agent("intake"), "describe", `{}`)
	b.rpc("", ping)
	r, err := http.Get(b.url + "/metrics")
	require.NoError(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	var shown []string
	for _, m := range regexp.MustCompile("(?m)^# TYPE (ap_[a-z_]+) ").FindAllStringSubmatch(string(text), -1) {
		shown = append(shown, m[1])
	}
	require.ElementsMatch(t, documented, shown)
}

// Each call leaves one line with who called what and how it ended; a request can be found by its id.
func TestLogs(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	key := b.agent("intake")
	answer, _ := b.rpc(key, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_run","arguments":{"runId":"nope"}}}`)
	id := answer.Header.Get("X-Request-Id")
	require.NotEmpty(t, id)
	var line string
	for l := range strings.Lines(b.log.String()) {
		if strings.Contains(l, "msg=call") {
			line = l
		}
	}
	for _, want := range []string{"request=" + id, "by=agent:intake", "tool=get_run", "code=not_found", "duration="} {
		require.Contains(t, line, want)
	}
	require.NotContains(t, b.log.String(), key)
}

func TestPanicsStayInside(t *testing.T) {
	t.Parallel()
	log := &bytes.Buffer{}
	b := setup(t, nil)
	h := &site{srv: b.srv, log: slog.New(slog.NewTextHandler(log, nil))}
	var err error
	h.metrics, err = newMetrics(b.srv, nil)
	require.NoError(t, err)
	w := serve(h.logRequests(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the secret reason") })), "/inbox")
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Contains(t, w.Body.String(), "Something went wrong")
	require.Contains(t, w.Body.String(), w.Header().Get("X-Request-Id"))
	require.NotContains(t, w.Body.String(), "the secret reason")
	require.NotContains(t, w.Body.String(), "goroutine")
	require.Contains(t, log.String(), "the secret reason")

	tool := h.tool("describe")
	h.srv = nil
	_, err = tool(t.Context(), nil)
	require.ErrorContains(t, err, "internal error")
	require.NotContains(t, err.Error(), "nil pointer")
}

const filing = `---
name: filing
description: An agent files something.
steps:
  - id: write
    agent: Write.
    evidence: [file]
  - id: done
    finish: done
---
`

// fileURL uploads a file, has it submitted as evidence, and returns its signed URL.
func (b *bundle) fileURL(key, name, kind string, content []byte) string {
	b.t.Helper()
	arguments := func(v any) string {
		text, err := json.Marshal(v)
		require.NoError(b.t, err)
		return string(text)
	}
	var view struct {
		Run  struct{ ID string }
		Data struct {
			Steps struct {
				Write struct{ Evidence []struct{ URL string } }
			}
		}
	}
	b.data(b.call(key, "start_run", arguments(map[string]any{"process": "filing", "inputs": map[string]any{}, "requestId": rand.Text()})), &view)
	var claimed struct{ Token string }
	b.data(b.call(key, "claim", arguments(map[string]any{"runId": view.Run.ID, "stepId": "write", "requestId": rand.Text()})), &claimed)
	var up struct{ ID string }
	b.data(b.call(key, "upload", arguments(map[string]any{"fileName": name, "contentType": kind, "contentBase64": content, "requestId": rand.Text()})), &up)
	b.data(b.call(key, "submit", arguments(map[string]any{"token": claimed.Token, "output": map[string]any{}, "summary": "Filed.",
		"evidence": []map[string]string{{"kind": "file", "ref": up.ID}}, "requestId": rand.Text()})), &view)
	require.Len(b.t, view.Data.Steps.Write.Evidence, 1)
	return view.Data.Steps.Write.Evidence[0].URL
}

func TestFiles(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	doc, issues := process.Parse([]byte(filing), process.Options{})
	require.NotNil(t, doc, "%v", issues)
	require.NoError(t, b.srv.Import(t.Context(), []byte(filing), doc))
	_, err := b.srv.Publish(t.Context(), "filing")
	require.NoError(t, err)
	key := b.agent("intake")
	content := []byte("%PDF-1.7 \x00\xff<script>alert(1)</script>")
	open := func(name, kind string) (*http.Response, []byte) {
		r, err := http.Get(b.fileURL(key, name, kind, content))
		require.NoError(t, err)
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return r, body
	}
	r, body := open("Vertrag Müller.pdf", "application/pdf")
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Equal(t, content, body, "the exact bytes")
	require.Equal(t, "application/pdf", r.Header.Get("Content-Type"))
	require.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"))
	require.Equal(t, "inline; filename*=utf-8''Vertrag%20M%C3%BCller.pdf", r.Header.Get("Content-Disposition"))
	require.Contains(t, r.Header.Get("Content-Security-Policy"), "default-src 'none'")

	r, body = open("evil\".html", "text/html")
	require.Equal(t, content, body)
	require.Equal(t, "application/octet-stream", r.Header.Get("Content-Type"))
	require.Equal(t, "attachment; filename=evil_.html", r.Header.Get("Content-Disposition"))
	require.Contains(t, r.Header.Get("Content-Security-Policy"), "sandbox")

	r, _ = open("a.txt", "text/plain")
	at := r.Request.URL.String()
	t.Run("Forged", func(t *testing.T) {
		for _, url := range []string{strings.Split(at, "?")[0], at + "0", strings.Replace(at, "/files/", "/files/x", 1), b.url + "/files/f_none"} {
			r, err := http.Get(url)
			require.NoError(t, err)
			r.Body.Close()
			require.Contains(t, []int{http.StatusForbidden, http.StatusNotFound}, r.StatusCode, url)
		}
	})
	t.Run("Expired", func(t *testing.T) {
		_, err := b.clock.Advance(time.Hour)
		require.NoError(t, err)
		r, err := http.Get(at)
		require.NoError(t, err)
		defer r.Body.Close()
		require.Equal(t, http.StatusForbidden, r.StatusCode)
		page, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.Contains(t, string(page), "no longer works")
	})
	require.NotContains(t, b.log.String(), strings.Split(at, "?")[1], "a signature is a key")
}

func TestDevRoutes(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	t.Run("Token", func(t *testing.T) {
		token := b.devToken("mira@example.com")
		b.publish(twoSteps)
		var view struct {
			Run struct{ StartedBy string }
		}
		b.data(b.call(token, "start_run", `{"process":"two-steps","inputs":{"amount":1},"requestId":"1"}`), &view)
		require.Equal(t, "agent:ap-dev/mira@example.com", view.Run.StartedBy)

		status, body := b.postJSON("/dev/token", `{"email":"mira@example.com","audience":"https://other.example"}`)
		require.Equal(t, http.StatusOK, status)
		var answer struct {
			Token string `json:"access_token"`
		}
		require.NoError(t, json.Unmarshal([]byte(body), &answer))
		r, _ := b.rpc(answer.Token, ping)
		require.Equal(t, http.StatusUnauthorized, r.StatusCode, "for another audience")
	})
	t.Run("Clock", func(t *testing.T) {
		before := b.clock.Now()
		status, body := b.postJSON("/dev/clock", `{"advance":"3d"}`)
		require.Equal(t, http.StatusOK, status)
		var answer struct{ Now time.Time }
		require.NoError(t, json.Unmarshal([]byte(body), &answer))
		require.GreaterOrEqual(t, answer.Now.Sub(before), 72*time.Hour)
		r, _ := b.rpc(b.devToken("mira@example.com"), ping)
		require.Equal(t, http.StatusOK, r.StatusCode, "bearer tokens stay on real time")
	})
	t.Run("BadBodies", func(t *testing.T) {
		for path, bodies := range map[string][]string{
			"/dev/token": {``, `x`, `[]`, `{}`, `{"email":""}`, `{"email":7}`, `{"email":"mira"}`, `{"email":"a@b.c","x":1}`, `{"email":"a@b.c"} x`},
			"/dev/clock": {``, `x`, `{}`, `{"advance":""}`, `{"advance":3}`, `{"advance":"-1h"}`, `{"advance":"soon"}`, `{"advance":"99999d"}`, `{"days":3}`},
		} {
			for _, body := range bodies {
				status, text := b.postJSON(path, body)
				require.Equal(t, http.StatusBadRequest, status, body)
				var answer struct{ Error, Example string }
				require.NoError(t, json.Unmarshal([]byte(text), &answer))
				require.NotEmpty(t, answer.Error)
				require.NotEmpty(t, answer.Example)
			}
		}
	})
	t.Run("NotWithoutTheFlag", func(t *testing.T) {
		b := setup(t, func(o *Options) { o.Dev = false })
		for _, path := range []string{"/dev/token", "/dev/clock", "/dev/oidc/login", "/dev/oidc/oauth/token"} {
			status, _ := b.postJSON(path, `{"email":"a@b.c","advance":"1h"}`)
			require.Equal(t, http.StatusNotFound, status, path)
		}
		r, err := http.Get(b.url + "/dev/oidc/.well-known/openid-configuration")
		require.NoError(t, err)
		r.Body.Close()
		require.Equal(t, http.StatusNotFound, r.StatusCode)
	})
}
