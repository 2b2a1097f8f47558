package web_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// axeScript fetches axe-core at the version that testdata/axe pins. Without npm, or without a registry, the test skips;
// with CI set that is a failure.
func axeScript(t *testing.T) string {
	t.Helper()
	give := func(why string) {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s, and CI is set", why)
		}
		t.Skipf("%s: pages are not checked with axe", why)
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		give("no npm found")
	}
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		content, err := os.ReadFile(filepath.Join("testdata", "axe", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	install := exec.Command(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		give(fmt.Sprintf("npm can't fetch axe-core (%v: %s)", err, strings.TrimSpace(string(out))))
	}
	script, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	require.NoError(t, err)
	return string(script)
}

// TestAxeFindsNothing runs axe-core, with WCAG 2.2 AA and its best practices, on every page and state, narrow and wide,
// light and dark.
func TestAxeFindsNothing(t *testing.T) {
	needChromium(t)
	t.Parallel()
	script := axeScript(t)
	s := setScene(t)
	type look struct {
		scheme string
		width  int64
	}
	looks := []look{{"light", 1280}, {"dark", 390}}
	if os.Getenv("CI") != "" { // the other two differ from these by little, and take as long again
		looks = append(looks, look{"dark", 1280}, look{"light", 390})
	}
	browsers := map[string]*browser{}
	for _, p := range s.pages {
		w := browsers[p.person]
		if w == nil {
			w = s.browse()
			browsers[p.person] = w
			if p.person != "" {
				w.signIn(p.person, "/runs")
			}
		}
		w.size(1280, 900)
		w.scheme("light")
		w.open(p.path)
		if p.then != nil {
			p.then(w)
		}
		eval[bool](w, `(() => { for (const d of document.querySelectorAll("details")) d.open = true; return true; })()`)
		w.until(`![...document.querySelectorAll(".htmx-request, .htmx-settling")].length`)
		eval[bool](w, script+"; true")
		for _, look := range looks {
			w.scheme(look.scheme)
			w.size(look.width, 900)
			require.Empty(t, w.axe(), "%s, %s, %d wide", p.name, look.scheme, look.width)
		}
	}
}

// axe lists what axe-core finds on the page.
func (w *browser) axe() []string {
	w.t.Helper()
	eval[bool](w, `(() => { window.axeFound = null; axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
		.then((r) => { window.axeFound = JSON.stringify(r.violations.map((v) => v.id + ": " + v.help + " at " + v.nodes.map((n) => n.target.join(" ") + " " + n.html.slice(0, 160) + " " + (n.any.concat(n.all)[0] || {}).message).slice(0, 4).join(" | "))); });
		return true; })()`)
	w.until("window.axeFound")
	var found []string
	require.NoError(w.t, json.Unmarshal([]byte(eval[string](w, "window.axeFound")), &found))
	return found
}
