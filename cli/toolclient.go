package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apserver/ap/core/run"
)

// bearerToken adds a bearer token to each request.
type bearerToken struct {
	token string
	next  http.RoundTripper
}

func (b bearerToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// toolClient calls the tools of a process server over MCP with one bearer token.
type toolClient struct {
	session *mcp.ClientSession
}

func connectTools(ctx context.Context, endpoint, key string) (*toolClient, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "ap", Version: version()}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:             endpoint,
		HTTPClient:           &http.Client{Transport: bearerToken{key, http.DefaultTransport}, Timeout: time.Minute},
		DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return nil, err
	}
	return &toolClient{session}, nil
}

func (c *toolClient) close() { _ = c.session.Close() }

// call calls a tool and reads its data; a refusal is a *run.Error.
func (c *toolClient) call(ctx context.Context, tool string, args map[string]any, data any) error {
	if args == nil {
		args = map[string]any{}
	}
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return fmt.Errorf("calling %s: %w", tool, err)
	}
	if len(result.Content) != 1 {
		return fmt.Errorf("calling %s: %d contents, expected one", tool, len(result.Content))
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return fmt.Errorf("calling %s: the content is no text", tool)
	}
	var answer struct {
		OK    bool            `json:"ok"`
		Data  json.RawMessage `json:"data"`
		Error *run.Error      `json:"error"`
	}
	if err := json.Unmarshal([]byte(text.Text), &answer); err != nil {
		return fmt.Errorf("calling %s: %w", tool, err)
	}
	if !answer.OK {
		if answer.Error == nil {
			return fmt.Errorf("calling %s: neither ok nor an error", tool)
		}
		return answer.Error
	}
	if data == nil {
		return nil
	}
	return json.Unmarshal(answer.Data, data)
}
