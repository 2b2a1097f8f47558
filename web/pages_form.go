package web

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/templates"
)

// What people type becomes JSON here. Digits stay as they are. What can't be a value of the field's type is passed on as
// the text it is, so that the server's own check refuses it, together with everything else.

// typedObject makes a JSON object of what was typed for declared fields; what was left empty isn't in it.
func typedObject(fields process.Fields, typed url.Values) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for _, f := range fields {
		value := typedField(f, typed)
		if value == nil {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(jsonText(f.Name))
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// typedField is the value of one field, or nil where nothing was typed.
func typedField(f process.Field, typed url.Values) json.RawMessage {
	name := templates.FieldPrefix + f.Name
	text := strings.ReplaceAll(typed.Get(name), "\r\n", "\n")
	control := templates.ControlOf(f)
	if f.Type == process.List && typed.Get(templates.NonePrefix+f.Name) != "" && strings.TrimSpace(text) == "" {
		return json.RawMessage("[]")
	}
	if control == templates.ChecksControl {
		return typedChecks(f, typed[name])
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	switch control {
	case templates.RadioControl, templates.SelectControl:
		return chosen(f.OneOf, text)
	case templates.DatetimeControl:
		return jsonText(moment(text, typed.Get(templates.OffsetPrefix+f.Name)))
	case templates.LinesControl:
		return typedLines(f, text)
	case templates.JSONControl:
		return typedStructure(f, text)
	}
	return typedScalar(f.Type, text)
}

// jsonText is a string as JSON.
func jsonText(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always marshals
	}
	return b
}

// typedScalar is a value of a type that has no parts.
func typedScalar(t process.Type, text string) json.RawMessage {
	trimmed := strings.TrimSpace(text)
	switch t {
	case process.Number:
		return typedNumber(trimmed)
	case process.Boolean:
		switch strings.ToLower(trimmed) {
		case "true", "yes":
			return json.RawMessage("true")
		case "false", "no":
			return json.RawMessage("false")
		}
		return jsonText(trimmed)
	case process.Date, process.Datetime, process.Person:
		return jsonText(trimmed)
	}
	return jsonText(text)
}

var looseNumber = regexp.MustCompile(`^\+?(-?)(\d*)(\.\d*)?([eE][+-]?\d+)?$`)

// typedNumber is a number with its digits as typed, made JSON's where people write it more freely (+5, .5, 5., 007).
func typedNumber(text string) json.RawMessage {
	m := looseNumber.FindStringSubmatch(text)
	if m == nil || m[2] == "" && len(m[3]) < 2 {
		return jsonText(text)
	}
	whole := strings.TrimLeft(m[2], "0")
	if whole == "" {
		whole = "0"
	}
	fraction := m[3]
	if fraction == "." {
		fraction = ""
	}
	return json.RawMessage(m[1] + whole + fraction + m[4])
}

var (
	localMoment = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d$`)
	looseOffset = regexp.MustCompile(`^([+\-−])?(\d{1,2})(?::?(\d\d))?$`)
)

// moment joins the browser's local date and time with the offset beside it. A text that has an offset already keeps it.
func moment(local, offset string) string {
	local, offset = strings.TrimSpace(local), strings.TrimSpace(offset)
	if localMoment.MatchString(local) {
		local += ":00"
	}
	if len(local) < len("2006-01-02T15:04:05") || strings.ContainsAny(local[len("2006-01-02T15:04"):], "zZ+-") {
		return local
	}
	switch m := looseOffset.FindStringSubmatch(offset); {
	case strings.EqualFold(offset, "Z") || strings.EqualFold(offset, "UTC"):
		return local + "Z"
	case offset == "":
		return local // the server says that the offset is missing
	case m != nil:
		sign, hours, minutes := m[1], m[2], m[3]
		if sign != "+" && sign != "" {
			sign = "-"
		} else {
			sign = "+"
		}
		if len(hours) == 1 {
			hours = "0" + hours
		}
		if minutes == "" {
			minutes = "00"
		}
		return local + sign + hours + ":" + minutes
	}
	return local + offset
}

// chosen is the declared value with that text, digits and all.
func chosen(values []json.RawMessage, text string) json.RawMessage {
	for _, raw := range values {
		if templates.Choice(raw) == text {
			return raw
		}
	}
	return jsonText(text)
}

func typedChecks(f process.Field, picked []string) json.RawMessage {
	var items []json.RawMessage
	for _, text := range picked {
		if text != "" {
			items = append(items, chosen(f.Items.OneOf, text))
		}
	}
	if items == nil {
		return nil
	}
	return jsonList(items)
}

func jsonList(items []json.RawMessage) json.RawMessage {
	return append(append(json.RawMessage("["), bytes.Join(rawBytes(items), []byte(","))...), ']')
}

func rawBytes(items []json.RawMessage) [][]byte {
	list := make([][]byte, len(items))
	for i, item := range items {
		list[i] = item
	}
	return list
}

// typedLines is a list, one element a line; a JSON list is taken as it is.
func typedLines(f process.Field, text string) json.RawMessage {
	if list, ok := typedJSON(text, '['); ok {
		return list
	}
	t := process.String
	if f.Items != nil {
		t = f.Items.Type
	}
	var items []json.RawMessage
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			items = append(items, typedScalar(t, line))
		}
	}
	return jsonList(items)
}

// typedJSON takes a text that is JSON of the kind that begins with open.
func typedJSON(text string, open byte) (json.RawMessage, bool) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || trimmed[0] != open || !json.Valid([]byte(trimmed)) {
		return nil, false
	}
	return json.RawMessage(trimmed), true
}

// typedStructure is an object or a list of them: as JSON, or as lines of “name: value”.
func typedStructure(f process.Field, text string) json.RawMessage {
	if f.Type == process.Object {
		return typedRecordOr(text)
	}
	if list, ok := typedJSON(text, '['); ok {
		return list
	}
	if f.Items == nil || f.Items.Type != process.Object {
		return jsonText(text)
	}
	var items []json.RawMessage
	for block := range strings.SplitSeq(strings.ReplaceAll(text, "\r", ""), "\n\n") {
		if strings.TrimSpace(block) == "" {
			continue
		}
		items = append(items, typedRecordOr(block))
	}
	return jsonList(items)
}

// typedRecordOr is an object typed as JSON or as lines of “name: value”; anything else stays a text.
func typedRecordOr(text string) json.RawMessage {
	if object, ok := typedJSON(text, '{'); ok {
		return object
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if !found || name == "" || strings.ContainsAny(name, `{}[]"`) {
			return jsonText(text)
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(jsonText(name))
		b.WriteByte(':')
		b.Write(typedAnything(strings.TrimSpace(value)))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// typedAnything is a value of no declared type: a JSON value other than null where it is one, else a text.
func typedAnything(text string) json.RawMessage {
	if text != "" && text != "null" && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return jsonText(text)
}
