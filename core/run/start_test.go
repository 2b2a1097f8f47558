package run_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

func TestS2_TheFirstStepIsReadyAtTheStart(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), agent("b"), finish("done")).start()
	require.Equal(t, "ready - -", b.states())
	require.Equal(t, run.RunActive, b.st.State)
	require.Equal(t, []string{"RunStarted", "StepReadied"}, b.types(0))
	require.Equal(t, t0, b.st.StartedAt)
	require.Equal(t, mira, b.st.Initiator)
	require.JSONEq(t, `{"inputs":{},"steps":{}}`, b.data())
}

func TestS8_StartRefusesInputsWithEveryIssue(t *testing.T) {
	t.Parallel()
	doc := document(agent("a"), finish("done"))
	doc.Inputs = process.Fields{
		field("vendor", process.String), field("amount", process.Number), optional(field("note", process.String)),
	}
	b := setupDoc(t, doc)
	err := b.do(run.Start{RunID: "r_1", By: mira, Human: true, Inputs: json.RawMessage(`{"amount":"1","extra":1}`)})
	refused(t, err, run.Invalid, "inputs.vendor: missing", "inputs.amount: expected number", "inputs.extra: not declared")
	require.Nil(t, b.st)
	require.Empty(t, b.events)

	refused(t, b.do(run.Start{RunID: "r_1", By: mira, Human: true, Inputs: json.RawMessage(`[]`)}), run.Invalid, "inputs: expected object")
	b.start(`{"vendor":"Acme","amount":48000.00}`)
}

func TestS4_ARunStartedByAnAgentHasNoInitiator(t *testing.T) {
	t.Parallel()
	b := setup(t, task("a", "initiator"), finish("done"))
	refused(t, b.do(run.Start{RunID: "r_1", By: ana}), run.Invalid, "initiator: a run started by an agent has none")
	require.NoError(t, b.do(run.Start{RunID: "r_1", By: mira, Human: true}))
	require.Equal(t, mira, b.item("a").Person)

	b = setup(t, agent("a"), finish("done"))
	require.NoError(t, b.do(run.Start{RunID: "r_1", By: ana}))
	require.Empty(t, b.st.Initiator)
	require.Equal(t, ana, b.st.StartedBy)
}

func TestS2_NumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	doc := document(output(agent("a"), field("n", process.Number), field("o", process.Object)), finish("done"))
	doc.Inputs = process.Fields{field("amount", process.Number), field("big", process.Number)}
	b := setupDoc(t, doc).start("{\n \"amount\": 48000.00,\n \"big\": 9007199254740993 }")
	b.work("a", `{"n": 1e2, "o": {"x": [0.10, -0, 123456789012345678901234567890]}}`)
	require.Contains(t, b.data(), `"inputs":{"amount":48000.00,"big":9007199254740993}`)
	require.Contains(t, b.data(), `"output":{"n":1e2,"o":{"x":[0.10,-0,123456789012345678901234567890]}}`)
}

func TestS2_RunDataOfEachKind(t *testing.T) {
	t.Parallel()
	doc := document(
		routes(output(evidence(agent("a"), "file"), field("ok", process.Boolean)), "b", "c"),
		task("b", "finance"), approve("c", "finance", ""), wait("d", time.Hour), waitUntil("e", "inputs.when"),
		timeout(waitFor("f", "paid"), time.Hour, "g"), waitFor("g", "shipped"), waitFor("h", "closed"), finish("done"),
	)
	doc.Inputs = process.Fields{field("when", process.Datetime)}
	b := setupDoc(t, doc).start(`{"when":"2026-10-06T12:00:00+02:00"}`)

	ref := b.claim("a", ana)
	require.NoError(t, b.do(run.Submit{Ref: ref, By: ana, Submission: run.Submission{
		Output: json.RawMessage(`{"ok":true}`), Summary: p("Looked at it."), Next: p("b"), Reason: p("All well."),
		Evidence: []run.Evidence{{Kind: "file", Ref: "f_1"}, {Kind: "link", Ref: "https://x"}},
	}}))
	require.JSONEq(t, `{"output":{"ok":true},"summary":"Looked at it.","next":"b","reason":"All well.",
		"evidence":[{"kind":"file","ref":"f_1","sha256":"aa11"},{"kind":"link","ref":"https://x"}],
		"by":"agent:ana","at":"2026-10-06T09:00:00.000Z","history":[]}`, b.stepData("a"))

	b.decide("b", mira, run.Completed)
	require.JSONEq(t, `{"output":{},"evidence":[],"by":"mira@example.com","at":"2026-10-06T09:00:00.000Z","history":[]}`, b.stepData("b"))

	b.decide("c", omar, run.Approved)
	require.JSONEq(t, `{"decision":"approved","by":"omar@example.com","at":"2026-10-06T09:00:00.000Z","history":[]}`, b.stepData("c"))

	b.pass(time.Hour)
	require.JSONEq(t, `{"by":"server","at":"2026-10-06T10:00:00.000Z","history":[]}`, b.stepData("d"))
	require.JSONEq(t, `{"by":"server","at":"2026-10-06T10:00:00.000Z","history":[]}`, b.stepData("e"))

	b.pass(time.Hour)
	require.JSONEq(t, `{"by":"server","at":"2026-10-06T11:00:00.000Z","history":[]}`, b.stepData("f"), "a timeout has no output")
	b.send("shipped", `{ "n": 1.50 }`)
	require.JSONEq(t, `{"output":{"n":1.50},"by":"agent:ana","at":"2026-10-06T11:00:00.000Z","history":[]}`, b.stepData("g"))
	b.send("closed", "")
	require.JSONEq(t, `{"output":{},"by":"agent:ana","at":"2026-10-06T11:00:00.000Z","history":[]}`, b.stepData("h"))
	require.NotContains(t, b.data(), "done", "a finish records nothing")
	require.Equal(t, run.RunEnded, b.st.State)
}

