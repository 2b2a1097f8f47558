package process_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
)

// withSteps is a PROCESS.md with these steps, each indented by two spaces.
func withSteps(steps string) []byte {
	return []byte("---\nname: a\ndescription: A process.\ninputs: {owner: person, when: datetime}\nsteps:\n" + steps + "---\nBody.\n")
}

// accepted parses what has to be accepted without a word.
func accepted(t *testing.T, src []byte) *process.Document {
	t.Helper()
	doc, issues := process.Parse(src, process.Options{})
	require.Empty(t, issues, "%s", src)
	require.NotNil(t, doc)
	return doc
}

// TestDocument is what a reader of the library gets: everything as written, with its defaults resolved.
func TestDocument(t *testing.T) {
	t.Parallel()
	doc := accepted(t, []byte(`---
name: new-supplier
description: Check a new supplier.
inputs:
  vendor: { type: string, description: Its full name }
  owner: person
requires: { systems: [crm, mail] }
steps:
  - id: check
    agent: Check the vendor.
    output:
      level: { type: string, one_of: [low, high], optional: true }
      scores: { type: list, items: { type: number, one_of: [1.10, 9e0] } }
      lead: person
    evidence: [link, file]
    due: 4h
    check: [{ ask: Is it complete?, pass: 0.90 }]
    advisory: true
    next: [{ to: approve, when: It is clear }, { to: answer, when: It is unclear }]
  - id: approve
    approve: The vendor is fine.
    person: steps.check.output.lead
    on_reject: check
  - id: settle
    wait: 90m
  - id: reviews
    parallel: [legal, terms]
    next: sign
  - id: legal
    task: Review.
    person: legal
    next: [join, terms2]
  - id: terms2
    wait_for: answered
    timeout: 2d
    next: join
  - id: terms
    wait_for: terms
    timeout: 1d
    on_timeout: join
    next: join
  - id: sign
    wait_for: signed
    timeout: 30d
  - id: answer
    task: Ask.
    person: initiator
    next: done
  - id: done
    finish: new supplier
---
# Body
`))
	require.Equal(t, "new-supplier", doc.Name)
	require.Equal(t, "Check a new supplier.", doc.Description)
	require.Equal(t, []string{"crm", "mail"}, doc.Requires)
	require.Equal(t, "# Body\n", doc.Body)
	require.Regexp(t, `^[0-9a-f]{64}$`, doc.Hash)
	require.Equal(t, []string{"legal"}, doc.Roles())
	require.True(t, doc.UsesInitiator())
	require.Equal(t, []string{"parallel-1", "check-1"}, doc.Profiles())

	fields, err := doc.Inputs.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, `{"vendor":{"type":"string","description":"Its full name"},"owner":"person"}`, string(fields))

	check := doc.Steps[0]
	require.Equal(t, process.Agent, check.Kind)
	require.Equal(t, "Check the vendor.", check.Text)
	require.Equal(t, []string{"link", "file"}, check.Evidence)
	require.Equal(t, hours(4), check.Due)
	require.Equal(t, []process.Route{{To: "approve", When: "It is clear"}, {To: "answer", When: "It is unclear"}}, check.Routes)
	require.Empty(t, check.Next)
	require.Equal(t, `[{"ask":"Is it complete?","pass":0.90}]`, string(check.Check))
	require.True(t, check.Advisory)
	output, err := check.Output.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, `{"level":{"type":"string","optional":true,"one_of":["low","high"]},`+
		`"scores":{"type":"list","items":{"type":"number","one_of":[1.10,9e0]}},"lead":"person"}`, string(output))

	require.Equal(t, process.Step{ID: "approve", Kind: process.Approve, Text: "The vendor is fine.", Person: "steps.check.output.lead",
		Next: "settle", OnReject: "check"}, doc.Steps[1])
	require.Equal(t, process.Step{ID: "settle", Kind: process.Wait, Text: "90m", Wait: 90 * time.Minute, Next: "reviews"}, doc.Steps[2])
	require.Equal(t, process.Step{ID: "reviews", Kind: process.Parallel, Branches: []string{"legal", "terms"}, Next: "sign"}, doc.Steps[3])
	require.Equal(t, process.Step{ID: "legal", Kind: process.Task, Text: "Review.", Person: "legal", Fork: "reviews", Branch: "legal",
		Routes: []process.Route{{To: "join"}, {To: "terms2"}}}, doc.Steps[4])
	require.Equal(t, process.Step{ID: "terms2", Kind: process.WaitFor, Text: "answered", Timeout: hours(48), Next: "join", OnTimeout: "join",
		Fork: "reviews", Branch: "legal"}, doc.Steps[5])
	require.Equal(t, process.Step{ID: "sign", Kind: process.WaitFor, Text: "signed", Timeout: hours(30 * 24), Next: "answer", OnTimeout: "answer"}, doc.Steps[7])
	require.Equal(t, process.Step{ID: "done", Kind: process.Finish, Text: "new supplier"}, doc.Steps[9])
}

