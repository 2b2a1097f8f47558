package run_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/process/processtest"
	"github.com/apserver/ap/core/run"
)

// TestModel runs random processes through random commands at random times, wrong ones among them, and checks after each
// what must hold whatever happens. A failure prints the process and the trace of commands and events. The processes are
// small and dense in what is odd, or parsed from files of every kind.
func TestModel(t *testing.T) {
	t.Parallel()
	for name, draw := range map[string]func(*rapid.T) *process.Document{"dense": drawDocument, "parsed": parseDocument} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				m := newModel(t, draw(t))
				for range rapid.IntRange(1, 60).Draw(t, "commands") {
					m.turn()
				}
				m.refold()
			})
		})
	}
}

func parseDocument(t *rapid.T) *process.Document {
	doc, issues := process.Parse(processtest.Document(t), process.Options{})
	require.NotNil(t, doc, "%v", issues)
	return doc
}

// model is a run beside what is known about it from its events alone.
type model struct {
	*bundle
	rt *rapid.T
	// tokens are the steps that may be entered, and "join:FORK" for each branch that has joined.
	tokens map[string]int
	// completed is the number of the event of each step's current completion; kept marks a rejection's.
	completed map[string]int
	kept      map[string]bool
	refs      []run.ClaimRef
	writes    []write
	trace     strings.Builder
}

// write is what a command left: the state and the view at its time.
type write struct {
	st   *run.State
	now  time.Time
	view []byte
}

func newModel(t *rapid.T, doc *process.Document) *model {
	m := &model{bundle: setupDoc(t, doc), rt: t, completed: map[string]int{}, kept: map[string]bool{}}
	m.tokens = map[string]int{m.doc.Steps[0].ID: 1}
	for i, role := range doc.Roles() {
		m.env.Groups[role] = []string{"g_finance", "g_legal"}[i%2]
	}
	if rapid.IntRange(0, 3).Draw(t, "small cap") == 0 {
		m.env.RunDataBytes = 1200
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(m.story())
		}
	})
	c := run.Start{RunID: "r_1", Process: "p", Version: 1, By: mira, Human: true, Inputs: fill(m.doc.Inputs, rapid.Bool().Draw(t, "all inputs"))}
	if start := run.Decide(doc, nil, c, m.env); start.Err != nil {
		m.env.RunDataBytes = 262144 // the inputs alone are over the small cap
	}
	m.command(c)
	return m
}

// story is the process and everything that happened.
func (m *model) story() string {
	var b strings.Builder
	b.WriteString("process:\n")
	for _, s := range m.doc.Steps {
		fmt.Fprintf(&b, "  %s: %s", s.ID, s.Kind)
		for _, x := range []struct{ name, value string }{
			{"text", s.Text}, {"person", s.Person}, {"next", s.Next}, {"on_reject", s.OnReject}, {"on_timeout", s.OnTimeout},
		} {
			if x.value != "" && x.value != "Do "+s.ID+"." {
				fmt.Fprintf(&b, " %s=%s", x.name, x.value)
			}
		}
		if s.Routes != nil || s.Branches != nil {
			fmt.Fprintf(&b, " routes=%v branches=%v", s.Routes, s.Branches)
		}
		if s.Wait != 0 || s.Due != nil || s.Timeout != nil {
			fmt.Fprintf(&b, " wait=%v due=%v timeout=%v", s.Wait, deref(s.Due), deref(s.Timeout))
		}
		b.WriteByte('\n')
	}
	return b.String() + m.trace.String()
}

func deref(d *time.Duration) string {
	if d == nil {
		return "-"
	}
	return d.String()
}

