package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/apserver/ap/conformance/fixtures"
	"github.com/apserver/ap/core/run"
)

func TestLintAcceptsEveryPublicProcess(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	var report struct {
		Files  int
		Issues []json.RawMessage
	}
	p.json(&report, "lint", filepath.Join(upstream(t), "fixtures"), filepath.Join(upstream(t), "marketplace"))
	require.Equal(t, 24, report.Files)
	for _, issue := range report.Issues {
		require.NotContains(t, string(issue), `"error"`)
	}
}

func TestLintAcceptsTheExamplesWithoutAWarning(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	for _, name := range fixtures.Examples() {
		p.ok("lint", "--strict", p.example(name))
	}
}

func TestHashReproducesEveryPublicHash(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	list, err := os.Open(filepath.Join(upstream(t), "hashes.txt"))
	require.NoError(t, err)
	defer list.Close()
	var want, paths []string
	for lines := bufio.NewScanner(list); lines.Scan(); {
		hash, path, ok := strings.Cut(lines.Text(), "  ")
		require.True(t, ok)
		want = append(want, hash+"  "+filepath.Join(upstream(t), path))
		paths = append(paths, filepath.Join(upstream(t), path))
	}
	require.NotEmpty(t, paths)
	require.Equal(t, strings.Join(want, "\n")+"\n", p.ok(append([]string{"hash"}, paths...)...))
}

func TestLintRefusesBrokenFilesWithTheirPlaces(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	for name, test := range map[string]struct{ source, want string }{
		"unknown key":     {"---\nname: broken\ndescription: x\nsteps:\n  - id: a\n    agent: x\n    evidnce: [file]\n    next: z\n  - id: z\n    finish: done\n---\n", `:7:5: error: .*evidnce.*evidence`},
		"duplicate key":   {"---\nname: broken\nname: broken\ndescription: x\nsteps:\n  - id: z\n    finish: done\n---\n", `:3:1: error: `},
		"unknown target":  {"---\nname: broken\ndescription: x\nsteps:\n  - id: a\n    agent: x\n    next: zz\n  - id: z\n    finish: done\n---\n", `:7:11: error: `},
		"cycle":           {"---\nname: broken\ndescription: x\nsteps:\n  - id: a\n    agent: x\n    next: b\n  - id: b\n    agent: y\n    next: a\n---\n", `:\d+:\d+: error: `},
		"unclosed":        {"---\nname: broken\n", `error: `},
		"empty":           {"", `error: `},
		"binary":          {"\x00\xff\xfe\x00", `error: `},
		"wrong folder":    {"---\nname: other\ndescription: x\nsteps:\n  - id: z\n    finish: done\n---\n", `:2:7: error: `},
		"duration":        {"---\nname: broken\ndescription: x\nsteps:\n  - id: a\n    wait: 3 days\n  - id: z\n    finish: done\n---\n", `:6:11: error: `},
		"unknown path":    {"---\nname: broken\ndescription: x\nsteps:\n  - id: a\n    wait_until: inputs.when\n  - id: z\n    finish: done\n---\n", `:6:17: error: `},
		"unreached":       {"---\nname: broken\ndescription: x\nsteps:\n  - id: a\n    agent: x\n    next: z\n  - id: b\n    agent: y\n  - id: z\n    finish: done\n---\n", `:8:\d+: error: `},
		"yes is no bool":  {"---\nname: broken\ndescription: x\ninputs:\n  a:\n    type: string\n    optional: yes\nsteps:\n  - id: z\n    finish: done\n---\n", `:7:15: error: `},
		"unknown type":    {"---\nname: broken\ndescription: x\ninputs:\n  a: sting\nsteps:\n  - id: z\n    finish: done\n---\n", `:5:6: error: .*string`},
		"two kinds":       {"---\nname: broken\ndescription: x\nsteps:\n  - id: a\n    agent: x\n    finish: done\n---\n", `error: `},
		"upper-case id":   {"---\nname: broken\ndescription: x\nsteps:\n  - id: Aa\n    finish: done\n---\n", `:5:9: error: `},
		"several at once": {"---\nname: broken\ndescription: ''\nsteps:\n  - id: a\n    agent: x\n    nxt: z\n  - id: z\n    finish: done\n---\n", `(?s):3:14: error: .*:7:5: error: `},
	} {
		dir := filepath.Join(p.work, strings.ReplaceAll(name, " ", "-"), "broken")
		require.NoError(t, os.MkdirAll(dir, 0o700))
		path := filepath.Join(dir, "PROCESS.md")
		require.NoError(t, os.WriteFile(path, []byte(test.source), 0o600))

		r := p.run("lint", path)
		require.Equal(t, 1, r.status, "%s: %s%s", name, r.out, r.err)
		require.Regexp(t, regexp.QuoteMeta(path), r.out, name)
		require.Regexp(t, test.want, r.out, name)

		require.NotEmpty(t, p.refused(1, "import", path), name)
		require.NoFileExists(t, filepath.Join(p.data, "ap.db"), "a refused import made a data directory")
	}
}