func hours(n int) *time.Duration {
	d := time.Duration(n) * time.Hour
	return &d
}

// TestNothingDeclaredIsNil tells no fields and no evidence from an empty declaration.
func TestNothingDeclaredIsNil(t *testing.T) {
	t.Parallel()
	doc := accepted(t, []byte("---\nname: a\ndescription: x\ninputs: {}\nsteps:\n  - {id: a, agent: x, output: {}, evidence: []}\n  - {id: b, finish: x}\n---\nBody.\n"))
	require.Nil(t, doc.Inputs)
	require.Nil(t, doc.Steps[0].Output)
	require.Nil(t, doc.Steps[0].Evidence)
	require.Nil(t, doc.Requires)
	require.Empty(t, doc.Profiles())
	require.Empty(t, doc.Roles())
}

// TestSplit is protocol.md 1.1 on the file: fences, line ends, and the body byte for byte.
func TestSplit(t *testing.T) {
	t.Parallel()
	front := "name: a\ndescription: x\nsteps: [{id: a, finish: done}]\n"
	for src, body := range map[string]string{
		"---\n" + front + "---\nBody.":                                           "Body.",
		"---\r\n" + strings.ReplaceAll(front, "\n", "\r\n") + "---\r\n\r\nB\r\n": "\r\nB\r\n",
		"---\n" + front + "---\n---\nmore\n---\n":                                "---\nmore\n---\n",
		"---\n" + front + "---\n\tB\r":                                           "\tB\r",
		"---\r\n" + front + "---\nB":                                             "B",
	} {
		require.Equal(t, body, accepted(t, []byte(src)).Body, "%q", src)
	}
	for src, want := range map[string]string{
		"---\n" + front + "---":             "4:1 no-body ",
		"---\n" + front + "---\r\n \t\n":    "5:1 no-body ",
		"":                                  "1:1 fence ",
		"\n---\n" + front + "---\nB":        "1:1 fence ",
		" ---\n" + front + "---\nB":         "1:1 fence ",
		"--- \n" + front + "---\nB":         "1:1 fence ",
		"----\n" + front + "---\nB":         "1:1 fence ",
		"# x\n" + front + "---\nB":          "1:1 fence ",
		"---\n" + front:                     "1:1 fence ",
		"---\n" + front + "---x\nB":         "1:1 fence ",
		"---\n" + front + " ---\nB":         "5:1 fence ",
		"---\n" + front + "...\nB":          "5:1 fence ",
		"---\n" + front + "————\nB":         "5:1 fence ",
		"---":                               "1:1 fence ",
		"---\n---\nB":                       "1:1 wrong-type ",
		"---\n# nothing\n---\nB":            "1:1 wrong-type ",
		"---\n- a\n---\nB":                  "2:1 wrong-type ",
		"---\ntext\n---\nB":                 "2:1 wrong-type ",
		"---\n" + front + "---\nB\xffC":     "6:2 encoding ",
		"---\n" + front + "---\nü\x00C":     "6:2 encoding ",
		"\xff\xfe-\x00-\x00":                "1:1 encoding ",
		"---\nname: \xc3(\n---\nB":          "2:7 encoding ",
		"---\nname: \xed\xa0\x80\n---\nB":   "2:7 encoding ",
		"---\na:\r  \x01\n---\nB":           "3:3 control-character ",
		"\ufeff---\n" + front + "---\nBody": "1:1 byte-order-mark ",
	} {
		_, issues := process.Parse([]byte(src), process.Options{})
		var got string
		for _, i := range issues {
			if i.Rule != "no-body" || strings.HasSuffix(want, "no-body ") {
				got += fmt.Sprintf("%d:%d %s ", i.Line, i.Column, i.Rule)
			}
		}
		want = strings.Replace(want, "4:1 no-body", "5:1 no-body", 1)
		require.Equal(t, want, got, "%q: %v", src, issues)
	}
}

