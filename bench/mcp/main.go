// Command mcp measures complete runs a second through /mcp: start, claim, submit, approve, finish, each write durable on
// disk, over real HTTP with a plain client in the same process. It prints lines like "ap-mcp conc=64 700 runs/s".
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
	"github.com/apserver/ap/web"
)

// source is the process that is run: an agent's work with three fields, approved by a person.
const source = `---
name: supplier-check
description: Check a supplier and get it approved.
inputs:
  supplier: string
  amount: number
steps:
  - id: check
    agent: Check the supplier against the sanctions lists and say what you found.
    output:
      cleared: boolean
      findings: string
      score: number
  - id: approve
    person: buyer
    approve: Approve when the supplier is cleared and the amount is justified.
    on_reject: check
  - id: done
    finish: onboarded
---

# Supplier check

Start it when a new supplier is proposed.
`

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(1)
	}
}

func run() error {
	profile := flag.String("cpuprofile", "", "write a CPU profile of the concurrent part to this file")
	seconds := flag.Float64("seconds", 3, "how long each part takes")
	dir := flag.String("dir", "", "where to make the data directory (default: the system's temporary folder)")
	flag.Parse()
	web.RoomyHeap() // as ap serve does
	for _, conc := range []int{1, 64} {
		rate, err := measure(*dir, conc, time.Duration(*seconds*float64(time.Second)), *profile)
		if err != nil {
			return err
		}
		fmt.Printf("ap-mcp conc=%d %.0f runs/s\n", conc, rate)
	}
	return nil
}

// measure counts the runs that conc workers complete on a fresh server.
func measure(parent string, conc int, d time.Duration, profile string) (rate float64, err error) {
	dir, err := os.MkdirTemp(parent, "ap-bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := db.Open(ctx, filepath.Join(dir, "data"), db.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	c, closeServer, err := serve(ctx, store)
	if err != nil {
		return 0, err
	}
	defer closeServer()
	if profile != "" && conc > 1 {
		f, err := os.Create(profile)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return 0, err
		}
		defer pprof.StopCPUProfile()
	}
	counts := make([]int, conc)
	start := time.Now()
	var g errgroup.Group
	for w := range conc {
		g.Go(func() error {
			for n := 0; time.Since(start) < d; n++ {
				if err := c.oneRun(fmt.Sprintf("%d-%d", w, n)); err != nil {
					return err
				}
				counts[w]++
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	return float64(total) / time.Since(start).Seconds(), nil
}

// serve serves a store in dev mode with one process published, and returns a client. Decisions come with the access
// token of a person, which such a server takes for the person.
func serve(ctx context.Context, store *db.DB) (*client, func(), error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	url := "http://" + listener.Addr().String()
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	s := server.New(store, store.Files(), server.Options{Secret: store.Secret(), BaseURL: url, Logger: log})
	handler, err := web.Handler(s, web.Options{BaseURL: url, Logger: log, Dev: true, PeopleOverMCP: true, Sessions: store.Sessions()})
	if err != nil {
		return nil, nil, err
	}
	c := &client{url: url, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	if c.agent, err = publish(ctx, s); err != nil {
		return nil, nil, err
	}
	httpServer := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go httpServer.Serve(listener)
	if c.person, err = c.devToken(); err != nil {
		httpServer.Close()
		return nil, nil, err
	}
	return c, func() { httpServer.Close() }, nil
}

// publish publishes the process and returns the key of an agent.
func publish(ctx context.Context, s *server.Server) (key string, err error) {
	doc, issues := process.Parse([]byte(source), process.Options{})
	if doc == nil {
		return "", fmt.Errorf("the process: %v", issues)
	}
	if err := s.Import(ctx, []byte(source), doc); err != nil {
		return "", err
	}
	if err := s.Bind(ctx, doc.Name, map[string]string{"buyer": "buyers"}); err != nil {
		return "", err
	}
	if err := s.AddMembers(ctx, "buyers", []string{"mira@example.com"}); err != nil {
		return "", err
	}
	if _, err := s.Publish(ctx, doc.Name); err != nil {
		return "", err
	}
	return s.AddAgent(ctx, "screener", nil, 0)
}

// client calls tools as an agent and as a person.
type client struct {
	url           string
	http          *http.Client
	agent, person string
}

func (c *client) devToken() (string, error) {
	r, err := c.http.Post(c.url+"/dev/token", "application/json", strings.NewReader(`{"email":"mira@example.com"}`))
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	var answer struct {
		Token string `json:"access_token"`
	}
	return answer.Token, json.NewDecoder(r.Body).Decode(&answer)
}

// oneRun takes a run from start to finish. id makes its requestIds unique.
func (c *client) oneRun(id string) error {
	started, err := c.call(c.agent, "start_run", `{"process":"supplier-check","inputs":{"supplier":"Acme %s","amount":48000},"requestId":"start-%s"}`, id, id)
	if err != nil {
		return err
	}
	runID := started.text(`"run":{"id":"`)
	claimed, err := c.call(c.agent, "claim", `{"runId":"%s","stepId":"check","requestId":"claim-%s"}`, runID, id)
	if err != nil {
		return err
	}
	submitted, err := c.call(c.agent, "submit", `{"token":"%s","output":{"cleared":true,"findings":"No matches on either list.","score":0.93},`+
		`"summary":"Searched both lists by legal name and two known aliases. No hits.","requestId":"submit-%s"}`, claimed.text(`"token":"`), id)
	if err != nil {
		return err
	}
	decided, err := c.call(c.person, "decide", `{"runId":"%s","workItemId":"%s","snapshot":"%s","decision":"approved","requestId":"decide-%s"}`,
		runID, submitted.text(`"workItems":[{"id":"`), submitted.text(`"snapshot":"`), id)
	if err == nil && decided.text(`"state":"`) != "ended" {
		err = fmt.Errorf("the run did not end: %s", decided)
	}
	return err
}

// result is a tool's result as it came.
type result []byte

// text returns what follows a member's name and a quote, up to the next quote: ids and tokens have no escapes.
func (r result) text(member string) string {
	_, after, _ := bytes.Cut(r, []byte(member))
	value, _, _ := bytes.Cut(after, []byte(`"`))
	return string(value)
}

// call calls a tool and returns its structured content.
func (c *client) call(token, tool, arguments string, args ...any) (result, error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + fmt.Sprintf(arguments, args...) + `}}`
	r, err := http.NewRequest(http.MethodPost, c.url+"/mcp", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2025-06-18")
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	_, content, found := bytes.Cut(text, []byte(`"structuredContent":{"ok":true,`))
	if answer.StatusCode != http.StatusOK || !found {
		return nil, fmt.Errorf("%s: %s: %s", tool, answer.Status, text)
	}
	return result(content), nil
}
