package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/apserver/ap/core/run"
)

// issuesOf decodes a call's arguments and returns what is wrong with them.
func issuesOf(t require.TestingT, tool, args string) []string {
	_, err := tools[tool].decode(json.RawMessage(args))
	if err == nil {
		return nil
	}
	refused, ok := err.(*Error)
	require.True(t, ok)
	require.Equal(t, run.Invalid, refused.Code)
	require.NotEmpty(t, refused.Issues)
	return refused.Issues
}

// Argument schema breaches are invalid, with every issue (protocol.md 8).
func TestBreachesOfTheArgumentSchemaComeAllAtOnce(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return `"` + strings.Repeat("é", n) + `"` }
	cases := []struct {
		name, tool, args string
		issues           []string
	}{
		{"nothing given", toolClaim, `{}`, []string{"runId: missing", "stepId: missing", "requestId: missing"}},
		{"no arguments at all", toolGetRun, ``, []string{"runId: missing"}},
		{"null is no value", toolGetRun, `{"runId":null}`, []string{"runId: expected string"}},
		{"several kinds of breach", toolGetWork, `{"limit":"5","cursor":7,"foo":1,"bar":2}`, []string{"limit: expected integer", "cursor: expected string", "foo: not declared", "bar: not declared"}},
		{"limit too small", toolGetWork, `{"limit":0}`, []string{"limit: at least 1"}},
		{"limit too large", toolListRuns, `{"limit":101}`, []string{"limit: at most 100"}},
		{"limit with a fraction", toolListRuns, `{"limit":1.5}`, []string{"limit: expected integer"}},
		{"limit that is huge", toolListRuns, `{"limit":1e400}`, []string{"limit: at most 100"}},
		{"limit that is hugely negative", toolListRuns, `{"limit":-1e999999999}`, []string{"limit: at least 1"}},
		{"not an object", toolGetWork, `[]`, []string{"arguments: expected object"}},
		{"not JSON", toolGetWork, `{"limit":}`, []string{"arguments: not valid JSON at byte 9: missing value after object name"}},
		{"cut off", toolGetWork, `{"limit":1`, []string{"arguments: not valid JSON: it ends too early"}},
		{"trailing data", toolGetWork, `{} {}`, []string{"arguments: data after the end"}},
		{"invalid UTF-8", toolGetRun, "{\"runId\":\"\xff\"}", []string{"arguments: not valid UTF-8"}},
		{"empty requestId", toolClaim, `{"runId":"r","stepId":"s","requestId":""}`, []string{"requestId: at least 1 character"}},
		{"requestId of 129 characters", toolClaim, `{"runId":"r","stepId":"s","requestId":` + long(129) + `}`, []string{"requestId: at most 128 characters"}},
		{"the placeholder", toolClaim, `{"runId":"r","stepId":"s","requestId":"<new UUID>"}`, []string{"requestId: replace the placeholder with a new UUID"}},
		{"the placeholder, escaped", toolClaim, `{"runId":"r","stepId":"s","requestId":"\u003cnew UUID\u003e"}`, []string{"requestId: replace the placeholder with a new UUID"}},
		{"unknown mode", toolStartRun, `{"process":"p","inputs":{},"mode":"dry","requestId":"1"}`, []string{"mode: not one of live, test"}},
		{"version zero", toolStartRun, `{"process":"p","inputs":{},"version":0,"requestId":"1"}`, []string{"version: at least 1"}},
		{"inputs of another type", toolStartRun, `{"process":"p","inputs":[],"requestId":"1"}`, []string{"inputs: expected object"}},
		{"duplicate key", toolStartRun, `{"process":"p","process":"p","inputs":{},"requestId":"1"}`, []string{"process: duplicate key"}},
		{"duplicate keys at any depth", toolStartRun, `{"process":"p","inputs":{"a":[{"b":1,"b":2,"b":3}],"a":{"c":{"d":1,"\u0064":2}}},"requestId":"1"}`,
			[]string{"inputs.a[0].b: duplicate key", "inputs.a: duplicate key", "inputs.a.c.d: duplicate key"}},
		{"exponent beyond all bounds", toolStartRun, `{"process":"p","inputs":{"x":1e99999999999999999999},"requestId":"1"}`, []string{"inputs: a number with an exponent beyond 10^18"}},
		{"evidence of wrong shapes", toolSubmit, `{"token":"t","output":{},"summary":"s","requestId":"1","evidence":[1,{"kind":"photo","ref":""},{"kind":"file"},{"kind":"link","ref":"x","url":"y"}]}`,
			[]string{"evidence[0]: expected object", "evidence[1].kind: not one of file, link", "evidence[1].ref: at least 1 character", "evidence[2].ref: missing", "evidence[3].url: not declared"}},
		{"evidence that is no list", toolSubmit, `{"token":"t","output":{},"summary":"s","requestId":"1","evidence":{}}`, []string{"evidence: expected list"}},
		{"a missing output and summary", toolSubmit, `{"token":"t","requestId":"1"}`, []string{"output: missing", "summary: missing"}},
		{"a summary of 2001 characters", toolSubmit, `{"token":"t","output":{},"requestId":"1","summary":` + long(2001) + `}`, []string{"summary: at most 2000 characters"}},
		{"progress of 4001 characters", toolRenew, `{"token":"t","requestId":"1","progress":` + long(4001) + `}`, []string{"progress: at most 4000 characters"}},
		{"a blank note", toolEscalate, `{"token":"t","note":" \u2003\n","requestId":"1"}`, []string{"note: required"}},
		{"a blank reason", toolCancel, `{"runId":"r","reason":"\t","requestId":"1"}`, []string{"reason: required"}},
		{"an event name", toolSendEvent, `{"runId":"r","name":"Paid","requestId":"1"}`, []string{"name: not an event name: a lower-case letter, then up to 63 lower-case letters, digits, _ or -"}},
		{"an event name with a newline", toolSendEvent, `{"runId":"r","name":"paid\n","requestId":"1"}`, []string{"name: not an event name: a lower-case letter, then up to 63 lower-case letters, digits, _ or -"}},
		{"unknown decision", toolDecide, `{"runId":"r","workItemId":"w","snapshot":"s","decision":"maybe","requestId":"1"}`, []string{"decision: not one of completed, approved, rejected, returned, failed"}},
		{"a note with completed", toolDecide, `{"runId":"r","workItemId":"w","snapshot":"s","decision":"completed","note":"n","requestId":"1"}`, []string{"note: not allowed with completed"}},
		{"rejected with everything but a note", toolDecide, `{"runId":"r","workItemId":"w","snapshot":"s","decision":"rejected","output":{},"evidence":[],"summary":"s","next":"n","reason":"r","requestId":"1"}`,
			[]string{"output: not allowed with rejected", "evidence: not allowed with rejected", "summary: not allowed with rejected", "next: not allowed with rejected", "reason: not allowed with rejected", "note: required"}},
		{"failed with a blank note", toolDecide, `{"runId":"r","workItemId":"w","snapshot":"s","decision":"failed","note":"  ","requestId":"1"}`, []string{"note: required"}},
		{"a long unknown name", toolGetWork, `{"` + strings.Repeat("x", 500) + `":1}`, []string{strings.Repeat("x", maxShown) + "…: not declared"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.issues, issuesOf(t, c.tool, c.args))
		})
	}
}

