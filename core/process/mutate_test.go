package process_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/process/processtest"
)

// mutation breaks one rule of a valid process.
type mutation struct {
	name, rule string
	// on is the kind of step that it changes, several apart by spaces; empty for the frontmatter's own keys.
	on string
	// change changes the process, and the step if it is about one. It returns the key at whose line the issue stands,
	// or "" when this process can't be broken so.
	change func(m *mutant) string
}

// mutant is the process under change.
type mutant struct {
	t *rapid.T
	p *processtest.Process
	// s is the step to change; of the map that the issue is in, which change may set.
	s  *processtest.Step
	of *processtest.Map
}

// set sets a key and says that the issue is there.
func set(key string, value any) func(*mutant) string {
	return func(m *mutant) string {
		m.of.Set(key, value)
		return key
	}
}

// inBranch and outside pick steps for one kind of place.
func inBranch(change func(*mutant) string) func(*mutant) string {
	return func(m *mutant) string {
		if !m.s.Branch {
			return ""
		}
		return change(m)
	}
}

func outside(change func(*mutant) string) func(*mutant) string {
	return func(m *mutant) string {
		if m.s.Branch {
			return ""
		}
		return change(m)
	}
}

// ids lists the ids of the steps that a test likes.
func (m *mutant) ids(like func(*processtest.Step) bool) []string {
	var ids []string
	for _, s := range m.p.Steps {
		if like(s) {
			ids = append(ids, s.ID())
		}
	}
	return ids
}

// other picks an id among those liked; "" when there is none.
func (m *mutant) other(like func(*processtest.Step) bool) string {
	ids := m.ids(like)
	if len(ids) == 0 {
		return ""
	}
	return rapid.SampledFrom(ids).Draw(m.t, "other")
}

// rename gives the step another id, and all that names it.
func (m *mutant) rename(to string) {
	from := m.s.ID()
	for _, s := range m.p.Steps {
		for i := range s.Map {
			s.Map[i].Value = renamed(s.Map[i].Key, s.Map[i].Value, from, to)
		}
	}
}

func renamed(key string, v any, from, to string) any {
	switch v := v.(type) {
	case string:
		if slices.Contains([]string{"id", "next", "on_reject", "on_timeout", "parallel", "to"}, key) && v == from {
			return to
		}
		if rest, ok := strings.CutPrefix(v, "steps."+from+".output."); ok && (key == "person" || key == "wait_until") {
			return "steps." + to + ".output." + rest
		}
	case []any:
		for i := range v {
			v[i] = renamed(key, v[i], from, to)
		}
	case processtest.Map:
		if key == "next" {
			for i := range v {
				v[i].Value = renamed(v[i].Key, v[i].Value, from, to)
			}
		}
	}
	return v
}

const work, human, any8 = "agent task", "task approve", "agent task approve wait wait_until wait_for finish parallel"

func raw(text string) any { return processtest.Raw(text) }

// field makes a field the only one of the inputs.
func field(declaration string) func(*mutant) string {
	return func(m *mutant) string {
		inputs := processtest.Map{{Key: "broken", Value: raw(declaration)}}
		if old, ok := m.p.Front.Get("inputs").(processtest.Map); ok {
			inputs = append(slices.Clone(old), inputs...)
		}
		m.p.Front.Set("inputs", inputs)
		m.of = &inputs
		return "broken"
	}
}

