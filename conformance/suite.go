package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Case is one thing a server must do.
type Case struct {
	// ID is stable: group, a dot, what is tested, such as "claims.renew-kills-the-old-token".
	ID string
	// Rule is the rule in one sentence; Section where the specification says it.
	Rule, Section string
	// Processes are the fixtures the case starts runs of.
	Processes []string
	// Needs says what the case can't do without.
	Needs Needs
	run   func(*T)
}

// Group is the part of the id before the dot.
func (c Case) Group() string { g, _, _ := strings.Cut(c.ID, "."); return g }

// Needs says what a case can't do without, beyond the agent's token; without it the case is skipped.
type Needs struct {
	// Agent2 is a second agent identity; People the number of people in the assigned group; Outsider a person outside
	// it; Operator an operator.
	Agent2   bool
	People   int
	Outsider bool
	Operator bool
	// Clock says that time has to pass; Slow that it is minutes, Import that files have to be offered for publication.
	Clock  bool
	Import bool
	// Profile and Tool are what `describe` has to list.
	Profile string
	Tool    string
}

// Status is how a case ended.
type Status string

const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Outcome is how one case ended and, for a failure, everything needed to repeat it.
type Outcome struct {
	ID      string  `json:"id"`
	Rule    string  `json:"rule"`
	Section string  `json:"section"`
	Status  Status  `json:"status"`
	Seconds float64 `json:"seconds"`
	// Reason says why the case was skipped, or what differed.
	Reason string `json:"reason,omitempty"`
	// Call is the call whose answer differed; Curl repeats it.
	Call *call  `json:"call,omitempty"`
	Curl string `json:"curl,omitempty"`
}

// Options says which server to test and with which identities.
type Options struct {
	// URL is the MCP endpoint.
	URL string
	// Agent and Agent2 are bearer tokens of two agent identities.
	Agent, Agent2 string
	// People are the persons' tokens by e-mail, in the order given: the first two are in the group that the
	// fixtures' roles are bound to, the third is not.
	People []Person
	// Operator is the token of a person among the operators.
	Operator Person
	// Clock is the URL of a movable clock: POST {"advance":"90s"} moves the server's time on.
	Clock string
	// Slow lets cases really wait where there is no clock.
	Slow bool
	// Import is a command template that offers a PROCESS.md for publication.
	Import string
	// Only selects cases by id or group; empty is all.
	Only []string
	// Folder holds PROCESS.md files to be worked through beside the suite's own cases; "" is none.
	Folder string
	// Parallel is how many cases run at once (4).
	Parallel int
	// Progress is called after each case.
	Progress func(done, total int, o Outcome)
	// Transport carries the requests; http.DefaultTransport by default.
	Transport http.RoundTripper
}

// Person is a person's e-mail and access token.
type Person struct{ Email, Token string }

// Report is what a run of the suite found.
type Report struct {
	URL      string        `json:"url"`
	Server   string        `json:"server"`
	Profiles []string      `json:"profiles"`
	Started  time.Time     `json:"started"`
	Took     time.Duration `json:"-"`
	Outcomes []Outcome     `json:"cases"`
}

// Count is the number of cases that ended so.
func (r *Report) Count(s Status) int {
	n := 0
	for _, o := range r.Outcomes {
		if o.Status == s {
			n++
		}
	}
	return n
}

// Cases lists every case in a stable order.
func Cases() []Case {
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b Case) int { return strings.Compare(a.Group(), b.Group()) })
	return out
}

var all []Case

// add registers cases; each cases_*.go file does so in its init.
func add(cases ...Case) { all = append(all, cases...) }