func TestLintOfWhatIsNoProcess(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	dir := filepath.Join(p.work, "PROCESS.md")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NotEqual(t, 0, p.run("lint", filepath.Join(p.work, "nowhere")).status)
	require.NotEqual(t, 0, p.run("import", filepath.Join(p.work, "nowhere")).status)
	require.NotEqual(t, 0, p.run("import", dir).status)

	large := filepath.Join(p.work, "large.md")
	require.NoError(t, os.WriteFile(large, []byte("---\n"), 0o600))
	require.NoError(t, os.Truncate(large, 100<<20))
	require.NotEqual(t, 0, p.run("lint", large).status)
	require.NotEqual(t, 0, p.run("import", large).status)
}

func TestImportBindPublish(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	hash := strings.Fields(p.ok("hash", filepath.Join(p.example("new-supplier"), "PROCESS.md")))[0]

	var imported struct {
		Process, ContentHash string
		Roles                map[string]*string
		Requires             any
		Version              *int
	}
	p.json(&imported, "import", p.example("new-supplier"))
	require.Equal(t, "new-supplier", imported.Process)
	require.Equal(t, hash, imported.ContentHash)
	require.Equal(t, map[string]*string{"purchasing": nil}, imported.Roles)
	require.Nil(t, imported.Version)

	message := p.refused(1, "publish", "new-supplier")
	require.Contains(t, message, "purchasing")

	require.Contains(t, p.refused(1, "bind", "new-supplier", "purchesing=buyers"), "purchasing", "the nearest role is named")
	require.Contains(t, p.refused(1, "bind", "new-suplier", "purchasing=buyers"), "new-supplier", "the nearest process is named")
	require.Contains(t, p.refused(1, "publish", "new-suplier"), "new-supplier")
	p.ok("group", "add", "buyers", "mira@example.com")
	hint := p.ok("bind", "new-supplier", "purchasing=buyer")
	require.Contains(t, hint, "Nobody was added to the group buyer here")
	require.Contains(t, hint, `did you mean "buyers"?`)
	require.NotContains(t, p.ok("bind", "new-supplier", "purchasing=buyers"), "Nobody")

	type published struct {
		Process     string
		Version     int
		ContentHash string
	}
	var first, again published
	p.json(&first, "publish", "new-supplier")
	require.Equal(t, published{"new-supplier", 1, hash}, first)
	p.json(&again, "publish", "new-supplier")
	require.Equal(t, first, again, "unchanged content is the version there is")

	// Changed content is the next version; the first stays what it is.
	changed := filepath.Join(p.work, "new-supplier", "PROCESS.md")
	source, err := os.ReadFile(filepath.Join(p.example("new-supplier"), "PROCESS.md"))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(changed), 0o700))
	require.NoError(t, os.WriteFile(changed, append(source, "\nOne more line.\n"...), 0o600))
	group := "buyers"
	p.json(&imported, "import", filepath.Dir(changed), "--publish")
	require.Equal(t, map[string]*string{"purchasing": &group}, imported.Roles, "roles stay bound")
	require.NotNil(t, imported.Version)
	require.Equal(t, 2, *imported.Version)
	require.NotEqual(t, hash, imported.ContentHash)

	var shown struct {
		Versions []struct {
			Version     int
			ContentHash string
		}
	}
	p.json(&shown, "processes", "new-supplier")
	require.Len(t, shown.Versions, 2)
	require.Equal(t, hash, shown.Versions[1].ContentHash)
	require.Contains(t, p.ok("processes"), "new-supplier")
	require.Contains(t, p.refused(1, "processes", "new-supplyer"), "new-supplier")
}

