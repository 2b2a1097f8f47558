package process_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
)

// withFront is a PROCESS.md whose frontmatter begins with the text.
func withFront(front string) []byte {
	return []byte("---\n" + front + "name: a\ndescription: A process.\nsteps: [{id: done, finish: done}]\n---\nBody.\n")
}

// withValue is a PROCESS.md with a value allowed for a field of a type.
func withValue(typ, value string) []byte {
	return withFront("inputs:\n  x:\n    type: " + typ + "\n    one_of:\n      - " + value + "\n")
}

// rules lists the rules of issues.
func rulesOf(issues []process.Issue) []string {
	var ids []string
	for _, i := range issues {
		ids = append(ids, i.Rule)
	}
	return ids
}

// TestCoreSchema is protocol.md 1.1: what each scalar is, and the JSON that it becomes, digits included.
func TestCoreSchema(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ yaml, typ, json string }{
		// null is no value.
		{"null", "", "null-value"}, {"Null", "", "null-value"}, {"NULL", "", "null-value"}, {"~", "", "null-value"}, {"", "", "null-value"},
		{"!!null ''", "", "null-value"}, {"nULL", "string", `"nULL"`}, {"\"null\"", "string", `"null"`},
		// Booleans.
		{"true", "boolean", "true"}, {"True", "boolean", "true"}, {"TRUE", "boolean", "true"}, {"false", "boolean", "false"},
		{"False", "boolean", "false"}, {"FALSE", "boolean", "false"}, {"tRUE", "string", `"tRUE"`},
		{"yes", "string", `"yes"`}, {"No", "string", `"No"`}, {"on", "string", `"on"`}, {"OFF", "string", `"OFF"`}, {"y", "string", `"y"`},
		// Integers.
		{"0", "number", "0"}, {"12", "number", "12"}, {"012", "number", "12"}, {"-012", "number", "-12"}, {"+7", "number", "7"}, {"-0", "number", "-0"},
		{"0o17", "number", "15"}, {"0xff", "number", "255"}, {"0xFF", "number", "255"}, {"0x0", "number", "0"}, {"0o0", "number", "0"},
		{"0xfffffffffffffffff", "number", "295147905179352825855"}, {"9007199254740993", "number", "9007199254740993"},
		{"-0x1", "string", `"-0x1"`}, {"+0o7", "string", `"+0o7"`}, {"0o8", "string", `"0o8"`}, {"0xg", "string", `"0xg"`}, {"0x", "string", `"0x"`}, {"0X1", "string", `"0X1"`},
		{"0b1", "string", `"0b1"`}, {"1_000", "string", `"1_000"`}, {"0777", "number", "777"}, {"1,000", "string", `"1,000"`},
		// Floats.
		{"1.10", "number", "1.10"}, {"1e3", "number", "1e3"}, {"1E+3", "number", "1E+3"}, {"-1.5e-7", "number", "-1.5e-7"}, {".5", "number", "0.5"}, {"-.5", "number", "-0.5"},
		{"5.", "number", "5"}, {"5.e1", "number", "5e1"}, {"+1.50", "number", "1.50"}, {"00.10", "number", "0.10"}, {"1e400", "", "number-range"}, {"-1e400", "", "number-range"},
		{"1e-400", "", "number-precision"}, {"0e400", "number", "0e400"},
		{"0x" + strings.Repeat("f", 300), "", "number-range"}, {"0x" + strings.Repeat("f", 5000), "", "number-range"},
		{".inf", "", "number-range"}, {"-.Inf", "", "number-range"}, {"+.inf", "", "number-range"}, {".INF", "", "number-range"}, {".nan", "", "number-range"}, {".NaN", "", "number-range"},
		{"inf", "string", `"inf"`}, {"nan", "string", `"nan"`}, {"-.nan", "string", `"-.nan"`}, {".", "string", `"."`}, {"+", "string", `"+"`},
		{"1e", "string", `"1e"`}, {"e1", "string", `"e1"`}, {".e1", "string", `".e1"`}, {"1.2.3", "string", `"1.2.3"`}, {"--1", "string", `"--1"`}, {"1e3.5", "string", `"1e3.5"`},
		{"0x1p4", "string", `"0x1p4"`}, {"Infinity", "string", `"Infinity"`}, {"1e1_0", "string", `"1e1_0"`},
		// What YAML 1.1 takes for times and base 60.
		{"2001-12-14", "string", `"2001-12-14"`}, {"2001-12-14t21:59:43.10-05:00", "string", `"2001-12-14t21:59:43.10-05:00"`},
		{"1:30", "string", `"1:30"`}, {"190:20:30.15", "string", `"190:20:30.15"`}, {"=", "string", `"="`}, {"<<", "string", `"<<"`},
		// Tags.
		{"!!str 5", "string", `"5"`}, {"!!str null", "string", `"null"`}, {"!!str", "string", `""`}, {"! 5", "string", `"5"`}, {"!!int \"5\"", "number", "5"}, {"!!int '012'", "number", "12"},
		{"!!float 5", "number", "5"}, {"!!float '1.50'", "number", "1.50"}, {"!!bool 'True'", "boolean", "true"}, {"!<tag:yaml.org,2002:str> 5", "string", `"5"`},
		{"!!int 5.0", "", "yaml-tag"}, {"!!int x", "", "yaml-tag"}, {"!!bool yes", "", "yaml-tag"}, {"!!null x", "", "yaml-tag"}, {"!!float ''", "", "yaml-tag"}, {"!!map x", "", "yaml-tag"},
		{"!!timestamp 2001-12-14", "", "yaml-tag"}, {"!!binary aGk=", "", "yaml-tag"}, {"!!merge <<", "", "yaml-tag"}, {"!own x", "", "yaml-tag"}, {"!!seq 5", "", "yaml-tag"},
		// Quotes make text.
		{"'5'", "string", `"5"`}, {"\"true\"", "string", `"true"`}, {"''", "string", `""`}, {"|\n        5", "string", `"5\n"`}, {">-\n        true", "string", `"true"`},
		// Escapes, JSON's surrogate pairs included.
		{`"\x41\u00e9\U0001F600\t\/\N\_\L\P\e"`, "", "control-character"}, {`"\x41\u00e9\U0001F600\t\/\N\_\L\P"`, "string", "\"A\u00e9😀\\t/\u0085\u00a0\u2028\u2029\""},
		{`"\ud83d\ude00 and \uD83D\uDE01"`, "string", `"😀 and 😁"`}, {`"\ud83d"`, "", "yaml-syntax"}, {`"\ude00\ud83d"`, "", "yaml-syntax"}, {`"\U00110000"`, "", "yaml-syntax"},
		{`"\0"`, "", "control-character"}, {`"\a"`, "", "control-character"}, {`"\x7f"`, "", "control-character"}, {`"\x9b"`, "", "control-character"}, {`"\uFFFF"`, "string", "\"\uFFFF\""},
		// Only LF, CRLF and CR break lines in YAML 1.2.
		{"a\u0085b", "string", "\"a\u0085b\""}, {"a\u2028b", "string", "\"a\u2028b\""}, {"'a\u2029 b'", "string", "\"a\u2029 b\""}, {"\uE000\u2028", "string", "\"\uE000\u2028\""},
		// Text that looks like more than it is.
		{"a#b", "string", `"a#b"`}, {"a:b", "string", `"a:b"`}, {"a - b", "string", `"a - b"`}, {"{}", "", "one-of"}, {"[]", "", "one-of"}, {"a: b", "", "one-of"}, {"a\n        b", "string", `"a b"`},
	} {
		name := fmt.Sprintf("%q", row.yaml)
		if row.typ != "" {
			doc, issues := process.Parse(withValue(row.typ, row.yaml), process.Options{})
			require.NotNil(t, doc, "%s: %v", name, issues)
			require.Equal(t, normal(row.json), normal(string(doc.Inputs[0].OneOf[0])), name)
			for _, other := range []string{"string", "number", "boolean"} {
				if other != row.typ {
					_, issues := process.Parse(withValue(other, row.yaml), process.Options{})
					require.Contains(t, rulesOf(issues), "one-of", "%s as %s", name, other)
				}
			}
			continue
		}
		_, issues := process.Parse(withValue("number", row.yaml), process.Options{})
		require.Equal(t, []string{row.json}, rulesOf(issues), "%s: %v", name, issues)
	}
}