var mutations = []mutation{
	{"unknown key", "unknown-field", "", set("colour", "blue")},
	{"another server's key", "unknown-field", "", set("data_sources", raw("[{key: crm, operations: [read]}]"))},
	{"misspelt key", "unknown-field", "", func(m *mutant) string { m.of.Rename("description", "descripton"); return "descripton" }},
	{"blank description", "blank-text", "", set("description", " \t")},
	{"description a number", "wrong-type", "", set("description", raw("5"))},
	{"description a list", "wrong-type", "", set("description", raw("[a]"))},
	{"empty description", "null-value", "", set("description", raw(""))},
	{"name of capitals", "name-format", "", set("name", "Move-Home")},
	{"name with two hyphens", "name-format", "", set("name", "move--home")},
	{"name too long", "name-format", "", set("name", strings.Repeat("a", 65))},
	{"requires nothing", "requires", "", set("requires", raw("{systems: []}"))},
	{"requires a bad name", "requires", "", set("requires", raw("{systems: [Gmail]}"))},
	{"requires a name twice", "requires", "", set("requires", raw("{systems: [crm, mail, crm]}"))},
	{"requires without systems", "missing-field", "", set("requires", raw("{}"))},
	{"requires more", "unknown-field", "", set("requires", raw("{systems: [crm], tools: [x]}"))},
	{"an unknown tag", "yaml-tag", "", set("description", raw("!html x"))},
	{"a tag that can't be", "yaml-tag", "", set("name", raw("!!int x"))},
	{"an unseen character", "control-character", "", set("description", raw(`"a\x07"`))},
	{"an endless alias", "alias-loop", "", set("inputs", raw("&a {x: *a}"))},

	{"no such type", "field-type", "", field("strin")},
	{"no such type in an object", "field-type", "", field("{type: text}")},
	{"field without a type", "missing-field", "", field("{description: x}")},
	{"field with more", "unknown-field", "", field("{type: string, colour: blue}")},
	{"field a number", "wrong-type", "", field("5")},
	{"field null", "null-value", "", field("")},
	{"items of a string", "items", "", field("{type: string, items: string}")},
	{"items of no type", "field-type", "", field("{type: list, items: {type: strings}}")},
	{"one_of nothing", "one-of", "", field("{type: string, one_of: []}")},
	{"one_of a number for a string", "one-of", "", field("{type: string, one_of: [a, 1]}")},
	{"one_of a word for a boolean", "one-of", "", field("{type: boolean, one_of: [true, no]}")},
	{"one_of no real day", "one-of", "", field("{type: date, one_of: [2026-02-30]}")},
	{"one_of no e-mail", "one-of", "", field("{type: person, one_of: [mira]}")},
	{"one_of for a list", "one-of", "", field("{type: list, one_of: [[a]]}")},
	{"one_of infinity", "number-range", "", field("{type: number, one_of: [1, .inf]}")},
	{"optional a word", "wrong-type", "", field("{type: string, optional: yes}")},

	{"id with capitals", "step-id", any8, func(m *mutant) string { m.rename("Step " + m.s.ID()); return "id" }},
	{"id with a digit first", "step-id", any8, func(m *mutant) string { m.rename("1" + m.s.ID()); return "id" }},
	{"id too long", "step-id", any8, func(m *mutant) string { m.rename(strings.Repeat("a", 65)); return "id" }},
	{"id of another step", "duplicate-id", any8, func(m *mutant) string {
		first := m.p.Steps[0]
		if m.s == first {
			return ""
		}
		m.rename(first.ID())
		return "id"
	}},
	{"misspelt id key", "unknown-field", any8, func(m *mutant) string { m.of.Rename("id", "idd"); return "idd" }},
	{"two kinds", "step-kind", "agent task approve wait wait_until wait_for parallel", set("finish", "done")},
	{"unknown key of a step", "unknown-field", any8, set("colour", "blue")},
	{"misspelt person", "unknown-field", human, func(m *mutant) string { m.of.Rename("person", "persn"); return "persn" }},
	{"blank instructions", "blank-text", work, func(m *mutant) string {
		for _, kind := range strings.Fields(work) {
			if m.of.Get(kind) != nil {
				m.of.Set(kind, "\u00a0\n")
				return kind
			}
		}
		return ""
	}},
	{"due of a wait", "misplaced-field", "wait wait_until wait_for finish parallel", set("due", "2d")},
	{"output of an approval", "misplaced-field", "approve wait wait_until wait_for finish parallel", set("output", raw("{a: string}"))},
	{"person of an agent step", "misplaced-field", "agent wait wait_until wait_for finish parallel", set("person", "legal")},
	{"on_reject of a task", "misplaced-field", "agent task wait wait_until wait_for finish parallel", set("on_reject", "x")},
	{"timeout of a task", "misplaced-field", "agent task approve wait wait_until finish parallel", set("timeout", "2d")},
	{"check of an approval", "misplaced-field", "approve wait wait_until wait_for finish parallel", set("check", "Is it so?")},
	{"next of a finish", "misplaced-field", "finish", set("next", "x")},
	{"nobody", "missing-field", human, func(m *mutant) string {
		m.of.Remove("person")
		if m.of.Get("task") != nil {
			return "task"
		}
		return "approve"
	}},
	{"blank person", "blank-text", human, set("person", "  ")},
	{"person a number", "wrong-type", human, set("person", raw("7"))},
	{"person an address", "path-form", human, set("person", "mira@example.com")},
	{"person half a path", "path-form", human, set("person", "steps.x.who")},
	{"person no such input", "path-unknown", human, set("person", "inputs.nobody")},
	{"person no such step", "path-unknown", human, set("person", "steps.nothing.output.who")},
	{"person no person", "path-type", human, func(m *mutant) string {
		field("date")(m)
		m.of = &m.s.Map
		m.s.Set("person", "inputs.broken")
		return "person"
	}},
	{"time no path", "path-form", "wait_until", set("wait_until", "tomorrow")},
	{"time of a person", "path-type", "wait_until", func(m *mutant) string {
		field("person")(m)
		m.of = &m.s.Map
		m.s.Set("wait_until", "inputs.broken")
		return "wait_until"
	}},
	{"due in words", "duration", "agent task approve", set("due", "2 days")},
	{"due a number", "duration", "agent task approve", set("due", raw("2"))},
	{"due for ever", "duration", "agent task approve", set("due", "36501d")},
	{"wait of weeks", "duration", "wait", set("wait", "1w")},
	{"wait of minutes for ever", "duration", "wait", set("wait", "52560001m")},
	{"timeout of nothing", "duration", "wait_for", set("timeout", "")},
	{"an event in words", "event-name", "wait_for", set("wait_for", "Contract signed")},
	{"evidence of a kind", "evidence-kind", work, set("evidence", raw("[pdf]"))},
	{"evidence a word", "wrong-type", work, set("evidence", "file")},

	{"next nowhere", "unknown-step", "agent task approve wait wait_until wait_for parallel", set("next", "nowhere-at-all")},
	{"one route", "route-list", work, func(m *mutant) string {
		next, ok := m.of.Get("next").(string)
		if !ok {
			return ""
		}
		m.of.Set("next", raw("["+next+"]"))
		return "next"
	}},
	{"no route", "route-list", work, set("next", raw("[]"))},
	{"routes of an approval", "route-list", "approve wait wait_until wait_for parallel", func(m *mutant) string {
		next, ok := m.of.Get("next").(string)
		if !ok {
			return ""
		}
		m.of.Set("next", raw("["+next+", "+next+"]"))
		return "next"
	}},
	{"a route without to", "missing-field", work, func(m *mutant) string {
		next, ok := m.of.Get("next").(string)
		if !ok {
			return ""
		}
		m.of.Set("next", raw("[{when: a, to: "+next+"}, {when: b}]"))
		return "next"
	}},
	{"a route with more", "unknown-field", work, func(m *mutant) string {
		next, ok := m.of.Get("next").(string)
		if !ok {
			return ""
		}
		m.of.Set("next", raw("[{to: "+next+", if: a, when: b}, {to: "+next+", when: c}]"))
		return "next"
	}},
	{"rejected nowhere", "unknown-step", "approve", set("on_reject", "nowhere-at-all")},
	{"timed out nowhere", "unknown-step", "wait_for", func(m *mutant) string {
		m.of.Set("timeout", "1d")
		m.of.Set("on_timeout", "nowhere-at-all")
		return "on_timeout"
	}},
	{"nothing after the last", "missing-next", any8, func(m *mutant) string {
		m.s = m.p.Steps[len(m.p.Steps)-1]
		if m.of = &m.s.Map; m.s.Branch || m.s.Get("finish") != nil {
			return ""
		}
		m.of.Remove("next")
		return "id"
	}},
	{"a step that nothing leads to", "unreachable-step", any8, func(m *mutant) string {
		if last := m.p.Steps[len(m.p.Steps)-1]; last.Get("finish") == nil && last.Get("next") == nil {
			return ""
		}
		m.s = &processtest.Step{Map: processtest.Map{{Key: "id", Value: "lonely"}, {Key: "finish", Value: "alone"}}}
		m.of = &m.s.Map
		m.p.Steps = append(m.p.Steps, m.s)
		return "id"
	}},
	{"a circle", "cycle", "agent task approve wait wait_until wait_for parallel", outside(func(m *mutant) string {
		m.of.Set("next", m.p.Steps[0].ID())
		return "next"
	})},
	{"a step after itself", "cycle", "agent task approve wait wait_until wait_for", func(m *mutant) string {
		m.of.Set("next", m.s.ID())
		return "next"
	}},

	{"one branch", "parallel-branches", "parallel", func(m *mutant) string {
		entries := m.of.Get("parallel").([]any)
		m.of.Set("parallel", raw("["+entries[0].(string)+"]"))
		return "parallel"
	}},
	{"a branch twice", "parallel-branches", "parallel", func(m *mutant) string {
		entries := m.of.Get("parallel").([]any)
		first := entries[0].(string)
		list := []string{first}
		for _, e := range entries {
			list = append(list, e.(string))
		}
		m.of.Set("parallel", raw("["+strings.Join(list, ", ")+"]"))
		return "parallel"
	}},
	{"a branch of the first step", "branch-entered", "parallel", func(m *mutant) string {
		first := m.p.Steps[0].ID()
		if first == m.s.ID() {
			return ""
		}
		list := []string{first}
		for _, e := range m.of.Get("parallel").([]any) {
			list = append(list, e.(string))
		}
		m.of.Set("parallel", raw("["+strings.Join(list, ", ")+"]"))
		return "parallel"
	}},
	{"a branch nowhere", "unknown-step", "parallel", func(m *mutant) string {
		list := []string{"nowhere-at-all"}
		for _, e := range m.of.Get("parallel").([]any) {
			list = append(list, e.(string))
		}
		m.of.Set("parallel", raw("["+strings.Join(list, ", ")+"]"))
		return "parallel"
	}},
	{"a step called join", "join-id", "agent task approve wait wait_until wait_for finish", func(m *mutant) string {
		if len(m.ids(func(s *processtest.Step) bool { return s.Get("parallel") != nil })) == 0 {
			return ""
		}
		m.s = &processtest.Step{Map: processtest.Map{{Key: "id", Value: "join"}, {Key: "finish", Value: "joined"}}}
		m.of = &m.s.Map
		if last := m.p.Steps[len(m.p.Steps)-1]; last.Get("finish") == nil && last.Get("next") == nil {
			return ""
		}
		m.p.Steps = append(m.p.Steps, m.s)
		return "id"
	}},
	{"join outside", "join-outside", "agent task approve wait wait_until wait_for parallel", outside(func(m *mutant) string {
		if len(m.ids(func(s *processtest.Step) bool { return s.Get("parallel") != nil })) == 0 {
			return ""
		}
		m.of.Set("next", "join")
		return "next"
	})},
	{"rejected to join", "join-outside", "approve", func(m *mutant) string {
		if len(m.ids(func(s *processtest.Step) bool { return s.Get("parallel") != nil })) == 0 {
			return ""
		}
		m.of.Set("on_reject", "join")
		return "on_reject"
	}},
	{"a branch's step without next", "branch-next", "agent task approve wait wait_until wait_for", inBranch(func(m *mutant) string {
		if _, ok := m.of.Get("next").(string); !ok {
			return ""
		}
		m.of.Remove("next")
		return "id"
	})},
	{"a branch that finishes", "branch-leaves", "agent task approve wait wait_until wait_for", inBranch(func(m *mutant) string {
		m.of.Set("next", m.other(func(s *processtest.Step) bool { return s.Get("finish") != nil }))
		return "next"
	})},
	{"a branch that goes on outside", "branch-leaves", "agent task approve wait wait_until wait_for", inBranch(func(m *mutant) string {
		to := m.other(func(s *processtest.Step) bool { return !s.Branch && s.Get("parallel") == nil })
		m.of.Set("next", to)
		return "next"
	})},
	{"a branch back to its parallel step", "branch-leaves", "agent task approve wait wait_until wait_for", inBranch(func(m *mutant) string {
		m.of.Set("next", m.other(func(s *processtest.Step) bool { return s.Get("parallel") != nil }))
		return "next"
	})},
	{"into a branch from outside", "branch-entered", "agent task approve wait wait_until wait_for", outside(func(m *mutant) string {
		to := m.other(func(s *processtest.Step) bool { return s.Branch })
		if to == "" {
			return ""
		}
		m.of.Set("next", to)
		return "next"
	})},
	{"rejected into a branch", "branch-reject", "approve", outside(func(m *mutant) string {
		to := m.other(func(s *processtest.Step) bool { return s.Branch })
		if to == "" {
			return ""
		}
		m.of.Set("on_reject", to)
		return "on_reject"
	})},
	{"rejected out of a branch", "branch-reject", "approve", inBranch(func(m *mutant) string {
		m.of.Set("on_reject", m.other(func(s *processtest.Step) bool { return !s.Branch }))
		return "on_reject"
	})},
	{"parallel in a branch", "nested-parallel", "agent task", inBranch(func(m *mutant) string {
		next, ok := m.of.Get("next").(string)
		if !ok || m.of.Get("output") != nil {
			return ""
		}
		id := m.s.ID()
		*m.of = processtest.Map{{Key: "id", Value: id}, {Key: "parallel", Value: raw("[inner-a, inner-b]")}, {Key: "next", Value: next}}
		for _, inner := range []string{"inner-a", "inner-b"} {
			m.p.Steps = append(m.p.Steps, &processtest.Step{Map: processtest.Map{{Key: "id", Value: inner}, {Key: "agent", Value: "Work."}, {Key: "next", Value: "join"}}})
		}
		return "parallel"
	})},

	{"a check of nothing", "check-question", work, set("check", raw("[]"))},
	{"a blank check", "blank-text", work, set("check", " ")},
	{"a check without a question", "missing-field", work, set("check", raw("[{pass: 0.5}]"))},
	{"a check with more", "unknown-field", work, set("check", raw("[{ask: a, colour: b}]"))},
	{"one answer", "check-question", work, set("check", raw("[{ask: a, one_of: {yes: y}, pass: [yes]}]"))},
	{"both kinds of question", "check-question", work, set("check", raw("[{ask: a, one_of: {yes: y, no: n}, levels: [a, b], pass: 1}]"))},
	{"a choice without pass", "check-pass", work, set("check", raw("[{ask: a, one_of: {yes: y, no: n}}]"))},
	{"a choice that passes what isn't there", "check-pass", work, set("check", raw("[{ask: a, one_of: {yes: y, no: n}, pass: [maybe]}]"))},
	{"unsure what passes", "check-question", work, set("check", raw("[{ask: a, one_of: {yes: y, no: n}, pass: [yes], unsure: [yes]}]"))},
	{"a rubric without pass", "check-pass", work, set("check", raw("[{ask: a, levels: [a, b]}]"))},
	{"a rubric that passes half a level", "check-pass", work, set("check", raw("[{ask: a, levels: [a, b], pass: 0.5}]"))},
	{"a rubric that passes beyond", "check-pass", work, set("check", raw("[{ask: a, levels: [a, b], pass: 2}]"))},
	{"one level", "check-question", work, set("check", raw("[{ask: a, levels: [a], pass: 0}]"))},
	{"eleven levels", "check-question", work, set("check", raw("[{ask: a, levels: [a, b, c, d, e, f, g, h, i, j, k], pass: 0}]"))},
	{"a probability in percent", "check-probability", work, set("check", raw("[{ask: a, pass: 90}]"))},
	{"a negative probability", "check-probability", work, set("check", raw("[{ask: a, fail: -0.1}]"))},
	{"confidence of yes or no", "check-question", work, set("check", raw("[{ask: a, confidence: 0.5}]"))},
	{"fail of a choice", "check-question", work, set("check", raw("[{ask: a, one_of: {yes: y, no: n}, pass: [yes], fail: 0.5}]"))},
	{"advisory alone", "advisory-alone", work, func(m *mutant) string {
		m.of.Remove("check")
		m.of.Set("advisory", true)
		return "advisory"
	}},
	{"advisory a word", "wrong-type", work, func(m *mutant) string {
		m.of.Set("check", "Is it so?")
		m.of.Set("advisory", "yes")
		return "advisory"
	}},
}

