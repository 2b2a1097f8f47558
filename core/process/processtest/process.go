// Package processtest draws valid processes for tests: sources of a PROCESS.md with routes, waits, rework loops and
// parallel branches, that lint without an error or a warning.
package processtest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Process is a PROCESS.md as keys and values. A test may change it before it takes its source.
type Process struct {
	// Front are the keys before `steps`.
	Front Map
	Steps []*Step
	Body  string
	// Styles decides how values are written: each byte, in turn, for one value.
	Styles []byte
}

// Step is one step: its keys in the order written.
type Step struct {
	Map
	// Branch says that the step is in a branch of a parallel step.
	Branch bool
}

// Map is an ordered YAML map. Values are string, bool, json.Number, Map, []any, or Raw.
type Map []Entry

// Entry is one key of a map. Line is where its key stood when the source was last taken.
type Entry struct {
	Key   string
	Value any
	Line  int
}

// Raw is YAML text written as it is, on the key's line.
type Raw string

// Get returns the value of a key, or nil.
func (m Map) Get(key string) any {
	for _, e := range m {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// Line returns the line of a key, or 0.
func (m Map) Line(key string) int {
	for _, e := range m {
		if e.Key == key {
			return e.Line
		}
	}
	return 0
}

// Set gives a key a value, at its place or at the end.
func (m *Map) Set(key string, value any) {
	for i := range *m {
		if (*m)[i].Key == key {
			(*m)[i].Value = value
			return
		}
	}
	*m = append(*m, Entry{Key: key, Value: value})
}

// Remove removes a key.
func (m *Map) Remove(key string) {
	for i := range *m {
		if (*m)[i].Key == key {
			*m = append((*m)[:i:i], (*m)[i+1:]...)
			return
		}
	}
}

// Rename gives a key another name.
func (m Map) Rename(key, name string) {
	for i := range m {
		if m[i].Key == key {
			m[i].Key = name
		}
	}
}

// ID returns the step's id.
func (s *Step) ID() string {
	id, _ := s.Get("id").(string)
	return id
}

// Source writes the process and notes the line of every key.
func (p *Process) Source() []byte {
	w := writer{styles: p.Styles, line: 1}
	w.text("---\n")
	w.entries(p.Front, "")
	w.text("steps:\n")
	for _, s := range p.Steps {
		w.text("  - ")
		w.entries(s.Map, "    ")
	}
	w.text("---\n" + p.Body)
	return []byte(w.out.String())
}

// writer writes YAML and counts lines.
type writer struct {
	out    strings.Builder
	line   int
	styles []byte
	turn   int
}

func (w *writer) text(s string) {
	w.out.WriteString(s)
	w.line += strings.Count(s, "\n")
}

// style returns one of n styles.
func (w *writer) style(n int) int {
	if len(w.styles) == 0 {
		return 0
	}
	w.turn++
	return int(w.styles[w.turn%len(w.styles)]) % n
}

// entries writes a block map. The first line's indent is there already when the map is a list's element.
func (w *writer) entries(m Map, indent string) {
	for i := range m {
		if i > 0 || !strings.HasSuffix(w.out.String()[max(0, w.out.Len()-2):], "- ") {
			w.text(indent)
		}
		m[i].Line = w.line
		w.text(key(m[i].Key) + ":")
		w.value(m[i].Value, indent)
	}
}

// value writes what follows a key or a dash and its line's end.
func (w *writer) value(v any, indent string) {
	switch v := v.(type) {
	case Map:
		if len(v) > 0 && w.style(3) > 0 {
			w.text("\n")
			w.entries(v, indent+"  ")
			return
		}
	case []any:
		if len(v) > 0 && w.style(3) > 0 {
			w.text("\n")
			for _, x := range v {
				w.text(indent + "  -")
				if m, ok := x.(Map); ok && len(m) > 0 && w.style(2) == 0 {
					w.text(" ")
					w.entries(m, indent+"    ")
					continue
				}
				w.text(" " + w.flow(x) + "\n")
			}
			return
		}
	case string:
		if block(v) && w.style(3) == 0 {
			w.text(" |\n")
			for _, l := range strings.Split(strings.TrimSuffix(v, "\n"), "\n") {
				if l != "" {
					w.text(indent + "  " + l)
				}
				w.text("\n")
			}
			return
		}
	}
	w.text(" " + w.flow(v) + "\n")
}

// block says whether a literal block scalar reads back as exactly this text.
func block(s string) bool {
	return strings.HasSuffix(s, "\n") && !strings.HasSuffix(s, "\n\n") && s != "\n" && s[0] != ' ' && s[0] != '\n' && !strings.ContainsAny(s, "\t\r\u0085\u2028\u2029")
}

// flow writes a value on one line.
func (w *writer) flow(v any) string {
	switch v := v.(type) {
	case Map:
		parts := make([]string, len(v))
		for i := range v {
			v[i].Line = w.line
			parts[i] = key(v[i].Key) + ": " + w.flow(v[i].Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = w.flow(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		switch style := w.style(3); {
		case style == 0 && plain.MatchString(v) && !reserved.MatchString(v):
			return v
		case style == 1 && !strings.ContainsAny(v, "\n\r\t\u0085\u2028\u2029"):
			return "'" + strings.ReplaceAll(v, "'", "''") + "'"
		}
		return quoted(v)
	case Raw:
		return string(v)
	}
	return fmt.Sprint(v)
}

var (
	plain    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*( [A-Za-z0-9_.-]+)*$`)
	reserved = regexp.MustCompile(`(?i)^(null|true|false)$`)
)

// quoted writes text in double quotes: JSON's strings are YAML's, with characters beyond 16 bits as they are.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func key(k string) string {
	if plain.MatchString(k) && !reserved.MatchString(k) {
		return k
	}
	return quoted(k)
}
