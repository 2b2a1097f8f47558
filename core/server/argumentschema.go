package server

import (
	"bytes"
	"encoding/json"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/apserver/ap/core/run"
)

// dialect is the JSON Schema that all our schemas are written in.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// members is a JSON object that keeps its order: a model reads the arguments in the order of the table.
type members []struct {
	name  string
	value any
}

func (m *members) add(name string, value any) {
	*m = append(*m, struct {
		name  string
		value any
	}{name, value})
}

// MarshalJSON implements json.Marshaler. A string that isn't UTF-8 is an error; encoding/json would replace it.
func (m members) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, x := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := jsontext.AppendQuote(nil, x.name)
		if err != nil {
			return nil, err
		}
		value, err := jsonv2.Marshal(x.value, jsontext.AllowDuplicateNames(true))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.name, err)
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshal is json.Marshal without escaping <, > and &: what a model reads stays readable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// schema is the JSON Schema of a tool's arguments, from its table.
func (t *tool) schema() json.RawMessage {
	var s members
	s.add("$schema", dialect)
	s.add("title", "arguments of "+t.name)
	s = append(s, t.objectSchema()...)
	b, err := marshal(s)
	if err != nil {
		panic(fmt.Sprintf("the schema of %s: %v", t.name, err)) // the table is ours
	}
	return b
}

func (t *tool) objectSchema() members {
	properties := members{}
	required := []string{}
	for _, a := range t.args {
		properties.add(a.name, a.schema())
		if a.required {
			required = append(required, a.name)
		}
	}
	var s members
	s.add("type", "object")
	s.add("properties", properties)
	if len(required) > 0 {
		s.add("required", required)
	}
	s.add("additionalProperties", false)
	return s
}

func (d *arg) schema() members {
	var s members
	switch d.kind {
	case integer:
		s.add("type", "integer")
		s.add("minimum", d.min)
		if d.max > 0 {
			s.add("maximum", d.max)
		}
	case object:
		s.add("type", "object")
	case evidence:
		s.add("type", "array")
		s.add("items", evidenceItem.objectSchema())
	default:
		s = d.textSchema()
	}
	help := d.help
	if d.fallback != "" {
		help += " Default: " + d.fallback + "."
	}
	s.add("description", help)
	return s
}

func (d *arg) textSchema() members {
	var s members
	s.add("type", "string")
	if d.enum != nil {
		s.add("enum", d.enum)
	}
	if d.min > 0 {
		s.add("minLength", d.min)
	}
	if d.max > 0 {
		s.add("maxLength", d.max)
	}
	if d.nonBlank {
		s.add("pattern", `\S`)
	}
	if d.pattern != nil {
		s.add("pattern", d.pattern.String())
	}
	if d.base64 {
		s.add("contentEncoding", "base64")
	}
	if d.name == "requestId" {
		s.add("not", map[string]string{"const": run.NewUUID})
	}
	return s
}
