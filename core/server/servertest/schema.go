package servertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
)

// contracts are the compiled schemas of all tools: ours, and the published ones where they are there.
type contracts struct {
	ours     map[string]*jsonschema.Schema
	upstream map[string]*jsonschema.Schema // of the data of an ok result; nil where they aren't there
	err      error                         // upstream's error object
	refusal  *jsonschema.Schema
}

var loadContracts = sync.OnceValue(func() *contracts {
	c := &contracts{ours: map[string]*jsonschema.Schema{}}
	compiler := jsonschema.NewCompiler()
	for _, name := range server.Tools() {
		if c.ours[name], c.err = compile(compiler, "https://ap.example/"+name+".json", server.ResultSchema(name)); c.err != nil {
			return c
		}
	}
	dir, ok := Upstream()
	if !ok {
		return c
	}
	c.upstream = map[string]*jsonschema.Schema{}
	base := filepath.Join(dir, "schemas", "core-2")
	for _, name := range server.Tools() {
		if c.upstream[name], c.err = compileFile(compiler, filepath.Join(base, "tools", name+".result.json")); c.err != nil {
			return c
		}
	}
	c.refusal, c.err = compileFile(compiler, filepath.Join(base, "tool-error.json"))
	return c
})

func compileFile(compiler *jsonschema.Compiler, file string) (*jsonschema.Schema, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return compile(compiler, "file://"+file, b)
}

func compile(compiler *jsonschema.Compiler, url string, schema []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	if err := compiler.AddResource(url, doc); err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	return compiler.Compile(url)
}

// Upstream is the folder of the protocol's published material: `../shared/upstream` beside the repository, or
// `upstream` in the folder that AP_SHARED names. ok is false where it isn't there.
func Upstream() (dir string, ok bool) {
	candidates := []string{}
	if shared := os.Getenv("AP_SHARED"); shared != "" {
		candidates = append(candidates, filepath.Join(shared, "upstream"))
	}
	if root, err := os.Getwd(); err == nil {
		for {
			if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
				candidates = append(candidates, filepath.Join(root, "..", "shared", "upstream"))
				break
			}
			parent := filepath.Dir(root)
			if parent == root {
				break
			}
			root = parent
		}
	}
	for _, c := range candidates {
		if info, err := os.Stat(c); err == nil && info.IsDir() {
			return c, true
		}
	}
	return "", false
}

// CheckResult fails the test when a tool's result breaks its contract: our published schema, the protocol's where it is
// there, and that refusals have a message and issues that say something.
func CheckResult(t testing.TB, tool string, result []byte) {
	t.Helper()
	c := loadContracts()
	require.NoError(t, c.err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(result))
	require.NoError(t, err, "%s answered what is not JSON: %s", tool, result)
	require.NoError(t, c.ours[tool].Validate(value), "%s broke its own schema: %s", tool, result)
	envelope := value.(map[string]any)
	if envelope["ok"] == true {
		if c.upstream != nil {
			require.NoError(t, c.upstream[tool].Validate(envelope["data"]), "%s broke the protocol's schema: %s", tool, result)
		}
		return
	}
	if c.refusal != nil {
		require.NoError(t, c.refusal.Validate(envelope["error"]), "%s broke the protocol's schema: %s", tool, result)
	}
	var refused struct {
		Error struct {
			Message string
			Issues  []string
		}
	}
	require.NoError(t, json.Unmarshal(result, &refused))
	require.NotEmpty(t, refused.Error.Message)
	for _, issue := range refused.Error.Issues {
		require.NotEmpty(t, strings.TrimSpace(issue))
	}
}
