package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
	"github.com/apserver/ap/web"
)

// bundle is a server in dev mode with the processes of testdata/processes published, people in groups, and agents that
// act through it directly.
type bundle struct {
	t     testing.TB
	srv   *server.Server
	clock *server.MovableClock
	db    *db.DB
	url   string
}

const (
	mira = "mira@example.com" // buyer, finance
	joe  = "joe@example.com"  // purchasing, facilities
	olga = "olga@example.com" // operators
)

func setup(t testing.TB) *bundle {
	t.Helper()
	return setupWith(t, func(*web.Options) {})
}

func setupWith(t testing.TB, change func(*web.Options)) *bundle {
	t.Helper()
	ctx := context.Background()
	store, err := db.Open(ctx, filepath.Join(t.TempDir(), "data"), db.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &bundle{t: t, db: store, clock: server.NewMovableClock(0, func(time.Duration) error { return nil }), url: "http://" + listener.Addr().String()}
	b.srv = server.New(store.Store(), store.Files(), server.Options{Secret: store.Secret(), BaseURL: b.url, Clock: b.clock})
	closing := make(chan struct{})
	opts := web.Options{BaseURL: b.url, Dev: true, DevClock: b.clock, Sessions: store.Sessions(), Ready: store.Writable, Closing: closing}
	change(&opts)
	handler, err := web.Handler(b.srv, opts)
	require.NoError(t, err)
	requests, endRequests := context.WithCancel(ctx)
	serving := &http.Server{Handler: handler, BaseContext: func(net.Listener) context.Context { return requests }}
	go serving.Serve(listener)
	t.Cleanup(func() {
		close(closing)
		endRequests()
		serving.Close()
	})
	for group, members := range map[string][]string{
		"buyer": {mira}, "finance": {mira}, "purchasing": {joe}, "facilities": {joe}, "operators": {olga},
	} {
		require.NoError(t, b.srv.AddMembers(ctx, group, members))
	}
	b.publishFolder("choose-supplier", map[string]string{"buyer": "buyer", "purchasing": "purchasing"})
	b.publishFolder("pay-invoice", map[string]string{"finance": "finance"})
	b.publishFolder("welcome-colleague", map[string]string{"facilities": "facilities"})
	return b
}

func (b *bundle) publishFolder(name string, roles map[string]string) {
	b.t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "processes", name, "PROCESS.md"))
	require.NoError(b.t, err)
	b.publish(string(source), roles)
}

// publish imports, binds and publishes a PROCESS.md.
func (b *bundle) publish(source string, roles map[string]string) {
	b.t.Helper()
	ctx := context.Background()
	doc, issues := process.Parse([]byte(source), process.Options{})
	require.NotNil(b.t, doc, "%v", issues)
	require.NoError(b.t, b.srv.Import(ctx, []byte(source), doc))
	require.NoError(b.t, b.srv.Bind(ctx, doc.Name, roles))
	_, err := b.srv.Publish(ctx, doc.Name)
	require.NoError(b.t, err)
}

func (b *bundle) person(email string) server.Identity {
	b.t.Helper()
	id, err := b.srv.Person(context.Background(), email, nil)
	require.NoError(b.t, err)
	return id
}

var bot = server.Identity{Kind: server.Agent, Name: "sourcing-agent"}

// start starts a run and returns its id.
func (b *bundle) start(by server.Identity, name string, mode run.Mode, inputs string) string {
	b.t.Helper()
	view, err := b.srv.StartRun(context.Background(), by, server.StartRunArgs{
		Process: name, Mode: mode, Inputs: json.RawMessage(inputs), RequestID: uuid.NewString(),
	})
	require.NoError(b.t, err)
	return view.Run.ID
}

// call runs a tool as an agent and returns its data.
func (b *bundle) call(id server.Identity, tool string, args map[string]any) map[string]any {
	b.t.Helper()
	args["requestId"] = uuid.NewString()
	raw, err := json.Marshal(args)
	require.NoError(b.t, err)
	result, ok := b.srv.Call(context.Background(), id, tool, raw)
	require.True(b.t, ok)
	require.Empty(b.t, result.Code, "%s: %s", tool, result.JSON)
	var read struct{ Data map[string]any }
	require.NoError(b.t, json.Unmarshal(result.JSON, &read))
	return read.Data
}

func (b *bundle) claim(runID, step string) string {
	b.t.Helper()
	data := b.call(bot, "claim", map[string]any{"runId": runID, "stepId": step})
	token, ok := data["token"].(string)
	require.True(b.t, ok, "%v", data)
	return token
}

