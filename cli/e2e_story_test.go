package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
)

// story is one run of new-supplier from its start to its end, through the program itself: an agent over MCP, an approver
// in a browser. After each stage, which ends with an acknowledged write or a page that was shown, it calls stage.
type story struct {
	*testing.T
	s     *running
	key   string
	stage func(name string)

	// seen are the runs so far.
	seen []string
}

// tools connects the agent afresh: the server may be another process by now.
func (x *story) tools() *toolClient { return x.s.connect(x.key) }

func (x *story) view(id string) runView {
	x.Helper()
	var view runView
	require.NoError(x, x.tools().call(x.Context(), "get_run", map[string]any{"runId": id}, &view))
	return view
}

func (x *story) claim(id string) demoClaim {
	x.Helper()
	var claim demoClaim
	require.NoError(x, x.tools().call(x.Context(), "claim", map[string]any{"runId": id, "stepId": "research", "requestId": newRequestID()}, &claim))
	return claim
}

func (x *story) upload(name, content string) string {
	x.Helper()
	var file struct {
		ID    string
		Bytes int
	}
	require.NoError(x, x.tools().call(x.Context(), "upload", map[string]any{"fileName": name, "contentType": "text/plain",
		"contentBase64": base64.StdEncoding.EncodeToString([]byte(content)), "requestId": newRequestID()}, &file))
	require.Equal(x, len(content), file.Bytes)
	return file.ID
}

func (x *story) submit(token, file, summary, next string) {
	x.Helper()
	require.NoError(x, x.tools().call(x.Context(), "submit", map[string]any{"token": token,
		"output":   map[string]any{"registeredName": "Lindwurm Pumpen GmbH", "risk": "medium", "foundedYear": json.Number("1987")},
		"evidence": []any{map[string]any{"kind": "file", "ref": file}},
		"summary":  summary, "next": next, "reason": "The registers say so.", "requestId": newRequestID()}, nil))
}

