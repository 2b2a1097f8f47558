package conformance

func init() {
	add(
		Case{ID: "paging.get-work", Section: "tools: get_work", Processes: []string{"conf-plain"}, Rule: "pages hold no item twice and skip none, oldest readySince first",
			run: func(t *T) {
				want := map[string]bool{}
				for range 5 {
					want[t.start("conf-plain", obj{"subject": "page"}).str("run.id")] = true
				}
				seen, last, args := map[string]bool{}, "", obj{"limit": 2, "process": "conf-plain"}
				for {
					c := t.ok(t.agent(), "get_work", args)
					t.that(c, len(c.list("items")) <= 2, "expected at most 2 items")
					for _, x := range c.list("items") {
						w := x.(map[string]any)
						key := str(w["runId"]) + " " + str(w["stepId"])
						t.that(c, !seen[key], "%s came twice", key)
						seen[key] = true
						t.that(c, str(w["readySince"]) >= last, "expected readySince not to go back: %s after %s", w["readySince"], last)
						last = str(w["readySince"])
						t.that(c, w["process"] == "conf-plain", "expected only items of the process asked for")
						delete(want, str(w["runId"]))
					}
					next := c.str("nextCursor")
					if next == "" {
						t.that(c, len(want) == 0, "these runs' steps were skipped: %v", want)
						return
					}
					args = obj{"limit": 2, "process": "conf-plain", "cursor": next}
				}
			}},
		Case{ID: "paging.bad-cursor", Section: "protocol 8", Rule: "a cursor that is none of the server's is invalid",
			run: func(t *T) { t.refused(t.agent(), "get_work", obj{"cursor": "AAAA"}, "invalid") }},
		Case{ID: "runs.by-input", Section: "tools: list_runs", Processes: []string{"conf-plain"}, Needs: Needs{Tool: "list_runs"}, Rule: "list_runs finds runs by equality of the given inputs, newest first",
			run: func(t *T) {
				subject := requestID()
				a := t.start("conf-plain", obj{"subject": subject, "limit": 1})
				b := t.start("conf-plain", obj{"subject": subject, "limit": 2})
				c := t.ok(t.agent(), "list_runs", obj{"inputs": obj{"subject": subject}})
				t.that(c, len(c.list("items")) == 2, "expected two runs, got %d", len(c.list("items")))
				t.equal(c, "items.0.id", b.str("run.id"))
				t.equal(c, "items.1.id", a.str("run.id"))
				c = t.ok(t.agent(), "list_runs", obj{"inputs": obj{"subject": subject, "limit": 2}})
				t.that(c, len(c.list("items")) == 1, "expected one run, got %d", len(c.list("items")))
				t.equal(c, "items.0.inputs", obj{"subject": subject, "limit": 2})
			}},
		Case{ID: "runs.by-state", Section: "tools: list_runs", Processes: []string{"conf-plain"}, Needs: Needs{Tool: "list_runs"}, Rule: "list_runs filters by process and state",
			run: func(t *T) {
				subject := requestID()
				id := t.start("conf-plain", obj{"subject": subject}).str("run.id")
				find := func(state string) int {
					return len(t.ok(t.agent(), "list_runs", obj{"process": "conf-plain", "state": state, "inputs": obj{"subject": subject}}).list("items"))
				}
				t.that(nil, find("active") == 1 && find("ended") == 0, "expected the run among the active ones")
				t.submit(t.claim(id, "work"), obj{"output": obj{"text": "x"}})
				t.that(nil, find("active") == 0 && find("ended") == 1, "expected the run among the ended ones")
				t.refused(t.agent(), "list_runs", obj{"state": "finished"}, "invalid")
			}},
		Case{ID: "runs.no-match", Section: "protocol 8", Needs: Needs{Tool: "list_runs"}, Rule: "an unknown process or field matches nothing",
			run: func(t *T) {
				t.equal(t.ok(t.agent(), "list_runs", obj{"process": "conf-no-such-process"}), "items", []any{})
				t.equal(t.ok(t.agent(), "list_runs", obj{"inputs": obj{"no_such_field": 1}}), "items", []any{})
			}},
		Case{ID: "runs.paging", Section: "tools: list_runs", Processes: []string{"conf-plain"}, Needs: Needs{Tool: "list_runs"}, Rule: "pages of list_runs hold every run once",
			run: func(t *T) {
				subject, want := requestID(), map[string]bool{}
				for range 5 {
					want[t.start("conf-plain", obj{"subject": subject}).str("run.id")] = true
				}
				args, pages := obj{"inputs": obj{"subject": subject}, "limit": 2}, 0
				for {
					c := t.ok(t.agent(), "list_runs", args)
					for _, x := range c.list("items") {
						id := str(x.(map[string]any)["id"])
						t.that(c, want[id], "%s came twice, or isn't one of the runs", id)
						delete(want, id)
					}
					pages++
					next := c.str("nextCursor")
					if next == "" {
						t.that(c, len(want) == 0 && pages == 3, "expected all five runs on three pages; missing %v after %d", want, pages)
						return
					}
					args = obj{"inputs": obj{"subject": subject}, "limit": 2, "cursor": next}
				}
			}},

		Case{ID: "parallel.fork-and-join", Section: "parallel 3", Processes: []string{"conf-parallel"}, Needs: Needs{Profile: "parallel-1", People: 1},
			Rule: "every branch entry is ready at once; when the last branch has joined the parallel step is done and its next ready",
			run: func(t *T) {
				r := t.start("conf-parallel", nil)
				id := r.str("run.id")
				t.wantState(r, "both", "waiting")
				t.wantState(r, "left", "ready")
				t.wantState(r, "right", "ready")
				t.wantState(r, "left_check", nil)
				r = t.submit(t.claim(id, "right"), obj{"output": obj{"text": "r"}})
				t.wantState(r, "both", "waiting")
				r = t.submit(t.claim(id, "left"), obj{"output": obj{"text": "l"}})
				r = t.ok(t.person(), "decide", decision(t.item(r, "left_check"), "approved", nil))
				t.wantState(r, "both", "done")
				t.wantState(r, "approve", "waiting")
				t.equal(r, "data.steps.both", nil)
			}},
		Case{ID: "parallel.rework-of-the-region", Section: "parallel 3", Processes: []string{"conf-parallel"}, Needs: Needs{Profile: "parallel-1", People: 1},
			Rule: "a rejection into the parallel step rewinds every branch step and makes every entry ready in the same write",
			run: func(t *T) {
				r := t.bothSides()
				r = t.ok(t.person(), "decide", decision(t.item(r, "approve"), "rejected", obj{"note": "Both again."}))
				t.wantState(r, "both", "waiting")
				t.wantState(r, "left", "ready")
				t.wantState(r, "right", "ready")
				t.wantState(r, "left_check", nil)
				t.equal(r, "data.steps.left.history.0.output.text", "l")
				t.equal(r, "data.steps.left_check.history.0.decision", "approved")
				t.equal(r, "data.steps.approve.note", "Both again.")
			}},
		Case{ID: "parallel.rework-inside-a-branch", Section: "parallel 3", Processes: []string{"conf-parallel"}, Needs: Needs{Profile: "parallel-1", People: 1},
			Rule: "a rejection inside a branch touches no sibling",
			run: func(t *T) {
				id := t.start("conf-parallel", nil).str("run.id")
				t.submit(t.claim(id, "right"), obj{"output": obj{"text": "r"}})
				r := t.submit(t.claim(id, "left"), obj{"output": obj{"text": "l"}})
				r = t.ok(t.person(), "decide", decision(t.item(r, "left_check"), "rejected", obj{"note": "Again."}))
				t.wantState(r, "left", "ready")
				t.wantState(r, "right", "done")
				t.equal(r, "data.steps.right.output.text", "r")
				t.equal(r, "data.steps.left.history.0.output.text", "l")
			}},
		Case{ID: "parallel.sibling-makes-stale", Section: "parallel 3", Processes: []string{"conf-parallel"}, Needs: Needs{Profile: "parallel-1", People: 1},
			Rule: "a sibling's completion changes run data, so a decision prepared before it is stale",
			run: func(t *T) {
				id := t.start("conf-parallel", nil).str("run.id")
				item := t.item(t.submit(t.claim(id, "left"), obj{"output": obj{"text": "l"}}), "left_check")
				t.submit(t.claim(id, "right"), obj{"output": obj{"text": "r"}})
				t.refused(t.person(), "decide", decision(item, "approved", nil), "stale")
			}},
		Case{ID: "parallel.cancel-ends-every-branch", Section: "parallel 3", Processes: []string{"conf-parallel"}, Needs: Needs{Profile: "parallel-1", Operator: true},
			Rule: "ending the run cancels every unfinished step of every branch",
			run: func(t *T) {
				id := t.start("conf-parallel", nil).str("run.id")
				r := t.ok(t.operator(), "cancel", obj{"runId": id, "reason": "Stop."})
				for _, s := range []string{"both", "left", "right"} {
					t.wantState(r, s, "cancelled")
				}
				t.wantState(r, "left_check", nil)
			}},
	)
}

