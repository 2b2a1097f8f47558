package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// good is the smallest process the refusals below start from: each replaces one piece of it.
const good = `---
name: NAME
description: A process to publish.
inputs:
  amount: number
  when: { type: datetime, optional: true }
  who: { type: person, optional: true }
steps:
  - id: work
    agent: Work.
    output: { text: string }
    next: check
  - id: check
    person: approver
    approve: Right?
    on_reject: work
  - id: done
    finish: done
---

Body.
`

// refusals is what a server has to refuse at publication: one edit of good each.
var refusals = []struct{ id, rule, section, from, to string }{
	{"no-opening-fence", "the file begins with a line that is exactly ---", "2", "---\nname", "name"},
	{"no-closing-fence", "the frontmatter ends with a line that is exactly ---", "2", "\n---\n\nBody.\n", "\n"},
	{"unknown-field", "an unknown field is refused", "2.1", "inputs:\n", "owner: me\ninputs:\n"},
	{"unknown-step-field", "an unknown field of a step is refused", "2.1", "    agent: Work.\n", "    agent: Work.\n    retries: 3\n"},
	{"unknown-field-key", "an unknown key of a field is refused", "2.1", "{ type: datetime, optional: true }", "{ type: datetime, required: false }"},
	{"duplicate-key", "duplicate keys are refused", "2.1", "description: A process to publish.\n", "description: A process to publish.\ndescription: Again.\n"},
	{"duplicate-nested-key", "duplicate keys are refused at any depth", "2.1", "    agent: Work.\n", "    agent: Work.\n    agent: Again.\n"},
	{"name-pattern", "a name has only lower-case letters, digits and single hyphens", "2.1", "name: NAME", "name: NAME_x"},
	{"name-upper-case", "a name has no upper-case letters", "2.1", "name: NAME", "name: NAME-X"},
	{"no-description", "a description is required", "2.1", "description: A process to publish.\n", ""},
	{"blank-description", "a description isn't blank", "2.1", "A process to publish.", `"  "`},
	{"requires-unknown", "requires takes systems alone", "2.1", "inputs:\n", "requires: { people: [a] }\ninputs:\n"},
	{"requires-twice", "a system is listed once", "2.1", "inputs:\n", "requires: { systems: [mail, mail] }\ninputs:\n"},
	{"requires-pattern", "a system's name has the form of a process's name", "2.1", "inputs:\n", "requires: { systems: [Mail Box] }\ninputs:\n"},
	{"step-id-pattern", "a step id begins with a letter and is lower case", "2.2", "id: work", "id: Work"},
	{"step-id-twice", "step ids are unique", "2.2", "id: done", "id: check"},
	{"two-kinds", "a step has exactly one kind", "2.2", "    agent: Work.\n", "    agent: Work.\n    task: Work.\n"},
	{"no-kind", "a step has a kind", "2.2", "    agent: Work.\n", ""},
	{"blank-instructions", "instructions aren't blank", "2.2", "agent: Work.", `agent: " "`},
	{"approval-without-person", "an approval needs a person", "2.2", "    person: approver\n", ""},
	{"agent-with-person", "an agent step has no person", "2.2", "    agent: Work.\n", "    agent: Work.\n    person: approver\n"},
	{"approval-with-output", "an approval has no output", "2.2", "    approve: Right?\n", "    approve: Right?\n    output: { text: string }\n"},
	{"approval-with-routes", "an approval's next is one step", "2.2", "    on_reject: work\n", "    on_reject: work\n    next: [done, work]\n"},
	{"finish-with-next", "a finish has no next", "2.2", "    finish: done\n", "    finish: done\n    next: work\n"},
	{"one-route", "a list of routes has two or more", "2.2", "    next: check\n", "    next: [check]\n"},
	{"route-without-to", "a route names where it goes", "2.2", "    next: check\n", "    next: [{ when: Always }, check]\n"},
	{"unknown-next", "next names an existing step", "2.2", "    next: check\n", "    next: nowhere\n"},
	{"unknown-on-reject", "on_reject names an existing step", "2.2", "on_reject: work", "on_reject: nowhere"},
	{"unreachable", "every step is reachable", "2.2", "    finish: done\n", "    finish: done\n  - id: lost\n    finish: lost\n"},
	{"last-step-without-next", "the last step, unless a finish, names next", "2.2", "  - id: done\n    finish: done\n", ""},
	{"cycle", "next makes no cycle", "2.2", "  - id: done\n    finish: done\n", "  - id: done\n    agent: Again.\n    next: work\n"},
	{"wait-and-due", "a wait has no due", "2.2", "    agent: Work.\n    output: { text: string }\n", "    wait: 1h\n    due: 2h\n"},
	{"duration", "a duration is a whole number and m, h or d", "2.4", "    on_reject: work\n", "    on_reject: work\n    due: 1 day\n"},
	{"duration-fraction", "a duration is a whole number", "2.4", "    on_reject: work\n", "    on_reject: work\n    due: 1.5h\n"},
	{"evidence-kind", "evidence is file or link", "2.2", "    output: { text: string }\n", "    evidence: [photo]\n"},
	{"field-type", "a field has one of the eight types", "2.3", "amount: number", "amount: integer"},
	{"field-without-type", "a field's object has a type", "2.3", "amount: number", "amount: { optional: true }"},
	{"one-of-type", "one_of values have the field's type", "2.3", "amount: number", "amount: { type: number, one_of: [a] }"},
	{"one-of-empty", "one_of has values", "2.3", "amount: number", "amount: { type: number, one_of: [] }"},
	{"one-of-date", "one_of values of a date are real days", "2.3", "amount: number", `amount: { type: date, one_of: ["2026-02-30"] }`},
	{"items-on-a-string", "items goes with a list", "2.3", "amount: number", "amount: { type: string, items: string }"},
	{"yaml-1.1-booleans", "yes is a string: no boolean", "2.1", "{ type: datetime, optional: true }", "{ type: datetime, optional: yes }"},
	{"null", "null is no value", "2.3", "amount: number", "amount: ~"},
	{"two-documents", "the frontmatter is one document", "2.1", "inputs:\n", "...\n---x\ninputs:\n"},
	{"person-path-undeclared", "a person's path names a declared field", "2.2", "person: approver", "person: inputs.nobody"},
	{"person-path-type", "a person's path names a person field", "2.2", "person: approver", "person: inputs.amount"},
	{"person-path-form", "a value with a dot is a path", "2.2", "person: approver", "person: approver.deputy"},
	{"wait-until-type", "wait_until names a datetime field", "2.2", "    agent: Work.\n    output: { text: string }\n", "    wait_until: inputs.who\n"},
	{"event-name", "an event's name has the form of a step id", "2.2", "    agent: Work.\n    output: { text: string }\n", "    wait_for: Pay Ment\n"},
	{"timeout-on-an-agent", "only wait_for takes a timeout", "2.2", "    agent: Work.\n", "    agent: Work.\n    timeout: 1h\n"},
	{"join-outside-a-branch", "join is no target outside a branch", "parallel 2", "    next: check\n", "    next: join\n"},
	{"check-unasked", "advisory goes with check alone", "check 2", "    agent: Work.\n", "    agent: Work.\n    advisory: true\n"},
}