func TestAHostileCallGetsABoundedAnswer(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("{")
	for i := range 5000 {
		fmt.Fprintf(&b, `"x%d":1,`, i)
	}
	b.WriteString(`"limit":0}`)
	issues := issuesOf(t, toolGetWork, b.String())
	require.Len(t, issues, maxIssues+1)
	require.Equal(t, "limit: at least 1", issues[0])
	require.Equal(t, "and 4901 more", issues[maxIssues])
}

func TestNestingIsBounded(t *testing.T) {
	t.Parallel()
	nested := func(n int) string {
		return `{"process":"p","requestId":"1","inputs":{"x":` + strings.Repeat("[", n-2) + strings.Repeat("]", n-2) + `}}`
	}
	require.Empty(t, issuesOf(t, toolStartRun, nested(maxDepth)))
	require.Equal(t, []string{"arguments: nested deeper than 64 levels"}, issuesOf(t, toolStartRun, nested(maxDepth+1)))
	require.Equal(t, []string{"arguments: nested deeper than 64 levels"}, issuesOf(t, toolStartRun, nested(1_000_000)))
	require.Empty(t, issuesOf(t, toolStartRun, `{"process":"p","requestId":"1","inputs":{"x":"`+strings.Repeat("[{", 200)+`\""}}`))
}