// normal writes JSON's escapes in one way.
func normal(json string) string {
	return strings.NewReplacer(`\u0009`, `\t`, `\u000a`, `\n`).Replace(json)
}

// TestYAMLOfOneMapping is what YAML 1.2 says of the rest: keys, anchors, breaks, tabs, directives.
func TestYAMLOfOneMapping(t *testing.T) {
	t.Parallel()
	for front, rule := range map[string]string{
		"inputs: {\"x\": string}\n":                                          "",
		"inputs: {\"x\":string, 'y':number}\n":                               "",
		"? inputs\n: ? x\n  : string\n":                                      "",
		"inputs: {? x : string}\n":                                           "",
		"inputs: &i {x: string}\nrequires: {systems: [a]}\n":                 "",
		"inputs: {a: &t string, b: *t, *t : number}\n":                       "",
		"inputs:\n  x: string # a comment\n  # another\n":                    "",
		"inputs: {\n  x: string,\n  }\n":                                     "",
		"inputs: {ask: {description: Is it polite?, type: number}}\n":        "",
		"requires:\n  systems:\n  -\ta\n":                                    "",
		"requires:\n  systems:\n  - a\n  \t\n\t\n":                           "",
		"inputs:\r\n  x: string\r\n":                                         "",
		"inputs:\r  x: string\r":                                             "",
		"%YAML 1.2\n--- # the document\n":                                    "",
		"%YAML 1.1\n%FOO bar\n# more\n--- # the document\n":                  "",
		"%TAG !y! tag:yaml.org,2002:\n--- # x\ninputs: {x: !y!str string}\n": "",
		"inputs: {<<: string}\n":                                             "",
		"inputs: {yes: string, 2001-12-14: string, 1:30: string}\n":          "",
		"inputs: {x: string}\n... # the end\n---\t# more\n":                  "one-document",
		"%YAML 2.0\n--- # x\n":                                               "yaml-syntax",
		"%YAML 1.2\n%YAML 1.2\n--- # x\n":                                    "yaml-syntax",
		"%YAML 1.2\n":                                                        "yaml-syntax",
		"inputs: {1: string}\n":                                              "key-type",
		"inputs: {true: string}\n":                                           "key-type",
		"inputs: {~: string}\n":                                              "key-type",
		"inputs: {: string}\n":                                               "key-type",
		"inputs: {.inf: string}\n":                                           "number-range",
		"inputs: {[a]: string}\n":                                            "key-type",
		"? {a: b}\n: c\n":                                                    "key-type",
		"inputs: {x: string, x: number}\n":                                   "duplicate-key",
		"inputs: {x: string, \"x\": number}\n":                               "duplicate-key",
		"inputs: {x: string, \"\\x78\": number}\n":                           "duplicate-key",
		"name: b\n": "duplicate-key",
		"inputs: !!map {x: string}\nrequires: !!map {systems: !!seq [a]}\n": "",
		"inputs: !!seq {x: string}\n":                                       "yaml-tag",
		"inputs: !!omap [x: string]\n":                                      "yaml-tag",
		"inputs: &x {a: *x}\n":                                              "alias-loop",
		"inputs: &x {a: {type: list, items: {type: list, items: *x}}}\n":    "alias-loop",
		"inputs: {a: *x}\n":                                                 "yaml-syntax",
		"inputs: {a: &x string}\ninputs2: *x\n":                             "unknown-field",
		"\tinputs: {x: string}\n":                                           "yaml-syntax",
		"inputs:\n\tx: string\n":                                            "yaml-syntax",
		"inputs: {x: \x01string}\n":                                         "control-character",
		"inputs: {x: \x7fstring}\n":                                         "control-character",
		"inputs: {x: \u0080string}\n":                                       "control-character",
		"inputs: {x: \uFFFEstring}\n":                                       "control-character",
	} {
		_, issues := process.Parse(withFront(front), process.Options{})
		if rule == "" {
			require.Empty(t, issues, "%q", front)
		} else {
			require.Equal(t, []string{rule}, rulesOf(issues), "%q: %v", front, issues)
		}
	}
}

