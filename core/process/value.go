package process

import (
	"bytes"
	"encoding/json"
	"sort"
	"strconv"
	"strings"
)

// Check compares a JSON object with the declared fields (protocol.md 2, Values) and returns every issue in the
// protocol's wording, each beginning with prefix: "output.x: missing", "output.x: expected boolean",
// "output.x: not one of a, b", "output.x[2]: expected string", "output.x: not declared".
// Declared fields come first, in their order, then what isn't declared, by name. An empty or nil value is taken
// as {}; anything that is not an object is the one issue "output: expected object".
func (f Fields) Check(prefix string, value json.RawMessage) []string {
	values := map[string]json.RawMessage{}
	if value = bytes.TrimSpace(value); len(value) > 0 {
		if value[0] != '{' || json.Unmarshal(value, &values) != nil {
			return []string{prefix + ": expected object"}
		}
	}
	var issues []string
	for _, field := range f {
		path := prefix + "." + field.Name
		v, there := values[field.Name]
		switch {
		case there:
			issues = append(issues, field.CheckValue(path, v)...)
			delete(values, field.Name)
		case !field.Optional:
			issues = append(issues, path+": missing")
		}
	}
	undeclared := make([]string, 0, len(values))
	for name := range values {
		undeclared = append(undeclared, prefix+"."+name+": not declared")
	}
	sort.Strings(undeclared)
	return append(issues, undeclared...)
}

// CheckValue reports the issues of one value against a field's type, one_of and items, naming it path. A value of the
// wrong type has that one issue; a list has the issues of each element.
func (f Field) CheckValue(path string, value json.RawMessage) []string {
	value = bytes.TrimSpace(value)
	if !f.Type.accepts(value) {
		return []string{path + ": expected " + string(f.Type)}
	}
	if f.OneOf != nil && !f.allows(value) {
		return []string{path + ": not one of " + f.choices()}
	}
	if f.Type != List || f.Items == nil {
		return nil
	}
	var elements []json.RawMessage
	if json.Unmarshal(value, &elements) != nil {
		return []string{path + ": expected " + string(f.Type)}
	}
	var issues []string
	for i, e := range elements {
		issues = append(issues, f.Items.CheckValue(path+"["+strconv.Itoa(i)+"]", e)...)
	}
	return issues
}

// accepts says whether a JSON value is of the type. The value is well-formed JSON without white space around it.
func (t Type) accepts(value json.RawMessage) bool {
	if len(value) == 0 {
		return false
	}
	switch t {
	case String:
		return value[0] == '"'
	case Number:
		return value[0] == '-' || value[0] >= '0' && value[0] <= '9'
	case Boolean:
		return value[0] == 't' || value[0] == 'f'
	case List:
		return value[0] == '['
	case Object:
		return value[0] == '{'
	}
	text, ok := jsonString(value)
	if !ok {
		return false
	}
	switch t {
	case Date:
		return IsDate(text)
	case Datetime:
		_, ok := ParseDatetime(text)
		return ok
	case Person:
		return IsEmail(text)
	}
	return false
}

// allows says whether a value of the field's type is one of its one_of: numbers by value, persons without regard to
// case, all else exactly.
func (f Field) allows(value json.RawMessage) bool {
	id := f.Type.identity(value)
	for _, choice := range f.OneOf {
		if f.Type.identity(choice) == id {
			return true
		}
	}
	return false
}

// identity is a text that is the same for two values of the type exactly when they are equal.
func (t Type) identity(value json.RawMessage) string {
	switch t {
	case Number:
		return NumberKey(string(value))
	case Boolean:
		return string(value)
	}
	text, _ := jsonString(value)
	if t == Person {
		return strings.ToLower(text)
	}
	return text
}

// choices lists a one_of for a message: strings without their quotes, numbers with the digits they were written with.
func (f Field) choices() string {
	names := make([]string, len(f.OneOf))
	for i, choice := range f.OneOf {
		names[i] = string(choice)
		if text, ok := jsonString(choice); ok {
			names[i] = text
		}
	}
	return strings.Join(names, ", ")
}

func jsonString(value json.RawMessage) (string, bool) {
	var text string
	if len(value) == 0 || value[0] != '"' || json.Unmarshal(value, &text) != nil {
		return "", false
	}
	return text, true
}
