package conformance

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// acceptance is a table of submissions to conf-plain's step and the issues each has to bring.
var acceptance = []struct {
	id, rule string
	output   obj
	issues   []string
}{
	{"missing", "a required field that is missing is refused", obj{}, []string{"output.text: missing"}},
	{"undeclared", "a field that isn't declared is refused", obj{"text": "x", "stray": 1}, []string{"output.stray: not declared"}},
	{"string", "a string field takes a string", obj{"text": 5}, []string{"output.text: expected string"}},
	{"number", "a number field takes a JSON number", obj{"text": "x", "amount": "5"}, []string{"output.amount: expected number"}},
	{"boolean", "a boolean field takes true or false", obj{"text": "x", "yes": "true"}, []string{"output.yes: expected boolean"}},
	{"date-form", "a date is YYYY-MM-DD", obj{"text": "x", "day": "6.10.2026"}, []string{"output.day: expected date"}},
	{"date-real", "a date is a real day", obj{"text": "x", "day": "2026-02-30"}, []string{"output.day: expected date"}},
	{"datetime-offset", "a datetime has an offset", obj{"text": "x", "moment": "2026-10-06T09:00:00"}, []string{"output.moment: expected datetime"}},
	{"datetime-real", "a datetime is a real moment", obj{"text": "x", "moment": "2026-10-06T25:00:00Z"}, []string{"output.moment: expected datetime"}},
	{"list", "a list field takes an array", obj{"text": "x", "words": "a"}, []string{"output.words: expected list"}},
	{"items", "every element of a list is checked", obj{"text": "x", "words": []any{"a", 1, "b", true}}, []string{"output.words[1]: expected string", "output.words[3]: expected string"}},
	{"nested-items", "lists inside lists are checked", obj{"text": "x", "grid": []any{[]any{1}, []any{"a"}}}, []string{"output.grid[1][0]: expected number"}},
	{"object", "an object field takes an object", obj{"text": "x", "free": []any{}}, []string{"output.free: expected object"}},
	{"null", "null is no value", obj{"text": "x", "amount": nil}, []string{"output.amount: expected number"}},
	{"one-of", "a value outside one_of is refused", obj{"text": "x", "colour": "blue"}, []string{"output.colour: not one of red, green"}},
	{"one-of-exact", "one_of compares strings exactly", obj{"text": "x", "colour": "Red"}, []string{"output.colour: not one of red, green"}},
	{"everything", "every issue comes back at once", obj{"amount": "a", "words": []any{1}, "stray": 0},
		[]string{"output.text: missing", "output.amount: expected number", "output.words[0]: expected string", "output.stray: not declared"}},
}