func TestS2_RunStates(t *testing.T) {
	t.Parallel()
	b := setup(t, agent("a"), task("b", "finance"), wait("c", time.Hour), finish("done")).start()
	require.Equal(t, run.RunActive, b.st.State, "a step is ready")
	ref := b.claim("a", ana)
	require.Equal(t, run.RunActive, b.st.State, "a step is claimed")
	require.NoError(t, b.do(run.Escalate{Ref: ref, By: ana, Note: "Can't."}))
	require.Equal(t, run.RunWaiting, b.st.State, "an escalation is pending")
	b.decide("a", ops, run.Completed)
	require.Equal(t, run.RunWaiting, b.st.State, "a person is to act")
	b.decide("b", mira, run.Completed)
	require.Equal(t, run.RunWaiting, b.st.State, "a timer runs")
	b.pass(time.Hour)
	require.Equal(t, run.RunEnded, b.st.State)
	require.Equal(t, "done-outcome", b.st.Outcome)
	require.Equal(t, "done done done done", b.states())
	require.Equal(t, &run.Ended{By: "server", At: t0.Add(time.Hour)}, b.st.Ended, "a finish ends with a null note")
}

func TestS2_TheCapCountsRunDataAndHeldEvents(t *testing.T) {
	t.Parallel()
	doc := document(output(agent("a"), field("s", process.String)), waitFor("b", "paid"), task("c", "finance"), finish("done"))
	doc.Inputs = process.Fields{optional(field("s", process.String))}
	inputs := json.RawMessage(`{"s":"` + strings.Repeat("x", 400) + `"}`)

	t.Run("at the start", func(t *testing.T) {
		t.Parallel()
		b := setupDoc(t, doc)
		size := len(`{"inputs":,"steps":{}}`) + len(inputs)
		b.env.RunDataBytes = size - 1
		refused(t, b.do(run.Start{RunID: "r_1", By: mira, Human: true, Inputs: inputs}), run.Invalid, overCap(size, size-1))
		b.env.RunDataBytes = size
		b.start(string(inputs))
		require.Len(t, b.data(), size)
	})
	t.Run("a submission, beside its other issues", func(t *testing.T) {
		t.Parallel()
		b := setupDoc(t, doc).start()
		ref := b.claim("a", ana)
		sub := submission(`{"s":"` + strings.Repeat("x", 400) + `"}`)
		probe := run.Decide(b.doc, b.st, run.Submit{Ref: ref, By: ana, Submission: sub}, b.env)
		size := len(probe.State.Data(b.doc))
		b.env.RunDataBytes = size - 1
		refused(t, b.do(run.Submit{Ref: ref, By: ana, Submission: sub}), run.NotAccepted, overCap(size, size-1))
		sub.Reason = p("x")
		refused(t, b.do(run.Submit{Ref: ref, By: ana, Submission: sub}), run.NotAccepted, "reason: not allowed", overCap(size, size-1))
		sub.Reason = nil
		b.env.RunDataBytes = size
		require.NoError(t, b.do(run.Submit{Ref: ref, By: ana, Submission: sub}))
		require.Len(t, b.data(), size)
	})
	t.Run("an event, held or consumed", func(t *testing.T) {
		t.Parallel()
		b := setupDoc(t, doc).start()
		data := `{"s":"` + strings.Repeat("x", 400) + `"}`
		event := run.SendEvent{By: ana, Allowed: true, Name: "other", Data: json.RawMessage(data)}
		size := len(b.data()) + len(data)
		b.env.RunDataBytes = size - 1
		refused(t, b.do(event), run.Invalid, overCap(size, size-1))
		b.env.RunDataBytes = size
		require.NoError(t, b.do(event))
		refused(t, b.do(event), run.Invalid, overCap(size+len(data), size))

		b.env.RunDataBytes = 10000
		b.work("a", `{"s":"y"}`)
		event.Name = "paid"
		probe := run.Decide(b.doc, b.st, event, b.env)
		require.Equal(t, "b", probe.Result.ConsumedBy)
		size = len(probe.State.Data(b.doc)) + len(data)
		b.env.RunDataBytes = size - 1
		refused(t, b.do(event), run.Invalid, overCap(size, size-1))
		b.env.RunDataBytes = size
		require.NoError(t, b.do(event))
	})
	t.Run("a person's completion", func(t *testing.T) {
		t.Parallel()
		b := setupDoc(t, doc).start().work("a", `{"s":"y"}`)
		b.send("paid", "")
		d := b.decision("c", mira, run.Completed)
		d.Summary = p(strings.Repeat("x", 400))
		probe := run.Decide(b.doc, b.st, d, b.env)
		size := len(probe.State.Data(b.doc))
		b.env.RunDataBytes = size - 1
		refused(t, b.do(d), run.NotAccepted, overCap(size, size-1))
		b.env.RunDataBytes = size
		require.NoError(t, b.do(d))
	})
}
