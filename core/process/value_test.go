package process_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
)

// TestValueTypes walks the types of protocol.md 2, Values.
func TestValueTypes(t *testing.T) {
	t.Parallel()
	samples := map[process.Type]struct{ good, bad []string }{
		process.String: {
			good: []string{`""`, `"a"`, `"2026-10-06"`, `" "`},
			bad:  []string{`1`, `true`, `[]`, `{}`},
		},
		process.Number: {
			good: []string{`0`, `-0`, `48000.00`, `9007199254740993`, `1e2`, `1e999999999`, `-1.5E-7`},
			bad:  []string{`"1"`, `true`, `[1]`},
		},
		process.Boolean: {
			good: []string{`true`, `false`, ` true `},
			bad:  []string{`"true"`, `0`, `1`},
		},
		process.Date: {
			good: []string{`"2026-10-06"`, `"2024-02-29"`, `"2000-02-29"`, `"0001-01-01"`},
			bad: []string{`"2026-02-29"`, `"1900-02-29"`, `"2026-13-01"`, `"2026-00-10"`, `"2026-10-00"`, `"2026-10-6"`, `"2026-10-06 "`,
				`"2026-10-06T00:00:00Z"`, `"20261006"`, `"+026-10-06"`, `"٢٠٢٦-10-06"`, `20261006`, `"2026-04-31"`},
		},
		process.Datetime: {
			good: []string{`"2026-10-06T09:00:00Z"`, `"2026-10-06t09:00:00z"`, `"2026-10-06T09:00:00.123456789012+02:00"`,
				`"2026-10-06T09:00:00-00:00"`, `"2016-12-31T23:59:60Z"`, `"2016-12-31T15:59:60-08:00"`, `"2017-01-01T00:59:60.5+01:00"`,
				`"2026-10-06T09:00:00+23:59"`},
			bad: []string{`"2026-10-06T09:00:00"`, `"2026-10-06 09:00:00Z"`, `"2026-10-06T09:00:00,5Z"`, `"2026-10-06T09:00:00.Z"`,
				`"2026-10-06T24:00:00Z"`, `"2026-10-06T09:60:00Z"`, `"2026-10-06T09:00:60Z"`, `"2016-12-31T23:59:60+01:00"`,
				`"2016-12-31T23:59:61Z"`, `"2026-02-30T09:00:00Z"`, `"2026-10-06T09:00:00+24:00"`, `"2026-10-06T09:00:00+02:60"`,
				`"2026-10-06T09:00:00+0200"`, `"2026-10-06T09:00Z"`, `"2026-10-06"`, `"2026-10-06T9:00:00Z"`, `"2026-10-06T09:00:00Z "`, `1`},
		},
		process.List:   {good: []string{`[]`, `[1,"a",null]`}, bad: []string{`{}`, `"[]"`}},
		process.Object: {good: []string{`{}`, `{"a":null}`}, bad: []string{`[]`, `"{}"`}},
		process.Person: {
			good: []string{`"mira@example.com"`, `"Mira.O'Neil+ap@sub.example.co"`, `"jürg@exämple.ch"`, `"a@b"`},
			bad: []string{`"mira"`, `"mira@"`, `"@example.com"`, `"a b@example.com"`, `"Mira <mira@example.com>"`, `"a@b@c"`, `"a..b@c.d"`,
				`".a@b.c"`, `"a@b..c"`, `"a@-b.c"`, `"a@b_c.d"`, `"agent:mira"`, `{"email":"a@b.c"}`, `"` + strings.Repeat("a", 65) + `@b.c"`},
		},
	}
	for typ, sample := range samples {
		field := process.Field{Name: "x", Type: typ}
		for _, v := range sample.good {
			require.Empty(t, field.CheckValue("output.x", json.RawMessage(v)), "%s %s", typ, v)
		}
		for _, v := range append(sample.bad, `null`, ``) {
			require.Equal(t, []string{"output.x: expected " + string(typ)}, field.CheckValue("output.x", json.RawMessage(v)), "%s %s", typ, v)
		}
	}
}

