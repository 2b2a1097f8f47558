package process_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
)

// upstream returns the folder of the public material, or skips.
func upstream(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		require.NotEqual(t, dir, parent, "no go.mod above the test")
		dir = parent
	}
	for _, shared := range []string{filepath.Join(dir, "..", "shared"), os.Getenv("AP_SHARED")} {
		if _, err := os.Stat(filepath.Join(shared, "upstream", "hashes.txt")); err == nil {
			return filepath.Join(shared, "upstream")
		}
	}
	t.Skip("the public material isn't beside the repository (../shared/upstream) nor at AP_SHARED")
	return ""
}

// corpus returns the public processes by their paths, with their published hashes.
func corpus(t testing.TB) map[string]string {
	t.Helper()
	root := upstream(t)
	f, err := os.Open(filepath.Join(root, "hashes.txt"))
	require.NoError(t, err)
	defer f.Close()
	files := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		hash, path, found := strings.Cut(lines.Text(), "  ")
		require.True(t, found, lines.Text())
		files[filepath.Join(root, path)] = hash
	}
	require.NotEmpty(t, files)
	return files
}

// TestContentHashOfThePublicCorpus is protocol.md 1.7 against hashes that another implementation computed.
func TestContentHashOfThePublicCorpus(t *testing.T) {
	t.Parallel()
	for path, hash := range corpus(t) {
		src, err := os.ReadFile(path)
		require.NoError(t, err)
		doc, issues := process.Parse(src, process.Options{Folder: filepath.Base(filepath.Dir(path))})
		require.Empty(t, issues, path)
		require.NotNil(t, doc, path)
		require.Equal(t, hash, doc.Hash, path)
		require.Equal(t, filepath.Base(filepath.Dir(path)), doc.Name)
	}
}