func TestFileSize(t *testing.T) {
	t.Parallel()
	src := []byte("---\nname: a\ndescription: x\nsteps: [{id: a, finish: done}]\n---\n")
	src = append(src, bytes.Repeat([]byte("b"), process.MaxBytes-len(src))...)
	require.Len(t, accepted(t, src).Body, process.MaxBytes-bytes.Index(src, []byte("\n---\n"))-5)
	_, issues := process.Parse(append(src, 'b'), process.Options{})
	require.Equal(t, []string{"file-size"}, rulesOf(issues))
}

func TestNameFolder(t *testing.T) {
	t.Parallel()
	src := []byte("---\nname: a\ndescription: x\nsteps: [{id: a, finish: done}]\n---\nBody.\n")
	for folder, rules := range map[string][]string{"": nil, "a": nil, "b": {"name-folder"}, "A": {"name-folder"}} {
		_, issues := process.Parse(src, process.Options{Folder: folder})
		require.Equal(t, rules, rulesOf(issues), folder)
	}
}

// TestOddButAccepted is what the specification doesn't refuse, and so no rule may.
func TestOddButAccepted(t *testing.T) {
	t.Parallel()
	for name, src := range map[string][]byte{
		"a finish alone":                     withSteps("  - {id: a, finish: x}\n"),
		"a list that isn't in order":         withSteps("  - {id: a, wait: 1d, next: c}\n  - {id: b, finish: x}\n  - {id: c, wait: 1d, next: b}\n"),
		"the last leads back in the list":    withSteps("  - {id: a, wait: 1d, next: c}\n  - {id: b, finish: x}\n  - {id: c, agent: x, next: b}\n"),
		"join without parallel":              withSteps("  - {id: a, wait: 1d, next: join}\n  - {id: join, finish: x}\n"),
		"rejected into a step not yet done":  withSteps("  - {id: a, approve: x, person: r, on_reject: b, next: c}\n  - {id: b, agent: x}\n  - {id: c, finish: x}\n"),
		"only a rejection leads there":       withSteps("  - {id: a, approve: x, person: r, on_reject: b, next: c}\n  - {id: b, wait: 1d, next: c}\n  - {id: c, finish: x}\n"),
		"a step that only a timeout reaches": withSteps("  - {id: a, wait_for: x, timeout: 1d, on_timeout: b, next: c}\n  - {id: b, wait: 1d}\n  - {id: c, finish: x}\n"),
		"an id of one letter and of 64":      withSteps("  - {id: a, wait: 1d, next: " + strings.Repeat("b", 64) + "}\n  - {id: " + strings.Repeat("b", 64) + ", finish: x}\n"),
		"a role with spaces and capitals":    withSteps("  - {id: a, task: x, person: Größe X/Y}\n  - {id: c, finish: x}\n"),
		"a role called inputs":               withSteps("  - {id: a, task: x, person: inputs}\n  - {id: c, finish: x}\n"),
		"roles that differ in a letter":      withSteps("  - {id: a, task: x, person: reviewer-a}\n  - {id: b, task: x, person: reviewer-b}\n  - {id: c, finish: x}\n"),
		"a field's name with dots":           withSteps("  - {id: a, agent: x, output: {a.output.b: person}}\n  - {id: b, task: x, person: steps.a.output.a.output.b}\n  - {id: c, finish: x}\n"),
		"every type":                         withSteps("  - {id: a, agent: x, output: {a: string, b: number, c: boolean, d: date, e: datetime, f: list, g: object, h: person}}\n  - {id: c, finish: x}\n"),
		"lists of lists":                     withSteps("  - {id: a, agent: x, output: {a: {type: list, items: {type: list, items: {type: person, one_of: [a@b.c]}}}}}\n  - {id: c, finish: x}\n"),
		"a description that is blank":        withSteps("  - {id: a, agent: x, output: {a: {type: string, description: \"\"}}}\n  - {id: c, finish: x}\n"),
		"optional inside items":              withSteps("  - {id: a, agent: x, output: {a: {type: list, items: {type: string, optional: true}}}}\n  - {id: c, finish: x}\n"),
		"text that looks like more":          withSteps("  - {id: yes, agent: 2026-10-06, next: no}\n  - {id: no, finish: off}\n"),
		"the longest durations":              withSteps("  - {id: a, wait: 36500d}\n  - {id: b, wait: 876000h}\n  - {id: d, wait: 52560000m}\n  - {id: e, wait: 0000000000000000000000000000001m}\n  - {id: c, finish: x}\n"),
		"a check of a task":                  withSteps("  - {id: a, task: x, person: r, check: Is it?, advisory: false}\n  - {id: c, finish: x}\n"),
		"probabilities 0 and 1":              withSteps("  - {id: a, agent: x, check: [{ask: q, pass: 1, fail: 0}, {ask: q, pass: 1.0}, {ask: q, fail: 0e5}]}\n  - {id: c, finish: x}\n"),
		"a level as a float":                 withSteps("  - {id: a, agent: x, check: [{ask: q, levels: [a, b], pass: 10e-1}]}\n  - {id: c, finish: x}\n"),
		"answers called like booleans":       withSteps("  - {id: a, agent: x, check: [{ask: q, one_of: {yes: \"\", no: n}, pass: [yes], unsure: []}]}\n  - {id: c, finish: x}\n"),
		"a timeout into join":                withSteps("  - {id: a, parallel: [b, d], next: c}\n  - {id: b, wait_for: x, timeout: 1d, on_timeout: join, next: e}\n  - {id: e, wait: 1d, next: join}\n  - {id: d, wait: 1d, next: join}\n  - {id: c, finish: x}\n"),
		"two parallel steps in a row":        withSteps("  - {id: a, parallel: [b, d], next: c}\n  - {id: b, wait: 1d, next: join}\n  - {id: d, wait: 1d, next: join}\n  - {id: c, parallel: [e, f], next: g}\n  - {id: e, wait: 1d, next: join}\n  - {id: f, wait: 1d, next: join}\n  - {id: g, finish: x}\n"),
		"rejected to before and to parallel": withSteps("  - {id: z, wait: 1d}\n  - {id: a, parallel: [b, d], next: c}\n  - {id: b, wait: 1d, next: join}\n  - {id: d, wait: 1d, next: join}\n  - {id: c, approve: x, person: r, on_reject: a}\n  - {id: h, approve: x, person: r, on_reject: z}\n  - {id: g, finish: x}\n"),
		"rejected inside a branch":           withSteps("  - {id: a, parallel: [b, d], next: g}\n  - {id: b, agent: x, next: c}\n  - {id: c, approve: x, person: r, on_reject: b, next: join}\n  - {id: d, wait: 1d, next: join}\n  - {id: g, finish: x}\n"),
		"a parallel step that goes on below": withSteps("  - {id: p, wait: 1d, next: a}\n  - {id: b, wait: 1d, next: join}\n  - {id: d, wait: 1d, next: join}\n  - {id: a, parallel: [b, d]}\n  - {id: g, finish: x}\n"),
	} {
		doc, issues := process.Parse(src, process.Options{})
		require.Empty(t, issues, name)
		require.NotNil(t, doc, name)
	}
}

