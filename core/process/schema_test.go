package process

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// frontmatterJSON returns a file's frontmatter as JSON; nil where it has none.
func frontmatterJSON(t *testing.T, src []byte) any {
	t.Helper()
	c := &checker{}
	if !c.split(src) {
		return nil
	}
	top, ok := c.load()
	if !ok {
		return nil
	}
	root, ok := c.build(top)
	if !ok {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(root.appendJSON(nil)))
	require.NoError(t, err)
	return value
}

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema()))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	require.NoError(t, compiler.AddResource("process.json", document))
	compiled, err := compiler.Compile("process.json")
	require.NoError(t, err)
	return compiled
}

// TestSchemaAgreesWithTheRules: it accepts whatever Parse accepts, and refuses the bad example of each rule that says
// it does.
func TestSchemaAgreesWithTheRules(t *testing.T) {
	t.Parallel()
	compiled := compiledSchema(t)
	inSchema := map[string]bool{}
	for _, r := range rules {
		inSchema[r.ID] = r.InSchema
	}
	var files []string
	for _, pattern := range []string{"testdata/*/*.md", "testdata/*/*/*/PROCESS.md", "../../../shared/upstream/*/*/PROCESS.md", "../../conformance/fixtures/*/PROCESS.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.Greater(t, len(files), 100)
	for _, file := range files {
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		doc, issues := Parse(src, Options{})
		value := frontmatterJSON(t, src)
		if doc != nil {
			require.NoError(t, compiled.Validate(value), file)
			continue
		}
		for _, i := range issues {
			if inSchema[i.Rule] && value != nil {
				require.Error(t, compiled.Validate(value), "%s: %s", file, i.Message)
			}
		}
	}
}