// submit claims a step and submits it.
func (b *bundle) submit(runID, step, output string, more map[string]any) {
	b.t.Helper()
	args := map[string]any{"token": b.claim(runID, step), "output": json.RawMessage(output), "summary": "Done."}
	for name, value := range more {
		args[name] = value
	}
	b.call(bot, "submit", args)
}

func (b *bundle) upload(by server.Identity, name, contentType, content string) string {
	b.t.Helper()
	up, err := b.srv.Upload(context.Background(), by, server.UploadArgs{
		FileName: name, ContentType: contentType, Content: []byte(content), RequestID: uuid.NewString(),
	})
	require.NoError(b.t, err)
	return up.ID
}

func (b *bundle) view(runID string) *run.View {
	b.t.Helper()
	view, err := b.srv.GetRun(context.Background(), b.person(olga), runID)
	require.NoError(b.t, err)
	return view
}

// openItem is the id of the one open work item of a run.
func (b *bundle) openItem(runID string) string {
	b.t.Helper()
	items := b.view(runID).WorkItems
	require.Len(b.t, items, 1)
	return items[0].ID
}

// stepData is what run data says of a step.
func (b *bundle) stepData(runID, step string) map[string]json.RawMessage {
	b.t.Helper()
	var data struct {
		Steps map[string]map[string]json.RawMessage
	}
	require.NoError(b.t, json.Unmarshal(b.view(runID).Data, &data))
	return data.Steps[step]
}

// compared is a run of choose-supplier in which the agent has compared the quotes, so that the choice waits for Mira.
func (b *bundle) compared() string {
	b.t.Helper()
	runID := b.start(b.person(joe), "choose-supplier", run.Live, `{"reference":"RFQ-2026-014","need":"120 height-adjustable desks, assembled in Hamburg","budget":65000.00,"neededBy":"2026-12-01"}`)
	b.compare(runID, "Northwind Interiors", "58200.00")
	return runID
}

func (b *bundle) compare(runID, supplier, total string) {
	b.t.Helper()
	pdf := b.upload(bot, "quote-northwind.pdf", "application/pdf", "%PDF-1.4\n%%EOF\n")
	notes := b.upload(bot, "comparison.txt", "text/plain", "Northwind: everything in scope.\nContoso: assembly excluded.\nFabrikam: delivers after the day it is needed.\n")
	b.submit(runID, "compare", fmt.Sprintf(`{
		"recommendation": "%s: the only quote with assembly included and delivery in time.",
		"total": %s, "deliveryDate": "2026-11-20",
		"quotes": [
			{"supplier": "Northwind Interiors", "total": 58200.00, "delivery": "2026-11-20", "assembly": true},
			{"supplier": "Contoso Office", "total": 55900.50, "delivery": "2026-11-25", "assembly": false},
			{"supplier": "Fabrikam", "total": 51000.00, "delivery": "2026-12-15", "assembly": true}],
		"risks": ["One warehouse only", "Prices hold until 31 October"],
		"withinBudget": true}`, supplier, total), map[string]any{
		"summary": "Three quotes against the same requirements. " + supplier + " is not the cheapest, but the only one that delivers in time with assembly.",
		"next":    "choose", "reason": "All three quotes name price, scope and delivery.",
		"evidence": []map[string]string{
			{"kind": "file", "ref": pdf}, {"kind": "file", "ref": notes},
			{"kind": "link", "ref": "https://sourcing.example.com/rfq/2026-014"},
		},
	})
}

// decide decides the open item of a run as a person, beside any browser.
func (b *bundle) decide(email, runID string, change func(*server.DecideArgs)) {
	b.t.Helper()
	id := b.person(email)
	page, err := b.srv.ItemPage(context.Background(), id, b.openItem(runID))
	require.NoError(b.t, err)
	a := server.DecideArgs{RunID: runID, WorkItemID: page.Item.ID, Snapshot: page.Open.Snapshot, RequestID: uuid.NewString()}
	change(&a)
	_, err = b.srv.Decide(context.Background(), id, a)
	require.NoError(b.t, err)
}

func ptr[T any](v T) *T { return &v }

// advance moves the clock.
func (b *bundle) advance(d time.Duration) {
	b.t.Helper()
	_, err := b.clock.Advance(d)
	require.NoError(b.t, err)
}

// png is a picture of one grey pixel.
var png = strings.Join([]string{
	"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU",
	"\x00\x00\x00\nIDATx\x9cch\x00\x00\x00\x82\x00\x81w\xcdr\xb6\x00\x00\x00\x00IEND\xaeB`\x82",
}, "")

func replaceOnce(s, old, with string) string { return strings.Replace(s, old, with, 1) }
