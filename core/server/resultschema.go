package server

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// schemas holds the JSON Schema of each tool's data, and in shared.json the shapes that they share as definitions.
//
//go:embed schemas
var schemas embed.FS

// reference finds the definitions that a schema uses.
var reference = regexp.MustCompile(`"#/\$defs/([A-Za-z]+)"`)

// resultSchema is the JSON Schema of a tool's whole result: the data, or a refusal. It stands alone, with the shared
// definitions it uses.
func resultSchema(name string) json.RawMessage {
	data, err := schemas.ReadFile("schemas/" + name + ".json")
	if err != nil {
		panic(fmt.Sprintf("the result schema of %s: %v", name, err)) // embedded
	}
	var s members
	s.add("$schema", dialect)
	s.add("title", "result of "+name)
	s.add("type", "object")
	s.add("oneOf", []members{
		variant(true, "data", json.RawMessage(data)),
		variant(false, "error", json.RawMessage(`{"$ref":"#/$defs/error"}`)),
	})
	used := definitions(`"#/$defs/error"` + string(data))
	defs := members{}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		defs.add(name, used[name])
	}
	s.add("$defs", defs)
	b, err := marshal(s)
	if err != nil {
		panic(fmt.Sprintf("the result schema of %s: %v", name, err)) // embedded
	}
	return b
}

// variant is one of the two forms of a result.
func variant(ok bool, member string, schema json.RawMessage) members {
	properties := members{}
	properties.add("ok", map[string]bool{"const": ok})
	properties.add(member, schema)
	var s members
	s.add("properties", properties)
	s.add("required", []string{"ok", member})
	s.add("additionalProperties", false)
	return s
}

// definitions are the shared definitions that a schema refers to, also through others.
func definitions(schema string) map[string]json.RawMessage {
	raw, err := schemas.ReadFile("schemas/shared.json")
	if err != nil {
		panic(fmt.Sprintf("the shared schemas: %v", err)) // embedded
	}
	var shared map[string]json.RawMessage
	if err := json.Unmarshal(raw, &shared); err != nil {
		panic(fmt.Sprintf("the shared schemas: %v", err))
	}
	used := map[string]json.RawMessage{}
	var follow func(text string)
	follow = func(text string) {
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			name := m[1]
			if _, known := used[name]; known {
				continue
			}
			def, ok := shared[name]
			if !ok {
				panic(fmt.Sprintf("the shared schemas: there is no %s", name))
			}
			used[name] = def
			follow(string(def))
		}
	}
	follow(schema)
	return used
}