// TestWarningsNeverRefuse is what the specification accepts and an author should look at.
func TestWarningsNeverRefuse(t *testing.T) {
	t.Parallel()
	for rule, src := range map[string][]byte{
		"zero-duration":      withSteps("  - {id: a, agent: x, due: 0000d}\n  - {id: c, finish: x}\n"),
		"reserved-outcome":   withSteps("  - {id: c, finish: failed}\n"),
		"timeout-missing":    withSteps("  - {id: a, wait_for: x, on_timeout: c}\n  - {id: c, finish: x}\n"),
		"reject-to-self":     withSteps("  - {id: a, approve: x, person: r, on_reject: a}\n  - {id: c, finish: x}\n"),
		"similar-role":       withSteps("  - {id: a, task: x, person: finance-team}\n  - {id: b, task: x, person: Finance team}\n  - {id: c, finish: x}\n"),
		"fail-above-pass":    withSteps("  - {id: a, agent: x, check: [{ask: q, pass: 0.2, fail: 0.3}]}\n  - {id: c, finish: x}\n"),
		"never-passes":       withSteps("  - {id: a, agent: x, check: [{ask: q, one_of: {a: b, c: d}, pass: []}]}\n  - {id: c, finish: x}\n"),
		"repeated-value":     withSteps("  - {id: a, agent: x, next: [c, c]}\n  - {id: c, finish: x}\n"),
		"route-without-when": withSteps("  - {id: a, agent: x, next: [{to: c, when: w}, d]}\n  - {id: c, finish: x}\n  - {id: d, finish: x}\n"),
		"number-precision":   withSteps("  - {id: a, agent: x, output: {a: {type: number, one_of: [0.1234567890123456789]}}}\n  - {id: c, finish: x}\n"),
	} {
		doc, issues := process.Parse(src, process.Options{})
		require.Equal(t, []string{rule}, rulesOf(issues), rule)
		require.Equal(t, process.Warning, issues[0].Severity)
		require.NotNil(t, doc, rule)
	}
	// Values are the same by value, for persons whatever their case; a misspelt `initiator` is a role.
	for _, src := range []string{
		"  - {id: a, agent: x, output: {a: {type: number, one_of: [1, 1.0]}}}\n  - {id: c, finish: x}\n",
		"  - {id: a, agent: x, output: {a: {type: person, one_of: [a@b.c, A@B.c]}}}\n  - {id: c, finish: x}\n",
		"  - {id: a, agent: x, evidence: [file, file]}\n  - {id: c, finish: x}\n",
		"  - {id: a, agent: x, check: [{ask: q, one_of: {a: b, c: d}, pass: [a, a]}]}\n  - {id: c, finish: x}\n",
		"  - {id: a, task: x, person: Initiator}\n  - {id: c, finish: x}\n",
		"  - {id: a, task: x, person: initator}\n  - {id: c, finish: x}\n",
	} {
		doc, issues := process.Parse(withSteps(src), process.Options{})
		require.Len(t, issues, 1, src)
		require.NotNil(t, doc)
	}
}