// Lengths count code points (protocol.md 2).
func TestLengthsCountCodePoints(t *testing.T) {
	t.Parallel()
	args := func(n int) string {
		return `{"runId":"r","stepId":"s","requestId":"` + strings.Repeat("😀", n) + `"}`
	}
	require.Empty(t, issuesOf(t, toolClaim, args(128)))
	require.NotEmpty(t, issuesOf(t, toolClaim, args(129)))
}

func TestIntegersAreNumbersWithoutAFraction(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"20", "20.0", "2e1", "200e-1"} {
		a, err := tools[toolGetWork].decode(json.RawMessage(`{"limit":` + good + `}`))
		require.NoError(t, err, good)
		require.Equal(t, 20, a.number("limit", 0))
	}
}

func TestArgumentsKeepTheirDigits(t *testing.T) {
	t.Parallel()
	a, err := tools[toolStartRun].decode(json.RawMessage(`{"process":"p","requestId":"1","inputs":{"n":48000.00,"big":9007199254740993,"e":1e2}}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"n":48000.00,"big":9007199254740993,"e":1e2}`, string(a.raw("inputs")))
	require.Contains(t, string(a.raw("inputs")), "48000.00")
}

// Arguments compare as JSON values, not bytes (protocol.md 7).
func TestTheArgumentsHashGoesByValueAndLeavesTheRequestIDOut(t *testing.T) {
	t.Parallel()
	hash := func(tool, args string) string {
		a, err := tools[tool].decode(json.RawMessage(args))
		require.NoError(t, err)
		return string(a.hash())
	}
	first := hash(toolStartRun, `{"process":"p","inputs":{"a":1,"b":[1.0]},"version":2,"requestId":"1"}`)
	require.Equal(t, first, hash(toolStartRun, ` {"requestId":"2","version":2.0,"inputs":{"b":[10e-1],"a":1e0},"process":"\u0070"}`))
	for _, other := range []string{
		`{"process":"p","inputs":{"a":1,"b":[2]},"version":2,"requestId":"1"}`,
		`{"process":"p","inputs":{"a":1,"b":[1.0]},"requestId":"1"}`,
		`{"process":"p","inputs":{"a":1,"b":[1.0]},"version":2,"mode":"live","requestId":"1"}`,
		`{"process":"q","inputs":{"a":1,"b":[1.0]},"version":2,"requestId":"1"}`,
	} {
		require.NotEqual(t, first, hash(toolStartRun, other), other)
	}
	evidence := func(items string) string {
		return hash(toolSubmit, `{"token":"t","output":{},"summary":"s","requestId":"1","evidence":`+items+`}`)
	}
	require.Equal(t, evidence(`[{"kind":"link","ref":"a"}]`), evidence(`[{"ref":"a","kind":"link"}]`))
	require.NotEqual(t, evidence(`[{"kind":"link","ref":"a"},{"kind":"link","ref":"b"}]`), evidence(`[{"kind":"link","ref":"a\"link\"b"}]`))
	require.NotEqual(t, evidence(`[]`), hash(toolSubmit, `{"token":"t","output":{},"summary":"s","requestId":"1"}`))
}

// compiled compiles a schema.
func compiled(t require.TestingT, url string, schema []byte) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource(url, doc))
	s, err := c.Compile(url)
	require.NoError(t, err)
	return s
}

// argumentValue draws values that arguments are likely to break on.
func argumentValue(d arg) *rapid.Generator[any] {
	texts := []any{"", "x", "live", "test", "file", "active", "approved", "completed", "rejected", " ", "Paid", "paid", run.NewUUID, strings.Repeat("é", 128), strings.Repeat("a", 129), strings.Repeat("b", 2001), strings.Repeat("c", 4001)}
	others := []any{nil, true, 0, 1, 100, 101, -1, 1.5, []any{}, map[string]any{}, map[string]any{"a": 1},
		[]any{map[string]any{"kind": "link", "ref": "x"}}, []any{map[string]any{"kind": "x"}}, []any{1}, 9007199254740991, 9007199254740992.0}
	if d.kind == text {
		return rapid.SampledFrom(append(texts, others[:3]...))
	}
	return rapid.SampledFrom(append(others, texts[:2]...))
}

