package web

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
)

func TestToolsAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	session := b.connect(b.agent("intake"))
	list, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		require.NotEmpty(t, tool.Description, tool.Name)
		require.NotNil(t, tool.InputSchema, tool.Name)
		require.NotNil(t, tool.OutputSchema, tool.Name)
		require.Equal(t, readOnly[tool.Name], tool.Annotations.ReadOnlyHint)
	}
	require.ElementsMatch(t, server.Tools(), names)
}

// A fresh agent is taught the loop by what it is told when it connects, and can ask for more.
func TestTheLoopIsTaught(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	session := b.connect(b.agent("intake"))
	told := session.InitializeResult().Instructions
	for _, word := range []string{"get_work", "claim", "submit", "escalate", "renew", "requestId", "<new UUID>", "not_accepted"} {
		require.Contains(t, told, word)
	}
	prompt, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "work"})
	require.NoError(t, err)
	require.Contains(t, prompt.Messages[0].Content.(*mcp.TextContent).Text, "## The loop")
	resource, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ap://guide"})
	require.NoError(t, err)
	for _, tool := range []string{"get_work", "claim", "renew", "upload", "submit", "escalate"} {
		require.Contains(t, resource.Contents[0].Text, "`"+tool)
	}
}

// protocol.md 8: the same JSON as structured content and as text, isError when not ok; schema breaches are results.
func TestResultsComeBothWays(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.publish(twoSteps)
	key := b.agent("intake")
	for _, c := range []struct {
		tool, arguments string
		isError         bool
	}{
		{"describe", `{}`, false},
		{"list_processes", `{}`, false},
		{"get_run", `{"runId":"r_none"}`, true},
		{"get_run", `{}`, true},
		{"get_run", `{"runId":7,"more":1}`, true},
		{"get_run", `[1]`, true},
		{"get_run", `null`, true},
		{"get_run", `"x"`, true},
		{"get_run", `{"runId":"a","runId":"b"}`, true},
		{"get_run", `{"runId":"\ud800"}`, true},
		{"start_run", `{"process":"two-steps","inputs":{"amount":"x"},"requestId":"1"}`, true},
	} {
		r := b.call(key, c.tool, c.arguments)
		require.Nil(t, r.Error, c.arguments)
		require.Equal(t, c.isError, r.Result.IsError, c.arguments)
		require.Len(t, r.Result.Content, 1)
		require.Equal(t, "text", r.Result.Content[0].Type)
		require.JSONEq(t, string(r.Result.StructuredContent), r.Result.Content[0].Text)
		var whole struct {
			OK    bool
			Error *struct{ Code string }
		}
		require.NoError(t, json.Unmarshal(r.Result.StructuredContent, &whole))
		require.Equal(t, !c.isError, whole.OK)
		if c.isError {
			require.NotEmpty(t, whole.Error.Code)
		}
	}
}

// protocol.md 2, Numbers: what was sent is what every read returns, through the transport as well.
func TestNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.publish(twoSteps)
	key := b.agent("intake")
	for _, n := range []string{"48000.00", "9007199254740993", "1e2", "1E+2", "-0", "0.1000000000000000055511151231257827", "123456789012345678901234567890"} {
		r := b.call(key, "start_run", `{"process":"two-steps","inputs":{"amount":`+n+`},"requestId":"n`+n+`"}`)
		var view struct {
			Run  struct{ ID string }
			Data struct{ Inputs map[string]json.RawMessage }
		}
		b.data(r, &view)
		require.Equal(t, n, string(view.Data.Inputs["amount"]))
		require.Contains(t, r.Result.Content[0].Text, `"amount":`+n)
		b.data(b.call(key, "get_run", `{"runId":"`+view.Run.ID+`"}`), &view)
		require.Equal(t, n, string(view.Data.Inputs["amount"]))
	}
}

