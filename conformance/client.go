package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// caller is one identity at the server under test: a bearer token and the MCP session opened with it.
type caller struct {
	name     string // as the report names it: "agent", "agent2", an e-mail
	endpoint string
	token    string
	http     *http.Client

	once    sync.Once
	session *mcp.ClientSession
	err     error
}

// bearer adds the caller's token to each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

func newCaller(name, endpoint, token string, transport http.RoundTripper) *caller {
	return &caller{name: name, endpoint: endpoint, token: token, http: &http.Client{Transport: bearer{token, transport}}}
}

func (c *caller) connect(ctx context.Context) (*mcp.ClientSession, error) {
	c.once.Do(func() {
		client := mcp.NewClient(&mcp.Implementation{Name: "agentprocess-conformance", Version: "1"}, nil)
		c.session, c.err = client.Connect(ctx, &mcp.StreamableClientTransport{
			Endpoint: c.endpoint, HTTPClient: c.http, DisableStandaloneSSE: true, MaxRetries: -1,
		}, nil)
	})
	return c.session, c.err
}

func (c *caller) close() {
	if c.session != nil {
		c.session.Close()
	}
}

// call is one tool call and its answer, as the report shows it.
type call struct {
	Caller    string          `json:"caller"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	// Answer is the {"ok":…} object; nil when the call failed below the tools.
	Answer json.RawMessage `json:"answer,omitempty"`
	// Failed says how the call failed below the tools: a protocol or transport error.
	Failed string `json:"failed,omitempty"`

	body    map[string]any
	isError bool
}

// do calls a tool. The answer is taken from the text content, which keeps the digits of numbers, and is compared with
// structuredContent.
func (c *caller) do(ctx context.Context, tool string, args json.RawMessage) *call {
	out := &call{Caller: c.name, Tool: tool, Arguments: args}
	session, err := c.connect(ctx)
	if err != nil {
		out.Failed = "connecting: " + err.Error()
		return out
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		out.Failed = err.Error()
		return out
	}
	out.isError = res.IsError
	if len(res.Content) != 1 {
		out.Failed = fmt.Sprintf("expected one content block, got %d", len(res.Content))
		return out
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		out.Failed = fmt.Sprintf("expected a text content block, got %T", res.Content[0])
		return out
	}
	body, err := decode([]byte(text.Text))
	if err != nil {
		out.Failed = "the text content is not a JSON object: " + err.Error()
		return out
	}
	out.Answer, out.body = json.RawMessage(text.Text), body
	out.Failed = compareStructured(body, res)
	return out
}

// compareStructured says how structuredContent differs from the text; "" when it doesn't. Through the SDK numbers are
// doubles, so they are compared as doubles here; the digits have a case of their own.
func compareStructured(body map[string]any, res *mcp.CallToolResult) string {
	structured, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return "structuredContent: " + err.Error()
	}
	var a, b any
	text, _ := json.Marshal(body)
	if json.Unmarshal(text, &a) != nil || json.Unmarshal(structured, &b) != nil {
		return "structuredContent is not JSON"
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if !bytes.Equal(x, y) {
		return "structuredContent differs from the text content: " + string(structured)
	}
	if ok, _ := body["ok"].(bool); ok == res.IsError {
		return fmt.Sprintf("isError is %v on a result with ok: %v", res.IsError, ok)
	}
	return ""
}

// decode reads one JSON object, numbers with their digits.
func decode(b []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return v, nil
}

// ok says whether the call was answered {ok:true}.
func (c *call) ok() bool {
	ok, _ := c.body["ok"].(bool)
	return ok && c.Failed == ""
}

// code is the error code, or "" for none.
func (c *call) code() string { s, _ := lookup(c.body, "error.code").(string); return s }

// issues are the error's issues.
func (c *call) issues() []string {
	list, _ := lookup(c.body, "error.issues").([]any)
	var out []string
	for _, x := range list {
		out = append(out, fmt.Sprint(x))
	}
	return out
}

// get is the value at a path within data, such as "run.state" or "items.0.claim.arguments.stepId"; nil when absent.
func (c *call) get(path string) any { return lookup(c.body, "data."+path) }

// str is get for a string; "" when it is none.
func (c *call) str(path string) string { s, _ := c.get(path).(string); return s }

// list is get for an array.
func (c *call) list(path string) []any { l, _ := c.get(path).([]any); return l }

// lookup walks maps and arrays by a dotted path. A key that itself holds a dot can't be reached this way.
func lookup(v any, path string) any {
	for part := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			i := 0
			if _, err := fmt.Sscanf(part, "%d", &i); err != nil || i < 0 || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// curl is a command that repeats the call; the token is left to a variable, so that a report can be shared.
func (c *call) curl(endpoint string) string {
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": c.Tool, "arguments": c.Arguments}})
	quoted := strings.ReplaceAll(string(body), "'", `'\''`)
	return fmt.Sprintf("curl -sS %s -H 'Authorization: Bearer '\"$TOKEN\" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2025-06-18' -d '%s'", endpoint, quoted)
}
