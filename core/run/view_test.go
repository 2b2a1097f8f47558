package run_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// upstream finds the public material, or skips the test.
func upstream(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("AP_SHARED")
	if dir == "" {
		root, err := os.Getwd()
		require.NoError(t, err)
		for !exists(filepath.Join(root, "go.mod")) {
			root = filepath.Dir(root)
		}
		dir = filepath.Join(root, "..", "shared")
	}
	dir = filepath.Join(dir, "upstream")
	if !exists(dir) {
		t.Skip("the public schemas are not there: set AP_SHARED, or put them at ../shared")
	}
	return dir
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// schema returns a check of JSON against one of the public schemas.
func schema(t *testing.T, name string) func(t require.TestingT, doc []byte) {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join(upstream(t), "schemas", "core-2", name))
	require.NoError(t, err)
	return func(t require.TestingT, doc []byte) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
		require.NoError(t, err, string(doc))
		require.NoError(t, s.Validate(v), string(doc))
	}
}

func TestS8_TheRunViewIsThePublicShape(t *testing.T) {
	t.Parallel()
	check := schema(t, "run-view.json")
	doc := document(
		routes(evidence(output(agent("a"), field("ok", process.Boolean)), "file"), "b", "done"),
		within(task("b", "finance"), time.Hour), within(approve("c", "initiator", "a"), time.Hour), wait("d", time.Hour), finish("done"),
	)
	b := setupDoc(t, doc).start()
	look := func() {
		t.Helper()
		view := run.NewView(b.doc, b.st, run.ViewOptions{Now: b.env.Now, FileURL: func(ref string, _ time.Time) string { return "https://files/" + ref }})
		encoded, err := json.Marshal(view)
		require.NoError(t, err)
		check(t, encoded)
	}
	look()
	ref := b.claim("a", ana)
	look()
	require.Error(t, b.do(submit(ref, ana, submission(`{}`))))
	require.NoError(t, b.do(escalate(ref, ana, "Can't.")))
	look()
	d := b.decision("a", ops, run.Completed)
	d.Output, d.Next, d.Reason = json.RawMessage(`{"ok":true}`), p("b"), p("Because.")
	d.Evidence = []run.Evidence{{Kind: "file", Ref: "f_1"}, {Kind: "link", Ref: "https://x"}}
	require.NoError(t, b.do(d))
	look()
	b.pass(2 * time.Hour)
	look()
	b.decide("b", mira, run.Completed)
	look()
	b.decide("c", mira, run.Rejected)
	look()
	require.NoError(t, b.do(run.Cancel{By: ops, Operator: true, Reason: "Stop."}))
	look()
}

func TestS8_AWorkItemSaysExactlyHowToDecide(t *testing.T) {
	t.Parallel()
	doc := document(approve("a", "finance", ""), routes(evidence(output(task("b", "finance"), field("ok", process.Boolean)), "link"), "c", "done"), agent("c"), finish("done"))
	b := setupDoc(t, doc).start()
	item := func() string {
		encoded, err := json.Marshal(b.view().WorkItems[0])
		require.NoError(t, err)
		return string(encoded)
	}
	snapshot := b.st.Snapshot(b.doc)
	require.Regexp(t, "^[0-9a-f]{64}$", snapshot)
	require.JSONEq(t, `{"id":"r_1_w1","stepId":"a","kind":"approve","text":"Approve a.","output":null,"evidence":null,"next":null,
		"assignedTo":{"group":"g_finance"},"snapshot":"`+snapshot+`","due":null,"escalation":null,"handoff":null,
		"decide":{"tool":"decide","arguments":{"runId":"r_1","workItemId":"r_1_w1","snapshot":"`+snapshot+`","requestId":"<new UUID>"},
		"decisions":["approved","rejected","failed"]}}`, item())
	b.decide("a", mira, run.Approved)
	snapshot = b.st.Snapshot(b.doc)
	require.JSONEq(t, `{"id":"r_1_w2","stepId":"b","kind":"task","text":"Do b.","output":{"ok":"boolean"},"evidence":["link"],
		"next":[{"to":"c","when":"It is c"},{"to":"done","when":"It is done"}],
		"assignedTo":{"group":"g_finance"},"snapshot":"`+snapshot+`","due":null,"escalation":null,"handoff":null,
		"decide":{"tool":"decide","arguments":{"runId":"r_1","workItemId":"r_1_w2","snapshot":"`+snapshot+`","requestId":"<new UUID>"},
		"decisions":["completed","failed"]}}`, item())
}

func TestS8_InATestRunEveryItemSaysSo(t *testing.T) {
	t.Parallel()
	b := setup(t, task("a", "finance"), finish("done"))
	require.NoError(t, b.do(run.Start{RunID: "r_1", By: mira, Human: true, Test: true}))
	require.Equal(t, run.Test, b.view().WorkItems[0].Mode)
	require.Equal(t, run.Test, b.view().Run.Mode)
	encoded, err := json.Marshal(b.view().WorkItems[0])
	require.NoError(t, err)
	require.Contains(t, string(encoded), `"mode":"test"`)
}

