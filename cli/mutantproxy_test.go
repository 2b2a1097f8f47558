package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// A mutant is a server that is wrong in one way: ours behind a proxy that changes calls or answers.
type mutant struct {
	name string
	// tool changes a tool call: it may alter the arguments or the token, ask next any number of times, and alter the
	// answer. nil leaves tool calls alone.
	tool func(p *mutantProxy, c toolCall, next func(toolCall) answer) answer
	// request and response change the HTTP exchange; either may be nil.
	request  func(p *mutantProxy, r *http.Request)
	response func(r *http.Response) error
	// caught are the cases that have to fail; also are cases that may notice as well.
	caught, also []string
}

// toolCall is a tools/call on its way to the server.
type toolCall struct {
	tool  string
	args  map[string]any
	raw   json.RawMessage // the arguments as they came
	token string
}

// answer is a tool's {"ok":…} object.
type answer map[string]any

func (a answer) ok() bool { ok, _ := a["ok"].(bool); return ok }

func (a answer) data() map[string]any { d, _ := a["data"].(map[string]any); return d }

func (a answer) code() string {
	e, _ := a["error"].(map[string]any)
	s, _ := e["code"].(string)
	return s
}

func (a answer) issues() []any {
	e, _ := a["error"].(map[string]any)
	l, _ := e["issues"].([]any)
	return l
}

func refusal(code string, issues ...any) answer {
	e := map[string]any{"code": code, "message": "refused"}
	if len(issues) > 0 {
		e["issues"] = issues
	}
	return answer{"ok": false, "error": e}
}

// mutantProxy is the server that the suite sees.
type mutantProxy struct {
	upstream *url.URL
	forward  *httputil.ReverseProxy

	claims sync.Mutex // for a mutant that has to see one claim after the other

	mu     sync.Mutex
	mutant mutant
	memory map[string]any
	// tokens by identity, for mutants that confuse identities.
	agent, person, operator string
}

func newMutantProxy() *mutantProxy {
	p := &mutantProxy{}
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(p.upstream); r.Out.Host = r.In.Host },
		ModifyResponse: func(r *http.Response) error {
			if change := p.current().response; change != nil {
				return change(r)
			}
			return nil
		},
	}
	return p
}

// become makes the proxy that mutant, with nothing remembered.
func (p *mutantProxy) become(m mutant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mutant, p.memory = m, map[string]any{}
}

func (p *mutantProxy) current() mutant {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mutant
}

// recall and remember are a mutant's memory between calls.
func (p *mutantProxy) recall(key string) any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.memory[key]
}

func (p *mutantProxy) recallAll(prefix string) []any {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []any
	for key, v := range p.memory {
		if strings.HasPrefix(key, prefix) {
			all = append(all, v)
		}
	}
	return all
}

func (p *mutantProxy) remember(key string, v any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.memory[key] = v
}

func (p *mutantProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := p.current()
	if m.request != nil {
		m.request(p, r)
	}
	if m.tool == nil || r.URL.Path != "/mcp" || r.Method != http.MethodPost {
		p.forward.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var message struct {
		ID     json.RawMessage            `json:"id"`
		Method string                     `json:"method"`
		Params map[string]json.RawMessage `json:"params"`
	}
	var args map[string]any
	r.Body = io.NopCloser(bytes.NewReader(body))
	if json.Unmarshal(body, &message) != nil || message.Method != "tools/call" || decodeNumbers(message.Params["arguments"], &args) != nil {
		p.forward.ServeHTTP(w, r)
		return
	}
	token, hasToken := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !hasToken {
		p.forward.ServeHTTP(w, r)
		return
	}
	status, failedBody := 0, []byte(nil)
	next := func(c toolCall) answer {
		var a answer
		a, status, failedBody = p.call(r, message.Params, c)
		return a
	}
	var name string
	if json.Unmarshal(message.Params["name"], &name) != nil {
		p.forward.ServeHTTP(w, r)
		return
	}
	a := m.tool(p, toolCall{name, args, message.Params["arguments"], token}, next)
	if a == nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(failedBody)
		return
	}
	text := marshalPlain(a)
	out := marshalPlain(map[string]any{"jsonrpc": "2.0", "id": message.ID, "result": map[string]any{
		"content":           []any{map[string]any{"type": "text", "text": string(text)}},
		"structuredContent": json.RawMessage(text), "isError": !a.ok(),
	}})
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out)
}

// call makes a tool call at the real server, with what else the original's params hold. The answer is nil when there is
// none.
func (p *mutantProxy) call(r *http.Request, params map[string]json.RawMessage, c toolCall) (answer, int, []byte) {
	args := c.raw
	if args == nil {
		args = marshalPlain(c.args)
	}
	params = maps.Clone(params)
	params["name"], params["arguments"] = marshalPlain(c.tool), args
	body := marshalPlain(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, p.upstream.JoinPath("mcp").String(), bytes.NewReader(body))
	if err != nil {
		return nil, http.StatusBadGateway, []byte(err.Error())
	}
	req.Header = r.Header.Clone()
	req.Header.Del("Content-Length")
	if req.Header.Get("Mcp-Name") != "" {
		req.Header.Set("Mcp-Name", c.tool)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Host = r.Host
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, http.StatusBadGateway, []byte(err.Error())
	}
	defer res.Body.Close()
	answered, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, http.StatusBadGateway, []byte(err.Error())
	}
	var message struct {
		Result struct {
			Structured json.RawMessage `json:"structuredContent"`
		} `json:"result"`
	}
	var a answer
	if json.Unmarshal(answered, &message) != nil || decodeNumbers(message.Result.Structured, &a) != nil {
		return nil, res.StatusCode, answered
	}
	return a, res.StatusCode, nil
}

func decodeNumbers(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(into)
}

func marshalPlain(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// changed is the call with its arguments changed.
func (c toolCall) changed(change func(args map[string]any)) toolCall {
	var args map[string]any
	if err := decodeNumbers(c.raw, &args); err != nil {
		return c
	}
	change(args)
	c.args, c.raw = args, nil
	return c
}

// as is the call made with another token.
func (c toolCall) as(token string) toolCall { c.token = token; return c }

// str is a string argument.
func (c toolCall) str(name string) string { s, _ := c.args[name].(string); return s }

// walk visits every object in a JSON value, the outer before the inner.
func walk(v any, visit func(map[string]any)) {
	switch x := v.(type) {
	case map[string]any:
		visit(x)
		for _, inner := range x {
			walk(inner, visit)
		}
	case []any:
		for _, inner := range x {
			walk(inner, visit)
		}
	}
}

// answers makes a mutant's tool function that changes the data of some tools' answers.
func answers(change func(data map[string]any), tools ...string) func(*mutantProxy, toolCall, func(toolCall) answer) answer {
	return func(_ *mutantProxy, c toolCall, next func(toolCall) answer) answer {
		a := next(c)
		if a.ok() && (len(tools) == 0 || slices.Contains(tools, c.tool)) {
			change(a.data())
		}
		return a
	}
}

// items visits each work item in an answer's data.
func items(data map[string]any, visit func(map[string]any)) {
	walk(data, func(o map[string]any) {
		if _, is := o["assignedTo"]; is {
			visit(o)
		}
	})
}

// arguments makes a mutant's tool function that changes the arguments of some tools.
func arguments(change func(args map[string]any), tools ...string) func(*mutantProxy, toolCall, func(toolCall) answer) answer {
	return func(_ *mutantProxy, c toolCall, next func(toolCall) answer) answer {
		if slices.Contains(tools, c.tool) {
			c = c.changed(change)
		}
		return next(c)
	}
}
