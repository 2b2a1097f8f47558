package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// acknowledged is a write that was answered ok, with the very bytes of the answer.
type acknowledged struct {
	tool   string
	args   map[string]any
	answer string
}

// crashLoad writes to a server from several agents at once and keeps what was acknowledged.
type crashLoad struct {
	url, token string

	mu    sync.Mutex
	acked []acknowledged
}

// call makes a tool call over plain HTTP; ok is false when there was no answer, which says nothing of the write.
func (l *crashLoad) call(tool string, args map[string]any) (answer string, ok bool) {
	body := marshalPlain(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args}})
	req, err := http.NewRequest(http.MethodPost, l.url+"/mcp", bytes.NewReader(body))
	if err != nil {
		return "", false
	}
	req.Header.Set("Authorization", "Bearer "+l.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", "2025-06-18")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", false
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	var message struct {
		Result struct {
			Structured json.RawMessage `json:"structuredContent"`
		} `json:"result"`
	}
	if err != nil || json.Unmarshal(raw, &message) != nil {
		return "", false
	}
	return string(message.Result.Structured), strings.HasPrefix(string(message.Result.Structured), `{"ok":true`)
}

// write makes a write and keeps it if it was acknowledged.
func (l *crashLoad) write(tool string, args map[string]any) (data map[string]any, ok bool) {
	args["requestId"] = newRequestID()
	answer, ok := l.call(tool, args)
	if !ok {
		return nil, false
	}
	l.mu.Lock()
	l.acked = append(l.acked, acknowledged{tool, args, answer})
	l.mu.Unlock()
	var body struct {
		Data map[string]any `json:"data"`
	}
	err := json.Unmarshal([]byte(answer), &body)
	return body.Data, err == nil
}

// work starts runs and takes them to their approval until the server doesn't answer.
func (l *crashLoad) work() {
	for n := 0; ; n++ {
		view, ok := l.write("start_run", map[string]any{"process": "crash", "inputs": map[string]any{"n": n}})
		if !ok {
			return
		}
		id := lookupPath(view, "run", "id")
		claim, ok := l.write("claim", map[string]any{"runId": id, "stepId": "work"})
		if !ok {
			return
		}
		if _, ok := l.write("submit", map[string]any{"token": claim["token"], "output": map[string]any{"n": n}, "summary": "Counted."}); !ok {
			return
		}
	}
}

// count is how many writes were acknowledged.
func (l *crashLoad) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

const crashProcess = `---
name: crash
description: Counts, and has somebody look at it.
inputs: { n: number }
steps:
  - id: work
    agent: Count.
    output: { n: number }
  - id: look
    person: looker
    approve: Right?
  - id: done
    finish: done
---
`

// A server that is killed at random moments under load has every write it acknowledged, with the very answer it gave, and a
// journal that verifies. AP_CRASH_ROUNDS says how often it is killed.
func TestEveryAcknowledgedWriteSurvivesKillsUnderLoad(t *testing.T) {
	t.Parallel()
	rounds := 4
	if s := os.Getenv("AP_CRASH_ROUNDS"); s != "" {
		var err error
		rounds, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	p := newProgram(t)
	dir := t.TempDir() + "/crash"
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(dir+"/PROCESS.md", []byte(crashProcess), 0o644))
	p.ok("import", dir, "--role", "looker=lookers", "--publish")
	s := p.serve("--addr", "127.0.0.1:0", "--rate-limit", "1000000", "--rate-burst", "1000000")
	l := &crashLoad{token: strings.TrimSpace(p.ok("agent", "add", "counter", "--quiet"))}
	for round := range rounds {
		l.url = s.url
		before, until := l.count(), 1+rand.IntN(300)
		var workers sync.WaitGroup
		for range 8 {
			workers.Go(l.work)
		}
		require.Eventually(t, func() bool { return l.count() >= before+until }, time.Minute, time.Millisecond, "round %d", round)
		s.kill()
		workers.Wait()
		s.start()
		l.url = s.url
		for _, a := range l.acked[before:] {
			again, ok := l.call(a.tool, a.args)
			require.True(t, ok, "round %d: %s is lost: %s", round, a.tool, again)
			require.Equal(t, a.answer, again, "round %d: %s", round, a.tool)
		}
	}
	p.ok("verify")
	require.Equal(t, 0, s.stop())
}