// TestPathUnset is the warning about a field that can't be there yet (protocol.md 1.3), and what it must not warn of.
func TestPathUnset(t *testing.T) {
	t.Parallel()
	const sets, reads, end = ", agent: x, output: {who: person}", ", task: x, person: steps.s.output.who", "  - {id: z, finish: x}\n"
	for steps, warned := range map[string]bool{
		"  - {id: s" + sets + "}\n  - {id: r" + reads + "}\n" + end:                                                                                                                        false,
		"  - {id: r" + reads + "}\n  - {id: s" + sets + "}\n" + end:                                                                                                                        true,
		"  - {id: s, task: x, person: steps.s.output.who, output: {who: person}}\n" + end:                                                                                                  true,
		"  - {id: a, agent: x, next: [s, r]}\n  - {id: s" + sets + ", next: r}\n  - {id: r" + reads + "}\n" + end:                                                                          false,
		"  - {id: a, agent: x, next: [s, r]}\n  - {id: s" + sets + ", next: z}\n  - {id: r" + reads + "}\n" + end:                                                                          true,
		"  - {id: r" + reads + "}\n  - {id: s" + sets + "}\n  - {id: q, approve: x, person: p, on_reject: r}\n" + end:                                                                      true,
		"  - {id: a, agent: x, next: [r, s]}\n  - {id: s" + sets + "}\n  - {id: q, approve: x, person: p, on_reject: r}\n  - {id: y, wait: 1d, next: z}\n  - {id: r" + reads + "}\n" + end: false,
		"  - {id: f, parallel: [s, b], next: r}\n  - {id: s" + sets + ", next: join}\n  - {id: b, wait: 1d, next: join}\n  - {id: r" + reads + "}\n" + end:                                 false,
		"  - {id: f, parallel: [s, b], next: z}\n  - {id: s" + sets + ", next: join}\n  - {id: b, wait: 1d, next: r}\n  - {id: r" + reads + ", next: join}\n" + end:                        false,
		"  - {id: w, wait_until: steps.s.output.at}\n  - {id: s, agent: x, output: {at: datetime}}\n" + end:                                                                                true,
	} {
		_, issues := process.Parse(withSteps(steps), process.Options{})
		if warned {
			require.Equal(t, []string{"path-unset"}, rulesOf(issues), steps)
		} else {
			require.Empty(t, issues, steps)
		}
	}
}