func TestProtocolErrors(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	key := b.agent("intake")
	r := b.call(key, "no_such_tool", `{}`)
	require.NotNil(t, r.Error)
	require.Equal(t, -32602, r.Error.Code)

	for name, c := range map[string]struct {
		body   string
		status int
		code   int
	}{
		"InvalidUTF8":            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"get_run\",\"arguments\":{\"runId\":\"\xff\"}}}", 400, -32700},
		"NotJSON":                {`{"jsonrpc"`, 400, -32700},
		"Trailing":               {ping + `x`, 400, -32700},
		"TwoMessages":            {ping + ping, 400, -32700},
		"Empty":                  {``, 400, -32700},
		"Batch":                  {`[` + ping + `]`, 400, -32600},
		"TwiceArguments":         {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"describe","arguments":{},"arguments":{}}}`, 400, -32600},
		"TwiceMethod":            {`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, 400, -32600},
		"TwiceInAnotherSpelling": {`{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/list"}`, 400, -32600},
	} {
		t.Run(name, func(t *testing.T) {
			answer, text := b.rpc(key, c.body)
			require.Equal(t, c.status, answer.StatusCode, text)
			var e callResult
			require.NoError(t, json.Unmarshal([]byte(text), &e), text)
			require.Equal(t, c.code, e.Error.Code)
		})
	}
	t.Run("BatchOfAnOldClient", func(t *testing.T) {
		answer, _ := b.rpc(key, `[`+ping+`]`, "MCP-Protocol-Version", "2025-03-26")
		require.Equal(t, http.StatusBadRequest, answer.StatusCode)
	})
	t.Run("DeepNesting", func(t *testing.T) {
		answer, _ := b.rpc(key, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_run","arguments":{"runId":`+strings.Repeat("[", 50000)+strings.Repeat("]", 50000)+`}}}`)
		require.Equal(t, http.StatusBadRequest, answer.StatusCode)
	})
	t.Run("NobodyListensForWhatNeverChanges", func(t *testing.T) {
		answer, text := b.rpc(key, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true}}}`,
			"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
		require.Equal(t, http.StatusNotFound, answer.StatusCode, text)
		require.Contains(t, text, "-32601")
	})
	t.Run("Methods", func(t *testing.T) {
		for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
			r, err := http.NewRequest(method, b.url+"/mcp", nil)
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer "+key)
			answer, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			answer.Body.Close()
			require.Equal(t, http.StatusMethodNotAllowed, answer.StatusCode)
			require.Equal(t, "POST", answer.Header.Get("Allow"))
		}
	})
}

// The largest upload goes through; more is refused, as a result up to the body's limit and with 413 beyond.
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	b := setup(t, nil) // uploads up to 3 MiB
	key := b.agent("intake")
	upload := func(n int) (status int, r callResult) {
		content := base64.StdEncoding.EncodeToString(make([]byte, n))
		answer, text := b.rpc(key, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"upload","arguments":{"fileName":"a.bin","contentType":"application/octet-stream","requestId":"u`+json.Number(content[:0]).String()+string(rune('a'+n%26))+`","contentBase64":"`+content+`"}}}`)
		if answer.StatusCode == http.StatusOK {
			require.NoError(t, json.Unmarshal([]byte(text), &r))
		}
		return answer.StatusCode, r
	}
	status, r := upload(3 << 20)
	require.Equal(t, http.StatusOK, status)
	require.False(t, r.Result.IsError, "%s", r.Result.StructuredContent)
	status, r = upload(3<<20 + 1)
	require.Equal(t, http.StatusOK, status)
	require.True(t, r.Result.IsError)
	require.Contains(t, string(r.Result.StructuredContent), `"invalid"`)
	status, _ = upload(4 << 20)
	require.Equal(t, http.StatusRequestEntityTooLarge, status)

	t.Run("OfUnknownLength", func(t *testing.T) {
		req, err := http.NewRequest(http.MethodPost, b.url+"/mcp", struct{ *strings.Reader }{strings.NewReader(strings.Repeat(" ", 6<<20))})
		require.NoError(t, err)
		req.ContentLength = -1
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		answer.Body.Close()
		require.Equal(t, http.StatusRequestEntityTooLarge, answer.StatusCode)
	})
}

