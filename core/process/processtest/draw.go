package processtest

import (
	"encoding/json"
	"fmt"

	"pgregory.net/rapid"
)

// Options says what a drawn process may use.
type Options struct {
	// Check lets agent and task steps carry `check` (profile check-1).
	Check bool
	// NoParallel keeps to the core.
	NoParallel bool
	// Most bounds the blocks of the main flow; 0 means 6.
	Most int
}

// Document draws the source of a valid process that uses the core and parallel-1.
func Document(t *rapid.T) []byte { return Draw(t, Options{}).Source() }

// Draw draws a valid process.
func Draw(t *rapid.T, opts Options) *Process {
	if opts.Most == 0 {
		opts.Most = 6
	}
	d := &drawing{T: t, opts: opts, p: &Process{}}
	d.p.Styles = rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "styles")
	d.p.Body = rapid.SampledFrom([]string{"\n# What this is for\n\nA body.\n", "Text without a break at its end", "# Überblick\r\n\r\nZeile\r\n---\r\n"}).Draw(t, "body")
	d.front()
	d.flow()
	d.dropDefaults()
	return d.p
}

// drawing is the state of drawing one process.
type drawing struct {
	*rapid.T
	opts Options
	p    *Process
	// count numbers the steps, which makes ids unique.
	count int
	// people and times are paths to person and datetime fields that are set wherever the next step stands.
	people, times []string
}

func (d *drawing) chance(label string, outOf int) bool {
	return rapid.IntRange(1, outOf).Draw(d.T, label) == 1
}

func (d *drawing) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(d.T, label)
}

// front draws the keys before `steps`.
func (d *drawing) front() {
	d.p.Front.Set("name", d.pick("name", "purchase-request", "a", "0-1", "move-2-zurich"))
	d.p.Front.Set("description", d.sentence())
	if d.chance("inputs", 4) {
		return
	}
	inputs := d.fields("in", 4)
	inputs.Set("owner", "person")
	inputs.Set("start.at", d.declare("datetime", false))
	d.people = append(d.people, "inputs.owner")
	d.times = append(d.times, "inputs.start.at")
	d.p.Front.Set("inputs", inputs)
	if d.chance("requires", 3) {
		d.p.Front.Set("requires", Map{{Key: "systems", Value: []any{"crm", "mail-2"}}})
	}
}

// sentence draws a non-blank text.
func (d *drawing) sentence() string {
	return d.pick("text",
		"Check the vendor",
		"Check it: against \"both\" lists, # really",
		"Zwei Zeilen,\nüber Größe & Maß.\n",
		"- not a list, {nor a map}, 100 %",
		"yes",
		"2026-10-06",
		"'quoted' 🙂 text\twith a tab",
		"line\u2028separator",
	)
}

// fields draws a map of fields.
func (d *drawing) fields(prefix string, most int) Map {
	var m Map
	for i := range rapid.IntRange(0, most).Draw(d.T, "fields") {
		typ := d.pick("type", "string", "number", "boolean", "date", "datetime", "list", "object", "person")
		name := fmt.Sprintf("%s%d%s", prefix, i, d.pick("name", "", " with space", ".dotted", "é", "-x"))
		m.Set(name, d.declare(typ, d.chance("optional", 3)))
	}
	return m
}

// declare draws a field of a type.
func (d *drawing) declare(typ string, optional bool) any {
	if !optional && d.chance("bare", 2) {
		return typ
	}
	m := Map{{Key: "type", Value: typ}}
	if d.chance("described", 2) {
		m.Set("description", d.sentence())
	}
	if optional {
		m.Set("optional", true)
	}
	if values := oneOf[typ]; values != nil && d.chance("one of", 3) {
		m.Set("one_of", values[:rapid.IntRange(1, len(values)).Draw(d.T, "values")])
	}
	if typ == "list" && d.chance("items", 2) {
		inner := d.pick("items", "string", "number", "person", "date", "list")
		m.Set("items", d.declare(inner, false))
	}
	return m
}

// oneOf are values for the types that can be limited. All but the drawn ones are distinct and exact.
var oneOf = map[string][]any{
	"string":   {"low", "no", "1", "", "né 🙂"},
	"number":   {json.Number("1"), json.Number("1.10"), json.Number("-0.5"), json.Number("1e3")},
	"boolean":  {true, false},
	"date":     {"2026-10-06", "2024-02-29"},
	"datetime": {"2026-10-06T09:00:00Z", "2016-12-31t23:59:60.5z"},
	"person":   {"mira@example.com", "jo@example.com"},
}

func (d *drawing) duration() string { return d.pick("duration", "30m", "4h", "3d", "36500d", "007m") }

// check draws the value of `check`.
func (d *drawing) check() any {
	if d.chance("short", 3) {
		return d.sentence()
	}
	questions := []any{
		Map{{Key: "ask", Value: d.sentence()}, {Key: "pass", Value: json.Number("0.9")}, {Key: "fail", Value: json.Number("0.5")}},
		Map{{Key: "ask", Value: d.sentence()}, {Key: "one_of", Value: Map{{Key: "yes", Value: "Clear."}, {Key: "no", Value: ""}}},
			{Key: "pass", Value: []any{"yes"}}, {Key: "unsure", Value: []any{"no"}}, {Key: "confidence", Value: json.Number("1")}},
		Map{{Key: "ask", Value: d.sentence()}, {Key: "levels", Value: []any{"bad", "good"}}, {Key: "pass", Value: json.Number("1.0")}},
	}
	return questions[:rapid.IntRange(1, len(questions)).Draw(d.T, "questions")]
}