// TestCircles: one message at the edge that makes them, with the way round; several only where no one edge does.
func TestCircles(t *testing.T) {
	t.Parallel()
	for steps, want := range map[string][]string{
		"  - {id: a, wait: 1d, next: b}\n  - {id: b, wait: 1d, next: c}\n  - {id: c, wait: 1d, next: a}\n":                                                                                              {"8: this `next` leads back in a circle: `a` → `b` → `c` → `a`"},
		"  - {id: a, wait: 1d}\n  - {id: b, agent: x, next: [a, c]}\n  - {id: c, finish: x}\n":                                                                                                          {"7: this `next` leads back in a circle: `a` → `b` → `a`"},
		"  - {id: a, wait_for: x, timeout: 1d, on_timeout: a}\n  - {id: c, finish: x}\n":                                                                                                                {"6: this `on_timeout` leads back to its own step"},
		"  - {id: b, wait: 1d, next: c}\n  - {id: c, wait: 1d, next: a}\n  - {id: a, wait: 1d, next: d}\n  - {id: x, wait: 1d, next: b}\n  - {id: d, agent: x, next: [x, e]}\n  - {id: e, finish: x}\n": {"9: this `next` leads back in a circle: `b` → `c` → `a` → `d` → `x` → `b`"},
		// Whatever leads into them, one edge makes both circles.
		"  - {id: a, agent: x, next: [b, c]}\n  - {id: b, wait: 1d, next: d}\n  - {id: c, wait: 1d, next: d}\n  - {id: d, agent: x, next: [a, e]}\n  - {id: e, finish: x}\n": {"9: this `next` leads back in a circle: `a` → `b` → `d` → `a`"},
		"  - {id: a, agent: x, next: [a, b]}\n  - {id: b, agent: x, next: [b, c]}\n  - {id: c, finish: x}\n":                                                                 {"6: this `next` leads back to its own step", "7: this `next` leads back to its own step"},
		"  - {id: a, agent: x, next: [b, c]}\n  - {id: b, agent: x, next: [a, c]}\n  - {id: c, agent: x, next: [a, d]}\n  - {id: d, finish: x}\n":                            {"7: this `next` leads back in a circle: `a` → `b` → `a`", "8: this `next` leads back in a circle: `a` → `b` → `c` → `a`"},
	} {
		_, issues := process.Parse(withSteps(steps), process.Options{})
		var got []string
		for _, i := range issues {
			require.Equal(t, "cycle", i.Rule, steps)
			message, _, _ := strings.Cut(i.Message, ";")
			message, _, _ = strings.Cut(message, ", so")
			got = append(got, fmt.Sprintf("%d: %s", i.Line, message))
		}
		require.Equal(t, want, got, steps)
	}
	// A circle of an approval is fine, through a rejection only.
	accepted(t, withSteps("  - {id: a, wait: 1d}\n  - {id: b, approve: x, person: r, on_reject: a}\n  - {id: c, finish: x}\n"))
}

