package server_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/server/servertest"
)

// imported imports a PROCESS.md and publishes nothing.
func imported(t *testing.T, f *servertest.Fixture, source string) *process.Document {
	t.Helper()
	doc, issues := process.Parse([]byte(source), process.Options{})
	require.NotNil(t, doc, "%v", issues)
	require.NoError(t, f.Import(t.Context(), []byte(source), doc))
	return doc
}

// compact is a value as the tools write it.
func compact(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(v))
	return strings.TrimSpace(b.String())
}
