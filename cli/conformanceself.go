package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/apserver/ap/conformance"
	"github.com/apserver/ap/core/process"
)

// The people of `ap conformance --self`: two in the fixtures' group, one outside it, and an operator.
var (
	selfPeople   = []string{"ada@example.com", "ben@example.com", "outsider@example.com"}
	selfOperator = "ops@example.com"
)

// conformanceSelf tests a fresh server in a temporary directory, over HTTP like any other.
func (a *app) conformanceSelf(ctx context.Context, f *conformanceFlags) (err error) {
	dir, err := os.MkdirTemp("", "ap-conformance-")
	if err != nil {
		return failed("making a temporary directory", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := defaultSettings()
	s.Data, s.Addr, s.Dev, s.PeopleOverMCP = filepath.Join(dir, "data"), "127.0.0.1:0", true, true
	s.RateLimit, s.RateBurst = 1e6, 1e6 // the suite is one client that asks as fast as it can
	site, err := listen(ctx, s, slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		return err
	}
	defer site.close()
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- site.serve(serving) }()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()
	opts, err := a.prepareSelf(ctx, site)
	if err != nil {
		return err
	}
	if opts.Import, err = selfImport(s.Data); err != nil {
		return err
	}
	opts.Only, opts.Folder, opts.Parallel, opts.Slow = f.only, f.folder, f.parallel, f.slow
	return a.runConformance(ctx, f, opts)
}

// prepareSelf publishes the fixtures and makes the identities.
func (a *app) prepareSelf(ctx context.Context, x *site) (opts conformance.Options, err error) {
	opts = conformance.Options{URL: x.url + "/mcp", Clock: x.url + "/dev/clock"}
	for _, fixture := range conformance.Fixtures() {
		doc, issues := process.Parse([]byte(fixture.Source), process.Options{Folder: fixture.Name})
		if doc == nil {
			return opts, failed("reading the fixture "+fixture.Name, errors.New(issues[0].Message))
		}
		if err := x.srv.Import(ctx, []byte(fixture.Source), doc); err != nil {
			return opts, err
		}
		if len(fixture.Roles) > 0 {
			if err := x.srv.Bind(ctx, fixture.Name, fixture.Roles); err != nil {
				return opts, err
			}
		}
		if fixture.Profile == "check-1" {
			continue // not offered here; the cases that need it are skipped
		}
		if _, err := x.srv.Publish(ctx, fixture.Name); err != nil {
			return opts, err
		}
	}
	if err := x.srv.AddMembers(ctx, conformance.Group, selfPeople[:2]); err != nil {
		return opts, err
	}
	if err := x.srv.AddMembers(ctx, x.srv.Operators(), []string{selfOperator}); err != nil {
		return opts, err
	}
	if opts.Agent, err = x.srv.AddAgent(ctx, "conformance-1", nil, 0); err != nil {
		return opts, err
	}
	if opts.Agent2, err = x.srv.AddAgent(ctx, "conformance-2", nil, 0); err != nil {
		return opts, err
	}
	for _, email := range selfPeople {
		token, err := devToken(ctx, x.url, email)
		if err != nil {
			return opts, err
		}
		opts.People = append(opts.People, conformance.Person{Email: email, Token: token})
	}
	token, err := devToken(ctx, x.url, selfOperator)
	opts.Operator = conformance.Person{Email: selfOperator, Token: token}
	return opts, err
}

// devToken asks a development server's issuer for a person's access token.
func devToken(ctx context.Context, base, email string) (string, error) {
	body, err := json.Marshal(map[string]string{"email": email})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/dev/token", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", failed("asking for a token of "+email, err)
	}
	defer res.Body.Close()
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Token == "" {
		return "", failed("asking for a token of "+email, fmt.Errorf("%s: %w", res.Status, err))
	}
	return answer.Token, nil
}

// selfImport is the command that offers a file to the server under test: this program on its data directory.
func selfImport(data string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", failed("finding this program", err)
	}
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	return quote(self) + " import {path} --data " + quote(data) + " {roles} --publish", nil
}
