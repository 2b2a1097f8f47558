package conformance

import (
	"encoding/base64"
	"strings"
	"time"
)

func init() {
	add(
		Case{ID: "idempotency.renew", Section: "specification 4", Processes: []string{"conf-plain"}, Needs: Needs{Tool: "renew"}, Rule: "a repeated renewal returns the original token, also after it was submitted",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				args := obj{"token": t.claim(id, "work").str("token"), "progress": "half", "requestId": requestID()}
				first := t.ok(t.agent(), "renew", args)
				t.sameAnswer(first, t.ok(t.agent(), "renew", args))
				t.submit(first, obj{"output": obj{"text": "x"}})
				t.sameAnswer(first, t.ok(t.agent(), "renew", args))
			}},
		Case{ID: "idempotency.escalate", Section: "specification 4", Processes: []string{"conf-plain"}, Rule: "a repeated escalation returns the original view and opens no second item",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				args := obj{"token": t.claim(id, "work").str("token"), "note": "Stuck.", "requestId": requestID()}
				first := t.ok(t.agent(), "escalate", args)
				t.sameAnswer(first, t.ok(t.agent(), "escalate", args))
				t.that(first, len(t.get(id).list("workItems")) == 1, "expected one open work item")
			}},
		Case{ID: "idempotency.send-event", Section: "specification 4", Processes: []string{"conf-event"}, Needs: Needs{Tool: "send_event"}, Rule: "a repeated delivery satisfies no second wait",
			run: func(t *T) {
				id := t.toEvent().str("run.id")
				args := obj{"runId": id, "name": "payment", "data": obj{"n": 1}, "requestId": requestID()}
				first := t.ok(t.agent(), "send_event", args)
				t.sameAnswer(first, t.ok(t.agent(), "send_event", args))
				t.wantState(t.get(id), "again", "waiting")
			}},
		Case{ID: "idempotency.cancel", Section: "specification 3.5", Processes: []string{"conf-plain"}, Needs: Needs{Operator: true}, Rule: "a repeated cancel returns the original view, though the run has ended",
			run: func(t *T) {
				args := obj{"runId": t.start("conf-plain", obj{"subject": "x"}).str("run.id"), "reason": "Stop.", "requestId": requestID()}
				first := t.ok(t.operator(), "cancel", args)
				t.sameAnswer(first, t.ok(t.operator(), "cancel", args))
			}},
		Case{ID: "idempotency.replay-before-run-ended", Section: "tools: decide", Processes: []string{"conf-approve-or-end"}, Needs: Needs{People: 1}, Rule: "a decision that ended the run is replayed, not refused as run_ended",
			run: func(t *T) {
				r := t.start("conf-approve-or-end", nil)
				args := decision(t.item(r, "approve"), "approved", obj{"requestId": requestID()})
				first := t.ok(t.person(), "decide", args)
				t.equal(first, "run.outcome", "approved")
				t.sameAnswer(first, t.ok(t.person(), "decide", args))
			}},
		Case{ID: "people.twenty-at-once", Section: "specification 3.4", Processes: []string{"conf-approve-or-end"}, Needs: Needs{People: 2}, Rule: "of many decisions at once exactly one is carried out",
			run: func(t *T) {
				r := t.start("conf-approve-or-end", nil)
				item := t.item(r, "approve")
				won := 0
				for _, c := range t.atOnce(20, func(i int) *call {
					by := t.person()
					if i%2 == 1 {
						by = t.person2()
					}
					return t.call(by, "decide", decision(item, "approved", nil))
				}) {
					if c.ok() {
						won++
					} else {
						t.that(c, c.code() == "conflict", "expected conflict, got %s %v", c.code(), c.issues())
					}
				}
				t.that(r, won == 1, "expected exactly one decision to succeed, %d did", won)
			}},
		Case{ID: "people.tasks-refusal-is-handed-on", Section: "specification 3.3", Processes: []string{"conf-task"}, Needs: Needs{People: 2}, Rule: "the issues of a person's refused completion are in the item's handoff",
			run: func(t *T) {
				r := t.start("conf-task", nil)
				c := t.refused(t.person(), "decide", decision(t.item(r, "inspect"), "completed", obj{"output": obj{}}), "not_accepted")
				again := t.get(r.str("run.id"))
				issues, _ := lookup(t.item(again, "inspect"), "handoff.issues").([]any)
				t.that(again, len(issues) == len(c.issues()), "expected handoff.issues to hold the %d issues, got %v", len(c.issues()), issues)
				t.equal(again, "data.steps", obj{})
			}},
		Case{ID: "people.get-work-oldest-first", Section: "tools: get_work", Processes: []string{"conf-approve-or-end"}, Needs: Needs{People: 1}, Rule: "a person's items come oldest first, and pages hold each once",
			run: func(t *T) {
				var want []string
				for range 3 {
					want = append(want, t.start("conf-approve-or-end", nil).str("run.id"))
				}
				var got []string
				args := obj{"limit": 1, "process": "conf-approve-or-end"}
				for {
					c := t.ok(t.person(), "get_work", args)
					for _, x := range c.list("items") {
						w, _ := x.(map[string]any)
						for _, id := range want {
							if w["runId"] == id {
								got = append(got, id)
							}
						}
					}
					if c.str("nextCursor") == "" {
						t.that(c, strings.Join(got, " ") == strings.Join(want, " "), "expected the runs in the order %v, got %v", want, got)
						return
					}
					args["cursor"] = c.str("nextCursor")
				}
			}},
		Case{ID: "rework.fresh-due", Section: "specification 2.2", Processes: []string{"conf-approve"}, Needs: Needs{People: 1, Clock: true}, Rule: "a repeat of a step restarts its due clock",
			run: func(t *T) {
				r := t.toApproval()
				id, due := r.str("run.id"), t.step(r, "approve")["due"]
				t.pass(time.Hour)
				t.ok(t.person(), "decide", decision(t.item(t.get(id), "approve"), "rejected", obj{"note": "Again."}))
				t.submit(t.claim(id, "draft"), obj{"output": obj{"text": "b"}})
				r = t.submit(t.claim(id, "polish"), obj{"output": obj{"text": "c"}})
				t.that(r, str(t.step(r, "approve")["due"]) > str(due), "expected a later due than %v, got %v", due, t.step(r, "approve")["due"])
			}},
		Case{ID: "escalation.drops-progress", Section: "specification 3.3", Processes: []string{"conf-plain"}, Needs: Needs{Operator: true, Tool: "renew"}, Rule: "progress is handed on after a lease ended, not after an escalation",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				token := t.ok(t.agent(), "renew", obj{"token": t.claim(id, "work").str("token"), "progress": "half"}).str("token")
				r := t.ok(t.agent(), "escalate", obj{"token": token, "note": "Stuck."})
				t.ok(t.operator(), "decide", decision(t.item(r, "work"), "returned", obj{"note": "Go on."}))
				c := t.claim(id, "work")
				t.equal(c, "handoff.progress", nil)
				t.equal(c, "handoff.returned.note", "Go on.")
			}},
		Case{ID: "limits.upload", Section: "tools: upload", Needs: Needs{Tool: "upload"}, Rule: "content over maxUploadBytes is invalid, or refused with the request",
			run: func(t *T) {
				n := t.number("maxUploadBytes")
				t.that(t.s.described, n > 0, "expected describe.maxUploadBytes where upload is offered")
				if n > 32<<20 {
					panic(skip("maxUploadBytes is too large to try"))
				}
				t.refused(t.agent(), "upload", obj{"fileName": "a", "contentType": "text/plain",
					"contentBase64": base64.StdEncoding.EncodeToString(make([]byte, n+1))}, "invalid")
			}},
		Case{ID: "limits.event-data", Section: "specification 6", Processes: []string{"conf-event"}, Needs: Needs{Tool: "send_event"}, Rule: "event data that takes run data over the limit is invalid, and nothing is held",
			run: func(t *T) {
				id := t.start("conf-event", nil).str("run.id")
				t.refused(t.agent(), "send_event", obj{"runId": id, "name": "payment", "data": obj{"x": strings.Repeat("x", t.number("limits.runDataBytes"))}}, "invalid")
				r := t.submit(t.claim(id, "prepare"), obj{"output": obj{}})
				t.wantState(r, "paid", "waiting")
			}},
		Case{ID: "events.unknown-run", Section: "specification 4.3", Needs: Needs{Tool: "send_event"}, Rule: "an event to an unknown run is not_found",
			run: func(t *T) {
				t.refused(t.agent(), "send_event", obj{"runId": "r_no_such_run", "name": "payment"}, "not_found")
			}},
	)
}
