package conformance

import "strings"

// toApproval starts conf-approve and takes it to its approval.
func (t *T) toApproval() *call {
	id := t.start("conf-approve", nil).str("run.id")
	t.submit(t.claim(id, "draft"), obj{"output": obj{"text": "first"}, "summary": "Wrote it."})
	return t.submit(t.claim(id, "polish"), obj{"output": obj{"text": "polished"}})
}

func init() {
	add(
		Case{ID: "people.item", Section: "tools: shared shapes", Processes: []string{"conf-approve"},
			Rule: "an approval is one work item for the role's group with its text, due time and exact decide call",
			run: func(t *T) {
				r := t.toApproval()
				t.equal(r, "run.state", "waiting")
				t.that(r, len(r.list("workItems")) == 1, "expected one work item, got %d", len(r.list("workItems")))
				item := t.item(r, "approve")
				t.decisions(r, item, "approved", "rejected", "failed")
				t.that(r, item["text"] == "Approve the polished text.", "expected the approve text, got %v", item["text"])
				for _, k := range []string{"output", "evidence", "next", "escalation", "handoff"} {
					v, there := item[k]
					t.that(r, there && v == nil, "expected %s to be null on an approval, got %v", k, v)
				}
				t.that(r, str(lookup(item, "assignedTo.group")) != "", "expected assignedTo.group, got %v", item["assignedTo"])
				t.that(r, str(item["due"]) != "", "expected a due time")
				t.that(r, item["snapshot"] == lookup(item, "decide.arguments.snapshot"), "expected the decide call to carry the item's snapshot")
			}},
		Case{ID: "people.task-item", Section: "tools: shared shapes", Processes: []string{"conf-task"}, Rule: "a task's item carries the step's output, evidence and routes",
			run: func(t *T) {
				r := t.start("conf-task", nil)
				item := t.item(r, "inspect")
				t.decisions(r, item, "completed", "failed")
				t.that(r, str(lookup(item, "output.rooms")) == "number", "expected output.rooms as declared, got %v", item["output"])
				t.that(r, str(lookup(item, "evidence.0")) == "link", "expected the evidence kinds, got %v", item["evidence"])
				t.that(r, str(lookup(item, "next.1.to")) == "repair" && str(lookup(item, "next.1.when")) == "Something is broken", "expected the routes with when, got %v", item["next"])
			}},
		Case{ID: "people.get-work", Section: "tools: get_work", Processes: []string{"conf-approve-or-end"}, Needs: Needs{People: 1, Outsider: true},
			Rule: "get_work of a person lists the items assigned to them, and nobody else's",
			run: func(t *T) {
				id := t.start("conf-approve-or-end", nil).str("run.id")
				w, list := t.work(t.person(), id)
				t.that(list, w != nil, "expected the item in the work of a member of the group")
				t.that(list, str(lookup(w, "workItem.decide.arguments.runId")) == id, "expected the exact decide call")
				w, list = t.work(t.outsider(), id)
				t.that(list, w == nil, "expected nothing of the run in an outsider's work")
			}},
		Case{ID: "people.approve", Section: "specification 3.4", Processes: []string{"conf-approve"}, Needs: Needs{People: 1}, Rule: "approved continues at next and records decision, by and at, and nothing else",
			run: func(t *T) {
				r := t.toApproval()
				r = t.ok(t.person(), "decide", decision(t.item(r, "approve"), "approved", obj{"note": "Good."}))
				t.equal(r, "run.outcome", "published")
				step, _ := r.get("data.steps.approve").(map[string]any)
				for k := range step {
					t.that(r, strings.Contains(" decision note by at history ", " "+k+" "), "an approval records decision, note, by, at and history, but there is %s", k)
				}
				t.equal(r, "data.steps.approve.decision", "approved")
				t.equal(r, "data.steps.approve.note", "Good.")
			}},
		Case{ID: "people.task", Section: "specification 3.4", Processes: []string{"conf-task"}, Needs: Needs{People: 1}, Rule: "a person's completed is accepted like a submission; the summary is optional",
			run: func(t *T) {
				r := t.start("conf-task", nil)
				item := t.item(r, "inspect")
				t.refused(t.person(), "decide", decision(item, "completed", obj{"output": obj{"stray": 1}}), "not_accepted",
					"output.rooms: missing", "output.stray: not declared", "evidence: link required", "next: required, one of fine, repair", "reason: required")
				done := t.ok(t.person(), "decide", decision(t.item(t.get(r.str("run.id")), "inspect"), "completed", obj{"output": obj{"rooms": 3},
					"evidence": []any{obj{"kind": "link", "ref": "REP-1"}}, "next": "repair", "reason": "Leaking."}))
				t.equal(done, "run.outcome", "repair")
				t.equal(done, "data.steps.inspect.output", obj{"rooms": 3})
			}},
		Case{ID: "people.agent-never-decides", Section: "specification 6", Processes: []string{"conf-approve-or-end"}, Rule: "decide from an agent identity is refused",
			run: func(t *T) {
				r := t.start("conf-approve-or-end", nil)
				t.refused(t.agent(), "decide", decision(t.item(r, "approve"), "approved", nil), "forbidden")
				t.wantState(t.get(r.str("run.id")), "approve", "waiting")
			}},
		Case{ID: "people.outsider", Section: "tools: decide", Processes: []string{"conf-approve-or-end"}, Needs: Needs{Outsider: true}, Rule: "a person outside the assignment is forbidden",
			run: func(t *T) {
				r := t.start("conf-approve-or-end", nil)
				t.refused(t.outsider(), "decide", decision(t.item(r, "approve"), "approved", nil), "forbidden")
			}},
		Case{ID: "people.first-decision-wins", Section: "specification 3.4", Processes: []string{"conf-approve"}, Needs: Needs{People: 2},
			Rule: "a decided item is already_decided for the next, before its snapshot is looked at",
			run: func(t *T) {
				r := t.toApproval()
				item := t.item(r, "approve")
				t.ok(t.person(), "decide", decision(item, "rejected", obj{"note": "Again."}))
				t.refused(t.person2(), "decide", decision(item, "approved", nil), "conflict", "already_decided")
				t.refused(t.person2(), "decide", decision(item, "approved", obj{"snapshot": "0000"}), "conflict", "already_decided")
				t.refused(t.agent(), "decide", decision(item, "approved", nil), "conflict", "already_decided")
			}},
		Case{ID: "people.stale", Section: "specification 3.4", Processes: []string{"conf-approve-or-end"}, Needs: Needs{People: 1, Outsider: true},
			Rule: "a snapshot that isn't current is stale, before the assignment is looked at, and a fresh one works",
			run: func(t *T) {
				r := t.start("conf-approve-or-end", nil)
				item := t.item(r, "approve")
				t.refused(t.person(), "decide", decision(item, "approved", obj{"snapshot": "0000"}), "stale")
				t.refused(t.outsider(), "decide", decision(item, "approved", obj{"snapshot": "0000"}), "stale")
				t.ok(t.person(), "decide", decision(t.item(t.get(r.str("run.id")), "approve"), "approved", nil))
			}},
		Case{ID: "people.unknown-item", Section: "tools: decide", Processes: []string{"conf-approve-or-end"}, Needs: Needs{People: 1}, Rule: "an item that never was on this run is not_found",
			run: func(t *T) {
				r, other := t.start("conf-approve-or-end", nil), t.start("conf-approve-or-end", nil)
				args := decision(t.item(r, "approve"), "approved", nil)
				args["workItemId"] = t.item(other, "approve")["id"]
				t.refused(t.person(), "decide", args, "not_found")
				args["workItemId"] = "w_none"
				t.refused(t.person(), "decide", args, "not_found")
			}},
		Case{ID: "people.decision-not-accepted-here", Section: "tools: decide", Processes: []string{"conf-approve-or-end", "conf-task"}, Needs: Needs{People: 1}, Rule: "a decision that the item doesn't accept is invalid",
			run: func(t *T) {
				r := t.start("conf-approve-or-end", nil)
				t.refused(t.person(), "decide", decision(t.item(r, "approve"), "completed", obj{"output": obj{}}), "invalid")
				t.refused(t.person(), "decide", decision(t.item(r, "approve"), "returned", obj{"note": "n"}), "invalid")
				r = t.start("conf-task", nil)
				t.refused(t.person(), "decide", decision(t.item(r, "inspect"), "approved", nil), "invalid")
			}},
		Case{ID: "people.notes", Section: "tools: decide", Processes: []string{"conf-approve-or-end", "conf-task"}, Needs: Needs{People: 1},
			Rule: "rejected and failed need a note; next, reason, output, evidence and summary go with completed alone, note never with it",
			run: func(t *T) {
				r := t.start("conf-approve-or-end", nil)
				item := t.item(r, "approve")
				for _, bad := range []obj{
					decision(item, "rejected", nil), decision(item, "rejected", obj{"note": " "}), decision(item, "failed", nil),
					decision(item, "approved", obj{"next": "done"}), decision(item, "approved", obj{"reason": "r"}), decision(item, "approved", obj{"output": obj{}}),
					decision(item, "approved", obj{"evidence": []any{}}), decision(item, "approved", obj{"summary": "s"}),
				} {
					t.refused(t.person(), "decide", bad, "invalid")
				}
				task := t.item(t.start("conf-task", nil), "inspect")
				t.refused(t.person(), "decide", decision(task, "completed", obj{"output": obj{"rooms": 1}, "note": "n"}), "invalid")
			}},
		Case{ID: "people.failed", Section: "specification 3.4", Processes: []string{"conf-approve"}, Needs: Needs{People: 1}, Rule: "failed ends the run failed; the step is failed with the note",
			run: func(t *T) {
				r := t.toApproval()
				r = t.ok(t.person(), "decide", decision(t.item(r, "approve"), "failed", obj{"note": "Wrong supplier."}))
				t.equal(r, "run.outcome", "failed")
				t.equal(r, "run.ended.note", "Wrong supplier.")
				t.wantState(r, "approve", "failed")
				t.equal(r, "data.steps.approve.decision", "failed")
			}},
		Case{ID: "people.rejected-without-on-reject", Section: "specification 3.4", Processes: []string{"conf-approve-or-end"}, Needs: Needs{People: 1}, Rule: "a rejection without on_reject ends the run rejected with that note",
			run: func(t *T) {
				r := t.start("conf-approve-or-end", nil)
				r = t.ok(t.person(), "decide", decision(t.item(r, "approve"), "rejected", obj{"note": "No."}))
				t.equal(r, "run.outcome", "rejected")
				t.equal(r, "run.ended.note", "No.")
				t.wantState(r, "approve", "done")
			}},
		Case{ID: "people.unresolved-person", Section: "specification 3.5", Processes: []string{"conf-person"}, Rule: "a person path that resolves to nothing fails the step and the run, by the server, with a note",
			run: func(t *T) {
				r := t.start("conf-person", nil)
				t.equal(r, "run.state", "ended")
				t.equal(r, "run.outcome", "failed")
				t.equal(r, "run.ended.by", "server")
				t.that(r, r.str("run.ended.note") != "", "expected a note that says why")
				t.wantState(r, "review", "failed")
			}},
		Case{ID: "people.person-path", Section: "specification 3.4", Processes: []string{"conf-person"}, Needs: Needs{People: 2}, Rule: "a person path assigns to that person alone, whatever the case of the address",
			run: func(t *T) {
				r := t.start("conf-person", obj{"reviewer": strings.ToUpper(t.email(0))})
				item := t.item(r, "review")
				t.that(r, strings.EqualFold(str(lookup(item, "assignedTo.person")), t.email(0)), "expected the item for %s, got %v", t.email(0), item["assignedTo"])
				t.refused(t.person2(), "decide", decision(item, "approved", nil), "forbidden")
				t.ok(t.person(), "decide", decision(item, "approved", nil))
			}},

		Case{ID: "rework.history", Section: "specification 3.1", Processes: []string{"conf-approve"}, Needs: Needs{People: 1},
			Rule: "a rejection into on_reject moves what came after to history, keeps the note current, and makes the step ready",
			run: func(t *T) {
				r := t.toApproval()
				id := r.str("run.id")
				r = t.ok(t.person(), "decide", decision(t.item(r, "approve"), "rejected", obj{"note": "Too long."}))
				t.wantState(r, "draft", "ready")
				t.wantState(r, "polish", nil)
				t.wantState(r, "approve", nil)
				t.equal(r, "run.state", "active")
				t.equal(r, "data.steps.approve.decision", "rejected")
				t.equal(r, "data.steps.approve.note", "Too long.")
				for step, text := range map[string]string{"draft": "first", "polish": "polished"} {
					t.equal(r, "data.steps."+step+".output", nil)
					t.equal(r, "data.steps."+step+".history.0.output.text", text)
				}
				c := t.claim(id, "draft")
				t.equal(c, "data.steps.approve.note", "Too long.")
				t.equal(c, "handoff", nil)
				r = t.submit(c, obj{"output": obj{"text": "second"}})
				t.equal(r, "data.steps.draft.output.text", "second")
				t.that(r, len(r.list("data.steps.draft.history")) == 1, "expected one earlier completion, got %v", r.get("data.steps.draft.history"))
				r = t.submit(t.claim(id, "polish"), obj{"output": obj{"text": "shorter"}})
				t.equal(r, "data.steps.approve.note", "Too long.")
				r = t.ok(t.person(), "decide", decision(t.item(r, "approve"), "approved", nil))
				t.equal(r, "data.steps.approve.decision", "approved")
				t.equal(r, "data.steps.approve.history.0.decision", "rejected")
				t.equal(r, "data.steps.approve.history.0.note", "Too long.")
			}},
		Case{ID: "rework.twice", Section: "specification 3.1", Processes: []string{"conf-approve"}, Needs: Needs{People: 1}, Rule: "history keeps every completion, oldest first",
			run: func(t *T) {
				r := t.toApproval()
				id := r.str("run.id")
				for _, note := range []string{"One.", "Two."} {
					t.ok(t.person(), "decide", decision(t.item(r, "approve"), "rejected", obj{"note": note}))
					t.submit(t.claim(id, "draft"), obj{"output": obj{"text": "after " + note}})
					r = t.submit(t.claim(id, "polish"), obj{"output": obj{"text": "p"}})
				}
				t.equal(r, "data.steps.draft.history.0.output.text", "first")
				t.equal(r, "data.steps.draft.history.1.output.text", "after One.")
				t.equal(r, "data.steps.approve.history.0.note", "One.")
				t.equal(r, "data.steps.approve.note", "Two.")
			}},
		Case{ID: "rework.fresh-item", Section: "specification 3.4", Processes: []string{"conf-approve"}, Needs: Needs{People: 1}, Rule: "a repeated approval is a new work item; the old one stays decided",
			run: func(t *T) {
				r := t.toApproval()
				id := r.str("run.id")
				old := t.item(r, "approve")
				t.ok(t.person(), "decide", decision(old, "rejected", obj{"note": "Again."}))
				t.submit(t.claim(id, "draft"), obj{"output": obj{"text": "b"}})
				r = t.submit(t.claim(id, "polish"), obj{"output": obj{"text": "c"}})
				t.that(r, t.item(r, "approve")["id"] != old["id"], "expected a new work item")
				t.refused(t.person(), "decide", decision(old, "approved", nil), "conflict", "already_decided")
			}},
	)
}
