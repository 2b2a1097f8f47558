package cli

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// mutants are the wrong servers that the conformance suite has to catch, each with the cases that have to notice.
func mutants() []mutant {
	return []mutant{
		{name: "the old token lives on after a renewal", caught: []string{"claims.renew-kills-the-old-token"}, also: []string{"idempotency.renew"},
			tool: func(p *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				if newest, ok := p.recall("newest " + c.str("token")).(string); ok {
					c = c.changed(func(args map[string]any) { args["token"] = newest })
				}
				a := next(c)
				if c.tool == "renew" && a.ok() {
					p.remember("newest "+c.str("token"), a.data()["token"])
				}
				return a
			}},
		{name: "undeclared output is accepted", caught: []string{"acceptance.undeclared", "acceptance.everything"},
			tool: func(p *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				if declared, ok := p.recall("output " + c.str("token")).(map[string]any); ok && c.tool == "submit" {
					c = c.changed(func(args map[string]any) {
						output, _ := args["output"].(map[string]any)
						for name := range output {
							if _, known := declared[name]; !known {
								delete(output, name)
							}
						}
					})
				}
				a := next(c)
				if c.tool == "claim" && a.ok() {
					token, _ := a.data()["token"].(string)
					step, _ := a.data()["step"].(map[string]any)
					p.remember("output "+token, step["output"])
				}
				return a
			}},
		{name: "stale is checked before already_decided", caught: []string{"people.first-decision-wins"}, also: []string{"rework.fresh-item"},
			tool: func(_ *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				a := next(c)
				if c.tool == "decide" && slices.Contains(a.issues(), any("already_decided")) {
					return refusal("stale")
				}
				return a
			}},
		{name: "numbers are rounded", caught: []string{"run.numbers-keep-their-digits", "transport.digits-in-both-forms"},
			tool: func(_ *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				a := next(c)
				if a == nil {
					return nil
				}
				var rounded answer
				if json.Unmarshal(marshalPlain(a), &rounded) != nil {
					return a
				}
				return rounded
			}},
		{name: "a replayed claim has no token of its own", caught: []string{"idempotency.claim", "idempotency.claim-after-the-lease"},
			tool: func(p *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				a := next(c)
				if c.tool == "claim" && a.ok() {
					if p.recall("claimed "+c.str("requestId")) != nil {
						a.data()["token"] = "withheld"
					}
					p.remember("claimed "+c.str("requestId"), true)
				}
				return a
			}},
		{name: "get_run leaks the token", caught: []string{"run.no-token"},
			tool: func(p *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				a := next(c)
				switch {
				case c.tool == "claim" && a.ok():
					p.remember("token "+c.str("runId"), a.data()["token"])
				case c.tool == "get_run" && a.ok():
					if token, ok := p.recall("token " + c.str("runId")).(string); ok {
						body, _ := a.data()["body"].(string)
						a.data()["body"] = body + token
					}
				}
				return a
			}},
		{name: "an agent decides", caught: []string{"people.agent-never-decides"},
			tool: func(p *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				if c.tool == "decide" && c.token == p.agent {
					c = c.as(p.person)
				}
				return next(c)
			}},
		{name: "history is lost", caught: []string{"rework.history", "rework.twice", "parallel.rework-of-the-region", "parallel.rework-inside-a-branch"},
			tool: answers(func(data map[string]any) {
				walk(data, func(o map[string]any) {
					if _, is := o["history"]; is {
						o["history"] = []any{}
					}
				})
			})},
		{name: "held events are consumed newest first", caught: []string{"events.held-oldest-first"},
			tool: answers(func(data map[string]any) {
				steps, _ := lookupPath(data, "data", "steps").(map[string]any)
				paid, _ := steps["paid"].(map[string]any)
				again, _ := steps["again"].(map[string]any)
				if paid != nil && again != nil && lookupPath(paid, "output", "n") != nil {
					paid["output"], again["output"] = again["output"], paid["output"]
				}
			})},
		{name: "only the first issue comes back",
			caught: []string{"start.every-issue", "acceptance.everything", "acceptance.route-required", "acceptance.items", "limits.every-argument-issue"},
			also:   []string{"acceptance.route-not-allowed", "evidence.not-found", "people.task", "people.tasks-refusal-is-handed-on"},
			tool: func(_ *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				a := next(c)
				if issues := a.issues(); len(issues) > 1 {
					a["error"].(map[string]any)["issues"] = issues[:1]
				}
				return a
			}},
		{name: "claimed_by_you is claimed_by_other", caught: []string{"claims.one-at-a-time"},
			tool: func(_ *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				a := next(c)
				if slices.Contains(a.issues(), any("claimed_by_you")) {
					return refusal("conflict", "claimed_by_other")
				}
				return a
			}},
		{name: "a claimed step can be claimed again", caught: []string{"claims.one-at-a-time", "claims.twenty-at-once"},
			tool: func(p *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				if c.tool == "claim" {
					// One after the other, so that the first answer is remembered when the second asks.
					p.claims.Lock()
					defer p.claims.Unlock()
				}
				a := next(c)
				key := "claim " + c.str("runId") + " " + c.str("stepId")
				if c.tool == "claim" && a.ok() {
					p.remember(key, a)
				}
				if c.tool == "claim" && a.code() == "conflict" && len(a.issues()) == 1 && strings.HasPrefix(a.issues()[0].(string), "claimed_by") {
					if first, ok := p.recall(key).(answer); ok {
						return first
					}
				}
				return a
			}},
		{name: "the body doesn't come with a start", caught: []string{"start.view"}, tool: answers(func(data map[string]any) { data["body"] = "" }, "start_run")},
		{name: "get_work lists claimed steps", caught: []string{"order.claimed-step-is-not-listed"},
			tool: func(p *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				if c.tool == "claim" {
					for _, x := range asList(next(toolCall{tool: "get_work", args: map[string]any{"limit": 100}, token: c.token}).data()["items"]) {
						if w, _ := x.(map[string]any); w["runId"] == c.args["runId"] {
							p.remember("item "+c.str("runId"), w)
						}
					}
				}
				a := next(c)
				if c.tool == "get_work" && a.ok() && c.args["process"] == nil && c.token == p.agent {
					a.data()["items"] = append(asList(a.data()["items"]), p.recallAll("item ")...)
				}
				return a
			}, also: []string{"run.no-token", "claims.lease-ends", "deadlines.overdue", "order.work-is-listed-with-its-claim", "start.test-mode", "waits.wait"}},
		{name: "stale is called invalid",
			caught: []string{"claims.submitted-token-is-stale", "claims.renew-kills-the-old-token", "claims.lease-ends", "people.stale"},
			also:   []string{"escalation.item", "parallel.sibling-makes-stale"},
			tool: func(_ *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				a := next(c)
				if a.code() == "stale" {
					return refusal("invalid", "stale")
				}
				return a
			}},
		{name: "an unknown step comes before run_ended", caught: []string{"endings.run-ended-first"},
			tool: func(_ *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				a := next(c)
				if c.tool == "claim" && c.args["stepId"] == "nothing" {
					return refusal("not_found")
				}
				return a
			}},
		{name: "anyone cancels", caught: []string{"endings.cancel-who"},
			tool: func(p *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				if c.tool == "cancel" {
					c = c.as(p.operator)
				}
				return next(c)
			}},
		{name: "a blank reason cancels", caught: []string{"endings.cancel-reason"},
			tool: arguments(func(args map[string]any) {
				if s, _ := args["reason"].(string); strings.TrimSpace(s) == "" {
					args["reason"] = "none"
				}
			}, "cancel")},
		{name: "a used requestId is taken again",
			caught: []string{"idempotency.changed-arguments", "idempotency.other-caller"}, also: []string{"idempotency.decide"},
			tool: func(_ *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				a := next(c)
				if slices.Contains(a.issues(), any("request_id_reused")) {
					return next(c.changed(func(args map[string]any) { args["requestId"] = newRequestID() }))
				}
				return a
			}},
		{name: "arguments are compared as bytes", caught: []string{"idempotency.json-values"},
			tool: func(p *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				if id := c.str("requestId"); id != "" {
					if before, ok := p.recall("bytes " + id).(string); ok && before != string(c.raw) {
						return refusal("conflict", "request_id_reused")
					}
					a := next(c)
					if a.ok() {
						p.remember("bytes "+id, string(c.raw))
					}
					return a
				}
				return next(c)
			}},
		{name: "a repeated call runs again",
			caught: []string{"idempotency.start", "idempotency.upload", "idempotency.twenty-at-once", "idempotency.renew", "idempotency.escalate",
				"idempotency.send-event", "idempotency.cancel", "idempotency.replay-before-run-ended"},
			also: []string{"idempotency.json-values", "idempotency.claim", "idempotency.claim-after-the-lease", "idempotency.submit-after-the-end", "idempotency.decide",
				"idempotency.changed-arguments", "idempotency.other-caller"},
			tool: func(_ *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				if id := c.str("requestId"); id != "" && len(id) <= 128 && id != "<new UUID>" {
					c = c.changed(func(args map[string]any) { args["requestId"] = newRequestID() })
				}
				return next(c)
			}},
		{name: "the placeholder is a requestId", caught: []string{"idempotency.placeholder"},
			tool: arguments(func(args map[string]any) {
				if args["requestId"] == "<new UUID>" {
					args["requestId"] = newRequestID()
				}
			}, "start_run")},
		{name: "a null input is left out", caught: []string{"start.null-is-no-value"},
			tool: arguments(func(args map[string]any) {
				inputs, _ := args["inputs"].(map[string]any)
				for k, v := range inputs {
					if v == nil {
						delete(inputs, k)
					}
				}
			}, "start_run")},
		{name: "a claim has no handoff", caught: []string{"handoff.issues", "handoff.returned", "claims.lease-ends", "escalation.drops-progress"},
			tool: answers(func(data map[string]any) { data["handoff"] = nil }, "claim")},
		{name: "readySince is the time of the read", caught: []string{"claims.lease-ends", "waits.wait"},
			tool: answers(func(data map[string]any) {
				for _, x := range asList(data["items"]) {
					if w, _ := x.(map[string]any); w["readySince"] != nil {
						w["readySince"] = time.Now().Add(100000 * time.Hour).UTC().Format(time.RFC3339Nano)
					}
				}
			}, "get_work")},
		{name: "nothing is ever overdue", caught: []string{"deadlines.overdue"},
			tool: answers(func(data map[string]any) {
				walk(data, func(o map[string]any) {
					if _, is := o["overdue"]; is {
						o["overdue"] = false
					}
				})
			})},
		{name: "a file has another hash", caught: []string{"evidence.verified-and-served"},
			tool: answers(func(data map[string]any) {
				walk(data, func(o map[string]any) {
					if o["kind"] == "file" && o["sha256"] != nil {
						o["sha256"] = strings.Repeat("0", 64)
					}
				})
			})},
		{name: "a file's url serves other bytes", caught: []string{"evidence.verified-and-served"},
			response: func(r *http.Response) error {
				if strings.HasPrefix(r.Request.URL.Path, "/files/") && r.StatusCode == http.StatusOK {
					r.Body.Close()
					r.Body = http.NoBody
					r.ContentLength = 0
					r.Header.Set("Content-Length", "0")
				}
				return nil
			}},
		{name: "an upload is a page", caught: []string{"transport.file-is-harmless"},
			response: func(r *http.Response) error {
				if strings.HasPrefix(r.Request.URL.Path, "/files/") {
					r.Header.Set("Content-Type", "text/html")
					r.Header.Del("Content-Disposition")
				}
				return nil
			}},
		{name: "any snapshot is current", caught: []string{"people.stale", "parallel.sibling-makes-stale"},
			tool: func(_ *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				a := next(c)
				if c.tool == "decide" && a.code() == "stale" {
					view := next(toolCall{tool: "get_run", args: map[string]any{"runId": c.args["runId"]}, token: c.token})
					for _, x := range asList(view.data()["workItems"]) {
						w, _ := x.(map[string]any)
						if w["id"] == c.args["workItemId"] {
							return next(c.changed(func(args map[string]any) { args["snapshot"] = w["snapshot"] }))
						}
					}
				}
				return a
			}},
		{name: "anyone decides", caught: []string{"people.outsider", "people.person-path"},
			also: []string{"people.stale"},
			tool: func(p *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				a := next(c)
				if c.tool == "decide" && a.code() == "forbidden" && c.token != p.agent {
					return next(c.as(p.person))
				}
				return a
			}},
		{name: "a test run's items don't say so", caught: []string{"start.test-mode"},
			tool: answers(func(data map[string]any) { items(data, func(o map[string]any) { delete(o, "mode") }) })},
		{name: "list_runs ignores the inputs", caught: []string{"runs.by-input", "runs.no-match"}, also: []string{"runs.by-state", "runs.paging"},
			tool: arguments(func(args map[string]any) { delete(args, "inputs") }, "list_runs")},
		{name: "the last page comes too early", caught: []string{"paging.get-work", "runs.paging"},
			tool: answers(func(data map[string]any) {
				if _, is := data["nextCursor"]; is {
					data["nextCursor"] = nil
				}
			}, "get_work", "list_runs"), also: []string{"people.get-work-oldest-first", "order.work-is-listed-with-its-claim", "start.test-mode", "people.get-work", "waits.wait", "claims.lease-ends", "deadlines.overdue"}},
		{name: "any cursor will do", caught: []string{"paging.bad-cursor", "processes.cursor"},
			tool: func(_ *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				a := next(c)
				if c.str("cursor") != "" && a.code() == "invalid" {
					return next(c.changed(func(args map[string]any) { delete(args, "cursor") }))
				}
				return a
			}},
		{name: "unknown arguments are let through", caught: []string{"limits.unknown-argument", "describe.no-arguments"},
			tool: func(_ *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				return next(c.changed(func(args map[string]any) { delete(args, "colour"); delete(args, "verbose") }))
			}, also: []string{"limits.duplicate-key"}},
		{name: "a finish leaves a note", caught: []string{"order.finish-ends-with-its-outcome"},
			tool: answers(func(data map[string]any) {
				if ended, _ := lookupPath(data, "run", "ended").(map[string]any); ended != nil && ended["note"] == nil {
					ended["note"] = "finished"
				}
			})},
		{name: "a rejection's note is dropped", caught: []string{"rework.history"}, also: []string{"rework.twice", "parallel.rework-of-the-region"},
			tool: answers(func(data map[string]any) {
				walk(data, func(o map[string]any) {
					if o["decision"] == "rejected" {
						delete(o, "note")
					}
				})
			})},
		{name: "a wait is by somebody", caught: []string{"waits.wait", "waits.until-past", "events.timeout"},
			tool: answers(func(data map[string]any) {
				steps, _ := lookupPath(data, "data", "steps").(map[string]any)
				for _, x := range steps {
					if s, _ := x.(map[string]any); s["by"] == "server" {
						s["by"] = "agent:clock"
					}
				}
			})},
		{name: "no token is needed", caught: []string{"transport.no-token", "transport.resource-metadata"},
			request: func(p *mutantProxy, r *http.Request) {
				if r.URL.Path == "/mcp" && r.Header.Get("Authorization") == "" {
					r.Header.Set("Authorization", "Bearer "+p.agent)
				}
			}},
		{name: "any token will do", caught: []string{"transport.bad-token"},
			request: func(p *mutantProxy, r *http.Request) {
				if r.URL.Path == "/mcp" && r.Header.Get("Authorization") == "Bearer made-up-token" {
					r.Header.Set("Authorization", "Bearer "+p.agent)
				}
			}},
		{name: "a made-up claim token is stale", caught: []string{"claims.made-up-token", "claims.altered-token"},
			tool: func(_ *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				a := next(c)
				if a.code() == "invalid" && len(a.issues()) <= 1 && c.str("token") != "" && strings.Contains(string(marshalPlain(a)), "token") {
					return refusal("stale")
				}
				return a
			}},
		{name: "a person's events are taken", caught: []string{"events.who"},
			tool: func(p *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				if c.tool == "send_event" {
					c = c.as(p.operator)
				}
				return next(c)
			}, also: []string{"events.delivered"}},
		{name: "a missing summary is a matter of acceptance", caught: []string{"acceptance.no-summary"},
			tool: func(_ *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				a := next(c)
				if _, given := c.args["summary"]; c.tool == "submit" && !given && a.code() == "invalid" {
					return refusal("not_accepted", "summary: missing")
				}
				return a
			}},
		{name: "lengths count bytes", caught: []string{"limits.text-lengths", "idempotency.length"},
			tool: func(_ *mutantProxy, c toolCall, next func(toolCall) answer) answer {
				if len(c.str("summary")) > 2000 || len(c.str("requestId")) > 128 {
					return refusal("invalid", "too long")
				}
				return next(c)
			}},
		{name: "an unlisted tool is promised", caught: []string{"describe.required-tools"},
			tool: answers(func(data map[string]any) { data["tools"] = append(asList(data["tools"]), "fly") }, "describe")},
	}
}

func asList(v any) []any { l, _ := v.([]any); return l }

func lookupPath(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}
