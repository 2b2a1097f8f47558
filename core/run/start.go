package run

import (
	"bytes"
	"encoding/json"
	"fmt"
)

var emptyObject = json.RawMessage("{}")

// start begins a run with its first step (protocol.md 2, 8): undeclared, missing and mistyped inputs, and steps of the
// initiator without one, are refused together.
func (f *fold) start(c Start) error {
	inputs, ok := compactObject(c.Inputs)
	if !ok {
		return refuse(Invalid, "The inputs are not a JSON object.", "inputs: expected object")
	}
	issues := f.doc.Inputs.Check("inputs", inputs)
	if !c.Human && f.doc.UsesInitiator() {
		issues = append(issues, "initiator: a run started by an agent has none")
	}
	if limit := f.env.RunDataBytes; limit > 0 {
		if n := len(`{"inputs":,"steps":{}}`) + len(inputs); n > limit {
			issues = append(issues, overCap(n, limit))
		}
	}
	if len(issues) > 0 {
		return refuse(Invalid, "The run can't start: mend what the issues name and start it again.", issues...)
	}
	mode := Live
	if c.Test {
		mode = Test
	}
	f.emitSized(f.env.Now, c.By, StartedPayload{
		ID: c.RunID, Process: c.Process, Version: c.Version, Mode: mode, Human: c.Human, Inputs: inputs,
	}, 160+len(inputs))
	if f.failure == nil {
		f.enter(f.doc.Steps[0].ID, f.env.Now)
	}
	return nil
}

// compactObject returns a JSON object without insignificant white space, its digits and strings as they were sent; {}
// for none. It takes the JSON as well-formed and copies it.
func compactObject(v json.RawMessage) (json.RawMessage, bool) {
	if v = bytes.TrimLeft(v, jsonSpace); len(v) == 0 {
		return emptyObject, true
	}
	if v[0] != '{' {
		return nil, false
	}
	b := make(json.RawMessage, 0, len(v))
	for len(v) > 0 {
		i := bytes.IndexAny(v, jsonSpace+`"`)
		if i < 0 {
			return append(b, v...), true
		}
		b = append(b, v[:i]...)
		v = v[i:]
		if v[0] != '"' {
			v = v[1:]
			continue
		}
		n := stringLen(v)
		b = append(b, v[:n]...)
		v = v[n:]
	}
	return b, true
}

// looksObject says whether well-formed JSON is an object.
func looksObject(v json.RawMessage) bool {
	v = bytes.TrimLeft(v, jsonSpace)
	return len(v) > 0 && v[0] == '{'
}

const jsonSpace = " \t\r\n"

// stringLen is the length of the JSON string that v begins with, its quotes included.
func stringLen(v []byte) int {
	for i := 1; i < len(v); i++ {
		switch v[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(v)
}

func overCap(n, limit int) string { return fmt.Sprintf("run data: %d bytes, limit %d", n, limit) }