// tell plays the story.
func (x *story) tell() {
	const note = "The owners are missing: name them."
	p := x.s.program
	p.publish("new-supplier", "purchasing")
	p.ok("group", "add", "purchasing", "mira@example.com")
	var made struct{ Token string }
	p.json(&made, "agent", "add", "researcher", "--process", "new-supplier")
	x.key = made.Token
	x.stage("set up")

	// One run begins on the command line, another over MCP.
	var first, second runView
	p.json(&first, "run", "new-supplier", "--input", "supplier=Lindwurm", "--input", "country=AT", "--input", "yearlySpend=48000.00")
	x.seen = append(x.seen, first.Run.ID)
	x.stage("started with ap run")
	require.NoError(x, x.tools().call(x.Context(), "start_run", map[string]any{"process": "new-supplier", "requestId": newRequestID(),
		"inputs": map[string]any{"supplier": "Gone Ltd", "country": "XX", "yearlySpend": 1}}, &second))
	require.Equal(x, "agent:researcher", second.Run.StartedBy)
	x.seen = append(x.seen, second.Run.ID)
	x.stage("started with start_run")

	// The second run takes the route that ends it.
	x.submit(x.claim(second.Run.ID).Token, x.upload("sanctions.txt", "listed"), "On the sanctions list.", "declined")
	require.Equal(x, "declined", *x.view(second.Run.ID).Run.Outcome)
	x.stage("declined")

	// The first goes to the approver.
	var work struct{ Items []demoWork }
	require.NoError(x, x.tools().call(x.Context(), "get_work", nil, &work))
	require.Len(x, work.Items, 1)
	require.Equal(x, first.Run.ID, work.Items[0].RunID)
	claim := x.claim(first.Run.ID)
	require.Contains(x, claim.Step.Instructions, "Find out who this supplier is")
	require.Equal(x, []string{"file"}, claim.Step.Evidence)
	require.Len(x, claim.Step.Next, 2)
	x.stage("claimed")
	file := x.upload("report.txt", "Lindwurm trades since 1987.")
	x.stage("uploaded")
	x.submit(claim.Token, file, "Found in the register; owners not looked at.", "approval")
	waiting := x.view(first.Run.ID)
	require.Equal(x, run.RunWaiting, waiting.Run.State)
	require.Len(x, waiting.WorkItems, 1)
	x.stage("submitted")

	// Whatever an agent holds, it can't decide.
	item := waiting.WorkItems[0]
	var refusal *run.Error
	err := x.tools().call(x.Context(), "decide", map[string]any{"runId": first.Run.ID, "workItemId": item.ID, "snapshot": item.Snapshot,
		"decision": "approved", "requestId": newRequestID()}, nil)
	require.True(x, errors.As(err, &refusal), "%v", err)
	require.Equal(x, run.Forbidden, refusal.Code)

	b := newBrowser(x)
	b.open(x.s.url + "/inbox")
	b.signIn("mira@example.com")
	b.see("New supplier", "Approval")
	x.stage("signed in")
	b.open(x.s.url + "/items/" + item.ID)
	b.see("Do we take this supplier on?", // the question
		"Lindwurm", "48000.00", // the run's inputs, digits as they were sent
		"Lindwurm Pumpen GmbH", "medium", "1987", // the output
		"Found in the register; owners not looked at.", "The registers say so.", // what the agent said
		"report.txt")
	links := b.links("/files/")
	require.NotEmpty(x, links)
	require.Equal(x, "Lindwurm trades since 1987.", x.download(links[0]))
	x.stage("looked at")

	b.open(x.s.url + "/items/" + item.ID)
	b.press("Reject")
	b.see("note: required") // refused without one
	require.Positive(x, b.count(`[role="alert"]`))
	require.Equal(x, run.RunWaiting, x.view(first.Run.ID).Run.State)
	b.fill("Note", note)
	b.press("Reject")
	x.waitFor(first.Run.ID, run.RunActive)
	x.stage("rejected")

	// The agent finds the note where it was told to look, and does it again.
	claim = x.claim(first.Run.ID)
	require.Equal(x, note, claim.Data.Steps["approval"].Note)
	require.Equal(x, "rejected", claim.Data.Steps["approval"].Decision)
	require.Equal(x, "mira@example.com", claim.Data.Steps["approval"].By)
	require.Len(x, claim.Data.Steps["research"].History, 1)
	x.stage("claimed again")
	x.submit(claim.Token, x.upload("report-2.txt", "The owners are the Lindwurm family."), "Owners added.", "approval")
	x.stage("submitted again")

	b.open(x.s.url + "/inbox")
	b.see("New supplier")
	b.open(x.s.url + "/items/" + x.view(first.Run.ID).WorkItems[0].ID)
	b.see("Owners added.", note, "report-2.txt")
	b.press("Approve")
	x.waitFor(first.Run.ID, run.RunEnded)
	x.stage("approved")

	ended := x.view(first.Run.ID)
	require.Equal(x, "taken on", *ended.Run.Outcome)
	var data demoData
	require.NoError(x, json.Unmarshal(ended.Data, &data))
	require.Equal(x, "approved", data.Steps["approval"].Decision)
	require.Equal(x, "mira@example.com", data.Steps["approval"].By)
	b.open(x.s.url + "/runs/" + first.Run.ID)
	b.see("taken on", note, "mira@example.com", "researcher")
	require.Contains(x, p.ok("verify"), "2 runs checked")
}

// waitFor waits until a run is in a state: a form's answer came back when it is.
func (x *story) waitFor(id string, state run.RunState) {
	x.Helper()
	require.Eventually(x, func() bool { return x.view(id).Run.State == state }, 15*time.Second, 50*time.Millisecond)
}

