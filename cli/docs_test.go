package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pages are the repository's Markdown pages for readers.
func pages(t *testing.T) []string {
	t.Helper()
	root := repository(t)
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		all = append(all, found...)
	}
	require.NotEmpty(t, all)
	return all
}

func TestLinksBetweenPagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(m[1], "://") {
				require.FileExists(t, filepath.Join(filepath.Dir(page), m[1]), "a link of %s", page)
			}
		}
	}
}

func TestPagesNameOnlyCommandsThatExist(t *testing.T) {
	t.Parallel()
	root := newRoot(&app{})
	known := map[string]bool{}
	for _, cmd := range root.Commands() {
		known[cmd.Name()] = true
	}
	named := regexp.MustCompile("(?m)(?:`|^|\\()ap ([a-z]+)")
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			require.True(t, known[m[1]], "%s names `ap %s`", page, m[1])
		}
	}
}

func TestMakeHelpNamesEveryTarget(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(repository(t), "Makefile"))
	require.NoError(t, err)
	cmd := exec.Command("make", "help")
	cmd.Dir = repository(t)
	help, err := cmd.Output()
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^([a-z]+):`).FindAllStringSubmatch(string(makefile), -1) {
		require.Contains(t, string(help), "make "+m[1]+" ")
	}
}