func TestChallenge(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	metadata := `Bearer resource_metadata="` + b.url + `/.well-known/oauth-protected-resource/mcp"`
	t.Run("WithoutAToken", func(t *testing.T) {
		answer, _ := b.rpc("", ping)
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
		require.Equal(t, metadata, answer.Header.Get("WWW-Authenticate"), "RFC 6750 3: no error code without a token")
		answer, _ = b.rpc("", ping, "Authorization", "Basic YTpi")
		require.Equal(t, metadata, answer.Header.Get("WWW-Authenticate"))
	})
	t.Run("WithAnInvalidOne", func(t *testing.T) {
		answer, _ := b.rpc("ap_nope", ping)
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
		require.True(t, strings.HasPrefix(answer.Header.Get("WWW-Authenticate"), metadata+`, error="invalid_token"`))
	})
	t.Run("NotInTheQueryOrACookie", func(t *testing.T) {
		key := b.agent("intake")
		r, err := http.NewRequest(http.MethodPost, b.url+"/mcp?access_token="+key, strings.NewReader(ping))
		require.NoError(t, err)
		r.Header.Set("Cookie", "access_token="+key)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		answer.Body.Close()
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
		require.NotContains(t, b.log.String(), key, "queries aren't logged")
	})
	t.Run("ASessionIsNoToken", func(t *testing.T) {
		br := b.browser()
		br.signIn("mira@example.com", "/login")
		answer, err := br.Post(b.url+"/mcp", "application/json", strings.NewReader(ping))
		require.NoError(t, err)
		answer.Body.Close()
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	})
	t.Run("Metadata", func(t *testing.T) {
		for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
			answer, err := http.Get(b.url + path)
			require.NoError(t, err)
			var m resourceMetadata
			require.NoError(t, json.NewDecoder(answer.Body).Decode(&m))
			answer.Body.Close()
			require.Equal(t, b.url+"/mcp", m.Resource)
			require.Equal(t, []string{b.url + "/dev/oidc"}, m.AuthorizationServers)
			require.Equal(t, []string{"header"}, m.BearerMethods)
			require.Equal(t, "*", answer.Header.Get("Access-Control-Allow-Origin"))
		}
	})
}

func TestRevocationTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	key := b.agent("intake")
	answer, _ := b.rpc(key, ping)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.NoError(t, b.srv.RevokeAgent(t.Context(), "intake"))
	answer, _ = b.rpc(key, ping)
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
}

// MCP, Streamable HTTP, Security Warning: Origin is validated, and on a loopback address so is Host (DNS rebinding).
func TestForeignPagesAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	key := b.agent("intake")
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"OwnOrigin":           {[]string{"Origin", b.url}, 200},
		"AnotherLoopbackPort": {[]string{"Origin", "http://localhost:6274"}, 200},
		"ForeignOrigin":       {[]string{"Origin", "https://evil.example"}, 403},
		"NullOrigin":          {[]string{"Origin", "null"}, 403},
		"ForeignHost":         {[]string{"Host", "evil.example"}, 403},
		"ForeignHostWithPort": {[]string{"Host", "evil.example:8080"}, 403},
		"Localhost":           {[]string{"Host", "localhost:1234"}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			answer, text := b.rpc(key, ping, c.headers...)
			require.Equal(t, c.status, answer.StatusCode, text)
		})
	}
	proxied := setup(t, func(o *Options) { o.BaseURL = "https://ap.example" })
	key = proxied.agent("intake")
	answer, _ := proxied.rpc(key, ping, "Host", "ap.example")
	require.Equal(t, http.StatusOK, answer.StatusCode, "the name a proxy here is called by")
	answer, _ = proxied.rpc(key, ping, "Origin", "http://localhost:6274")
	require.Equal(t, http.StatusForbidden, answer.StatusCode)
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.RateLimit, o.Burst = 0.5, 3 })
	one, two := b.agent("one"), b.agent("two")
	for range 3 {
		answer, _ := b.rpc(one, ping)
		require.Equal(t, http.StatusOK, answer.StatusCode)
	}
	answer, _ := b.rpc(one, ping)
	require.Equal(t, http.StatusTooManyRequests, answer.StatusCode)
	require.Contains(t, []string{"1", "2"}, answer.Header.Get("Retry-After"))
	answer, _ = b.rpc(two, ping)
	require.Equal(t, http.StatusOK, answer.StatusCode, "each identity has its own")
}

func TestInvalidTokensAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	status := 0
	for range 40 {
		answer, _ := b.rpc("ap_nope", ping, "X-Forwarded-For", "198.51.100.1")
		if status = answer.StatusCode; status == http.StatusTooManyRequests {
			require.NotEmpty(t, answer.Header.Get("Retry-After"))
			break
		}
		require.Equal(t, http.StatusUnauthorized, status)
	}
	require.Equal(t, http.StatusTooManyRequests, status)
	answer, _ := b.rpc("ap_nope", ping, "X-Forwarded-For", "198.51.100.2")
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode, "another address")
	answer, _ = b.rpc(b.agent("intake"), ping, "X-Forwarded-For", "198.51.100.1")
	require.Equal(t, http.StatusOK, answer.StatusCode, "a good token from there")
}

func TestConcurrencyIsBounded(t *testing.T) {
	t.Parallel()
	hold, held := make(chan struct{}), make(chan struct{}, 3)
	h := limitConcurrent(2, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			held <- struct{}{}
			<-hold
		}
	}))
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { serve(h, "/wait") })
		<-held
	}
	answer := serve(h, "/inbox")
	require.Equal(t, http.StatusServiceUnavailable, answer.Code)
	require.Equal(t, "1", answer.Header().Get("Retry-After"))
	require.Equal(t, http.StatusOK, serve(h, "/healthz").Code, "probes still work")
	close(hold)
	wg.Wait()
	require.Equal(t, http.StatusOK, serve(h, "/inbox").Code)
}

// The whole loop through the SDK's own client, as an agent would go it, up to the person.
func TestAgentLoop(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.publish(twoSteps)
	session := b.connect(b.agent("intake"))
	call := func(tool string, arguments any, into any) {
		t.Helper()
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		require.NoError(t, err)
		require.False(t, r.IsError, "%+v", r.Content)
		var whole struct{ Data json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(r.Content[0].(*mcp.TextContent).Text), &whole))
		require.NoError(t, json.Unmarshal(whole.Data, into))
	}
	call("start_run", map[string]any{"process": "two-steps", "inputs": map[string]any{"amount": 3}, "requestId": "1"}, &struct{}{})
	var work struct {
		Items []struct {
			Claim struct {
				Tool      string
				Arguments map[string]any
			}
		}
	}
	call("get_work", map[string]any{}, &work)
	require.Len(t, work.Items, 1)
	arguments := work.Items[0].Claim.Arguments
	require.Equal(t, "<new UUID>", arguments["requestId"])
	arguments["requestId"] = "2"
	var claimed struct{ Token string }
	call(work.Items[0].Claim.Tool, arguments, &claimed)
	var view struct {
		Run       struct{ State string }
		WorkItems []struct{ ID, Snapshot string }
	}
	call("submit", map[string]any{"token": claimed.Token, "output": map[string]any{"total": 4}, "summary": "Done.", "requestId": "3"}, &view)
	require.Equal(t, "waiting", view.Run.State)
	require.Len(t, view.WorkItems, 1)
}

// Many callers at once, some of whom hang up halfway: nothing acknowledged is lost and nothing is left running.
func TestLoadLeavesNothingBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	b := setup(t, nil)
	b.publish(twoSteps)
	key := b.agent("intake")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	start := func(ctx context.Context, id string) bool {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+"/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"start_run","arguments":{"process":"two-steps","inputs":{"amount":1},"requestId":"`+id+`"}}}`))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		answer, err := client.Do(r)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return err == nil && answer.StatusCode == http.StatusOK && strings.Contains(string(text), `"structuredContent":{"ok":true`)
	}
	require.True(t, start(t.Context(), "first"))
	client.CloseIdleConnections()
	before := runtime.NumGoroutine()
	var acknowledged atomic.Int64
	acknowledged.Add(1)
	var wg sync.WaitGroup
	for worker := range 16 {
		wg.Go(func() {
			for i := range 20 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%4 == 3 {
					time.AfterFunc(time.Duration(i)*100*time.Microsecond, cancel)
				}
				if start(ctx, fmt.Sprintf("%d-%d", worker, i)) {
					acknowledged.Add(1)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	client.CloseIdleConnections()
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+2 }, 10*time.Second, 20*time.Millisecond, "goroutines are left running")
	counts, err := b.srv.Counts(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, counts.ActiveRuns, int(acknowledged.Load()), "a run that was acknowledged is not there")
	require.LessOrEqual(t, counts.ActiveRuns, 1+16*20)
	require.Greater(t, acknowledged.Load(), int64(16*15))
}
