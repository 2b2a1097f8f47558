package cli

import (
	"context"
	"encoding/xml"
	"io"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/conformance"
)

// startProxied starts a fresh server of ours behind a proxy, and says how to test it.
func startProxied(t *testing.T) (*mutantProxy, conformance.Options) {
	t.Helper()
	proxy := newMutantProxy()
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	s := defaultSettings()
	s.Data, s.Addr, s.Dev, s.PeopleOverMCP = filepath.Join(t.TempDir(), "data"), "127.0.0.1:0", true, true
	s.BaseURL, s.RateLimit, s.RateBurst = front.URL, 1e6, 1e6
	ctx, stop := context.WithCancel(context.Background())
	x, err := listen(ctx, s, slog.New(slog.NewTextHandler(io.Discard, nil)))
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- x.serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
		x.close()
	})
	proxy.upstream = &url.URL{Scheme: "http", Host: x.listener.Addr().String()}
	proxy.become(mutant{})
	a := &app{in: nil, out: io.Discard, err: io.Discard}
	opts, err := a.prepareSelf(ctx, x)
	require.NoError(t, err)
	proxy.agent, proxy.person, proxy.operator = opts.Agent, opts.People[0].Token, opts.Operator.Token
	return proxy, opts
}

// The suite catches every wrong server with the cases meant for it, and only with cases that should notice.
func TestConformanceCatchesMutants(t *testing.T) {
	proxy, opts := startProxied(t)
	failures := func(t *testing.T) []string {
		report, err := conformance.Run(t.Context(), opts)
		require.NoError(t, err)
		var ids []string
		for _, o := range report.Outcomes {
			if o.Status == conformance.Failed {
				ids = append(ids, o.ID)
			}
		}
		return ids
	}
	t.Run("our own server behind the proxy has no failures", func(t *testing.T) {
		require.Empty(t, failures(t))
	})
	if len(buildFlags) > 0 {
		return // the race detector has seen the suite and the server; wrong answers are no races
	}
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			proxy.become(m)
			failed := failures(t)
			for _, id := range m.caught {
				require.Contains(t, failed, id, "the case that is meant for this mutant did not notice")
			}
			for _, id := range failed {
				require.True(t, slices.Contains(m.caught, id) || slices.Contains(m.also, id), "%s failed, which has nothing to do with it", id)
			}
		})
	}
}

// Our own server passes all of the suite, refusals at publication and the examples included; what is skipped needs an
// evaluator for checks.
func TestConformanceSelf(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	var report struct {
		Passed, Failed int
		Cases          []struct{ ID, Status, Reason string }
	}
	p.json(&report, "conformance", "--self", "--folder", filepath.Dir(p.example("new-supplier")))
	require.Zero(t, report.Failed)
	require.Greater(t, report.Passed, 200)
	for _, c := range report.Cases {
		if c.Status == "skipped" {
			require.Contains(t, c.Reason, "check-1", c.ID)
		}
	}
}

// Without what a case needs it is skipped and said to be, and the exit status still says that nothing failed.
func TestConformanceSkipsWhatItCannotTest(t *testing.T) {
	t.Parallel()
	_, opts := startProxied(t)
	report, err := conformance.Run(t.Context(), conformance.Options{URL: opts.URL, Agent: opts.Agent})
	require.NoError(t, err)
	require.Zero(t, report.Count(conformance.Failed))
	require.NotZero(t, report.Count(conformance.Passed))
	require.NotZero(t, report.Count(conformance.Skipped))
	var text strings.Builder
	require.NoError(t, report.Write(&text, "text"))
	require.Contains(t, text.String(), "what was skipped was not tested")
	var junit strings.Builder
	require.NoError(t, report.Write(&junit, "junit"))
	require.NoError(t, xml.Unmarshal([]byte(junit.String()), new(struct{ XMLName xml.Name })))
}