func TestImportShowsWhatAProcessRequires(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	var imported struct{ Requires struct{ Systems []string } }
	p.json(&imported, "import", p.example("travel-request"))
	require.Equal(t, []string{"travel-portal"}, imported.Requires.Systems)
	require.Contains(t, p.ok("import", p.example("travel-request")), "travel-portal")
}

func TestImportChecksTheFolder(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	source, err := os.ReadFile(filepath.Join(p.example("new-supplier"), "PROCESS.md"))
	require.NoError(t, err)
	dir := filepath.Join(p.work, "another-name")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "PROCESS.md"), source, 0o600))
	require.Contains(t, p.refused(2, "import", filepath.Dir(dir)), "no file in it is called PROCESS.md")
	require.Contains(t, p.refused(1, "import", dir), "another-name")
	require.Contains(t, p.refused(1, "import", filepath.Join(dir, "PROCESS.md")), "another-name")
	// A file of another name lies where it likes.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "draft.md"), source, 0o600))
	p.ok("import", filepath.Join(dir, "draft.md"))
}

func TestAProfileThatIsNotOfferedIsRefusedAtPublication(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	path := filepath.Join(upstream(t), "fixtures", "vendor-check")
	p.ok("lint", path)
	var imported struct{ Roles map[string]*string }
	p.json(&imported, "import", path)
	for role := range imported.Roles {
		p.ok("bind", "vendor-check", role+"="+role)
	}
	require.Contains(t, p.refused(1, "publish", "vendor-check"), "check-1")
}

func TestRunTypesItsInputsByTheDeclaredFields(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.publish("new-supplier", "purchasing")
	var view runView
	p.json(&view, "run", "new-supplier", "--input", "supplier=12", "--input", "country=AT", "--input", "yearlySpend=48000.00", "--test")
	require.Equal(t, run.Test, view.Run.Mode)
	require.Equal(t, 1, view.Run.Version)
	var data struct{ Inputs map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal(view.Data, &data))
	require.Equal(t, `"12"`, string(data.Inputs["supplier"]), "text stays text")
	require.Equal(t, `48000.00`, string(data.Inputs["yearlySpend"]), "numbers keep their digits")

	r := p.runWith(`{"supplier":"A","country":"DE","yearlySpend":1e2}`, "run", "new-supplier", "--inputs", "-", "--input", "country=AT", "--json")
	require.Equal(t, 0, r.status, r.err)
	require.NoError(t, json.Unmarshal([]byte(r.out), &view))
	require.NoError(t, json.Unmarshal(view.Data, &data))
	require.Equal(t, `"AT"`, string(data.Inputs["country"]))
	require.Equal(t, `1e2`, string(data.Inputs["yearlySpend"]))

	message := p.refused(2, "run", "new-supplier", "--input", "suplier=x", "--input", "yearlySpend=lots", "--input", "country")
	require.Contains(t, message, `"supplier"`)
	require.Contains(t, message, `"lots" is no number`)
	require.Contains(t, message, "FIELD=VALUE")

	message = p.refused(1, "run", "new-supplier", "--input", "yearlySpend=5")
	require.Contains(t, message, "inputs.supplier: missing")
	require.Contains(t, message, "inputs.country: missing")

	message = p.refused(2, "run", "new-supplier", "--input", "supplier=a\xff", "--input", "country=AT", "--input", "country=DE")
	require.Contains(t, message, `"supplier=a\xff" is not valid UTF-8`)
	require.Contains(t, message, "--input country is given twice")
	r = p.runWith("{\"supplier\":\"a\xff\"}", "run", "new-supplier", "--inputs", "-")
	require.Equal(t, 2, r.status)
	require.Contains(t, r.err, "standard input is not valid UTF-8")

	require.Contains(t, p.refused(1, "run", "new-suplier"), "new-supplier")
	require.Contains(t, p.refused(1, "run", "NEW-SUPPLIER"), "did you mean new-supplier?")
	require.Contains(t, p.refused(2, "run", "new-supplier", "--version", "0"), "versions count from 1")
	require.Contains(t, p.refused(1, "run", "new-supplier", "--version", "7"), "7")
	for _, broken := range []string{"", "[]", `{"a":1,"a":2}`, `{"a":1} {}`, `{"a":`} {
		require.Equal(t, 2, p.runWith(broken, "run", "new-supplier", "--inputs", "-").status, "%q", broken)
	}
}