// download fetches a signed URL without any login.
func (x *story) download(url string) string {
	x.Helper()
	res, err := http.Get(url)
	require.NoError(x, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(x, err)
	require.Equal(x, http.StatusOK, res.StatusCode, "%s", body)
	return string(body)
}

func TestASupplierIsTakenOn(t *testing.T) {
	t.Parallel()
	newBrowser(t) // skips before anything else
	p := newProgram(t)
	x := &story{T: t, s: p.serve("--dev", "--addr", "127.0.0.1:0"), stage: func(string) {}}
	x.tell()
	require.Equal(t, 0, x.s.stop())
}

func TestASupplierIsTakenOnThoughTheServerIsKilledAfterEveryStage(t *testing.T) {
	t.Parallel()
	newBrowser(t)
	p := newProgram(t)
	x := &story{T: t, s: p.serve("--dev", "--addr", freeAddr(t))}
	x.stage = func(name string) {
		before := x.record()
		x.s.kill()
		x.s.start()
		require.Equal(t, before, x.record(), "killed when %s", name)
	}
	x.tell()
}

// record is all that the server says of the runs so far, without the signed URLs, which are new each time.
func (x *story) record() string {
	x.Helper()
	var all strings.Builder
	for _, id := range x.seen {
		view, err := json.Marshal(x.view(id))
		require.NoError(x, err)
		all.Write(withoutURLs(view))
		all.WriteByte('\n')
	}
	return all.String()
}

func withoutURLs(view []byte) []byte {
	var out [][]byte
	for _, part := range bytes.Split(view, []byte(`"url":"`)) {
		if _, rest, found := bytes.Cut(part, []byte(`"`)); found && len(out) > 0 {
			part = rest
		}
		out = append(out, part)
	}
	return bytes.Join(out, []byte(`"url":`))
}

// TestNothingAcknowledgedIsLostWhenTheServerIsKilledDuringWrites kills the server while each write of a run is under way. A write whose
// answer got lost is sent again, and happens once.
func TestNothingAcknowledgedIsLostWhenTheServerIsKilledDuringWrites(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.publish("new-supplier", "purchasing")
	x := &story{T: t, s: p.serve("--dev", "--addr", freeAddr(t))}
	var made struct{ Token string }
	p.json(&made, "agent", "add", "researcher")
	x.key = made.Token

	const rounds = 4
	for round := range rounds {
		killed := time.Duration(round) * 3 * time.Millisecond
		// write sends a write, kills the server about then, and sends it again until it is answered.
		write := func(tool string, args map[string]any, data any) {
			t.Helper()
			args["requestId"] = newRequestID()
			tools := x.tools()
			answered := make(chan error, 1)
			go func() { answered <- tools.call(t.Context(), tool, args, nil) }()
			time.Sleep(killed) // where in the write the kill falls is up to chance; what has to hold is not
			x.s.kill()
			<-answered
			x.s.start()
			require.NoError(t, x.tools().call(t.Context(), tool, args, data), tool)
		}
		var started runView
		write("start_run", map[string]any{"process": "new-supplier", "inputs": map[string]any{"supplier": "A", "country": "AT", "yearlySpend": round}}, &started)
		var claim demoClaim
		write("claim", map[string]any{"runId": started.Run.ID, "stepId": "research"}, &claim)
		var file struct{ ID string }
		write("upload", map[string]any{"fileName": "a.txt", "contentType": "text/plain", "contentBase64": "QQ=="}, &file)
		var submitted runView
		write("submit", map[string]any{"token": claim.Token, "output": map[string]any{"registeredName": "A", "risk": "low"}, "summary": "Done.",
			"evidence": []any{map[string]any{"kind": "file", "ref": file.ID}}, "next": "approval", "reason": "Clean."}, &submitted)
		require.Equal(t, run.RunWaiting, submitted.Run.State)
		require.Len(t, submitted.WorkItems, 1)
	}
	var list struct{ Items []struct{ ID string } }
	p.json(&list, "runs")
	require.Len(t, list.Items, rounds, "a write that was sent twice happened once")
	require.Contains(t, p.ok("verify"), "as recorded")
}