// TestEachMutationIsFound: a single change that breaks a rule is refused with that rule, at that line, and with nothing
// else.
func TestEachMutationIsFound(t *testing.T) {
	t.Parallel()
	for _, mutation := range mutations {
		t.Run(mutation.name, func(t *testing.T) {
			t.Parallel()
			done := 0
			rapid.Check(t, func(t *rapid.T) {
				m := &mutant{t: t, p: processtest.Draw(t, processtest.Options{Check: true, Most: 5})}
				m.of = &m.p.Front
				if mutation.on != "" {
					kinds := strings.Fields(mutation.on)
					ids := m.ids(func(s *processtest.Step) bool {
						return slices.ContainsFunc(kinds, func(k string) bool { return s.Get(k) != nil })
					})
					if len(ids) == 0 {
						return
					}
					id := rapid.SampledFrom(ids).Draw(t, "step")
					for _, s := range m.p.Steps {
						if s.ID() == id {
							m.s, m.of = s, &s.Map
						}
					}
				}
				key := mutation.change(m)
				if key == "" {
					return
				}
				done++
				src := m.p.Source()
				line := m.of.Line(key)
				doc, issues := process.Parse(src, process.Options{})
				require.Nil(t, doc, "%s", src)
				found := false
				for _, i := range issues {
					found = found || i.Rule == mutation.rule && i.Line == line
					if i.Severity == process.Error && i.Rule != mutation.rule {
						require.Fail(t, "another issue", "%s at line %d, not %s at line %d: %s\n%s", i.Rule, i.Line, mutation.rule, line, i.Message, src)
					}
				}
				require.True(t, found, "%s at line %d is missing: %v\n%s", mutation.rule, line, issues, src)
			})
			require.Positive(t, done, "no drawn process could be broken so")
		})
	}
}

// TestMutationsBreakEachRule names the rules that no mutation breaks and that have a test of their own.
func TestMutationsBreakEachRule(t *testing.T) {
	t.Parallel()
	broken := map[string]bool{
		"file-size": true, "encoding": true, "fence": true, "yaml-syntax": true, "one-document": true, "key-type": true, "duplicate-key": true,
		"too-many-nodes": true, "too-deep": true, "name-folder": true, "no-steps": true, "field-name": true, "branch-shared": true,
	}
	for _, m := range mutations {
		broken[m.rule] = true
	}
	for _, r := range process.Rules() {
		require.Equal(t, r.Severity == process.Error, broken[r.ID], r.ID)
	}
}