func TestRunAsAPersonMakesThemTheInitiator(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.publish("travel-request")
	inputs := `{"traveller":"mira@example.com","manager":"noah@example.com","destination":"Graz","from":"2026-03-01","to":"2026-03-03","reason":"visit"}`
	require.Equal(t, 1, p.runWith(inputs, "run", "travel-request", "--inputs", "-").status, "nobody would be the initiator")
	r := p.runWith(inputs, "run", "travel-request", "--inputs", "-", "--as", "Mira@Example.com", "--json", "--follow")
	require.Equal(t, 0, r.status, r.err)
	var view runView
	require.NoError(t, json.Unmarshal([]byte(r.out), &view))
	require.Equal(t, "mira@example.com", view.Run.StartedBy)
	require.Equal(t, run.RunWaiting, view.Run.State)
	require.Len(t, view.WorkItems, 1)
	require.NotEqual(t, 0, p.runWith(inputs, "run", "travel-request", "--inputs", "-", "--as", "nobody").status)
}

func TestFollowReportsEachStepUntilTheRunWaits(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.publish("new-supplier", "purchasing")
	s := p.serve("--dev", "--addr", "127.0.0.1:0")
	agent := s.agent("worker")
	followed := make(chan result, 1)
	go func() {
		followed <- p.run("run", "new-supplier", "--input", "supplier=A", "--input", "country=AT", "--input", "yearlySpend=1", "--follow")
	}()
	var work struct{ Items []demoWork }
	require.Eventually(t, func() bool {
		return agent.call(t.Context(), "get_work", nil, &work) == nil && len(work.Items) == 1
	}, 15*time.Second, 20*time.Millisecond)
	workStep(t, agent, work.Items[0], "approval")
	r := <-followed
	require.Equal(t, 0, r.status, r.err)
	require.Regexp(t, `(?s)research: ready for an agent.*research: done.*approval: waits in the inbox.*waits for purchasing`, r.out)
}

func TestRunsAreListedCancelledAndSentEvents(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.publish("new-supplier", "purchasing")
	p.publish("trial-access", "sales")
	id := strings.TrimSpace(p.ok("run", "new-supplier", "--input", "supplier=A", "--input", "country=AT", "--input", "yearlySpend=1", "--quiet"))
	trial := strings.TrimSpace(p.ok("run", "trial-access", "--input", "customer=A", "--input", "contact=a@example.com", "--input", "trialEnds=2030-01-01T00:00:00Z", "--quiet"))

	var list struct {
		Items []struct{ ID, Process, State string }
	}
	p.json(&list, "runs")
	require.Len(t, list.Items, 2)
	require.Equal(t, trial, list.Items[0].ID, "newest first")
	p.json(&list, "runs", "--process", "new-supplier", "--state", "active")
	require.Len(t, list.Items, 1)
	require.Contains(t, p.refused(2, "runs", "--state", "activ"), "active")
	require.Contains(t, p.refused(1, "runs", "--process", "new-suplier"), "new-supplier")
	require.Contains(t, p.ok("runs", id), "ready for an agent")
	p.refused(1, "runs", "r_nothing")

	p.refused(2, "runs", "cancel", id)
	p.ok("runs", "cancel", id, "--reason", "entered twice")
	require.Contains(t, p.ok("runs", id), "entered twice")
	p.refused(1, "runs", "cancel", id, "--reason", "again")

	var sent struct{ ConsumedBy *string }
	p.json(&sent, "runs", "event", trial, "terms_signed", "--data", `{"by":"post"}`)
	require.Nil(t, sent.ConsumedBy, "no step waits for it yet")
	p.json(&sent, "--data", p.data, "runs", "event", trial, "terms_signed", "--data", `{"by":"post"}`)
	p.ok("runs", "event", trial, "terms_signed", "--data", p.data)
	for _, broken := range []string{"[]", "by=post", `{"a":1,"a":2}`, `{"a":`} {
		require.Contains(t, p.refused(2, "runs", "event", trial, "terms_signed", "--data", broken), "JSON object", broken)
	}
}

