package processtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/process/processtest"
)

func TestDrawnProcessesLintClean(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := processtest.Draw(t, processtest.Options{Check: true}).Source()
		doc, issues := process.Parse(src, process.Options{})
		require.Empty(t, issues, "%s", src)
		require.NotNil(t, doc)
	})
}