// turn draws a time and a command.
func (m *model) turn() {
	t := m.rt
	switch rapid.IntRange(0, 5).Draw(t, "time") {
	case 0:
		m.env.Now = m.env.Now.Add(drawDuration(t, "pass"))
	case 1:
		if next := m.st.NextTimer(m.doc); next != nil {
			m.env.Now = next.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "beside")) * time.Millisecond)
		}
	case 2:
		m.env.Now = m.env.Now.Add(-time.Minute) // a clock that steps back
	}
	switch rapid.IntRange(0, 19).Draw(t, "command") {
	case 0, 1, 2, 3, 4:
		m.command(m.drawClaim())
	case 5:
		m.command(run.Renew{Ref: m.drawRef(), By: drawAgent(t), Progress: rapid.SampledFrom([]*string{nil, p("Half.")}).Draw(t, "progress")})
	case 6, 7, 8, 9:
		m.command(run.Submit{Ref: m.drawRef(), By: drawAgent(t), Submission: m.drawSubmission(m.drawStep())})
	case 10:
		m.command(run.Escalate{Ref: m.drawRef(), By: drawAgent(t), Note: "Can't."})
	case 11, 12, 13, 14, 15, 16:
		m.command(m.drawDecision())
	case 17:
		m.command(run.SendEvent{By: ana, Allowed: rapid.IntRange(0, 5).Draw(t, "allowed") > 0,
			Name: m.drawEvent(), Data: rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{"n":1.0}`)}).Draw(t, "data")})
	case 18:
		m.advance()
	case 19:
		if rapid.IntRange(0, 9).Draw(t, "cancel") == 0 {
			m.command(run.Cancel{By: ops, Operator: rapid.Bool().Draw(t, "operator"), Reason: "Stop."})
		}
	}
}

func drawAgent(t *rapid.T) string {
	return rapid.SampledFrom([]string{ana, ana, ana, bob}).Draw(t, "agent")
}

// drawStep draws a step, rather one that is under way.
func (m *model) drawStep() *process.Step {
	var under []int
	for i := range m.st.Steps {
		if s := m.st.Steps[i].State; s == run.StepReady || s == run.StepClaimed || s == run.StepWaiting {
			under = append(under, i)
		}
	}
	if len(under) > 0 && rapid.IntRange(0, 9).Draw(m.rt, "right step") > 0 {
		return &m.doc.Steps[rapid.SampledFrom(under).Draw(m.rt, "step")]
	}
	return &m.doc.Steps[rapid.IntRange(0, len(m.doc.Steps)-1).Draw(m.rt, "any step")]
}

func (m *model) drawClaim() run.Claim {
	return run.Claim{StepID: m.drawStep().ID, By: drawAgent(m.rt)}
}

// drawRef draws a token that was given out, rather the latest.
func (m *model) drawRef() run.ClaimRef {
	if len(m.refs) == 0 {
		return run.ClaimRef{Claim: 1, Lease: 1}
	}
	if rapid.IntRange(0, 9).Draw(m.rt, "latest token") > 0 {
		return m.refs[len(m.refs)-1]
	}
	return rapid.SampledFrom(m.refs).Draw(m.rt, "token")
}

// drawSubmission draws what the step needs, or something that is wrong.
func (m *model) drawSubmission(s *process.Step) run.Submission {
	t := m.rt
	sub := submission(`{}`)
	if rapid.IntRange(0, 5).Draw(t, "wrong") == 0 {
		sub.Output, sub.Next = json.RawMessage(`{"x":null}`), p("nowhere")
		return sub
	}
	sub.Output = fill(s.Output, rapid.Bool().Draw(t, "all fields"))
	for _, kind := range s.Evidence {
		sub.Evidence = append(sub.Evidence, run.Evidence{Kind: kind, Ref: "f_1"})
	}
	if s.Routes != nil {
		sub.Next, sub.Reason = p(rapid.SampledFrom(s.Routes).Draw(t, "route").To), p("Because.")
	}
	return sub
}

func (m *model) drawDecision() run.Decision {
	t := m.rt
	d := run.Decision{ItemID: "r_1_w9999", Snapshot: m.st.Snapshot(m.doc), By: mira, Human: true, Decision: run.Completed}
	if open := m.st.OpenItems(); len(open) > 0 && rapid.IntRange(0, 9).Draw(t, "open item") > 0 {
		item := rapid.SampledFrom(open).Draw(t, "item")
		s := m.doc.Step(item.StepID)
		d.ItemID = item.ID
		d.Decision = map[process.Kind]string{process.Task: run.Completed, process.Approve: run.Approved, process.Agent: run.Returned}[s.Kind]
		if s.Kind == process.Approve && rapid.Bool().Draw(t, "reject") {
			d.Decision = run.Rejected
		}
		if d.Decision == run.Completed {
			d.Submission = m.drawSubmission(s)
		}
		d.By = decider(item)
	} else if len(m.st.Items) > 0 {
		d.ItemID = rapid.SampledFrom(m.st.Items).Draw(t, "any item").ID
	}
	switch rapid.IntRange(0, 14).Draw(t, "wrong") {
	case 0:
		d.Snapshot = "old"
	case 1:
		d.Human = false
	case 2:
		d.By = rapid.SampledFrom([]string{mira, omar, ops}).Draw(t, "who")
	case 3:
		d.Decision = rapid.SampledFrom([]string{run.Completed, run.Approved, run.Rejected, run.Returned, run.Failed}).Draw(t, "decision")
	}
	if d.Decision != run.Completed {
		d.Submission = run.Submission{}
	}
	if d.Decision == run.Rejected || d.Decision == run.Returned || d.Decision == run.Failed {
		d.Note = p("No.")
	}
	d.Groups = groupsOf[d.By]
	return d
}

// command runs a command and checks everything after it.
func (m *model) command(cmd run.Command) {
	before := m.st
	n := len(m.events)
	err := m.do(cmd)
	if before != nil { // decided once more, a minute on, and thrown away: no state may share what it changes
		elsewhere := m.env
		elsewhere.Now = elsewhere.Now.Add(time.Minute)
		run.Decide(m.doc, before, cmd, elsewhere)
	}
	m.tell(fmt.Sprintf("%T %+v", cmd, printable(cmd)), err, n)
	if err == nil && m.result.Ref != (run.ClaimRef{}) {
		m.refs = append(m.refs, m.result.Ref)
	}
	if before != nil && err != nil {
		m.checkRefusal(before, err)
	}
	m.check(before, n)
}

func (m *model) advance() {
	before, n := m.st, len(m.events)
	m.pass(0)
	m.tell("read", nil, n)
	m.check(before, n)
}

func printable(cmd run.Command) string {
	text, err := json.Marshal(cmd)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// tell adds a command and its events to the trace.
func (m *model) tell(what string, err error, from int) {
	fmt.Fprintf(&m.trace, "%v %s -> %v\n", m.env.Now.Sub(t0), what, err)
	for i, ev := range m.events[from:] {
		fmt.Fprintf(&m.trace, "    %d %s at %v by %s %s\n", from+i+1, ev.Type, ev.At.Sub(t0), ev.By, ev.Data)
	}
	fmt.Fprintf(&m.trace, "    = %s: %s\n", m.st.State, m.states())
}

// drawEvent draws a name that the process waits for, if it waits for any.
func (m *model) drawEvent() string {
	names := []string{"other"}
	for _, s := range m.doc.Steps {
		if s.Kind == process.WaitFor {
			names = append(names, s.Text)
		}
	}
	return rapid.SampledFrom(names).Draw(m.rt, "name")
}

// checkRefusal: a refused command leaves what a read would have left, but for the issues of a submission.
func (m *model) checkRefusal(before *run.State, err error) {
	var e *run.Error
	require.ErrorAs(m.t, err, &e, "an internal error")
	_, read := run.Advance(m.doc, before, m.env)
	require.Equal(m.t, string(read.FreshData(m.doc)), m.data(), "a refused command changed run data")
	require.Equal(m.t, read.State, m.st.State)
	require.Equal(m.t, read.Claims, m.st.Claims)
	require.Equal(m.t, read.Items, m.st.Items)
	if e.Code != run.NotAccepted {
		require.Equal(m.t, read.Plain(), m.st.Plain(), "a refused command changed the run")
	}
}

// check checks the state after the events from that number on.
func (m *model) check(before *run.State, from int) {
	for i := from; i < len(m.events); i++ {
		m.follow(i)
	}
	m.checkTokens()
	m.checkSteps()
	m.checkRun()
	if before != nil {
		m.checkGrowth(before)
	}
	view := m.view()
	sameAsTags(m.t, view)
	encoded, err := json.Marshal(view)
	require.NoError(m.t, err)
	m.writes = append(m.writes, write{m.st, m.env.Now, encoded})
}

// follow checks one event against the process: steps are entered only along declared edges.
func (m *model) follow(i int) {
	ev := m.events[i]
	if i > 0 {
		require.False(m.t, ev.At.Before(m.events[i-1].At), "time goes backwards at event %d", i+1)
	}
	payload, err := ev.Payload()
	require.NoError(m.t, err)
	switch x := payload.(type) {
	case run.ReadiedPayload:
		m.enter(x.Step)
	case run.WaitPayload:
		m.enter(x.Step)
	case run.ForkPayload:
		m.enter(x.Step)
		for _, entry := range m.doc.Step(x.Step).Branches {
			m.tokens[entry]++
		}
	case run.JoinPayload:
		s := m.doc.Step(x.Step)
		require.Equal(m.t, len(s.Branches), m.tokens["join:"+s.ID], "joined before every branch did")
		m.tokens["join:"+s.ID] = 0
		m.complete(x.Step, i)
		m.leave(s, s.Next)
	case run.CompletedPayload:
		s := m.doc.Step(x.Step)
		m.complete(x.Step, i)
		switch {
		case x.TimedOut:
			m.leave(s, s.OnTimeout)
		case s.Routes != nil:
			require.True(m.t, slices.ContainsFunc(s.Routes, func(r process.Route) bool { return r.To == x.Next }))
			require.NotEmpty(m.t, x.Reason)
			m.leave(s, x.Next)
		default:
			m.leave(s, s.Next)
		}
	case run.ConsumedPayload:
		s := m.doc.Step(x.Step)
		m.complete(x.Step, i)
		m.leave(s, s.Next)
	case run.RejectedPayload:
		s := m.doc.Step(x.Step)
		m.complete(x.Step, i)
		m.kept[x.Step] = !x.Ends
		require.Equal(m.t, s.OnReject == "", x.Ends)
		if !x.Ends {
			m.tokens[s.OnReject]++
		}
	case run.RewoundPayload:
		m.rewind(x)
	case run.FailedPayload:
		if x.Item == "" {
			m.enter(x.Step)
		}
	case run.EndedPayload:
		if m.doc.Step(x.Step).Kind == process.Finish {
			m.enter(x.Step)
		}
	}
}

func (m *model) enter(step string) {
	require.Positive(m.t, m.tokens[step], "%s was entered along no declared edge", step)
	m.tokens[step]--
}

func (m *model) leave(s *process.Step, to string) {
	if s.Branch != "" && to == process.Join {
		to = "join:" + s.Fork
	}
	m.tokens[to]++
}

func (m *model) complete(step string, event int) {
	m.completed[step], m.kept[step] = event+1, false
}

// rewind checks the steps of a rework against protocol.md 4, read off the order of the events.
func (m *model) rewind(x run.RewoundPayload) {
	approval, target := m.doc.Step(x.Step), m.doc.Step(x.To)
	require.Equal(m.t, approval.OnReject, x.To)
	since, done := m.completed[x.To], m.completed[x.To] != 0 && !m.kept[x.To]
	follows := map[string]bool{}
	if !done {
		m.mark(x.To, follows)
	}
	for _, s := range m.doc.Steps {
		want := s.ID == x.To || (s.Fork != "" && s.Fork == target.ID) ||
			(done && m.completed[s.ID] > since) || (!done && follows[s.ID])
		want = want && m.completed[s.ID] != 0 && s.ID != x.Step && (approval.Branch == "" || approval.Branch == s.Branch)
		require.Equal(m.t, want, slices.Contains(x.Steps, s.ID), "rewinding %s", s.ID)
	}
	for _, id := range x.Steps {
		m.completed[id], m.kept[id] = 0, false
	}
}

func (m *model) mark(id string, seen map[string]bool) {
	s := m.doc.Step(id)
	if s == nil || seen[id] {
		return
	}
	seen[id] = true
	for _, to := range append([]string{s.Next, s.OnTimeout}, s.Branches...) {
		m.mark(to, seen)
	}
	for _, r := range s.Routes {
		m.mark(r.To, seen)
	}
}

// checkTokens: whatever was to be entered was, in the same write, and every step under way was entered.
func (m *model) checkTokens() {
	if m.st.Over() {
		return
	}
	for to, n := range m.tokens {
		if !strings.HasPrefix(to, "join:") {
			require.Zero(m.t, n, "%s was not made ready", to)
		}
	}
}

// checkSteps: what each step's state means.
func (m *model) checkSteps() {
	t := m.t
	items := map[string]int{}
	for _, item := range m.st.OpenItems() {
		items[item.StepID]++
	}
	live := map[string]int{}
	for _, c := range m.st.Claims {
		if c.Live {
			live[c.StepID]++
			require.True(t, m.env.Now.Before(c.ExpiresAt) || m.env.Now.Before(m.st.UpdatedAt), "a lease that ended is live")
		}
	}
	for i, s := range m.st.Steps {
		d := m.doc.Steps[i]
		wantItems, wantLive := 0, 0
		switch s.State {
		case run.StepClaimed:
			require.Equal(t, process.Agent, d.Kind)
			wantLive = 1
		case run.StepReady:
			require.Equal(t, process.Agent, d.Kind)
		case run.StepWaiting:
			switch d.Kind {
			case process.Agent, process.Task, process.Approve:
				wantItems = 1
			}
		case run.StepDone:
			recordless := d.Kind == process.Finish || d.Kind == process.Parallel
			require.Equal(t, recordless, s.Current == nil, d.ID)
		case run.NotReached:
			require.True(t, s.Current == nil || s.Current.Decision == run.Rejected, "%s is current after its rewind", d.ID)
		}
		require.Equal(t, wantItems, items[d.ID], "open items of %s", d.ID)
		require.Equal(t, wantLive, live[d.ID], "live claims of %s", d.ID)
		require.Equal(t, wantLive == 1, s.Claim != 0, d.ID)
		if s.Current != nil {
			require.Equal(t, s.State != run.StepFailed, m.completed[d.ID] == s.Current.Seq, d.ID)
		}
		if s.State == run.NotReached || s.State == run.StepDone {
			require.Nil(t, run.HandoffOf(m.st, i), d.ID)
			require.Nil(t, s.Due, d.ID)
		}
	}
}

// checkRun: the run's state is what protocol.md 2 says, and what is due has happened.
func (m *model) checkRun() {
	t := m.t
	var active, waiting, open bool
	for _, s := range m.st.Steps {
		active = active || s.State == run.StepReady || s.State == run.StepClaimed
		waiting = waiting || s.State == run.StepWaiting
	}
	open = len(m.st.OpenItems()) > 0
	next := m.st.NextTimer(m.doc)
	switch m.st.State {
	case run.RunActive:
		require.True(t, active)
	case run.RunWaiting:
		require.True(t, waiting && !active)
	default:
		require.False(t, active || waiting || open, "something is left of a run that ended")
		require.Nil(t, next)
		require.Empty(t, m.st.Held)
		require.NotNil(t, m.st.Ended)
	}
	if next != nil {
		require.True(t, next.After(m.env.Now), "a timer that is due has not fired")
	}
	require.Equal(t, len(m.events), m.st.Seq)
	require.Equal(t, m.events[len(m.events)-1].At, m.st.UpdatedAt)
}

// checkGrowth: history, items and claims only grow, and the snapshot changes exactly when run data does.
func (m *model) checkGrowth(before *run.State) {
	t := m.t
	for i := range before.Steps {
		old, now := before.Steps[i].History, m.st.Steps[i].History
		require.LessOrEqual(t, len(old), len(now))
		require.True(t, slices.Equal(old, now[:len(old)]), "history was rewritten")
	}
	require.LessOrEqual(t, len(before.Items), len(m.st.Items))
	require.LessOrEqual(t, len(before.Claims), len(m.st.Claims))
	require.Equal(t, string(before.FreshData(m.doc)) == string(m.st.FreshData(m.doc)),
		before.Snapshot(m.doc) == m.st.Snapshot(m.doc), "the snapshot is not the run data's")
	if before.Over() {
		require.Same(t, before, m.st, "a run that ended changed")
	}
}

// refold folds the journal from its beginning: at each write's end, the state and the view are what they were then.
func (m *model) refold() {
	var st *run.State
	seq := 0
	for _, w := range m.writes {
		next, err := run.Fold(m.doc, st, run.Seal("r_1", seq, nil, m.events[seq:w.st.Seq]))
		require.NoError(m.t, err)
		st, seq = next, w.st.Seq
		require.Equal(m.t, w.st.Plain(), st.Plain(), "a state was changed, or the journal doesn't say everything")
		encoded, err := json.Marshal(run.NewView(m.doc, st, run.ViewOptions{Now: w.now}))
		require.NoError(m.t, err)
		require.Equal(m.t, string(w.view), string(encoded), "a replay shows something else")
	}
}
