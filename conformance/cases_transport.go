package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

func init() {
	add(
		Case{ID: "transport.no-token", Section: "specification 4; RFC 9728", Rule: "a request without a token is 401 with WWW-Authenticate: Bearer",
			run: func(t *T) {
				res, _ := t.post("", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
				t.that(nil, res.StatusCode == http.StatusUnauthorized, "expected 401, got %s", res.Status)
				t.that(nil, strings.HasPrefix(strings.ToLower(res.Header.Get("WWW-Authenticate")), "bearer"), "expected WWW-Authenticate: Bearer …, got %q", res.Header.Get("WWW-Authenticate"))
			}},
		Case{ID: "transport.bad-token", Section: "RFC 6750", Rule: "an unknown token is 401",
			run: func(t *T) {
				res, _ := t.post("made-up-token", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
				t.that(nil, res.StatusCode == http.StatusUnauthorized, "expected 401, got %s", res.Status)
			}},
		Case{ID: "transport.resource-metadata", Section: "RFC 9728", Rule: "the 401 names the protected resource's metadata, whose resource is the URL a client was given",
			run: func(t *T) {
				res, _ := t.post("", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
				_, rest, found := strings.Cut(res.Header.Get("WWW-Authenticate"), `resource_metadata="`)
				t.that(nil, found, "expected resource_metadata in WWW-Authenticate, got %q", res.Header.Get("WWW-Authenticate"))
				at, _, _ := strings.Cut(rest, `"`)
				body := t.getURL(at)
				var meta struct {
					Resource string `json:"resource"`
				}
				t.that(nil, json.Unmarshal(body, &meta) == nil && meta.Resource == t.s.opts.URL, "expected resource %q at %s, got %s", t.s.opts.URL, at, body)
			}},
		Case{ID: "transport.digits-in-both-forms", Section: "specification 2.3; tools", Processes: []string{"conf-plain"}, Rule: "structuredContent and the text content keep the digits of numbers",
			run: func(t *T) {
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"start_run","arguments":{"process":"conf-plain","inputs":{"subject":"x","limit":9007199254740993.10},"requestId":%q}}}`, requestID())
				res, answer := t.post(t.s.opts.Agent, body)
				t.that(nil, res.StatusCode == http.StatusOK, "expected 200, got %s %s", res.Status, answer)
				t.that(nil, bytes.Count(answer, []byte("9007199254740993.10")) == 2, "expected the digits 9007199254740993.10 in structuredContent and in the text, got %s", answer)
			}},
		Case{ID: "transport.unknown-tool", Section: "MCP: tools", Rule: "an unknown tool is refused",
			run: func(t *T) {
				_, answer := t.post(t.s.opts.Agent, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such_tool","arguments":{}}}`)
				t.that(nil, bytes.Contains(answer, []byte(`"error"`)), "expected an error, got %s", answer)
			}},
		Case{ID: "transport.schemas", Section: "MCP: tools", Rule: "every tool has a description and an object schema of its arguments",
			run: func(t *T) {
				session, err := t.agent().connect(t.ctx)
				t.that(nil, err == nil, "connecting: %v", err)
				for tool, err := range session.Tools(t.ctx, nil) {
					t.that(nil, err == nil, "tools/list: %v", err)
					schema, _ := json.Marshal(tool.InputSchema)
					t.that(nil, tool.Description != "" && bytes.Contains(schema, []byte(`"object"`)), "expected %s to have a description and an input schema of type object, got %s", tool.Name, schema)
				}
			}},
		Case{ID: "transport.file-without-signature", Section: "specification 5", Processes: []string{"conf-routes"}, Needs: Needs{Tool: "upload"}, Rule: "a file's url without its signature serves nothing",
			run: func(t *T) {
				id := t.start("conf-routes", nil).str("run.id")
				r := t.submit(t.claim(id, "look"), obj{"output": obj{}, "evidence": t.file(), "next": "good", "reason": "r"})
				u, err := url.Parse(r.str("data.steps.look.evidence.0.url"))
				t.that(r, err == nil && u.IsAbs(), "expected an absolute url, got %q", r.str("data.steps.look.evidence.0.url"))
				u.RawQuery = ""
				res, err := (&http.Client{Transport: t.s.opts.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Get(u.String())
				t.that(r, err == nil, "opening %s: %v", u, err)
				defer res.Body.Close()
				t.that(r, res.StatusCode != http.StatusOK, "expected %s to be refused, got %s", u, res.Status)
			}},
		Case{ID: "transport.file-is-harmless", Section: "protocol 8", Processes: []string{"conf-routes"}, Needs: Needs{Tool: "upload"}, Rule: "an uploaded page is served with nosniff and never as something a browser runs",
			run: func(t *T) {
				u := t.ok(t.agent(), "upload", obj{"fileName": "a.html", "contentType": "text/html", "contentBase64": "PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg=="})
				id := t.start("conf-routes", nil).str("run.id")
				r := t.submit(t.claim(id, "look"), obj{"output": obj{}, "evidence": []any{obj{"kind": "file", "ref": u.str("id")}}, "next": "good", "reason": "r"})
				res, err := (&http.Client{Transport: t.s.opts.Transport}).Get(r.str("data.steps.look.evidence.0.url"))
				t.that(r, err == nil, "opening the file: %v", err)
				defer res.Body.Close()
				attachment := strings.HasPrefix(res.Header.Get("Content-Disposition"), "attachment")
				t.that(r, res.Header.Get("X-Content-Type-Options") == "nosniff", "expected X-Content-Type-Options: nosniff")
				t.that(r, attachment || !strings.Contains(res.Header.Get("Content-Type"), "html"), "expected an attachment or a harmless type, got %s", res.Header.Get("Content-Type"))
			}},
	)
}

// post sends a JSON-RPC message as it is, with or without a token.
func (t *T) post(token, body string) (*http.Response, []byte) {
	req, err := http.NewRequestWithContext(t.ctx, http.MethodPost, t.s.opts.URL, strings.NewReader(body))
	if err != nil {
		panic(failure{err.Error(), nil})
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", "2025-06-18")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return t.send(req)
}

func (t *T) getURL(at string) []byte {
	req, err := http.NewRequestWithContext(t.ctx, http.MethodGet, at, nil)
	if err != nil {
		panic(failure{err.Error(), nil})
	}
	res, body := t.send(req)
	t.that(nil, res.StatusCode == http.StatusOK, "expected 200 at %s, got %s", at, res.Status)
	return body
}

func (t *T) send(req *http.Request) (*http.Response, []byte) {
	res, err := (&http.Client{Transport: t.s.opts.Transport}).Do(req)
	if err != nil {
		panic(failure{err.Error(), nil})
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	if err != nil {
		panic(failure{"reading the answer: " + err.Error(), nil})
	}
	return res, body
}
