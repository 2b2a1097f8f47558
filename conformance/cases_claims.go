package conformance

import (
	"strings"
	"time"
)

func init() {
	add(
		Case{ID: "order.work-is-listed-with-its-claim", Section: "tools: get_work", Processes: []string{"conf-plain"},
			Rule: "get_work lists a ready step with the exact claim call",
			run: func(t *T) {
				r := t.start("conf-plain", obj{"subject": "x"})
				w, list := t.work(t.agent(), r.str("run.id"))
				t.that(list, w != nil, "expected the new run's step in get_work")
				t.that(list, str(lookup(w, "claim.tool")) == "claim" && str(lookup(w, "claim.arguments.runId")) == r.str("run.id") &&
					str(lookup(w, "claim.arguments.stepId")) == "work", "expected the exact claim call, got %v", w["claim"])
				t.that(list, w["handoff"] == nil, "expected no handoff on a first attempt, got %v", w["handoff"])
				t.that(list, w["mode"] == "live", "expected mode live, got %v", w["mode"])
			}},
		Case{ID: "order.claimed-step-is-not-listed", Section: "tools: get_work", Processes: []string{"conf-plain"},
			Rule: "get_work lists only what the caller can claim",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				t.claim(id, "work")
				w, list := t.work(t.agent(), id)
				t.that(list, w == nil, "expected the claimed step to be gone from get_work")
			}},
		Case{ID: "order.next-step-only", Section: "specification 3.2", Processes: []string{"conf-approve"},
			Rule: "only the first step is ready at start, and completing it makes only its next ready",
			run: func(t *T) {
				r := t.start("conf-approve", nil)
				id := r.str("run.id")
				t.wantState(r, "draft", "ready")
				t.wantState(r, "polish", nil)
				t.refused(t.agent(), "claim", obj{"runId": id, "stepId": "polish"}, "conflict", "not_ready")
				r = t.submit(t.claim(id, "draft"), obj{"output": obj{"text": "a"}})
				t.wantState(r, "draft", "done")
				t.wantState(r, "polish", "ready")
				t.wantState(r, "approve", nil)
			}},
		Case{ID: "order.done-step-is-not-claimable", Section: "tools: claim", Processes: []string{"conf-approve"}, Rule: "a done step is not_ready",
			run: func(t *T) {
				id := t.start("conf-approve", nil).str("run.id")
				t.submit(t.claim(id, "draft"), obj{"output": obj{"text": "a"}})
				t.refused(t.agent(), "claim", obj{"runId": id, "stepId": "draft"}, "conflict", "not_ready")
			}},
		Case{ID: "order.finish-ends-with-its-outcome", Section: "specification 3.2", Processes: []string{"conf-routes"},
			Rule: "the chosen route is taken, and the finish ends the run with its outcome, by the server, without a note",
			run: func(t *T) {
				id := t.start("conf-routes", nil).str("run.id")
				r := t.submit(t.claim(id, "look"), obj{"output": obj{}, "evidence": t.file(), "next": "bad", "reason": "Broken."})
				t.equal(r, "run.state", "ended")
				t.equal(r, "run.outcome", "bad")
				t.equal(r, "run.ended.by", "server")
				t.equal(r, "run.ended.note", nil)
				t.wantState(r, "bad", "done")
				t.wantState(r, "good", nil)
				t.equal(r, "data.steps.bad", nil)
			}},

		Case{ID: "claims.what-a-claim-returns", Section: "tools: claim", Processes: []string{"conf-routes"},
			Rule: "a claim returns token, expiry, the step as declared, body, data and a null handoff",
			run: func(t *T) {
				r := t.start("conf-routes", nil)
				c := t.claim(r.str("run.id"), "look")
				t.equal(c, "step", obj{"id": "look", "instructions": "Look, attach what you saw, and choose.", "output": nil, "evidence": []any{"file"},
					"next": []any{obj{"to": "good", "when": "It looks good"}, obj{"to": "bad"}}})
				t.equal(c, "handoff", nil)
				t.equal(c, "data", obj{"inputs": obj{}, "steps": obj{}})
				// By the server's own clock, which need not be ours.
				started, err := time.Parse(time.RFC3339, r.str("run.startedAt"))
				t.that(r, err == nil, "expected startedAt to be RFC 3339, got %q", r.str("run.startedAt"))
				at, err := time.Parse(time.RFC3339, c.str("expiresAt"))
				t.that(c, err == nil, "expected expiresAt to be RFC 3339, got %q", c.str("expiresAt"))
				late := at.Sub(started) - t.lease()
				t.that(c, late >= 0 && late < time.Minute, "expected expiresAt %s after the claim, got %s for a run started at %s", t.lease(), at, started)
			}},
		Case{ID: "claims.one-at-a-time", Section: "specification 6", Processes: []string{"conf-plain"}, Needs: Needs{Agent2: true},
			Rule: "a claimed step belongs to one caller: claimed_by_other for another, claimed_by_you for the same",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				t.claim(id, "work")
				t.refused(t.agent2(), "claim", obj{"runId": id, "stepId": "work"}, "conflict", "claimed_by_other")
				t.refused(t.agent(), "claim", obj{"runId": id, "stepId": "work"}, "conflict", "claimed_by_you")
				t.wantState(t.get(id), "work", "claimed")
			}},
		Case{ID: "claims.twenty-at-once", Section: "specification 6", Processes: []string{"conf-plain"}, Needs: Needs{Agent2: true},
			Rule: "of many claims at once exactly one succeeds",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				won := 0
				answers := t.atOnce(20, func(i int) *call {
					by := t.agent()
					if i%2 == 1 {
						by = t.agent2()
					}
					return t.call(by, "claim", obj{"runId": id, "stepId": "work"})
				})
				for _, c := range answers {
					if c.ok() {
						won++
					} else {
						t.that(c, c.code() == "conflict", "expected conflict, got %s", c.code())
					}
				}
				t.that(answers[0], won == 1, "expected exactly one claim to succeed, %d did", won)
			}},
		Case{ID: "claims.person-step-is-forbidden", Section: "tools: claim", Processes: []string{"conf-approve"},
			Rule: "claiming a step that is no agent's is forbidden, reached or not",
			run: func(t *T) {
				id := t.start("conf-approve", nil).str("run.id")
				t.refused(t.agent(), "claim", obj{"runId": id, "stepId": "approve"}, "forbidden")
				t.refused(t.agent(), "claim", obj{"runId": id, "stepId": "done"}, "forbidden")
			}},
		Case{ID: "claims.unknown-step", Section: "specification 4.3", Processes: []string{"conf-plain"}, Rule: "an unknown run or step is not_found",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				t.refused(t.agent(), "claim", obj{"runId": id, "stepId": "nothing"}, "not_found")
				t.refused(t.agent(), "claim", obj{"runId": "r_no_such_run", "stepId": "work"}, "not_found")
			}},
		Case{ID: "claims.person-can-not-claim", Section: "specification 4.1", Processes: []string{"conf-plain"}, Needs: Needs{People: 1}, Rule: "only an agent claims",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				t.refused(t.person(), "claim", obj{"runId": id, "stepId": "work"}, "forbidden")
			}},
		Case{ID: "claims.made-up-token", Section: "tools: claim", Rule: "a token that doesn't verify is invalid, on every tool that takes one",
			run: func(t *T) {
				for tool, more := range map[string]obj{"renew": {}, "submit": {"output": obj{}, "summary": "s"}, "escalate": {"note": "n"}} {
					if tool == "renew" && !t.offers("renew") {
						continue
					}
					more["token"] = "not-a-token"
					t.refused(t.agent(), tool, more, "invalid")
				}
			}},
		Case{ID: "claims.altered-token", Section: "specification 6", Processes: []string{"conf-plain"}, Rule: "a token with one character changed is invalid",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				token := t.claim(id, "work").str("token")
				middle := len(token) / 2
				swap := "A"
				if token[middle:middle+1] == swap {
					swap = "B"
				}
				t.refused(t.agent(), "submit", obj{"token": token[:middle] + swap + token[middle+1:], "output": obj{"text": "x"}, "summary": "s"}, "invalid")
			}},
		Case{ID: "claims.somebody-elses-token", Section: "specification 6", Processes: []string{"conf-plain"}, Needs: Needs{Agent2: true}, Rule: "a live token from another identity is forbidden",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				token := t.claim(id, "work").str("token")
				t.refused(t.agent2(), "submit", obj{"token": token, "output": obj{"text": "x"}, "summary": "s"}, "forbidden")
			}},
		Case{ID: "claims.submitted-token-is-stale", Section: "specification 4.3", Processes: []string{"conf-approve"}, Rule: "a token whose claim was submitted is stale",
			run: func(t *T) {
				id := t.start("conf-approve", nil).str("run.id")
				c := t.claim(id, "draft")
				t.submit(c, obj{"output": obj{"text": "a"}})
				t.refused(t.agent(), "submit", obj{"token": c.str("token"), "output": obj{"text": "b"}, "summary": "s"}, "stale")
			}},
		Case{ID: "claims.renew-kills-the-old-token", Section: "tools: renew", Processes: []string{"conf-plain"}, Needs: Needs{Tool: "renew"},
			Rule: "renew returns a new token and the old one is stale at once",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				old := t.claim(id, "work").str("token")
				fresh := t.ok(t.agent(), "renew", obj{"token": old, "progress": "half"})
				t.that(fresh, fresh.str("token") != old && fresh.str("token") != "", "expected a new token")
				t.refused(t.agent(), "submit", obj{"token": old, "output": obj{"text": "x"}, "summary": "s"}, "stale")
				t.refused(t.agent(), "renew", obj{"token": old}, "stale")
				t.ok(t.agent(), "submit", obj{"token": fresh.str("token"), "output": obj{"text": "x"}, "summary": "s"})
			}},
		Case{ID: "claims.lease-ends", Section: "specification 3.3", Processes: []string{"conf-plain"}, Needs: Needs{Clock: true, Agent2: true, Tool: "renew"},
			Rule: "when a lease ends the step is claimable at once, its token is stale, and the last progress note is handed on",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				first, _ := t.work(t.agent(), id)
				old := t.ok(t.agent(), "renew", obj{"token": t.claim(id, "work").str("token"), "progress": "half done"}).str("token")
				t.pass(t.lease())
				t.wantState(t.get(id), "work", "ready")
				t.refused(t.agent(), "submit", obj{"token": old, "output": obj{"text": "x"}, "summary": "s"}, "stale")
				w, list := t.work(t.agent(), id)
				t.that(list, w != nil, "expected the step in get_work again")
				t.that(list, str(lookup(w, "handoff.progress")) == "half done", "expected handoff.progress, got %v", w["handoff"])
				t.that(list, w["readySince"] == first["readySince"], "expected readySince to stay %v, got %v", first["readySince"], w["readySince"])
				c := t.ok(t.agent2(), "claim", obj{"runId": id, "stepId": "work"})
				t.equal(c, "handoff", obj{"progress": "half done"})
			}},
		Case{ID: "claims.renew-extends", Section: "specification 3.3", Processes: []string{"conf-plain"}, Needs: Needs{Clock: true, Tool: "renew"},
			Rule: "renew sets the expiry to now plus the lease",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				token := t.claim(id, "work").str("token")
				t.pass(t.lease() * 3 / 4)
				token = t.ok(t.agent(), "renew", obj{"token": token}).str("token")
				t.pass(t.lease() * 3 / 4)
				t.ok(t.agent(), "submit", obj{"token": token, "output": obj{"text": "x"}, "summary": "s"})
			}},

		Case{ID: "handoff.issues", Section: "specification 3.3", Processes: []string{"conf-plain"}, Needs: Needs{Clock: true},
			Rule: "the issues of the last submission that wasn't accepted are handed to the next claim",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				c := t.claim(id, "work")
				t.refused(t.agent(), "submit", obj{"token": c.str("token"), "output": obj{}, "summary": "s"}, "not_accepted", "output.text: missing")
				t.pass(t.lease())
				t.equal(t.claim(id, "work"), "handoff", obj{"issues": []any{"output.text: missing"}})
			}},
		Case{ID: "handoff.returned", Section: "specification 3.4", Processes: []string{"conf-plain"}, Needs: Needs{Operator: true},
			Rule: "a returned step is ready again with the note, its author and time in handoff.returned; completing the step clears it",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				r := t.ok(t.agent(), "escalate", obj{"token": t.claim(id, "work").str("token"), "note": "Stuck."})
				r = t.ok(t.operator(), "decide", decision(t.item(r, "work"), "returned", obj{"note": "Try the other way."}))
				t.wantState(r, "work", "ready")
				c := t.claim(id, "work")
				t.equal(c, "handoff.returned.note", "Try the other way.")
				t.that(c, c.str("handoff.returned.by") != "" && c.str("handoff.returned.at") != "", "expected author and time in handoff.returned")
			}},

		Case{ID: "escalation.item", Section: "specification 3.3", Processes: []string{"conf-plain"},
			Rule: "escalate ends the claim: the step waits, and one work item with the note accepts returned, completed and failed",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				token := t.claim(id, "work").str("token")
				r := t.ok(t.agent(), "escalate", obj{"token": token, "note": "I can't reach the system."})
				t.wantState(r, "work", "waiting")
				t.equal(r, "run.state", "waiting")
				item := t.item(r, "work")
				t.that(r, str(lookup(item, "escalation.note")) == "I can't reach the system.", "expected the note in escalation, got %v", item["escalation"])
				t.that(r, item["kind"] == "agent", "expected kind agent, got %v", item["kind"])
				t.decisions(r, item, "returned", "completed", "failed")
				t.refused(t.agent(), "submit", obj{"token": token, "output": obj{"text": "x"}, "summary": "s"}, "stale")
			}},
		Case{ID: "escalation.blank-note", Section: "tools: escalate", Processes: []string{"conf-plain"}, Rule: "a blank note is invalid",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				t.refused(t.agent(), "escalate", obj{"token": t.claim(id, "work").str("token"), "note": " \t"}, "invalid")
			}},
		Case{ID: "escalation.completed-by-a-person", Section: "specification 3.4", Processes: []string{"conf-plain"}, Needs: Needs{Operator: true},
			Rule: "a person completes an escalated step in the agent's place under the same acceptance",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				r := t.ok(t.agent(), "escalate", obj{"token": t.claim(id, "work").str("token"), "note": "Stuck."})
				item := t.item(r, "work")
				t.refused(t.operator(), "decide", decision(item, "completed", obj{"output": obj{"text": 5}}), "not_accepted", "output.text: expected string")
				r = t.ok(t.operator(), "decide", decision(item, "completed", obj{"output": obj{"text": "by hand"}}))
				t.equal(r, "data.steps.work.output.text", "by hand")
				t.equal(r, "run.outcome", "complete")
			}},
		Case{ID: "escalation.failed", Section: "specification 3.4", Processes: []string{"conf-plain"}, Needs: Needs{Operator: true}, Rule: "failed ends the run failed, with the note",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				r := t.ok(t.agent(), "escalate", obj{"token": t.claim(id, "work").str("token"), "note": "Stuck."})
				r = t.ok(t.operator(), "decide", decision(t.item(r, "work"), "failed", obj{"note": "Give up."}))
				t.equal(r, "run.state", "ended")
				t.equal(r, "run.outcome", "failed")
				t.equal(r, "run.ended.note", "Give up.")
				t.wantState(r, "work", "failed")
				t.equal(r, "data.steps.work.decision", "failed")
				t.equal(r, "data.steps.work.note", "Give up.")
			}},
	)
}