func init() {
	for _, a := range acceptance {
		add(Case{ID: "acceptance." + a.id, Section: "specification 6", Rule: a.rule, Processes: []string{"conf-plain"},
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				c := t.claim(id, "work")
				t.refused(t.agent(), "submit", obj{"token": c.str("token"), "output": a.output, "summary": "s"}, "not_accepted", a.issues...)
				r := t.get(id)
				t.equal(r, "data.steps", obj{})
				t.wantState(r, "work", "claimed")
			}})
	}
	add(
		Case{ID: "acceptance.claim-stands", Section: "tools: submit", Processes: []string{"conf-plain"}, Rule: "after a refusal the claim stands and the same token submits again",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				c := t.claim(id, "work")
				t.refused(t.agent(), "submit", obj{"token": c.str("token"), "output": obj{}, "summary": "s"}, "not_accepted", "output.text: missing")
				t.submit(c, obj{"output": obj{"text": "x"}})
			}},
		Case{ID: "acceptance.one-of-by-value", Section: "specification 2.3", Processes: []string{"conf-plain"}, Rule: "one_of compares numbers by value and the digits sent are kept",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				token := t.claim(id, "work").str("token")
				c := t.raw(t.agent(), "submit", []byte(fmt.Sprintf(`{"token":%q,"output":{"text":"x","level":2.5},"summary":"s","requestId":%q}`, token, requestID())))
				t.that(c, c.ok(), "expected 2.5 to equal the declared 2.50, got %s %v", c.code(), c.issues())
				t.that(c, strings.Contains(string(c.Answer), `"level":2.5`), "expected the level as sent, 2.5")
			}},
		Case{ID: "acceptance.one-of-no-rounding", Section: "specification 2.3", Processes: []string{"conf-plain"}, Rule: "numbers that differ beyond a double's digits differ",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				token := t.claim(id, "work").str("token")
				c := t.raw(t.agent(), "submit", []byte(fmt.Sprintf(`{"token":%q,"output":{"text":"x","level":9007199254740992},"summary":"s","requestId":%q}`, token, requestID())))
				t.wantRefusal(c, "not_accepted")
				c = t.raw(t.agent(), "submit", []byte(fmt.Sprintf(`{"token":%q,"output":{"text":"x","level":9007199254740993},"summary":"s","requestId":%q}`, token, requestID())))
				t.that(c, c.ok(), "expected the declared 9007199254740993 to be accepted, got %s %v", c.code(), c.issues())
			}},
		Case{ID: "acceptance.blank-summary", Section: "specification 3.3", Processes: []string{"conf-plain"}, Rule: "an agent's blank summary is missing",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				t.refused(t.agent(), "submit", obj{"token": t.claim(id, "work").str("token"), "output": obj{"text": "x"}, "summary": "  "}, "not_accepted", "summary: missing")
			}},
		Case{ID: "acceptance.no-summary", Section: "specification 6", Processes: []string{"conf-plain"}, Rule: "an argument that the schema requires and that is absent is invalid",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				token := t.claim(id, "work").str("token")
				c := t.refused(t.agent(), "submit", obj{"token": token, "output": obj{"text": "x"}}, "invalid")
				t.that(c, strings.Contains(strings.Join(c.issues(), " "), "summary"), "expected an issue that names summary, got %q", c.issues())
				c = t.refused(t.agent(), "submit", obj{"token": token, "summary": "s"}, "invalid")
				t.that(c, strings.Contains(strings.Join(c.issues(), " "), "output"), "expected an issue that names output, got %q", c.issues())
			}},
		Case{ID: "acceptance.route-required", Section: "specification 3.2", Processes: []string{"conf-routes"}, Rule: "a step with a list of routes needs next and a reason",
			run: func(t *T) {
				id := t.start("conf-routes", nil).str("run.id")
				c := t.claim(id, "look")
				file := t.file()
				t.refused(t.agent(), "submit", obj{"token": c.str("token"), "output": obj{}, "evidence": file, "summary": "s"}, "not_accepted",
					"next: required, one of good, bad", "reason: required")
				t.refused(t.agent(), "submit", obj{"token": c.str("token"), "output": obj{}, "evidence": file, "summary": "s", "next": "look", "reason": "r"}, "not_accepted",
					"next: not one of good, bad")
				t.refused(t.agent(), "submit", obj{"token": c.str("token"), "output": obj{}, "evidence": file, "summary": "s", "next": "good", "reason": " "}, "not_accepted",
					"reason: required")
			}},
		Case{ID: "acceptance.route-not-allowed", Section: "specification 3.2", Processes: []string{"conf-plain"}, Rule: "next and reason on a step without a list are refused",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				t.refused(t.agent(), "submit", obj{"token": t.claim(id, "work").str("token"), "output": obj{"text": "x"}, "summary": "s", "next": "done", "reason": "r"},
					"not_accepted", "next: not allowed", "reason: not allowed")
			}},
		Case{ID: "acceptance.run-data-cap", Section: "specification 6", Processes: []string{"conf-plain"}, Rule: "a submission that takes run data over the limit isn't accepted",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				c := t.refused(t.agent(), "submit", obj{"token": t.claim(id, "work").str("token"),
					"output": obj{"text": strings.Repeat("x", t.number("limits.runDataBytes"))}, "summary": "s"}, "not_accepted")
				t.that(c, len(c.issues()) == 1 && strings.HasPrefix(c.issues()[0], "run data: "), "expected one issue that begins with “run data:”, got %q", c.issues())
			}},
		Case{ID: "acceptance.recorded", Section: "specification 3.1", Processes: []string{"conf-routes"}, Rule: "what was submitted is recorded with summary, route, reason, by and at",
			run: func(t *T) {
				id := t.start("conf-routes", nil).str("run.id")
				r := t.submit(t.claim(id, "look"), obj{"output": obj{}, "evidence": t.file(), "next": "good", "reason": "Fine.", "summary": "Looked."})
				for field, want := range map[string]any{"output": obj{}, "summary": "Looked.", "next": "good", "reason": "Fine.", "history": []any{}} {
					t.equal(r, "data.steps.look."+field, want)
				}
				t.that(r, r.str("data.steps.look.by") != "" && r.str("data.steps.look.at") != "", "expected by and at on a completed step")
			}},

		Case{ID: "evidence.required", Section: "specification 5", Processes: []string{"conf-routes"}, Rule: "evidence: [file] needs a file; a link doesn't stand in for it",
			run: func(t *T) {
				id := t.start("conf-routes", nil).str("run.id")
				token := t.claim(id, "look").str("token")
				base := func(evidence []any) obj {
					return obj{"token": token, "output": obj{}, "evidence": evidence, "summary": "s", "next": "good", "reason": "r"}
				}
				t.refused(t.agent(), "submit", base([]any{}), "not_accepted", "evidence: file required")
				t.refused(t.agent(), "submit", base([]any{obj{"kind": "link", "ref": "https://example.com/"}}), "not_accepted", "evidence: file required")
			}},
		Case{ID: "evidence.not-found", Section: "specification 5", Processes: []string{"conf-routes"}, Rule: "a file that was never uploaded isn't found and doesn't count as attached",
			run: func(t *T) {
				id := t.start("conf-routes", nil).str("run.id")
				t.refused(t.agent(), "submit", obj{"token": t.claim(id, "look").str("token"), "output": obj{}, "summary": "s", "next": "good", "reason": "r",
					"evidence": []any{obj{"kind": "file", "ref": "f_000"}}}, "not_accepted", "evidence: file required", "evidence f_000: not found")
			}},
		Case{ID: "evidence.verified-and-served", Section: "specification 5", Processes: []string{"conf-routes"}, Needs: Needs{Tool: "upload"},
			Rule: "a file comes back with its hash and a url that serves the exact bytes without further login",
			run: func(t *T) {
				content := []byte("\x00\x01conformance " + requestID())
				u := t.ok(t.agent(), "upload", obj{"fileName": "a.bin", "contentType": "application/octet-stream", "contentBase64": base64.StdEncoding.EncodeToString(content)})
				t.equal(u, "sha256", hexSum(content))
				t.equal(u, "bytes", len(content))
				id := t.start("conf-routes", nil).str("run.id")
				r := t.submit(t.claim(id, "look"), obj{"output": obj{}, "next": "good", "reason": "r",
					"evidence": []any{obj{"kind": "file", "ref": u.str("id")}, obj{"kind": "link", "ref": "PO-17"}}})
				t.equal(r, "data.steps.look.evidence.0.sha256", hexSum(content))
				t.equal(r, "data.steps.look.evidence.1", obj{"kind": "link", "ref": "PO-17"})
				url := r.str("data.steps.look.evidence.0.url")
				res, err := (&http.Client{Transport: t.s.opts.Transport}).Get(url)
				t.that(r, err == nil, "opening %s: %v", url, err)
				defer res.Body.Close()
				got, err := io.ReadAll(res.Body)
				t.that(r, err == nil && res.StatusCode == http.StatusOK && string(got) == string(content), "expected %s to serve the uploaded bytes, got %s and %d bytes", url, res.Status, len(got))
			}},
		Case{ID: "evidence.bad-base64", Section: "tools: upload", Needs: Needs{Tool: "upload"}, Rule: "content that isn't base64 is invalid",
			run: func(t *T) {
				t.refused(t.agent(), "upload", obj{"fileName": "a", "contentType": "text/plain", "contentBase64": "***"}, "invalid")
			}},

		Case{ID: "limits.unknown-argument", Section: "specification 6", Rule: "an argument that a tool doesn't have is invalid, with its name",
			run: func(t *T) {
				c := t.refused(t.agent(), "get_run", obj{"runId": "r_1", "colour": "red"}, "invalid")
				t.that(c, strings.Contains(strings.Join(c.issues(), " "), "colour"), "expected an issue that names colour, got %q", c.issues())
			}},
		Case{ID: "limits.every-argument-issue", Section: "specification 6", Rule: "all problems of the arguments come back at once",
			run: func(t *T) {
				c := t.raw(t.agent(), "claim", []byte(`{"stepId":5}`))
				t.wantRefusal(c, "invalid")
				all := strings.Join(c.issues(), " ")
				for _, name := range []string{"runId", "stepId", "requestId"} {
					t.that(c, strings.Contains(all, name), "expected an issue that names %s, got %q", name, c.issues())
				}
			}},
		Case{ID: "limits.duplicate-key", Section: "protocol: values", Rule: "duplicate keys in the arguments are invalid",
			run: func(t *T) {
				t.wantRefusal(t.raw(t.agent(), "get_run", []byte(`{"runId":"r_1","runId":"r_2"}`)), "invalid")
			}},
		Case{ID: "limits.get-work-limit", Section: "tools: get_work", Rule: "limit is 1 to 100",
			run: func(t *T) {
				t.refused(t.agent(), "get_work", obj{"limit": 0}, "invalid")
				t.refused(t.agent(), "get_work", obj{"limit": 101}, "invalid")
			}},
		Case{ID: "limits.text-lengths", Section: "tools", Processes: []string{"conf-plain"}, Rule: "a summary over 2000 or a note over 4000 characters is invalid; lengths count characters, not bytes",
			run: func(t *T) {
				id := t.start("conf-plain", obj{"subject": "x"}).str("run.id")
				token := t.claim(id, "work").str("token")
				t.refused(t.agent(), "submit", obj{"token": token, "output": obj{"text": "x"}, "summary": strings.Repeat("x", 2001)}, "invalid")
				t.refused(t.agent(), "escalate", obj{"token": token, "note": strings.Repeat("x", 4001)}, "invalid")
				t.ok(t.agent(), "submit", obj{"token": token, "output": obj{"text": "x"}, "summary": strings.Repeat("€", 2000)})
			}},
	)
}
