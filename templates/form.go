package templates

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/apserver/ap/core/process"
)

// Control is how a field is filled in.
type Control string

const (
	TextControl     Control = "text"
	NumberControl   Control = "number"
	YesNoControl    Control = "yesno"
	DateControl     Control = "date"
	DatetimeControl Control = "datetime"
	PersonControl   Control = "person"
	RadioControl    Control = "radio"  // one of a few
	SelectControl   Control = "select" // one of many
	LinesControl    Control = "lines"  // a list, one element a line
	ChecksControl   Control = "checks" // a list of some of the allowed values
	JSONControl     Control = "json"   // an object, or a list of lists or objects
)

// radioMax is how many choices are shown as radio buttons; more become a select.
const radioMax = 5

// ControlOf picks the control for a field.
func ControlOf(f process.Field) Control {
	if len(f.OneOf) > 0 {
		if len(f.OneOf) <= radioMax {
			return RadioControl
		}
		return SelectControl
	}
	switch f.Type {
	case process.Number:
		return NumberControl
	case process.Boolean:
		return YesNoControl
	case process.Date:
		return DateControl
	case process.Datetime:
		return DatetimeControl
	case process.Person:
		return PersonControl
	case process.Object:
		return JSONControl
	case process.List:
		switch {
		case f.Items == nil:
			return LinesControl
		case f.Items.Type == process.List || f.Items.Type == process.Object:
			return JSONControl
		case len(f.Items.OneOf) > 0:
			return ChecksControl
		}
		return LinesControl
	}
	return TextControl
}

// Choice is the text of a one_of value, which a form sends for it.
func Choice(raw json.RawMessage) string {
	v := ReadValue(raw)
	if v.Kind == BoolValue {
		return strings.TrimSpace(string(raw))
	}
	return v.Text
}

// Names of form fields: a declared field is sent as FieldPrefix and its name, the UTC offset of a datetime as
// OffsetPrefix and its name, and as NonePrefix and its name that a list is to be empty.
const (
	FieldPrefix  = "field."
	OffsetPrefix = "offset."
	NonePrefix   = "none."
)

// Form is a form whose fields a process declares, as it stands now: what was typed, and what is wrong with it.
type Form struct {
	// Action is where it goes. Key is its requestId: sending it twice has one effect.
	Action, Key string
	// Typed is what was typed before, by form name.
	Typed url.Values
	// Issues are what was refused, by the part of the form they are about; see Issue.
	Issues []Issue
	// People are suggestions for e-mail addresses.
	People []string
}

// Issue is one thing that was refused.
type Issue struct {
	// About is the form name of the part it is about, or empty for the form as a whole.
	About string
	// Label is that part's label, Text what is wrong and how to mend it.
	Label, Text string
	// Code is the issue in the protocol's words, empty where there is none.
	Code string
}

// Value is what was typed under a form name.
func (f Form) Value(name string) string { return f.Typed.Get(name) }

// Has says that this value was chosen under a form name.
func (f Form) Has(name, value string) bool {
	for _, v := range f.Typed[name] {
		if v == value {
			return true
		}
	}
	return false
}

// About lists the issues of one part of the form.
func (f Form) About(name string) []Issue {
	var about []Issue
	for _, i := range f.Issues {
		if i.About == name {
			about = append(about, i)
		}
	}
	return about
}

// ControlID is the id of a form part's control, for labels and for links from the list of issues.
func ControlID(name string) string {
	var b strings.Builder
	b.WriteString("c-")
	for _, r := range name {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			b.WriteRune(r)
		} else {
			b.WriteString("_" + strconv.FormatInt(int64(r), 16))
		}
	}
	return b.String()
}

// describedBy joins the ids of the texts that describe a control.
func (f Form) describedBy(name string, hint, optional bool) string {
	id := ControlID(name)
	var ids []string
	if optional {
		ids = append(ids, id+"-opt")
	}
	if hint {
		ids = append(ids, id+"-hint")
	}
	if len(f.About(name)) > 0 {
		ids = append(ids, id+"-issue")
	}
	return strings.Join(ids, " ")
}

// linesHint says how a list is typed.
func linesHint(f process.Field) string {
	one := "One per line."
	if f.Items != nil {
		switch f.Items.Type {
		case process.Number:
			one = "One number per line, like 1250.50."
		case process.Boolean:
			one = "One per line: yes or no."
		case process.Date:
			one = "One date per line, like 2026-10-06."
		case process.Datetime:
			one = "One moment per line, like 2026-10-06T14:30:00+02:00."
		case process.Person:
			one = "One e-mail address per line."
		}
	}
	return one
}

// jsonHint says how structured data is typed.
func jsonHint(f process.Field) string {
	if f.Type == process.List {
		if f.Items != nil && f.Items.Type == process.Object {
			return "One “name: value” per line, with an empty line between records. Or a JSON list, like " +
				`[{"name": "First", "amount": 12.50}]`
		}
		return `A list of lists, written as JSON: [["a", "b"], ["c"]]`
	}
	return "One “name: value” per line. Or a JSON object, like " + `{"name": "First", "amount": 12.50}`
}