// submit submits a claim's work as the agent, which has to be accepted.
func (t *T) submit(claim *call, args obj) *call {
	args["token"] = claim.str("token")
	if _, given := args["summary"]; !given {
		args["summary"] = "Did the work."
	}
	return t.ok(t.agent(), "submit", args)
}

// file uploads a small file and is evidence of it.
func (t *T) file() []any {
	u := t.ok(t.agent(), "upload", obj{"fileName": "report.txt", "contentType": "text/plain", "contentBase64": "aGVsbG8="})
	return []any{obj{"kind": "file", "ref": u.str("id")}}
}

// decisions fails unless the item accepts exactly these, in this order.
func (t *T) decisions(c *call, item map[string]any, want ...string) {
	list, _ := lookup(item, "decide.decisions").([]any)
	var got []string
	for _, x := range list {
		got = append(got, str(x))
	}
	t.that(c, strings.Join(got, " ") == strings.Join(want, " "), "expected the decisions %v, got %v", want, got)
}

// offers says whether describe lists a tool.
func (t *T) offers(tool string) bool {
	for _, x := range t.s.described.list("tools") {
		if x == tool {
			return true
		}
	}
	return false
}

// atOnce makes n calls at the same time.
func (t *T) atOnce(n int, f func(i int) *call) []*call {
	out, failed := make([]*call, n), make([]any, n)
	done := make(chan int)
	for i := range n {
		go func() {
			defer func() { failed[i] = recover(); done <- i }()
			out[i] = f(i)
		}()
	}
	for range n {
		<-done
	}
	for _, x := range failed {
		if x != nil {
			panic(x)
		}
	}
	return out
}