// Run tests a server. The error is for a server that can't be reached at all; what it does wrong is in the report.
func Run(ctx context.Context, opts Options) (*Report, error) {
	s, err := newSuite(ctx, opts)
	if err != nil {
		return nil, err
	}
	defer s.close()
	report := &Report{URL: opts.URL, Server: s.described.str("version"), Started: time.Now()}
	for _, p := range s.described.list("profiles") {
		report.Profiles = append(report.Profiles, fmt.Sprint(p))
	}
	// Cases that move the clock run alone, last: what they do to time is everybody's time.
	var together, alone []Case
	cases := Cases()
	if opts.Folder != "" {
		more, err := FolderCases(opts.Folder)
		if err != nil {
			return nil, err
		}
		cases = append(cases, more...)
	}
	for _, c := range cases {
		switch {
		case len(opts.Only) > 0 && !slices.Contains(opts.Only, c.ID) && !slices.Contains(opts.Only, c.Group()):
		case c.Needs.Clock:
			alone = append(alone, c)
		default:
			together = append(together, c)
		}
	}
	total := len(together) + len(alone)
	var mu sync.Mutex
	record := func(o Outcome) {
		mu.Lock()
		defer mu.Unlock()
		report.Outcomes = append(report.Outcomes, o)
		if opts.Progress != nil {
			opts.Progress(len(report.Outcomes), total, o)
		}
	}
	work := make(chan Case)
	var wg sync.WaitGroup
	for range max(1, opts.Parallel) {
		wg.Go(func() {
			for c := range work {
				record(s.one(ctx, c))
			}
		})
	}
	for _, c := range together {
		work <- c
	}
	close(work)
	wg.Wait()
	for _, c := range alone {
		record(s.one(ctx, c))
	}
	slices.SortStableFunc(report.Outcomes, func(a, b Outcome) int { return strings.Compare(a.ID, b.ID) })
	report.Took = time.Since(report.Started)
	return report, ctx.Err()
}

// suite is one run of the cases against one server.
type suite struct {
	opts      Options
	agent     *caller
	agent2    *caller
	people    []*caller
	operator  *caller
	described *call
}

func newSuite(ctx context.Context, opts Options) (*suite, error) {
	if opts.Transport == nil {
		opts.Transport = http.DefaultTransport
	}
	if opts.Parallel == 0 {
		opts.Parallel = 4
	}
	if opts.Agent == "" {
		return nil, fmt.Errorf("an agent's token is needed: nothing can be tested without one")
	}
	s := &suite{opts: opts, agent: newCaller("agent", opts.URL, opts.Agent, opts.Transport)}
	if opts.Agent2 != "" {
		s.agent2 = newCaller("agent2", opts.URL, opts.Agent2, opts.Transport)
	}
	for _, p := range opts.People {
		s.people = append(s.people, newCaller(p.Email, opts.URL, p.Token, opts.Transport))
	}
	if opts.Operator.Token != "" {
		s.operator = newCaller(opts.Operator.Email, opts.URL, opts.Operator.Token, opts.Transport)
	}
	s.described = s.agent.do(ctx, "describe", json.RawMessage(`{}`))
	if s.described.Failed != "" {
		return nil, fmt.Errorf("describe at %s: %s", opts.URL, s.described.Failed)
	}
	return s, nil
}

func (s *suite) close() {
	for _, c := range append([]*caller{s.agent, s.agent2, s.operator}, s.people...) {
		if c != nil {
			c.close()
		}
	}
}

// lacking says what a case needs that is not there; "" when it can run.
func (s *suite) lacking(n Needs) string {
	has := func(list, want string) bool {
		for _, x := range s.described.list(list) {
			if x == want {
				return true
			}
		}
		return false
	}
	switch {
	case n.Agent2 && s.agent2 == nil:
		return "needs a second agent's token"
	case n.People > len(s.people):
		return fmt.Sprintf("needs the tokens of %d people in the group", n.People)
	case n.Outsider && len(s.people) < 3:
		return "needs the token of a person outside the group (the third)"
	case n.Operator && s.operator == nil:
		return "needs an operator's token"
	case n.Clock && s.opts.Clock == "" && !s.opts.Slow:
		return "needs a movable clock, or slow cases allowed"
	case n.Import && s.opts.Import == "":
		return "needs an import command"
	case n.Profile != "" && !has("profiles", n.Profile):
		return "the server doesn't list the profile " + n.Profile
	case n.Tool != "" && !has("tools", n.Tool):
		return "the server doesn't offer the tool " + n.Tool
	}
	return ""
}

// one runs one case.
func (s *suite) one(ctx context.Context, c Case) (o Outcome) {
	o = Outcome{ID: c.ID, Rule: c.Rule, Section: c.Section, Status: Passed}
	if why := s.lacking(c.Needs); why != "" {
		o.Status, o.Reason = Skipped, why
		return o
	}
	start := time.Now()
	t := &T{ctx: ctx, s: s, c: c}
	defer func() {
		t.tidy()
		o.Seconds = time.Since(start).Seconds()
		switch x := recover().(type) {
		case nil:
		case skip:
			o.Status, o.Reason = Skipped, string(x)
		case failure:
			o.Status, o.Reason, o.Call = Failed, x.reason, x.call
			if x.call != nil {
				o.Curl = x.call.curl(s.opts.URL)
			}
		default:
			panic(x)
		}
	}()
	c.run(t)
	return o
}