// argumentsOf draws the arguments of a call, mostly near what is right.
func argumentsOf(tool *tool) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		m := map[string]any{}
		for _, d := range tool.args {
			if rapid.IntRange(0, 9).Draw(t, d.name+" given") > 1 {
				m[d.name] = argumentValue(d).Draw(t, d.name)
			}
		}
		if rapid.IntRange(0, 9).Draw(t, "an unknown one") == 0 {
			m["unknown"] = 1
		}
		return m
	})
}

// The schema of a tool's arguments is generated from the table that they are checked against: what one refuses, the other
// refuses, but for what lies between arguments.
func TestASchemaAcceptsExactlyWhatTheToolDoes(t *testing.T) {
	t.Parallel()
	for _, name := range Tools() {
		schema := compiled(t, "https://ap.example/"+name, ArgumentSchema(name))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				args := argumentsOf(tools[name]).Draw(t, "arguments")
				raw, err := json.Marshal(args)
				require.NoError(t, err)
				value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
				require.NoError(t, err)
				valid := schema.Validate(value) == nil
				_, err = tools[name].decode(raw)
				if valid && err != nil && tools[name].more != nil {
					return
				}
				require.Equal(t, valid, err == nil, "%s: schema %v, tool %v", raw, schema.Validate(value), err)
			})
		})
	}
}

// Nothing that the protocol's schema refuses gets through, and what it accepts is refused only for the rules that the
// schema leaves to the text: blank texts, event names, the placeholder, and what goes with a decision.
func TestTheProtocolsSchemasAgreeWithTheTables(t *testing.T) {
	t.Parallel()
	base := filepath.Join("..", "..", "..", "shared", "upstream", "schemas", "core-2", "tools")
	if shared := os.Getenv("AP_SHARED"); shared != "" {
		base = filepath.Join(shared, "upstream", "schemas", "core-2", "tools")
	}
	if _, err := os.Stat(base); err != nil {
		t.Skip("the protocol's schemas aren't at ../shared/upstream")
	}
	ours := []string{"reason: required", "note: required", "name: not an event name", "requestId: replace the placeholder", "not allowed with"}
	for _, name := range Tools() {
		b, err := os.ReadFile(filepath.Join(base, name+".arguments.json"))
		require.NoError(t, err)
		schema := compiled(t, "https://ap.example/upstream/"+name, b)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				raw, err := json.Marshal(argumentsOf(tools[name]).Draw(t, "arguments"))
				require.NoError(t, err)
				value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
				require.NoError(t, err)
				issues := issuesOf(t, name, string(raw))
				if schema.Validate(value) != nil {
					require.NotEmpty(t, issues, "%s", raw)
					return
				}
				for _, issue := range issues {
					known := false
					for _, o := range ours {
						known = known || strings.Contains(issue, o)
					}
					require.True(t, known, "%s: %s", raw, issue)
				}
			})
		})
	}
}

func FuzzDecodeArguments(f *testing.F) {
	for i, seed := range []string{
		`{"process":"p","inputs":{"a":[1.0,{"b":null}]},"requestId":"x"}`, `{"limit":1e2}`, `{"a":1,"a":2}`, `{"inputs":{"\ud800":1}}`, `[[[`, "{\"runId\":\"\xff\"}",
		`{"token":"t","output":{},"summary":"s","requestId":"1","evidence":[{"kind":"file","ref":"f_1"}]}`,
	} {
		f.Add(uint8(i), []byte(seed))
	}
	names := Tools()
	schemas := make([]*jsonschema.Schema, len(names))
	for i, name := range names {
		schemas[i] = compiled(f, "https://ap.example/"+name, ArgumentSchema(name))
	}
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		i := int(which) % len(names)
		a, err := tools[names[i]].decode(raw)
		if err != nil {
			if refused, ok := err.(*Error); !ok || len(refused.Issues) == 0 || len(refused.Issues) > maxIssues+1 {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		if len(a.hash()) != 32 {
			t.Fatalf("%q has no hash", raw)
		}
		if len(bytes.TrimSpace(raw)) == 0 {
			return
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatalf("%q is accepted and isn't JSON: %v", raw, err)
		}
		if err := schemas[i].Validate(value); err != nil {
			t.Fatalf("%q is accepted against the schema: %v", raw, err)
		}
	})
}
