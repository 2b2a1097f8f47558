package server

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/apserver/ap/core/run"
)

// Call runs a tool with raw JSON arguments (protocol.md 8): decoding is strict, and every refusal, a breach of the
// arguments' schema included, is a Result. An unknown tool is ok == false.
func (s *Server) Call(ctx context.Context, id Identity, name string, args json.RawMessage) (result Result, ok bool) {
	t := tools[name]
	if t == nil {
		return Result{}, false
	}
	data, err := s.call(ctx, id, t, args)
	if err != nil {
		return s.refusal(ctx, t, id, err), true
	}
	out, err := appendData([]byte(`{"ok":true,"data":`), data)
	if err != nil {
		return s.refusal(ctx, t, id, err), true
	}
	return Result{JSON: append(out, '}')}, true
}

// appendData appends a tool's data. Most tools return a run view, which writes itself.
func appendData(b []byte, data any) ([]byte, error) {
	if view, ok := data.(*run.View); ok {
		return view.AppendJSON(slices.Grow(b, view.Size()))
	}
	body, err := marshal(data)
	return append(b, body...), err
}

// call decodes the arguments and runs the tool for a caller who is somebody.
func (s *Server) call(ctx context.Context, id Identity, t *tool, args json.RawMessage) (data any, err error) {
	defer caught(&err)
	a, err := t.decode(args)
	if err != nil {
		return nil, err
	}
	if id.Kind == Nobody {
		return nil, errNobody
	}
	return t.call(s, ctx, id, a)
}

// refusal renders an error. What is not a refusal in the protocol's terms is logged and answered with `retry`: the
// caller may try again, and learns nothing of what went wrong inside.
func (s *Server) refusal(ctx context.Context, t *tool, id Identity, err error) Result {
	var known *Error
	if !errors.As(err, &known) {
		if ctx.Err() == nil {
			s.log.ErrorContext(ctx, "tool failed", "tool", t.name, "by", id.By(), "error", err)
		}
		known = busy
	}
	body, err := marshal(struct {
		OK    bool   `json:"ok"`
		Error *Error `json:"error"`
	}{false, known})
	if err != nil { // an Error is three strings
		body = []byte(`{"ok":false,"error":{"code":"retry","message":"The server can't answer right now"}}`)
		known = busy
	}
	return Result{JSON: body, Code: string(known.Code)}
}

// invoke runs a tool for the typed methods: the arguments are written as JSON and go the way every call goes.
func invoke[T any](ctx context.Context, s *Server, id Identity, name string, args members) (T, error) {
	var none T
	raw, err := args.MarshalJSON()
	if err != nil {
		return none, invalid("The arguments can't be written as JSON", "arguments: "+err.Error())
	}
	data, err := s.call(ctx, id, tools[name], raw)
	if err != nil {
		return none, err
	}
	return data.(T), nil
}

// runView renders the result of a write that returns the run view.
func (s *Server) runView(done written) *run.View {
	return run.NewView(done.doc, done.state, s.viewOptions(done))
}

// viewOptions render a write's result at its time, with the signed URLs it had then.
func (s *Server) viewOptions(done written) run.ViewOptions {
	base, ttl := done.ref.BaseURL, done.ref.TTL
	if ttl == 0 {
		base, ttl = s.opts.BaseURL, s.opts.FileURLTTL
	}
	return s.view(done.at, base, ttl)
}
