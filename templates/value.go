package templates

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apserver/ap/core/process"
)

// ValueKind is how a value of run data is shown.
type ValueKind int

const (
	// NoValue is a value that isn't there.
	NoValue ValueKind = iota
	TextValue
	NumberValue
	BoolValue
	LinkValue
	ListValue
	ObjectValue
)

// Value is a JSON value taken apart for reading: members in the order they were sent, numbers with their digits.
type Value struct {
	Kind ValueKind
	// Text is the text, the number's digits, "Yes" or "No".
	Text string
	// Items are a list's elements, Members an object's.
	Items   []Value
	Members []Member
}

// Member is one name and value.
type Member struct {
	Name  string
	Value Value
	// Was is what stood there in the round before, where that differs; Changed says that it does, New that nothing did.
	Was          Value
	Changed, New bool
	// Type is the declared type, if any, and Description the field's.
	Type        process.Type
	Description string
}

// maxDepth is how deep nested values are taken apart; deeper ones show as their JSON.
const maxDepth = 6

// ReadValue takes a JSON value apart. What isn't JSON shows as the text it is.
func ReadValue(raw json.RawMessage) Value { return readValue(raw, 0) }

func readValue(raw json.RawMessage, depth int) Value {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return Value{}
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) == nil {
			if link := SafeLink(s); link != "" && !strings.ContainsAny(s, " \n\t") {
				return Value{Kind: LinkValue, Text: s}
			}
			return Value{Kind: TextValue, Text: s}
		}
	case '[':
		var items []json.RawMessage
		if depth < maxDepth && json.Unmarshal(raw, &items) == nil {
			v := Value{Kind: ListValue, Items: make([]Value, len(items))}
			for i, item := range items {
				v.Items[i] = readValue(item, depth+1)
			}
			return v
		}
	case '{':
		if members, ok := readObject(raw); depth < maxDepth && ok {
			v := Value{Kind: ObjectValue}
			for _, m := range members {
				v.Members = append(v.Members, Member{Name: m.Name, Value: readValue(m.Raw, depth+1)})
			}
			return v
		}
	case 't':
		return Value{Kind: BoolValue, Text: "Yes"}
	case 'f':
		return Value{Kind: BoolValue, Text: "No"}
	case 'n':
		return Value{}
	default:
		return Value{Kind: NumberValue, Text: string(raw)}
	}
	return Value{Kind: TextValue, Text: string(raw)}
}

// RawMember is a member of a JSON object as it was sent.
type RawMember struct {
	Name string
	Raw  json.RawMessage
}

// readObject reads an object's members in their order.
func readObject(raw json.RawMessage) ([]RawMember, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var members []RawMember
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, false
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil, false
		}
		members = append(members, RawMember{name.(string), value})
	}
	return members, true
}

// Fields puts an object in the order its fields are declared, with what is declared of them; undeclared members follow.
// before, the same object in an earlier round, marks what changed; nil marks nothing.
func Fields(declared process.Fields, raw, before json.RawMessage) []Member {
	now, _ := readObject(raw)
	was, _ := readObject(before)
	var members []Member
	for _, f := range declared {
		if value, ok := find(now, f.Name); ok {
			members = append(members, member(f, value, was, before != nil))
		}
	}
	for _, m := range now {
		if _, known := declared.Find(m.Name); !known {
			members = append(members, member(process.Field{Name: m.Name}, m.Raw, was, before != nil))
		}
	}
	for _, m := range was {
		if _, still := find(now, m.Name); !still {
			members = append(members, Member{Name: m.Name, Was: ReadValue(m.Raw), Changed: true})
		}
	}
	return members
}

func member(f process.Field, raw json.RawMessage, was []RawMember, compare bool) Member {
	m := Member{Name: f.Name, Value: ReadValue(raw), Type: f.Type, Description: f.Description}
	if !compare {
		return m
	}
	before, had := find(was, f.Name)
	m.New = !had
	if had && !sameJSON(before, raw) {
		m.Was, m.Changed = ReadValue(before), true
	}
	return m
}

func find(members []RawMember, name string) (json.RawMessage, bool) {
	for _, m := range members {
		if m.Name == name {
			return m.Raw, true
		}
	}
	return nil, false
}

// sameJSON compares two values as they were written, white space aside.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// Short says that a value fits into a line or two.
func (v Value) Short() bool {
	return v.Kind < ListValue && utf8.RuneCountInString(v.Text) <= 80 && !strings.Contains(v.Text, "\n")
}

// clampAt is how many characters of a text are shown at once, and maxShown how many at all.
const (
	clampAt  = 600
	maxShown = 20000
)

// Subject says in one line which case a run is about: the first few short inputs, in the order they were sent. Addresses
// of people tell cases apart least, so that they come only where there is nothing else.
func Subject(inputs json.RawMessage) string {
	const most = 3
	members, _ := readObject(inputs)
	var parts, people []string
	for _, m := range members {
		v := ReadValue(m.Raw)
		if v.Kind != TextValue && v.Kind != NumberValue || strings.TrimSpace(v.Text) == "" || isMoment(v.Text) {
			continue
		}
		part := Line(v.Text, 48)
		switch {
		case strings.Contains(part, "@") && !strings.Contains(part, " "):
			people = append(people, part)
		case len(parts) < most && !slices.Contains(parts, part):
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		parts = slices.Compact(people)
	}
	return strings.Join(parts[:min(len(parts), most)], " · ")
}

// isMoment says that a text is a time to the second, which tells no case apart.
func isMoment(s string) bool {
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}

// SafeLink returns a link that may be followed (http, https and mailto, with a host or an address), or "".
func SafeLink(s string) string {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil {
		return ""
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if u.Host == "" || u.User != nil {
			return ""
		}
	case "mailto":
		if u.Opaque == "" {
			return ""
		}
	default:
		return ""
	}
	return u.String()
}

// LinkHost is where a link leads, for people to see before they follow it.
func LinkHost(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return u.Host
}

// Indented is JSON laid out for reading.
func Indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