// TestUnreachable: one message for each step that nothing leads to, with the way the run goes instead and what else it
// takes along.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	_, issues := process.Parse(withSteps("  - {id: a, wait: 1d, next: d}\n  - {id: b, wait: 1d}\n  - {id: c, wait: 1d}\n  - {id: d, finish: x}\n  - {id: e, wait: 1d, next: f}\n  - {id: f, wait: 1d, next: d}\n"), process.Options{})
	require.Len(t, issues, 2)
	require.Equal(t, "nothing leads to `b`: the run goes `a` → `d`; name it in the `next` of the step before it, or remove it (nor to `c`, which only it leads to)", issues[0].Message)
	require.Equal(t, []int{7, 10}, []int{issues[0].Line, issues[1].Line})
	// Where a target can't be made out, any step may be what was meant.
	_, issues = process.Parse(withSteps("  - {id: a, wait: 1d, next: nowhere}\n  - {id: b, finish: x}\n"), process.Options{})
	require.Equal(t, []string{"unknown-step"}, rulesOf(issues))
	// A misspelt one leads to what was meant.
	_, issues = process.Parse(withSteps("  - {id: a, wait: 1d, next: finsh}\n  - {id: lost, wait: 1d, next: finish}\n  - {id: finish, finish: x}\n"), process.Options{})
	require.Equal(t, []string{"unknown-step", "unreachable-step"}, rulesOf(issues))
}

// TestAllIssuesInOnePass: nothing that is wrong with one part hides what is wrong with another.
func TestAllIssuesInOnePass(t *testing.T) {
	t.Parallel()
	_, issues := process.Parse([]byte("---\nname: [a]\nextra: 1\ninputs: 5\nrequires: {systems: x}\nsteps:\n  - 7\n  - {id: 5, agent: [x], next: {}}\n  - {id: b, task: x, due: [], output: [a], evidence: {}, next: c}\n  - {id: d, finish: x}\n---\nBody.\n"), process.Options{})
	require.Equal(t, []string{"missing-field", "wrong-type", "unknown-field", "wrong-type", "wrong-type", "wrong-type", "wrong-type", "wrong-type", "wrong-type",
		"missing-field", "wrong-type", "wrong-type", "wrong-type", "unknown-step"}, rulesOf(issues))
}

// TestPlaces is the token that a caret is put under.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for front, want := range map[string]string{
		"inputs: {x: strng}\n":                      "2:13-18 strng",
		"inputs: {x: \"strng\" }\n":                 "2:13-20 \"strng\"",
		"inputs: {x: 'st''rng'}\n":                  "2:13-22 'st''rng'",
		"inputs: {x: strng, y: string}\n":           "2:13-18 strng",
		"inputs:\n  x: strng  # why\n":              "3:6-11 strng",
		"inputs: {供应: strng}\n":                     "2:14-19 strng",
		"inputs: {\"🙂\": strng}\n":                  "2:15-20 strng",
		"inputs: {x: !!str strng}\n":                "2:19-24 strng",
		"inputs: {x: &a strng}\n":                   "2:16-21 strng",
		"inputs: {x: &a !!str strng}\n":             "2:22-27 strng",
		"inputs:\n  x: &a\n    strng\n":             "3:6-8 &a",
		"inputs: {x: !own strng}\n":                 "2:13-17 !own",
		"inputs:\n  x: |\n    strng\n":              "3:6-7 |",
		"inputs:\n  x: >-2\n      strng\n":          "3:6-9 >-2",
		"inputs:\n  x: strng\n    and more\n":       "3:6-11 strng",
		"inputs:\n  x: \"strng\n    and more\"\n":   "3:6-12 \"strng",
		"inputs:\n  x: [a, \"]\", b ]  # x\n":       "3:6-18 [a, \"]\", b ]",
		"inputs:\n  x: [a,\n    b]\n":               "3:6-7 [",
		"inputs:\n  x:\n  - a\n":                    "4:3-4 -",
		"inputs:\n  x: 5\r\n":                       "3:6-7 5",
		"inputs:\r  x: 5\r":                         "3:6-7 5",
		"inputs: {x: a\u0085b, y: string}\n":        "2:13-16 a\u0085b",
		"# ü\n\n\tinputs: x\n":                      "4:1-2 \t",
		"inputs: {? x\n  : strng}\n":                "3:5-10 strng",
		"inputs:\n  x:\n    one_of: [a]\n":          "3:3-4 x",
		"inputs: {x:}\n":                            "2:10-11 x",
		"inputs: {x: ~}\n":                          "2:13-14 ~",
		"bad: &b {x: strng}\ninputs: {y: string}\n": "2:1-4 bad",
		"inputs: {x: &b strng, y: *b, z: *b}\n":     "2:16-21 strng",
	} {
		src := withFront(front)
		_, issues := process.Parse(src, process.Options{})
		require.Len(t, issues, 1, "%q: %v", front, issues)
		i := issues[0]
		token := ""
		line, _ := process.NewExcerpts(src).Show(i)
		runes := []rune(strings.Split(strings.ReplaceAll(strings.ReplaceAll(string(src), "\r\n", "\n"), "\r", "\n"), "\n")[i.Line-1])
		if i.EndColumn-1 <= len(runes) {
			token = string(runes[i.Column-1 : i.EndColumn-1])
		}
		require.Equal(t, want, fmt.Sprintf("%d:%d-%d %s", i.Line, i.Column, i.EndColumn, token), "%q: %s\n%s", front, i.Message, line)
	}
}

