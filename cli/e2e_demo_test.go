package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/conformance/fixtures"
	"github.com/apserver/ap/core/process"
)

// demonstration is a running `ap demo`.
type demonstration struct {
	*program
	cmd *exec.Cmd
	out *logBuffer
	tmp string
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func startDemo(t *testing.T, args ...string) *demonstration {
	t.Helper()
	d := &demonstration{program: newProgram(t), out: &logBuffer{}, tmp: t.TempDir()}
	d.cmd = d.command(append([]string{"demo"}, args...)...)
	d.cmd.Env = append(d.cmd.Env, "TMPDIR="+d.tmp)
	d.cmd.Stdout, d.cmd.Stderr = d.out, d.out
	require.NoError(t, d.cmd.Start())
	t.Cleanup(func() {
		if d.cmd.ProcessState == nil {
			_ = d.cmd.Process.Kill()
			_ = d.cmd.Wait()
		}
	})
	return d
}

// until waits until the demo has printed a text.
func (d *demonstration) until(text string) {
	d.t.Helper()
	require.Eventually(d.t, func() bool { return strings.Contains(d.out.String(), text) }, 30*time.Second, 20*time.Millisecond,
		"the demo did not print %q", text)
}

// interrupt is Ctrl-C; the demo has to end well and leave nothing behind.
func (d *demonstration) interrupt() {
	d.t.Helper()
	left, err := os.ReadDir(d.tmp)
	require.NoError(d.t, err)
	require.Len(d.t, left, 1, "the demo works in one temporary directory")
	require.NoError(d.t, d.cmd.Process.Signal(syscall.SIGINT))
	require.NoError(d.t, d.cmd.Wait(), "%s", d.out)
	left, err = os.ReadDir(d.tmp)
	require.NoError(d.t, err)
	require.Empty(d.t, left)
	left, err = os.ReadDir(d.work)
	require.NoError(d.t, err)
	require.Empty(d.t, left, "nothing is left in the working directory")
}

func TestDemoSaysWhereToGoAndCleansUp(t *testing.T) {
	t.Parallel()
	d := startDemo(t, "--json")
	var invitation struct {
		URL, Email, Data string
		OpenItems        int
	}
	require.Eventually(t, func() bool { return json.Unmarshal([]byte(d.out.String()), &invitation) == nil }, 30*time.Second, 20*time.Millisecond, "%s", d.out)
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/inbox$`, invitation.URL)
	require.Equal(t, "mira@example.com", invitation.Email)
	require.Equal(t, 5, invitation.OpenItems, "work is left for the newcomer")

	var list struct {
		Items []struct{ Process, Mode, State string }
	}
	d.json(&list, "runs", "--data", invitation.Data)
	require.Len(t, list.Items, 6)
	for _, r := range list.Items {
		require.Equal(t, "test", r.Mode)
		require.Equal(t, "waiting", r.State, r.Process)
	}
	d.interrupt()
}

func TestDemoRefusesAnAddressThatOthersReach(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	require.Contains(t, p.refused(2, "demo", "--addr", "0.0.0.0:0"), "anyone could sign in as anyone")
	require.Contains(t, p.refused(2, "demo", "--addr", "8080"), "--addr")
}

func TestDemoReactsToDecisions(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	d := startDemo(t)
	d.until("Now it is your turn")
	require.Contains(t, d.out.String(), "placeholder")
	inbox := regexp.MustCompile(`http://\S+/inbox`).FindString(d.out.String())
	require.NotEmpty(t, inbox)

	b.open(inbox)
	b.signIn("mira@example.com")
	b.see("New supplier", "Press release", "Customer reply", "Travel request", "test")
	b.follow("Lindwurm Pumpen GmbH")
	b.see("Placeholder work by the demo agent")
	b.fill("Note", "Who owns it?")
	b.press("Reject")
	d.until("mira@example.com   rejected (“Who owns it?”) approval of new-supplier")
	d.until("submitted research of new-supplier, after reading the note “Who owns it?”")

	b.open(inbox)
	b.follow("Lindwurm Pumpen GmbH")
	b.see("Who owns it?")
	b.press("Approve")
	d.until("new-supplier       ended: taken on")
	d.interrupt()
}

func TestPlaceholdersFitEveryFieldOfTheExamples(t *testing.T) {
	t.Parallel()
	for _, name := range fixtures.Examples() {
		source, err := fixtures.Source(name)
		require.NoError(t, err)
		doc, issues := process.Parse(source, process.Options{Folder: name})
		require.Empty(t, issues, name)
		for _, step := range doc.Steps {
			if step.Output == nil {
				continue
			}
			declared, err := json.Marshal(step.Output)
			require.NoError(t, err)
			var fields map[string]demoField
			require.NoError(t, json.Unmarshal(declared, &fields))
			output, err := json.Marshal(placeholders(fields))
			require.NoError(t, err)
			require.Empty(t, step.Output.Check("output", output), "%s of %s", step.ID, name)
		}
	}
}

func TestImportAsksForRolesThatAreNotBound(t *testing.T) {
	t.Parallel()
	var prompt bytes.Buffer
	a := &app{in: strings.NewReader("buyers\n\n"), err: &prompt}
	s := defaultSettings()
	s.Data = filepath.Join(t.TempDir(), "ap-data")
	b, err := openData(context.Background(), s, createData, newLogger(&prompt, s))
	require.NoError(t, err)
	defer b.close()
	b.serveAt("http://localhost")
	source, err := fixtures.Source("customer-reply")
	require.NoError(t, err)
	doc, _ := process.Parse(source, process.Options{})
	require.Equal(t, []string{"support", "support-lead"}, doc.Roles())

	bindings := map[string]string{}
	prompt.Reset()
	require.NoError(t, a.askRoles(t.Context(), b, doc, map[string]string{}, bindings))
	require.Equal(t, map[string]string{"support": "buyers"}, bindings, "an empty answer leaves the role for later")
	require.Contains(t, prompt.String(), "Which group is the role support?")
	require.Contains(t, prompt.String(), "Which group is the role support-lead?")

	prompt.Reset()
	require.NoError(t, a.askRoles(t.Context(), b, doc, map[string]string{"support": "x", "support-lead": "y"}, bindings))
	require.Empty(t, prompt.String(), "bound roles are not asked for")
}