func TestCommandsTakeEffectInARunningServerAtOnce(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	s := p.serve("--dev", "--addr", "127.0.0.1:0")
	agent := s.agent("worker")
	ctx := t.Context()

	var offered struct{ Items []struct{ Name string } }
	require.NoError(t, agent.call(ctx, "list_processes", nil, &offered))
	require.Empty(t, offered.Items)
	p.publish("new-supplier", "purchasing")
	require.NoError(t, agent.call(ctx, "list_processes", nil, &offered))
	require.Len(t, offered.Items, 1, "a published version is offered at once")

	id := strings.TrimSpace(p.ok("run", "new-supplier", "--input", "supplier=A", "--input", "country=AT", "--input", "yearlySpend=1", "--quiet"))
	var work struct{ Items []demoWork }
	require.NoError(t, agent.call(ctx, "get_work", nil, &work))
	require.Len(t, work.Items, 1, "a run started beside the server is work at once")

	// A new binding holds for the work item that opens next.
	p.ok("bind", "new-supplier", "purchasing=buyers")
	workStep(t, agent, work.Items[0], "approval")
	var view runView
	require.NoError(t, agent.call(ctx, "get_run", map[string]any{"runId": id}, &view))
	require.Len(t, view.WorkItems, 1)
	require.Equal(t, "buyers", view.WorkItems[0].AssignedTo.Group)

	require.Contains(t, p.refused(1, "agent", "revoke", "workr"), "worker")
	p.ok("agent", "revoke", "worker")
	require.Error(t, agent.call(ctx, "get_work", nil, &work), "a revoked agent is out at once")
	require.Contains(t, p.ok("agent", "list"), "revoked")

	require.Equal(t, 0, s.stop())
}

// workStep claims a step of new-supplier and submits it with a file, on that route.
func workStep(t *testing.T, agent *toolClient, work demoWork, next string) {
	t.Helper()
	ctx := context.Background()
	var claim demoClaim
	require.NoError(t, agent.call(ctx, "claim", map[string]any{"runId": work.RunID, "stepId": work.StepID, "requestId": newRequestID()}, &claim))
	var file struct{ ID string }
	require.NoError(t, agent.call(ctx, "upload", map[string]any{"fileName": "report.txt", "contentType": "text/plain",
		"contentBase64": "VGhlIHJlcG9ydA==", "requestId": newRequestID()}, &file))
	require.NoError(t, agent.call(ctx, "submit", map[string]any{"token": claim.Token,
		"output":   map[string]any{"registeredName": "A", "risk": "low"},
		"evidence": []any{map[string]any{"kind": "file", "ref": file.ID}},
		"summary":  "Looked it up.", "next": next, "reason": "Nothing found.", "requestId": newRequestID()}, nil))
}

func TestCommandsBesideAServerWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.publish("new-supplier", "purchasing")
	s := p.serve("--dev", "--addr", "127.0.0.1:0")
	agent := s.agent("worker")
	var group errgroup.Group
	for i := range 6 {
		group.Go(func() error {
			for range 3 {
				r := p.run("run", "new-supplier", "--input", "supplier=A", "--input", "country=AT", "--input", fmt.Sprintf("yearlySpend=%d", i), "--quiet")
				if r.status != 0 {
					return errors.New(r.err)
				}
				if r = p.run("group", "add", "purchasing", fmt.Sprintf("person-%d@example.com", i)); r.status != 0 {
					return errors.New(r.err)
				}
			}
			return nil
		})
		group.Go(func() error {
			for range 20 {
				err := agent.call(t.Context(), "start_run", map[string]any{"process": "new-supplier", "requestId": newRequestID(),
					"inputs": map[string]any{"supplier": "B", "country": "AT", "yearlySpend": i}}, nil)
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Contains(t, p.ok("verify"), "138 runs checked")
}

func TestASecondServerOnTheDirectoryIsRefusedNamingTheFirst(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	s := p.serve("--dev", "--addr", "127.0.0.1:0")
	require.Contains(t, p.refused(2, "serve", "--dev", "--addr", "127.0.0.1:0"), s.url)
	require.Contains(t, p.refused(2, "serve", "--dev", "--addr", strings.TrimPrefix(s.url, "http://")), "at "+s.url+" serves the data directory",
		"also on the first one's address, which both have by default")
	require.Equal(t, 0, s.stop())
	second := p.serve("--dev", "--addr", "127.0.0.1:0")
	require.Equal(t, 0, second.stop(), "the lock goes with the first server")
}

func TestServeFinishesWhatIsUnderWayWhenItIsStopped(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	s := p.serve("--dev", "--addr", "127.0.0.1:0", "--people-over-mcp")
	require.Contains(t, s.log.String(), "people-over-mcp is on", "it is logged loudly")
	var made struct{ Token string }
	p.json(&made, "agent", "add", "worker")

	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"describe","arguments":{}}}`
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		strings.TrimPrefix(s.url, "http://"), made.Token, len(body), body[:20])
	require.NoError(t, err)
	// The server has the request once it counts it as under way; a second one on another connection comes after it.
	res, err := http.Get(s.url + "/healthz")
	require.NoError(t, err)
	res.Body.Close()

	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err == nil {
			c.Close()
		}
		return err != nil
	}, 10*time.Second, 10*time.Millisecond, "it goes on listening")
	_, err = conn.Write([]byte(body[20:]))
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "200 OK")
	require.Contains(t, string(answer), "core-2")
	require.NoError(t, s.cmd.Wait())
	s.cmd = nil
}

func TestServeThatCannotListen(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	message := p.refused(2, "serve", "--dev", "--addr", l.Addr().String())
	require.Contains(t, message, "in use")
	require.Contains(t, message, "--addr")
	require.Contains(t, p.refused(2, "serve", "--dev", "--addr", "0.0.0.0:0"), "anyone could sign in as anyone")
	require.Contains(t, p.refused(2, "serve", "--base-url", "ap.example.com"), "is no URL")
}

func TestServeStartsWithAnIssuerThatIsDown(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	s := p.serve("--addr", "127.0.0.1:0", "--oidc-issuer", "http://"+freeAddr(t), "--oidc-client-id", "ap")
	agent := s.agent("worker")
	require.NoError(t, agent.call(t.Context(), "describe", nil, nil), "agents work all the same")
	res, err := http.Get(s.url + "/login")
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
}

func TestDevModeIsAbsentWithoutTheFlag(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	s := p.serve("--addr", "127.0.0.1:0")
	for _, path := range []string{"/dev/token", "/dev/clock", "/dev/oidc/.well-known/openid-configuration"} {
		res, err := http.Post(s.url+path, "application/json", strings.NewReader(`{}`))
		require.NoError(t, err)
		res.Body.Close()
		require.Contains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed}, res.StatusCode, path)
	}
}

func TestTheMovedClockKeepsItsPlaceOverARestart(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	s := p.serve("--dev", "--addr", "127.0.0.1:0")
	res, err := http.Post(s.url+"/dev/clock", "application/json", strings.NewReader(`{"advance":"3d"}`))
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	var moved struct{ Now run.Time }
	require.NoError(t, json.NewDecoder(res.Body).Decode(&moved))

	p.publish("new-supplier", "purchasing")
	start := []string{"run", "new-supplier", "--input", "supplier=A", "--input", "country=AT", "--input", "yearlySpend=1"}
	var view runView
	p.json(&view, start...)
	require.GreaterOrEqual(t, view.Run.StartedAt.String(), moved.Now.String(), "a command beside the server goes by its clock")

	require.Equal(t, 0, s.stop())
	s.start()
	p.json(&view, start...)
	require.GreaterOrEqual(t, view.Run.StartedAt.String(), moved.Now.String())
	require.Equal(t, 0, s.stop())
	require.Contains(t, p.refused(1, "serve", "--addr", "127.0.0.1:0"), "--dev", "its runs lie in the future")
}

func TestMissingAndUnusableDataDirectories(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	for _, args := range [][]string{{"processes"}, {"runs"}, {"publish", "x"}, {"verify"}, {"backup", "x"}, {"agent", "list"}, {"group", "list"}} {
		require.Contains(t, p.refused(2, args...), "ap-data", args)
		require.NoDirExists(t, p.data, "a command that only reads makes no data directory")
	}
	require.NoError(t, os.WriteFile(p.data, []byte("a file"), 0o600))
	require.Contains(t, p.refused(2, "processes"), "ap-data")
	require.Contains(t, p.refused(2, "serve", "--addr", "127.0.0.1:0"), "ap-data")
	require.NoError(t, os.Remove(p.data))

	p.ok("import", p.example("new-supplier"))
	require.NoError(t, os.WriteFile(filepath.Join(p.data, "ap.db"), []byte(strings.Repeat("this is no database ", 500)), 0o600))
	require.Contains(t, p.refused(2, "processes"), "ap.db")
}

func TestGroupsAndAgents(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.ok("group", "add", "buyers", "Mira@Example.com", "noah@example.com")
	var groups struct{ Groups map[string][]string }
	p.json(&groups, "group", "list")
	require.Equal(t, []string{"mira@example.com", "noah@example.com"}, groups.Groups["buyers"])
	require.Contains(t, p.refused(1, "group", "remove", "buyer", "mira@example.com"), "buyers")
	p.ok("group", "remove", "buyers", "mira@example.com")
	p.json(&groups, "group", "list")
	require.Equal(t, []string{"noah@example.com"}, groups.Groups["buyers"])
	require.NotEqual(t, 0, p.run("group", "add", "buyers", "not an e-mail").status)

	require.Contains(t, p.refused(1, "agent", "add", "worker", "--process", "new-supplier"), "new-supplier")
	p.publish("new-supplier", "purchasing")
	require.Contains(t, p.refused(1, "agent", "add", "worker", "--process", "new-suplier"), "did you mean new-supplier?")
	key := strings.TrimSpace(p.ok("agent", "add", "worker", "--process", "new-supplier", "--expires", "90d", "--quiet"))
	require.NotEmpty(t, key)
	require.NotContains(t, p.ok("agent", "list", "--json"), key)
	p.refused(1, "agent", "add", "worker")
	require.Contains(t, p.refused(2, "agent", "add", "other", "--expires", "soon"), "--expires")
}

func TestBackupIsADataDirectory(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	s := p.serve("--dev", "--addr", "127.0.0.1:0")
	p.publish("new-supplier", "purchasing")
	agent := s.agent("worker")
	id := strings.TrimSpace(p.ok("run", "new-supplier", "--input", "supplier=A", "--input", "country=AT", "--input", "yearlySpend=1", "--quiet"))
	workStep(t, agent, demoWork{RunID: id, StepID: "research"}, "approval")

	copied := filepath.Join(p.work, "copy")
	p.ok("backup", copied)
	require.Contains(t, p.ok("verify"), "as recorded")
	require.Contains(t, p.ok("verify", "--data", copied), "as recorded")
	require.Contains(t, p.ok("runs", id, "--data", copied), "waits in the inbox")
	require.NotEqual(t, 0, p.run("backup", copied).status, "a backup never writes over another")

	// What was changed behind the server's back shows.
	files, err := filepath.Glob(filepath.Join(copied, "files", "*"))
	require.NoError(t, err)
	changed := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(copied, "files"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.HasSuffix(path, ".attrs") {
			changed++
			return os.WriteFile(path, []byte("something else"), 0o600)
		}
		return err
	}))
	require.Positive(t, changed, "%v", files)
	require.Equal(t, 1, p.run("verify", "--data", copied).status)
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"serv", "--dev"}, `did you mean "serve"?`},
		{[]string{"agent", "remov", "--all"}, `has no command "remov"`},
		{[]string{"agent", "revok"}, `did you mean "revoke"?`},
		{[]string{"agent"}, "add, list, revoke"},
		{[]string{"run"}, "ap run NAME"},
		{[]string{"run", "a", "b"}, `"b" is one argument too many`},
		{[]string{"runs", "--jsn"}, "--json"},
		{[]string{"runs", "--limit", "x"}, "--limit: \"x\" is no whole number; see `ap runs --help`"},
		{[]string{"run", "a", "--test=maybe"}, `--test: "maybe" is neither true nor false`},
		{[]string{"foo"}, "ap has no command \"foo\"\n"},
		{[]string{"publish", "a", "--version", "1"}, "--version"},
		{[]string{"completion", "bsh"}, `did you mean "bash"?`},
		{[]string{"import", "x", "--role", "purchasing"}, "x"},
	} {
		message := p.refused(2, test.args...)
		require.Contains(t, message, test.want, test.args)
		require.True(t, strings.HasPrefix(message, "ap: "), message)
	}
	require.Equal(t, 0, p.run().status)
	require.Contains(t, p.ok("version"), "core-2")
	require.Contains(t, p.ok("completion", "bash"), "complete")
}