func TestFieldsCheckNamesEveryIssue(t *testing.T) {
	t.Parallel()
	fields := process.Fields{
		{Name: "cleared", Type: process.Boolean},
		{Name: "note", Type: process.String, Optional: true},
		{Name: "level", Type: process.String, OneOf: []json.RawMessage{[]byte(`"low"`), []byte(`"high"`)}},
		{Name: "tags", Type: process.List, Items: &process.Field{Type: process.String}},
		{Name: "grid", Type: process.List, Items: &process.Field{Type: process.List, Items: &process.Field{Type: process.Number}}},
		{Name: "a.b", Type: process.Date},
	}
	require.Equal(t, []string{
		"output.cleared: expected boolean",
		"output.level: not one of low, high",
		"output.tags[2]: expected string",
		"output.grid[1][0]: expected number",
		"output.grid[2]: expected list",
		"output.a.b: missing",
		"output.more: not declared",
		"output.other: not declared",
	}, fields.Check("output", json.RawMessage(`{"other":1,"cleared":"yes","level":"Low","tags":["a","b",3],"grid":[[1],["x"],2],"more":{}}`)))
	require.Equal(t, []string{"output.note: expected string"}, process.Fields{fields[1]}.Check("output", json.RawMessage(`{"note":null}`)))
	require.Equal(t, []string{"inputs.cleared: missing"}, fields[:1].Check("inputs", nil))
	require.Equal(t, []string{"inputs: expected object"}, fields[:1].Check("inputs", json.RawMessage(`[]`)))
	require.Empty(t, process.Fields(nil).Check("output", json.RawMessage(`{}`)))
	require.Equal(t, []string{"output.x: not declared"}, process.Fields(nil).Check("output", json.RawMessage(`{"x":1}`)))
}

func TestOneOfComparesByValue(t *testing.T) {
	t.Parallel()
	numbers := process.Field{Type: process.Number, OneOf: []json.RawMessage{[]byte(`9007199254740993`), []byte(`1.10`)}}
	for _, v := range []string{`9007199254740993.0`, `9007199254740993`, `1.1`, `11e-1`, `0.11E+1`} {
		require.Empty(t, numbers.CheckValue("x", json.RawMessage(v)), v)
	}
	for _, v := range []string{`9007199254740992`, `1.11`, `-1.1`, `0`} {
		require.Equal(t, []string{"x: not one of 9007199254740993, 1.10"}, numbers.CheckValue("x", json.RawMessage(v)), v)
	}
	people := process.Field{Type: process.Person, OneOf: []json.RawMessage{[]byte(`"Mira@example.com"`)}}
	require.Empty(t, people.CheckValue("x", json.RawMessage(`"mira@EXAMPLE.com"`)))
	texts := process.Field{Type: process.String, OneOf: []json.RawMessage{[]byte(`"é"`)}}
	require.Empty(t, texts.CheckValue("x", json.RawMessage(`"\u00e9"`)))
	require.NotEmpty(t, texts.CheckValue("x", json.RawMessage(`"É"`)))
}

func TestNumberKey(t *testing.T) {
	t.Parallel()
	for key, same := range map[string][]string{
		"0":                            {"0", "-0", "0.000", "0e99999999999999999999", "-0.0E-5"},
		"1e0":                          {"1", "1.0", "10e-1", "0.1e1", "1e0", "1E+0", "1e-0", "+1"},
		"-12e-1":                       {"-1.2", "-1.20", "-12e-1", "-0.012e2"},
		"1e2":                          {"100", "1e2", "1e002"},
		"1e999999999":                  {"1e999999999", "10e999999998"},
		"1e9999999999999999999999":     {"1e9999999999999999999999", "0.1e10000000000000000000000"},
		"9007199254740993e0":           {"9007199254740993", "9007199254740993.000"},
		"1e-9999999999999999999999999": {"1e-9999999999999999999999999"},
	} {
		for _, number := range same {
			require.Equal(t, key, process.NumberKey(number), number)
		}
	}
}

func TestParseDatetimeIsTheInstant(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-10-06T09:00:00.25+02:00": "2026-10-06T07:00:00.25Z",
		"2026-01-01t00:30:00+01:00":    "2025-12-31T23:30:00Z",
		"2016-12-31T23:59:60z":         "2017-01-01T00:00:00Z",
		"2016-12-31T15:59:60-08:00":    "2017-01-01T00:00:00Z",
	} {
		got, ok := process.ParseDatetime(text)
		require.True(t, ok, text)
		require.Equal(t, want, got.UTC().Format(time.RFC3339Nano), text)
	}
}
