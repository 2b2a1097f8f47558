package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
)

// The end-to-end tests run the program itself, built once, as a user would: from the shell, over HTTP, in a browser.

var buildOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ap-test-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "ap")
	args := append([]string{"build", "-o", bin}, buildFlags...)
	out, err := exec.Command("go", append(args, "../cmd/ap")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building ap: %w\n%s", err, out)
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if bin, err := buildOnce(); err == nil {
		os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(status)
}

// program is the built ap with a data directory and a working directory of its own.
type program struct {
	t    testing.TB
	bin  string
	work string
	data string
}

func newProgram(t testing.TB) *program {
	t.Helper()
	bin, err := buildOnce()
	require.NoError(t, err)
	work := t.TempDir()
	return &program{t: t, bin: bin, work: work, data: filepath.Join(work, "ap-data")}
}

// result is what a command printed and how it ended.
type result struct {
	out, err string
	status   int
}

// run runs ap and returns what came of it.
func (p *program) run(args ...string) result {
	p.t.Helper()
	return p.runWith("", args...)
}

// runWith is run with something on standard input.
func (p *program) runWith(stdin string, args ...string) result {
	p.t.Helper()
	cmd := p.command(args...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errOut
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil {
		require.ErrorAs(p.t, err, &exit)
	}
	require.NotContains(p.t, errOut.String(), "goroutine ", "a stack or a data race was shown")
	return result{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}
}

// ok runs ap, which has to succeed, and returns its output.
func (p *program) ok(args ...string) string {
	p.t.Helper()
	r := p.run(args...)
	require.Equal(p.t, 0, r.status, "ap %s: %s%s", strings.Join(args, " "), r.out, r.err)
	return r.out
}

// json runs ap --json, which has to succeed and print one JSON document, and reads it.
func (p *program) json(into any, args ...string) {
	p.t.Helper()
	out := p.ok(append(args, "--json")...)
	dec := json.NewDecoder(strings.NewReader(out))
	require.NoError(p.t, dec.Decode(into), out)
	require.ErrorIs(p.t, dec.Decode(new(any)), io.EOF, "more than one JSON document: %s", out)
}

// refused runs ap, which has to exit with that status, and returns its message.
func (p *program) refused(status int, args ...string) string {
	p.t.Helper()
	r := p.run(args...)
	require.Equal(p.t, status, r.status, "ap %s: %s%s", strings.Join(args, " "), r.out, r.err)
	require.NotEmpty(p.t, r.err+r.out)
	return r.err
}

func (p *program) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.bin, args...)
	cmd.Dir = p.work
	cmd.Env = append(environment(), "AP_DATA="+p.data)
	return cmd
}

// environment is the test's own without settings of ap.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "AP_") {
			env = append(env, v)
		}
	}
	return env
}

// publish imports and publishes an example process, each role bound to the group of its name.
func (p *program) publish(name string, roles ...string) {
	p.t.Helper()
	args := []string{"import", p.example(name), "--publish"}
	for _, role := range roles {
		args = append(args, "--role", role+"="+role)
	}
	p.ok(args...)
}

// example is the folder of an example process.
func (p *program) example(name string) string {
	return filepath.Join(repository(p.t), "conformance", "fixtures", name)
}

// upstream is the folder of the public processes.
func upstream(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(repository(t), "..", "shared", "upstream")
	if shared := os.Getenv("AP_SHARED"); shared != "" {
		dir = filepath.Join(shared, "upstream")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("skipped: the public processes are not in ../shared/upstream")
	}
	return dir
}

// server is a running `ap serve`.
type running struct {
	*program
	args []string
	// url is what it said it serves.
	url string
	cmd *exec.Cmd
	log *logBuffer
}

// logBuffer keeps what a server wrote.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) line(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(s + "\n")
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// serve starts `ap serve` with arguments and waits until it is ready. It is stopped with the test.
func (p *program) serve(args ...string) *running {
	p.t.Helper()
	s := &running{program: p, args: append([]string{"serve"}, args...)}
	s.start()
	p.t.Cleanup(func() {
		if s.cmd != nil {
			s.kill()
		}
		if strings.Contains(s.log.String(), "DATA RACE") {
			p.t.Error("the server has a data race")
		}
		if p.t.Failed() {
			p.t.Logf("the server wrote:\n%s", s.log)
		}
	})
	return s
}

func (s *running) start() {
	s.t.Helper()
	s.cmd, s.log = s.command(s.args...), &logBuffer{}
	stderr, err := s.cmd.StderrPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, s.cmd.Start())
	ready := make(chan string, 1)
	log := s.log
	go func() {
		defer close(ready)
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			log.line(lines.Text())
			if url, ok := strings.CutPrefix(lines.Text(), "ap: serving "); ok {
				ready <- url
			}
		}
	}()
	select {
	case url, ok := <-ready:
		if !ok {
			_ = s.cmd.Wait()
			require.FailNow(s.t, "the server ended before it was ready", "%s", log)
		}
		s.url = url
	case <-time.After(30 * time.Second):
		require.FailNow(s.t, "the server was not ready in 30 s", "%s", log)
	}
}

// kill ends the server with SIGKILL.
func (s *running) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

// stop ends the server with SIGTERM and returns its exit status.
func (s *running) stop() int {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGTERM))
	done := make(chan struct{})
	cmd := s.cmd
	go func() { defer close(done); _ = cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(15 * time.Second): // before the shutdown timeout: nothing that stays open by design holds it up
		require.FailNow(s.t, "the server did not end in 15 s after SIGTERM")
	}
	s.cmd = nil
	return cmd.ProcessState.ExitCode()
}

// freeAddr is an address on this machine that nothing listens on.
func freeAddr(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// agent makes an agent with a key and connects it.
func (s *running) agent(name string, args ...string) *toolClient {
	s.t.Helper()
	var made struct{ Name, Token string }
	s.json(&made, append([]string{"agent", "add", name}, args...)...)
	require.Equal(s.t, name, made.Name)
	return s.connect(made.Token)
}

func (s *running) connect(token string) *toolClient {
	s.t.Helper()
	c, err := connectTools(s.t.Context(), s.url+"/mcp", token)
	require.NoError(s.t, err)
	s.t.Cleanup(c.close)
	return c
}

// runView is the run view as a client reads it.
type runView struct {
	Run       run.RunInfo
	Data      json.RawMessage
	Steps     []run.StepView
	WorkItems []struct {
		ID, StepID, Text, Snapshot string
		AssignedTo                 run.Assignment
	}
}