func init() {
	add(Case{ID: "publication.accepts-a-good-file", Section: "specification 2", Rule: "the file that the refusals are edits of is accepted", Needs: Needs{Import: true},
		run: func(t *T) {
			if out, err := t.offer("conf-good", strings.ReplaceAll(good, "NAME", "conf-good")); err != nil {
				t.fail(nil, "expected the import command to accept the file, got %v: %s", err, out)
			}
		}})
	for i, r := range refusals {
		add(Case{ID: "publication." + r.id, Section: "specification " + r.section, Rule: r.rule, Needs: Needs{Import: true},
			run: func(t *T) {
				name := fmt.Sprintf("conf-bad-%d", i)
				source := strings.Replace(good, r.from, r.to, 1)
				if source == good {
					panic("the refusal " + r.id + " edits nothing")
				}
				if out, err := t.offer(name, strings.ReplaceAll(source, "NAME", name)); err == nil {
					t.fail(nil, "expected the import command to refuse the file, it succeeded: %s\n%s", out, source)
				}
			}})
	}
}

// offer runs the import command on a file in a folder of the process's name; an error is a refusal.
func (t *T) offer(name, source string) (output string, err error) {
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		panic(failure{err.Error(), nil})
	}
	defer os.RemoveAll(dir)
	folder := filepath.Join(dir, name)
	path := filepath.Join(folder, "PROCESS.md")
	if err := os.Mkdir(folder, 0o755); err != nil {
		panic(failure{err.Error(), nil})
	}
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		panic(failure{err.Error(), nil})
	}
	return runImport(t.ctx, t.s.opts.Import, path, map[string]string{"approver": Group})
}
