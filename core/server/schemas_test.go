package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
)

var update = flag.Bool("update", false, "write docs/schemas again")

// docs/schemas holds what the tools publish: run this test with -update after a change.
func TestThePublishedSchemasAreCurrent(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "schemas")
	for _, tool := range server.Tools() {
		for name, schema := range map[string]json.RawMessage{"arguments": server.ArgumentSchema(tool), "result": server.ResultSchema(tool)} {
			var b bytes.Buffer
			require.NoError(t, json.Indent(&b, schema, "", "  "))
			b.WriteByte('\n')
			file := filepath.Join(dir, tool+"."+name+".json")
			if *update {
				require.NoError(t, os.MkdirAll(dir, 0o755))
				require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
			}
			published, err := os.ReadFile(file)
			require.NoError(t, err, "run: go test ./core/server -run TestThePublishedSchemasAreCurrent -update")
			require.Equal(t, b.String(), string(published), "run: go test ./core/server -run TestThePublishedSchemasAreCurrent -update")
		}
	}
}

// Every schema is JSON Schema 2020-12, and an object as MCP wants it.
func TestTheSchemasAreValid(t *testing.T) {
	t.Parallel()
	for _, tool := range server.Tools() {
		for _, schema := range []json.RawMessage{server.ArgumentSchema(tool), server.ResultSchema(tool)} {
			c := jsonschema.NewCompiler()
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
			require.NoError(t, err)
			require.NoError(t, c.AddResource("https://ap.example/"+tool, doc))
			_, err = c.Compile("https://ap.example/" + tool)
			require.NoError(t, err)
			require.Equal(t, "object", doc.(map[string]any)["type"])
		}
	}
	require.Nil(t, server.ArgumentSchema("none"))
	require.Nil(t, server.ResultSchema("none"))
	require.Empty(t, server.Description("none"))
}

// A model has nothing but the descriptions to go by.
func TestEveryToolAndArgumentIsDescribed(t *testing.T) {
	t.Parallel()
	for _, tool := range server.Tools() {
		require.Greater(t, len(server.Description(tool)), 60, tool)
		var schema struct {
			Properties map[string]struct{ Description string }
		}
		require.NoError(t, json.Unmarshal(server.ArgumentSchema(tool), &schema))
		for name, p := range schema.Properties {
			require.NotEmpty(t, strings.TrimSpace(p.Description), "%s.%s", tool, name)
			require.True(t, strings.HasSuffix(p.Description, "."), "%s.%s", tool, name)
		}
	}
}