// bothSides starts conf-parallel and takes it to the approval behind the join.
func (t *T) bothSides() *call {
	id := t.start("conf-parallel", nil).str("run.id")
	t.submit(t.claim(id, "right"), obj{"output": obj{"text": "r"}})
	r := t.submit(t.claim(id, "left"), obj{"output": obj{"text": "l"}})
	return t.ok(t.person(), "decide", decision(t.item(r, "left_check"), "approved", nil))
}

func init() {
	add(
		Case{ID: "check.pass-or-not", Section: "check 3", Processes: []string{"conf-check"}, Needs: Needs{Profile: "check-1"},
			Rule: "a step with a check is submitted like any other; the verdict is recorded, handed on, or waits for a person",
			run: func(t *T) {
				id := t.start("conf-check", nil).str("run.id")
				c := t.call(t.agent(), "submit", obj{"token": t.claim(id, "work").str("token"), "output": obj{"text": "Thank you very much, dear customer."}, "summary": "Wrote it."})
				switch {
				case c.ok() && c.get("data.steps.work.check") != nil:
				case c.ok() && len(c.list("workItems")) == 1:
					t.that(c, lookup(t.item(c, "work"), "escalation.check") != nil, "expected the verdict in escalation.check")
				case c.code() == "not_accepted":
					t.that(c, len(c.issues()) == 1, "expected the failed question among the issues, got %q", c.issues())
				default:
					t.that(c, c.code() == "retry", "expected a verdict, or retry where the evaluator did not answer, got %s", c.code())
				}
			}},
		Case{ID: "parallel.refused-without-the-profile", Section: "parallel", Rule: "a server without the profile refuses a process that uses it at publication", Needs: Needs{Import: true},
			run: func(t *T) { t.refusedWithoutProfile("parallel-1", "conf-parallel") }},
		Case{ID: "check.refused-without-an-evaluator", Section: "check", Rule: "a server without the profile refuses a process that uses it at publication", Needs: Needs{Import: true},
			run: func(t *T) { t.refusedWithoutProfile("check-1", "conf-check") }},
	)
}

// refusedWithoutProfile offers a profile's fixture: it is refused exactly when the profile isn't listed.
func (t *T) refusedWithoutProfile(profile, fixture string) {
	for _, f := range Fixtures() {
		if f.Name != fixture {
			continue
		}
		out, err := t.offer(f.Name, f.Source)
		listed := t.s.lacking(Needs{Profile: profile}) == ""
		t.that(nil, listed == (err == nil), "describe lists %s: %v, but publishing %s gave: %v %s", profile, listed, fixture, err, out)
	}
}
