package conformance

import (
	"fmt"
	"strings"
	"time"
)

func init() {
	add(
		Case{ID: "idempotency.start", Section: "specification 4", Processes: []string{"conf-plain"}, Rule: "the same start with the same requestId is the same run, word for word",
			run: func(t *T) {
				args := obj{"process": "conf-plain", "inputs": obj{"subject": "x", "limit": 1}, "requestId": requestID()}
				first := t.ok(t.agent(), "start_run", args)
				t.claim(first.str("run.id"), "work")
				t.sameAnswer(first, t.ok(t.agent(), "start_run", args))
			}},
		Case{ID: "idempotency.json-values", Section: "protocol 7", Processes: []string{"conf-plain"}, Rule: "arguments are compared as JSON values: key order and the form of a number don't matter",
			run: func(t *T) {
				id := requestID()
				first := t.raw(t.agent(), "start_run", []byte(`{"process":"conf-plain","inputs":{"subject":"x","limit":1},"requestId":"`+id+`"}`))
				t.that(first, first.ok(), "expected ok, got %s", first.code())
				t.sameAnswer(first, t.raw(t.agent(), "start_run", []byte(`{"requestId":"`+id+`","inputs":{"limit":1.0,"subject":"x"},"process":"conf-plain"}`)))
			}},
		Case{ID: "idempotency.changed-arguments", Section: "specification 4", Processes: []string{"conf-plain"}, Rule: "other arguments under a used requestId are a conflict, before any other check",
			run: func(t *T) {
				id := requestID()
				t.ok(t.agent(), "start_run", obj{"process": "conf-plain", "inputs": obj{"subject": "x"}, "requestId": id})
				t.refused(t.agent(), "start_run", obj{"process": "conf-plain", "inputs": obj{"subject": "y"}, "requestId": id}, "conflict", "request_id_reused")
				t.refused(t.agent(), "start_run", obj{"process": "conf-no-such-process", "inputs": obj{}, "requestId": id}, "conflict", "request_id_reused")
				t.refused(t.agent(), "claim", obj{"runId": "r_none", "stepId": "work", "requestId": id}, "conflict", "request_id_reused")
			}},
		Case{ID: "idempotency.other-caller", Section: "protocol 7", Processes: []string{"conf-plain"}, Needs: Needs{Agent2: true}, Rule: "another caller under a used requestId is a conflict, and gets nothing of the result",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				args := obj{"runId": id, "stepId": "work", "requestId": requestID()}
				t.ok(t.agent(), "claim", args)
				t.refused(t.agent2(), "claim", args, "conflict", "request_id_reused")
			}},
		Case{ID: "idempotency.claim", Section: "tools: claim", Processes: []string{"conf-plain"}, Rule: "a repeated claim returns the original result, token included",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				args := obj{"runId": id, "stepId": "work", "requestId": requestID()}
				first := t.ok(t.agent(), "claim", args)
				t.sameAnswer(first, t.ok(t.agent(), "claim", args))
				t.submit(first, obj{"output": obj{"text": "x"}})
				t.sameAnswer(first, t.ok(t.agent(), "claim", args))
			}},
		Case{ID: "idempotency.claim-after-the-lease", Section: "tools: claim", Processes: []string{"conf-plain"}, Needs: Needs{Clock: true}, Rule: "a claim is replayed with its token also after its lease ended",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				args := obj{"runId": id, "stepId": "work", "requestId": requestID()}
				first := t.ok(t.agent(), "claim", args)
				t.pass(t.lease())
				t.sameAnswer(first, t.ok(t.agent(), "claim", args))
			}},
		Case{ID: "idempotency.submit-after-the-end", Section: "specification 3.5", Processes: []string{"conf-plain"}, Rule: "a submission is replayed after the run ended",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				args := obj{"token": t.claim(id, "work").str("token"), "output": obj{"text": "x"}, "summary": "s", "requestId": requestID()}
				first := t.ok(t.agent(), "submit", args)
				t.sameAnswer(first, t.ok(t.agent(), "submit", args))
			}},
		Case{ID: "idempotency.decide", Section: "specification 4", Processes: []string{"conf-approve"}, Needs: Needs{People: 2}, Rule: "a decision is replayed for its maker, and is already_decided for others",
			run: func(t *T) {
				r := t.toApproval()
				args := decision(t.item(r, "approve"), "rejected", obj{"note": "Again.", "requestId": requestID()})
				first := t.ok(t.person(), "decide", args)
				t.sameAnswer(first, t.ok(t.person(), "decide", args))
				t.refused(t.person2(), "decide", args, "conflict", "request_id_reused")
			}},
		Case{ID: "idempotency.upload", Section: "specification 4", Needs: Needs{Tool: "upload"}, Rule: "a repeated upload is the same file",
			run: func(t *T) {
				args := obj{"fileName": "a.txt", "contentType": "text/plain", "contentBase64": "aGVsbG8=", "requestId": requestID()}
				first := t.ok(t.agent(), "upload", args)
				t.sameAnswer(first, t.ok(t.agent(), "upload", args))
			}},
		Case{ID: "idempotency.failed-call-is-not-recorded", Section: "specification 4", Processes: []string{"conf-plain"}, Rule: "a call that failed isn't recorded: the same requestId may then succeed",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				token, request := t.claim(id, "work").str("token"), requestID()
				t.refused(t.agent(), "submit", obj{"token": token, "output": obj{}, "summary": "s", "requestId": request}, "not_accepted")
				t.ok(t.agent(), "submit", obj{"token": token, "output": obj{"text": "x"}, "summary": "s", "requestId": request})
			}},
		Case{ID: "idempotency.twenty-at-once", Section: "specification 4", Processes: []string{"conf-plain"}, Rule: "of identical calls at once one executes and all get its result",
			run: func(t *T) {
				args := fmt.Sprintf(`{"process":"conf-plain","inputs":{"subject":"x"},"requestId":%q}`, requestID())
				answers := t.atOnce(20, func(int) *call { return t.raw(t.agent(), "start_run", []byte(args)) })
				for _, c := range answers {
					t.that(c, c.ok(), "expected ok, got %s %v", c.code(), c.issues())
					t.sameAnswer(answers[0], c)
				}
			}},
		Case{ID: "idempotency.placeholder", Section: "protocol 7", Processes: []string{"conf-plain"}, Rule: "the placeholder of get_work's calls is no requestId",
			run: func(t *T) {
				t.refused(t.agent(), "start_run", obj{"process": "conf-plain", "inputs": obj{"subject": "x"}, "requestId": "<new UUID>"}, "invalid",
					"requestId: replace the placeholder with a new UUID")
			}},
		Case{ID: "idempotency.length", Section: "protocol 7", Processes: []string{"conf-plain"}, Rule: "a requestId is 1 to 128 characters",
			run: func(t *T) {
				for _, id := range []string{"", strings.Repeat("x", 129)} {
					t.refused(t.agent(), "start_run", obj{"process": "conf-plain", "inputs": obj{"subject": "x"}, "requestId": id}, "invalid")
				}
				t.ok(t.agent(), "start_run", obj{"process": "conf-plain", "inputs": obj{"subject": "x"}, "requestId": requestID() + strings.Repeat("é", 97)})
			}},

		Case{ID: "endings.run-ended-first", Section: "specification 3.5", Processes: []string{"conf-plain"}, Needs: Needs{People: 1},
			Rule: "after the end every write is a conflict with run_ended, before any other check",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				c := t.claim(id, "work")
				t.submit(c, obj{"output": obj{"text": "x"}})
				t.refused(t.agent(), "claim", obj{"runId": id, "stepId": "nothing"}, "conflict", "run_ended")
				t.refused(t.agent(), "submit", obj{"token": c.str("token"), "output": obj{}, "summary": "s"}, "conflict", "run_ended")
				t.refused(t.agent(), "escalate", obj{"token": c.str("token"), "note": "n"}, "conflict", "run_ended")
				t.refused(t.agent(), "decide", obj{"runId": id, "workItemId": "w_none", "snapshot": "0", "decision": "approved"}, "conflict", "run_ended")
				if t.offers("send_event") {
					t.refused(t.agent(), "send_event", obj{"runId": id, "name": "payment"}, "conflict", "run_ended")
				}
			}},
		Case{ID: "endings.cancel", Section: "specification 3.5", Processes: []string{"conf-plain"}, Needs: Needs{Operator: true},
			Rule: "cancel ends a run: unfinished steps are cancelled, tokens stop, the reason is recorded",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				token := t.claim(id, "work").str("token")
				r := t.ok(t.operator(), "cancel", obj{"runId": id, "reason": "Not needed."})
				t.equal(r, "run.state", "cancelled")
				t.equal(r, "run.outcome", nil)
				t.equal(r, "run.ended.note", "Not needed.")
				t.wantState(r, "work", "cancelled")
				t.wantState(r, "done", nil)
				t.refused(t.agent(), "submit", obj{"token": token, "output": obj{"text": "x"}, "summary": "s"}, "conflict", "run_ended")
				t.refused(t.operator(), "cancel", obj{"runId": id, "reason": "Again."}, "conflict", "run_ended")
			}},
		Case{ID: "endings.cancel-removes-items", Section: "specification 3.5", Processes: []string{"conf-approve-or-end"}, Needs: Needs{Operator: true, People: 1}, Rule: "at the end open work items are gone",
			run: func(t *T) {
				r := t.start("conf-approve-or-end", nil)
				id, item := r.str("run.id"), t.item(r, "approve")
				r = t.ok(t.operator(), "cancel", obj{"runId": id, "reason": "Stop."})
				t.that(r, len(r.list("workItems")) == 0, "expected no open work items")
				w, list := t.work(t.person(), id)
				t.that(list, w == nil, "expected the item to be gone from get_work")
				t.refused(t.person(), "decide", decision(item, "approved", nil), "conflict", "run_ended")
			}},
		Case{ID: "endings.cancel-who", Section: "specification 4.1", Processes: []string{"conf-plain"}, Needs: Needs{People: 1}, Rule: "only an operator cancels",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				t.refused(t.agent(), "cancel", obj{"runId": id, "reason": "r"}, "forbidden")
				t.refused(t.person(), "cancel", obj{"runId": id, "reason": "r"}, "forbidden")
			}},
		Case{ID: "endings.cancel-reason", Section: "protocol 6", Processes: []string{"conf-plain"}, Needs: Needs{Operator: true}, Rule: "a blank reason is invalid",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				t.refused(t.operator(), "cancel", obj{"runId": id, "reason": "  "}, "invalid")
			}},

		Case{ID: "waits.wait", Section: "specification 2.2", Processes: []string{"conf-wait"}, Needs: Needs{Clock: true}, Rule: "a wait continues by itself when its time has passed, and records by: server",
			run: func(t *T) {
				r := t.start("conf-wait", nil)
				t.wantState(r, "pause", "waiting")
				t.equal(r, "run.state", "waiting")
				t.pass(59 * time.Minute)
				t.wantState(t.get(r.str("run.id")), "pause", "waiting")
				t.pass(time.Minute)
				r = t.get(r.str("run.id"))
				t.wantState(r, "pause", "done")
				t.wantState(r, "work", "ready")
				t.equal(r, "data.steps.pause.by", "server")
				w, list := t.work(t.agent(), r.str("run.id"))
				t.that(list, w != nil, "expected the step behind the wait in get_work")
				t.that(list, w["readySince"] == r.str("data.steps.pause.at"), "expected the step to be ready since the wait's end, %s, got %v", r.str("data.steps.pause.at"), w["readySince"])
			}},
		Case{ID: "waits.until-past", Section: "specification 2.2", Processes: []string{"conf-until"}, Rule: "a wait_until already past continues at once",
			run: func(t *T) {
				r := t.start("conf-until", obj{"moment": "2020-01-01T00:00:00Z"})
				t.equal(r, "run.outcome", "done")
				t.equal(r, "data.steps.until.by", "server")
			}},
		Case{ID: "waits.until-future", Section: "specification 2.2", Processes: []string{"conf-until"}, Rule: "a wait_until in the future waits",
			run: func(t *T) {
				r := t.start("conf-until", obj{"moment": "2999-01-01T00:00:00+02:00"})
				t.wantState(r, "until", "waiting")
				t.equal(r, "run.state", "waiting")
			}},
		Case{ID: "waits.until-missing", Section: "specification 2.2", Processes: []string{"conf-until"}, Rule: "a wait_until whose value is missing fails the step and the run, by the server",
			run: func(t *T) {
				r := t.start("conf-until", nil)
				t.equal(r, "run.outcome", "failed")
				t.equal(r, "run.ended.by", "server")
				t.wantState(r, "until", "failed")
			}},
		Case{ID: "events.delivered", Section: "specification 3.6", Processes: []string{"conf-event"}, Needs: Needs{Tool: "send_event"},
			Rule: "an event continues the wait it is for, with its data as output and its sender as by; one delivery satisfies one wait",
			run: func(t *T) {
				r := t.toEvent()
				id := r.str("run.id")
				t.wantState(r, "paid", "waiting")
				e := t.ok(t.agent(), "send_event", obj{"runId": id, "name": "payment", "data": obj{"amount": 5}})
				t.equal(e, "consumedBy", "paid")
				r = t.get(id)
				t.equal(r, "data.steps.paid.output", obj{"amount": 5})
				t.that(r, r.str("data.steps.paid.by") == r.str("run.startedBy"), "expected by to be the sender, got %v", r.get("data.steps.paid.by"))
				t.wantState(r, "again", "waiting")
				e = t.ok(t.agent(), "send_event", obj{"runId": id, "name": "payment"})
				t.equal(e, "consumedBy", "again")
				r = t.get(id)
				t.equal(r, "run.outcome", "paid")
				t.equal(r, "data.steps.again.output", obj{})
			}},
		Case{ID: "events.held-oldest-first", Section: "specification 3.6", Processes: []string{"conf-event"}, Needs: Needs{Tool: "send_event"},
			Rule: "an event before its wait is held and consumed when the wait is ready, oldest first",
			run: func(t *T) {
				id := t.start("conf-event", nil).str("run.id")
				for n := range 2 {
					e := t.ok(t.agent(), "send_event", obj{"runId": id, "name": "payment", "data": obj{"n": n}})
					t.equal(e, "consumedBy", nil)
				}
				r := t.submit(t.claim(id, "prepare"), obj{"output": obj{}})
				t.equal(r, "run.outcome", "paid")
				t.equal(r, "data.steps.paid.output.n", 0)
				t.equal(r, "data.steps.again.output.n", 1)
			}},
		Case{ID: "events.other-name", Section: "specification 3.6", Processes: []string{"conf-event"}, Needs: Needs{Tool: "send_event"}, Rule: "an event of another name is held; names compare exactly",
			run: func(t *T) {
				id := t.toEvent().str("run.id")
				t.equal(t.ok(t.agent(), "send_event", obj{"runId": id, "name": "payments"}), "consumedBy", nil)
				t.wantState(t.get(id), "paid", "waiting")
			}},
		Case{ID: "events.bad-name", Section: "specification 3.6", Processes: []string{"conf-event"}, Needs: Needs{Tool: "send_event"}, Rule: "a name that isn't of the step id pattern is invalid",
			run: func(t *T) {
				id := t.start("conf-event", nil).str("run.id")
				t.refused(t.agent(), "send_event", obj{"runId": id, "name": "Pay Ment"}, "invalid")
			}},
		Case{ID: "events.who", Section: "specification 3.6", Processes: []string{"conf-event"}, Needs: Needs{Tool: "send_event", People: 1, Operator: true}, Rule: "events come from agents and operators; others are forbidden",
			run: func(t *T) {
				id := t.start("conf-event", nil).str("run.id")
				t.refused(t.person(), "send_event", obj{"runId": id, "name": "payment"}, "forbidden")
				t.ok(t.operator(), "send_event", obj{"runId": id, "name": "payment"})
			}},
		Case{ID: "events.timeout", Section: "specification 2.2", Processes: []string{"conf-event"}, Needs: Needs{Tool: "send_event", Clock: true}, Rule: "at its timeout a wait continues at on_timeout, by the server, without output",
			run: func(t *T) {
				id := t.toEvent().str("run.id")
				t.pass(time.Hour)
				r := t.get(id)
				t.equal(r, "run.outcome", "late")
				t.equal(r, "data.steps.paid.by", "server")
				t.equal(r, "data.steps.paid.output", nil)
			}},
		Case{ID: "deadlines.overdue", Section: "specification 2.2", Processes: []string{"conf-due"}, Needs: Needs{Clock: true, People: 1}, Rule: "past its due a step is overdue and the work stays open; reaching the next step starts its own clock",
			run: func(t *T) {
				r := t.start("conf-due", nil)
				id := r.str("run.id")
				t.that(r, t.step(r, "work")["overdue"] == false && str(t.step(r, "work")["due"]) != "", "expected a due time and overdue false, got %v", t.step(r, "work"))
				t.pass(time.Hour + time.Minute)
				r = t.get(id)
				t.that(r, t.step(r, "work")["overdue"] == true, "expected the step to be overdue, got %v", t.step(r, "work"))
				t.wantState(r, "work", "ready")
				w, list := t.work(t.agent(), id)
				t.that(list, w["overdue"] == true, "expected get_work to say overdue, got %v", w)
				r = t.submit(t.claim(id, "work"), obj{"output": obj{}})
				t.that(r, t.step(r, "check")["overdue"] == false, "expected the next step to have its own due, got %v", t.step(r, "check"))
			}},
		Case{ID: "deadlines.return-does-not-restart", Section: "specification 3.4", Processes: []string{"conf-due"}, Needs: Needs{Clock: true, Operator: true}, Rule: "a return by an operator doesn't restart the due clock",
			run: func(t *T) {
				r := t.start("conf-due", nil)
				id, due := r.str("run.id"), t.step(r, "work")["due"]
				t.pass(10 * time.Minute)
				r = t.ok(t.agent(), "escalate", obj{"token": t.claim(id, "work").str("token"), "note": "Stuck."})
				r = t.ok(t.operator(), "decide", decision(t.item(r, "work"), "returned", obj{"note": "Go on."}))
				t.that(r, t.step(r, "work")["due"] == due, "expected the due time to stay %v, got %v", due, t.step(r, "work")["due"])
			}},
	)
}

// toEvent starts conf-event and takes it to its first wait.
func (t *T) toEvent() *call {
	id := t.start("conf-event", nil).str("run.id")
	return t.submit(t.claim(id, "prepare"), obj{"output": obj{}})
}

// sameAnswer fails unless the replay is the original, as JSON with digits.
func (t *T) sameAnswer(original, replay *call) {
	a, b := canonical(original.body), canonical(replay.body)
	t.that(replay, a == b, "expected the original answer\n%s\ngot\n%s", a, b)
}