func TestS8_AStepWithoutRequirementsHasNulls(t *testing.T) {
	t.Parallel()
	a := agent("a")
	a.Output, a.Evidence = process.Fields{}, []string{}
	encoded, err := json.Marshal(run.Spec(document(a, finish("done")), "a"))
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"a","instructions":"Do a.","output":null,"evidence":null,"next":null}`, string(encoded))
}

func TestS8_FilesHaveSignedURLsInViewsOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), approve("b", "finance", "a"), finish("done")).start()
	sub := submission(`{}`)
	sub.Evidence = []run.Evidence{{Kind: "file", Ref: "f_1"}, {Kind: "link", Ref: "f_1"}}
	require.NoError(t, b.do(submit(b.claim("a", ana), ana, sub)))
	opts := run.ViewOptions{Now: t0, FileURL: func(ref string, now time.Time) string {
		return "https://files/" + ref + "?" + now.Format(time.TimeOnly)
	}}
	const file = `{"kind":"file","ref":"f_1","sha256":"aa11"`
	const signed = file + `,"url":"https://files/f_1?09:00:00"},{"kind":"link","ref":"f_1"}`
	require.Contains(t, string(run.DataView(b.doc, b.st, opts)), signed)
	require.Contains(t, b.data(), file+`}`, "neither snapshot nor cap knows the url")
	b.decide("b", mira, run.Rejected)
	require.Contains(t, string(run.DataView(b.doc, b.st, opts)), signed, "in the history too")
}

func TestS8_ReadyListsOldestFirst(t *testing.T) {
	t.Parallel()
	b := setup(t, parallel("fork", "x", "y", "z"), finish("done"),
		next(wait("x", time.Hour), "x2"), next(agent("x2"), process.Join),
		next(agent("y"), process.Join), next(within(agent("z"), time.Minute), process.Join)).start().pass(time.Hour)
	ready := run.Ready(b.doc, b.st, b.env.Now)
	var ids []string
	for _, r := range ready {
		ids = append(ids, r.StepID)
	}
	require.Equal(t, []string{"y", "z", "x2"}, ids)
	require.False(t, ready[0].Overdue)
	require.True(t, ready[1].Overdue)
	b.claim("y", ana)
	require.Len(t, run.Ready(b.doc, b.st, b.env.Now), 2)
}

// The view's own encoder writes what the tags of its types say.
func TestViewJSONIsWhatItsTypesSay(t *testing.T) {
	t.Parallel()
	odd := "a \"b\" \\ \n\r\t\x01 é \u2028 <b>&"
	bare := field(odd, process.List)
	bare.Bare, bare.Items, bare.Description = false, &process.Field{Type: process.Number, Bare: true}, odd
	a := within(routes(evidence(output(agent("a"), bare), "file", "link"), "b", "done"), time.Hour)
	a.Text = odd
	doc := document(a, approve("b", "finance", ""), finish("done"))
	doc.Body = odd
	b := setupDoc(t, doc).start()
	look := func() {
		t.Helper()
		sameAsTags(t, b.view())
	}
	look()
	ref := b.claim("a", ana)
	require.NoError(t, b.do(run.Renew{Ref: ref, By: ana, Progress: p(odd)}))
	b.pass(lease)
	require.NoError(t, b.do(escalate(b.claim("a", ana), ana, odd)))
	b.decide("a", ops, run.Returned)
	ref = b.claim("a", ana)
	require.Error(t, b.do(submit(ref, ana, submission(`{"q\"":1}`))))
	require.NoError(t, b.do(escalate(ref, ana, odd)))
	look()
	d := b.decision("a", ops, run.Failed)
	d.Note = p(odd)
	require.NoError(t, b.do(d))
	look()
	require.Equal(t, odd, *b.st.Ended.Note)
}

// sameAsTags checks the view's JSON against encoding/json's on plain copies of its types.
func sameAsTags(t require.TestingT, v *run.View) {
	type item run.ItemView
	type view struct {
		Run       run.RunInfo     `json:"run"`
		Data      json.RawMessage `json:"data"`
		Steps     []run.StepView  `json:"steps"`
		WorkItems []item          `json:"workItems"`
		Body      string          `json:"body"`
	}
	c := view{v.Run, v.Data, v.Steps, []item{}, v.Body}
	for _, i := range v.WorkItems {
		c.WorkItems = append(c.WorkItems, item(i))
	}
	var want strings.Builder
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(c))
	got, err := v.AppendJSON(nil)
	require.NoError(t, err)
	// JSON need not escape U+2028, and encoding/json writes it with an escape.
	unescape := strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029", `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
	require.Equal(t, unescape.Replace(strings.TrimSpace(want.String())), unescape.Replace(string(got)))
}

func TestItemRunReadsTheRunOffAnItemsID(t *testing.T) {
	t.Parallel()
	b := setup(t, task("a", "finance"), finish("done"))
	require.NoError(t, b.do(run.Start{RunID: "r_w_w2", By: mira, Human: true}))
	id, ok := run.ItemRun(b.st.OpenItems()[0].ID)
	require.True(t, ok)
	require.Equal(t, "r_w_w2", id)
	for _, bad := range []string{"", "r_1", "_w1", "r_1_w", "r_1_w0", "r_1_w01", "r_1_w-1", "r_1_w1x", "r_1_w99999999999999999999", "r_1_w+1"} {
		_, ok := run.ItemRun(bad)
		require.False(t, ok, bad)
	}
}