// TestIssuesHavePaths shows where in the frontmatter an issue is.
func TestIssuesHavePaths(t *testing.T) {
	t.Parallel()
	_, issues := process.Parse([]byte("---\nname: a\ndescription: x\ninputs:\n  \"a b\": strng\n  x.y: {type: list, items: {type: strng}}\nsteps:\n  - id: a\n    agent: x\n    next: [{to: c}, {to: nope-nope}]\n    output: {q: {one_of: [1], type: string}}\n  - {id: c, finish: x}\n---\nBody.\n"), process.Options{})
	var paths []string
	for _, i := range issues {
		paths = append(paths, i.Path)
	}
	require.Equal(t, []string{`inputs["a b"]`, `inputs["x.y"].items.type`, "steps[0].next[1].to", "steps[0].output.q.one_of[0]"}, paths)
}

// TestContentHash is protocol.md 1.7 in what the public corpus doesn't show.
func TestContentHash(t *testing.T) {
	t.Parallel()
	hash := func(src string) string {
		t.Helper()
		doc, issues := process.Parse([]byte(src), process.Options{})
		require.NotNil(t, doc, "%v", issues)
		return doc.Hash
	}
	base := "---\nname: a\ndescription: x\nsteps: [{id: a, finish: done}]\n---\nBody.\n"
	same := hash(base)
	for _, src := range []string{
		"---\ndescription: 'x'\nsteps:\n# a comment\n- finish: !!str done\n  \"id\": &a a\nname: *a\n---\nBody.\n",
		"\ufeff" + base,
		strings.Replace(base, "---\nname: a\ndescription: x\n", "---\r\nname: a\r\ndescription: x\r\n", 1),
	} {
		require.Equal(t, same, hash(src), src)
	}
	for _, src := range []string{
		strings.Replace(base, "Body.\n", "Body.", 1),
		strings.Replace(base, "Body.\n", "Body.\r\n", 1),
		strings.Replace(base, "Body.\n", "\nBody.\n", 1),
		strings.Replace(base, "description: x\n", "description: x\ninputs: {}\n", 1),
	} {
		require.NotEqual(t, same, hash(src), src)
	}
	// SHA-256 of the canonical JSON written out, a newline and the body.
	for value, canonical := range map[string]string{
		"1.10": "1.1", "1e3": "1000", "-0": "0", "0x10": "16", "1e21": "1e+21", "123456789012345680000": "123456789012345680000", "0.000001": "0.000001",
		"1e-7": "1e-7", "9007199254740993": "9007199254740992", "5e-324": "5e-324", "1.7976931348623157e308": "1.7976931348623157e+308", "333333333.33333329": "333333333.3333333",
	} {
		src := "---\nname: a\ndescription: \"\\u20ac $\\n</script>\\u2028 \\\\ \\\"\"\ninputs: {\"\\U0001F600\": {type: number, one_of: [" + value + "]}, \"\\uFB33\": string, ö: string}\nsteps: [{id: a, finish: done}]\n---\nBody.\n"
		want := "{\"description\":\"€ $\\n</script>\u2028 \\\\ \\\"\",\"inputs\":{\"ö\":\"string\",\"😀\":{\"one_of\":[" + canonical + "],\"type\":\"number\"},\"\uFB33\":\"string\"}," +
			"\"name\":\"a\",\"steps\":[{\"finish\":\"done\",\"id\":\"a\"}]}\nBody.\n"
		sum := sha256.Sum256([]byte(want))
		require.Equal(t, hex.EncodeToString(sum[:]), hash(src), value)
	}
}