// TestBoundsOnYAML is the bounds of protocol.md 1.1: hostile files end quickly, with a message.
func TestBoundsOnYAML(t *testing.T) {
	t.Parallel()
	bomb := "x0: &x0 [a,a,a,a,a,a,a,a,a,a]\n"
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf("x%d: &x%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d,", i-1), 10), ","))
	}
	deep := "x0: &x0 [a]\n"
	for i := 1; i < 100; i++ {
		deep += fmt.Sprintf("x%d: &x%d [*x%d]\n", i, i, i-1)
	}
	mib := process.MaxBytes - 200
	for name, row := range map[string]struct{ front, rule string }{
		"alias bomb":            {bomb, "too-many-nodes"},
		"aliases that nest":     {deep, "too-deep"},
		"many values":           {"x: [" + strings.Repeat("a,", 50000) + "]\n", "too-many-nodes"},
		"deep flow":             {"x: " + strings.Repeat("[", 64) + strings.Repeat("]", 64) + "\n", "too-deep"},
		"deep block":            {"x:\n  " + strings.Repeat("- ", 64) + "a\n", "too-deep"},
		"a MiB of [":            {strings.Repeat("[", mib), "too-deep"},
		"a MiB of {":            {strings.Repeat("{", mib), "too-deep"},
		"a MiB of - ":           {strings.Repeat("- ", mib/2), "too-deep"},
		"a MiB of ? ":           {strings.Repeat("? ", mib/2), "too-deep"},
		"a MiB of [a,":          {strings.Repeat("[a,", mib/3), "too-deep"},
		"a MiB of a, in a list": {"x: [" + strings.Repeat("a,", mib/2) + "]\n", "too-many-nodes"},
		"a MiB of & anchors":    {strings.Repeat("&a ", mib/3), "yaml-syntax"},
		"a MiB of !":            {strings.Repeat("!", mib), "yaml-tag"},
		"a MiB of quotes":       {strings.Repeat("\"", mib), "yaml-syntax"},
		"a MiB of colons":       {strings.Repeat(":", mib), "unknown-field"},
		"a MiB of surrogates":   {"description: \"" + strings.Repeat(`\ud83d\ude00`, mib/13) + "\"\n", "missing-field"},
		"a MiB of controls":     {strings.Repeat("\x01", 1000), "control-character"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			_, issues := process.Parse([]byte("---\n"+row.front+"\n---\nBody.\n"), process.Options{})
			require.Contains(t, rulesOf(issues), row.rule)
			require.Less(t, time.Since(begin), time.Minute)
		})
	}
	for _, nested := range []string{strings.Repeat("[", 63) + strings.Repeat("]", 63), strings.Repeat("{a: ", 63) + "b" + strings.Repeat("}", 63)} {
		_, issues := process.Parse([]byte("---\nx: "+nested+"\n---\nBody.\n"), process.Options{})
		require.NotContains(t, rulesOf(issues), "too-deep")
	}
}
