package conformance

import "strings"

func init() {
	add(
		Case{ID: "describe.shape", Section: "tools: describe",
			Rule: "describe names the protocol and version, the lease, the form of persons, the tools and every limit",
			run: func(t *T) {
				d := t.ok(t.agent(), "describe", obj{})
				t.equal(d, "protocol", "agentprocess")
				t.equal(d, "version", "core-2")
				t.that(d, t.lease() > 0, "expected leaseSeconds to be a positive number")
				for _, limit := range []string{"runDataBytes", "checkPass", "checkConfidence", "checkStateBytes"} {
					t.that(d, d.get("limits."+limit) != nil, "expected limits.%s", limit)
				}
			}},
		Case{ID: "describe.required-tools", Section: "specification 4.1",
			Rule: "every required tool is listed by describe and offered over MCP, and no tool is listed that isn't offered",
			run: func(t *T) {
				d := t.ok(t.agent(), "describe", obj{})
				listed := map[string]bool{}
				for _, x := range d.list("tools") {
					listed[x.(string)] = true
				}
				for _, tool := range []string{"describe", "list_processes", "start_run", "get_run", "get_work", "claim", "submit", "escalate", "decide", "cancel"} {
					t.that(d, listed[tool], "expected describe.tools to list %s", tool)
				}
				offered := t.offered()
				for tool := range listed {
					t.that(d, offered[tool], "describe.tools lists %s, which tools/list does not offer", tool)
				}
			}},
		Case{ID: "describe.no-arguments", Section: "tools: describe", Rule: "an argument that describe doesn't have is invalid",
			run: func(t *T) { t.refused(t.agent(), "describe", obj{"verbose": true}, "invalid") }},

		Case{ID: "processes.listed", Section: "tools: list_processes", Processes: []string{"conf-plain"},
			Rule: "a published process is listed with description, version and inputs as declared",
			run: func(t *T) {
				p, c := t.listed("conf-plain")
				t.that(c, p != nil, "expected conf-plain among the processes")
				inputs, _ := p["inputs"].(map[string]any)
				t.that(c, inputs["subject"] == "string", "expected inputs.subject to be the bare type it was declared with, got %v", inputs["subject"])
				limit, _ := inputs["limit"].(map[string]any)
				t.that(c, limit["type"] == "number" && limit["optional"] == true, "expected inputs.limit to be the object it was declared with, got %v", inputs["limit"])
			}},
		Case{ID: "processes.cursor", Section: "tools: list_processes", Rule: "a cursor that is none of the server's is invalid",
			run: func(t *T) { t.refused(t.agent(), "list_processes", obj{"cursor": "not-a-cursor"}, "invalid") }},

		Case{ID: "start.view", Section: "tools: start_run", Processes: []string{"conf-plain"},
			Rule: "start_run returns the run view with the first step ready, the inputs as sent and the body",
			run: func(t *T) {
				r := t.start("conf-plain", obj{"subject": "x"})
				t.equal(r, "run.process", "conf-plain")
				t.equal(r, "run.mode", "live")
				t.equal(r, "run.state", "active")
				t.equal(r, "run.outcome", nil)
				t.equal(r, "run.ended", nil)
				t.equal(r, "data", obj{"inputs": obj{"subject": "x"}, "steps": obj{}})
				t.wantState(r, "work", "ready")
				t.wantState(r, "done", nil)
				t.that(r, strings.Contains(r.str("body"), "# Plain"), "expected the body of the PROCESS.md, got %q", r.str("body"))
			}},
		Case{ID: "start.unknown-process", Section: "specification 4.3", Rule: "an unknown process is not_found",
			run: func(t *T) {
				t.refused(t.agent(), "start_run", obj{"process": "conf-no-such-process", "inputs": obj{}}, "not_found")
			}},
		Case{ID: "start.unknown-version", Section: "tools: start_run", Processes: []string{"conf-plain"}, Rule: "an unknown version is not_found",
			run: func(t *T) {
				t.refused(t.agent(), "start_run", obj{"process": "conf-plain", "version": 999999, "inputs": obj{"subject": "x"}}, "not_found")
			}},
		Case{ID: "start.missing-input", Section: "tools: start_run", Processes: []string{"conf-plain"}, Rule: "a required input that is missing is invalid",
			run: func(t *T) {
				t.refused(t.agent(), "start_run", obj{"process": "conf-plain", "inputs": obj{}}, "invalid", "inputs.subject: missing")
			}},
		Case{ID: "start.every-issue", Section: "tools: start_run", Processes: []string{"conf-plain"}, Rule: "every issue of the inputs comes back at once",
			run: func(t *T) {
				t.refused(t.agent(), "start_run", obj{"process": "conf-plain",
					"inputs": obj{"limit": "5", "tags": []any{"a", 1}, "size": "medium", "extra": []any{}, "stray": 1}}, "invalid",
					"inputs.subject: missing", "inputs.limit: expected number", "inputs.tags[1]: expected string",
					"inputs.size: not one of small, large", "inputs.extra: expected object", "inputs.stray: not declared")
			}},
		Case{ID: "start.null-is-no-value", Section: "specification 2.3", Processes: []string{"conf-plain"}, Rule: "null is not a value, also not of an optional input",
			run: func(t *T) {
				t.refused(t.agent(), "start_run", obj{"process": "conf-plain", "inputs": obj{"subject": "x", "limit": nil}}, "invalid",
					"inputs.limit: expected number")
			}},
		Case{ID: "start.initiator-by-agent", Section: "tools: start_run", Processes: []string{"conf-initiator"},
			Rule: "an agent can't start a process with a step assigned to the initiator",
			run: func(t *T) {
				t.refused(t.agent(), "start_run", obj{"process": "conf-initiator", "inputs": obj{}}, "invalid")
			}},
		Case{ID: "start.initiator-by-person", Section: "specification 3.4", Processes: []string{"conf-initiator"}, Needs: Needs{People: 1},
			Rule: "a step assigned to the initiator waits for the person who started the run",
			run: func(t *T) {
				r := t.ok(t.person(), "start_run", obj{"process": "conf-initiator", "inputs": obj{}})
				to, _ := t.item(r, "confirm")["assignedTo"].(map[string]any)
				t.that(r, strings.EqualFold(str(to["person"]), t.email(0)), "expected the item to be assigned to %s, got %v", t.email(0), to)
				t.equal(r, "run.startedBy", r.get("run.startedBy"))
			}},
		Case{ID: "start.unknown-mode", Section: "tools: start_run", Processes: []string{"conf-plain"}, Rule: "a mode other than live or test is invalid",
			run: func(t *T) {
				t.refused(t.agent(), "start_run", obj{"process": "conf-plain", "inputs": obj{"subject": "x"}, "mode": "dry"}, "invalid")
			}},
		Case{ID: "start.test-mode", Section: "specification 3.3", Processes: []string{"conf-approve-or-end", "conf-plain"},
			Rule: "in a test run every get_work item, claim and work item says so",
			run: func(t *T) {
				r := t.ok(t.agent(), "start_run", obj{"process": "conf-approve-or-end", "inputs": obj{}, "mode": "test"})
				t.equal(r, "run.mode", "test")
				t.that(r, t.item(r, "approve")["mode"] == "test", "expected the work item to say mode: test")
				r = t.ok(t.agent(), "start_run", obj{"process": "conf-plain", "inputs": obj{"subject": "x"}, "mode": "test"})
				w, list := t.work(t.agent(), r.str("run.id"))
				t.that(list, w != nil && w["mode"] == "test", "expected the get_work item to say mode: test, got %v", w)
				c := t.claim(r.str("run.id"), "work")
				t.equal(c, "mode", "test")
			}},
		Case{ID: "start.live-items-carry-no-mode", Section: "tools: shared shapes", Processes: []string{"conf-approve-or-end"}, Rule: "a live run's work item carries no mode",
			run: func(t *T) {
				r := t.start("conf-approve-or-end", nil)
				_, there := t.item(r, "approve")["mode"]
				t.that(r, !there, "expected no mode on a live work item")
			}},
		Case{ID: "start.run-data-cap", Section: "specification 6", Processes: []string{"conf-plain"}, Rule: "inputs over limits.runDataBytes are invalid",
			run: func(t *T) {
				n := t.number("limits.runDataBytes")
				c := t.refused(t.agent(), "start_run", obj{"process": "conf-plain", "inputs": obj{"subject": strings.Repeat("x", n+1)}}, "invalid")
				t.that(c, len(c.issues()) > 0 && strings.HasPrefix(c.issues()[0], "run data: "), "expected an issue that begins with “run data:”, got %q", c.issues())
			}},
		Case{ID: "run.unknown", Section: "specification 4.3", Rule: "an unknown run is not_found",
			run: func(t *T) { t.refused(t.agent(), "get_run", obj{"runId": "r_no_such_run"}, "not_found") }},
		Case{ID: "run.no-token", Section: "specification 6", Processes: []string{"conf-plain"}, Rule: "a token never appears in a read",
			run: func(t *T) {
				r := t.start("conf-plain", obj{"subject": "x"})
				id := r.str("run.id")
				token := t.claim(id, "work").str("token")
				for _, c := range []*call{t.get(id), t.ok(t.agent(), "get_work", obj{"limit": 100}), t.ok(t.agent(), "list_runs", obj{"process": "conf-plain"})} {
					t.that(c, !strings.Contains(string(c.Answer), token), "the answer holds the claim's token")
				}
			}},
		Case{ID: "run.numbers-keep-their-digits", Section: "specification 2.3", Processes: []string{"conf-plain"}, Rule: "numbers are never rounded",
			run: func(t *T) {
				args := `{"process":"conf-plain","inputs":{"subject":"x","limit":9007199254740993,"extra":{"a":[48000.00,0.1000000000000000055,-12345678901234567890.123456789]}},"requestId":"` + requestID() + `"}`
				c := t.raw(t.agent(), "start_run", []byte(args))
				t.that(c, c.ok(), "expected ok, got %s %v", c.code(), c.issues())
				for _, read := range []*call{c, t.get(c.str("run.id"))} {
					for _, digits := range []string{"9007199254740993", "0.1000000000000000055", "-12345678901234567890.123456789"} {
						t.that(read, strings.Contains(string(read.Answer), digits), "expected the digits %s in the run view", digits)
					}
				}
			}},
	)
}
