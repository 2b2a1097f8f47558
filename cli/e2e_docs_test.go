package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheCurlExampleWorks runs what docs/agents.md shows, as it stands there.
func TestTheCurlExampleWorks(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			require.Empty(t, os.Getenv("CI"), "there is no %s", tool)
			t.Skipf("skipped: there is no %s", tool)
		}
	}
	page, err := os.ReadFile(filepath.Join(repository(t), "docs", "agents.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## curl\n")
	require.True(t, found)
	_, script, found := strings.Cut(section, "```sh\n")
	require.True(t, found)
	script, _, found = strings.Cut(script, "\n```")
	require.True(t, found)

	p := newProgram(t)
	p.publish("new-supplier", "purchasing")
	s := p.serve("--dev", "--addr", "127.0.0.1:0")
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", strings.ReplaceAll(script, "http://127.0.0.1:8080", s.url))
	cmd.Env = append(environment(), "AP_KEY="+strings.TrimSpace(p.ok("agent", "add", "trial", "--quiet")))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), `"waiting"`)
	var list struct{ Items []struct{ State string } }
	p.json(&list, "runs")
	require.Len(t, list.Items, 1)
	require.Equal(t, "waiting", list.Items[0].State)
}
