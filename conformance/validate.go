package conformance

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

//go:embed schemas/results.json
var resultSchemas []byte

// resolved compiles a definition of the result schemas when it is first needed.
var resolved = sync.OnceValues(func() (map[string]*jsonschema.Resolved, error) {
	var all jsonschema.Schema
	if err := json.Unmarshal(resultSchemas, &all); err != nil {
		return nil, fmt.Errorf("the result schemas: %w", err)
	}
	out := map[string]*jsonschema.Resolved{}
	for name := range all.Defs {
		one := &jsonschema.Schema{Ref: "#/$defs/" + name, Defs: all.CloneSchemas().Defs}
		r, err := one.Resolve(nil)
		if err != nil {
			return nil, fmt.Errorf("the result schema of %s: %w", name, err)
		}
		out[name] = r
	}
	return out, nil
})

// validate checks an answer: {ok: true, data} with the tool's data, or {ok: false, error}, and nothing else.
func validate(tool string, c *call) error {
	schemas, err := resolved()
	if err != nil {
		return err
	}
	member, definition := "data", tool
	if !c.ok() {
		member, definition = "error", "error"
	}
	if len(c.body) != 2 || c.body[member] == nil {
		return fmt.Errorf("expected exactly ok and %s", member)
	}
	schema := schemas[definition]
	if schema == nil {
		return errors.New("there is no schema for it")
	}
	// The validator knows Go's own number types; digits are compared elsewhere.
	var plain any
	if err := json.Unmarshal([]byte(canonical(c.body[member])), &plain); err != nil {
		return err
	}
	return schema.Validate(plain)
}
