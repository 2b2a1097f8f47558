package process

import "encoding/json"

// Check compares a JSON object with the declared fields (protocol.md 2, Values) and returns every issue in the
// protocol's wording, each beginning with prefix: "output.x: missing", "output.x: expected boolean",
// "output.x: not one of a, b", "output.x[2]: expected string", "output.x: not declared".
// An empty or nil value is taken as {}.
func (f Fields) Check(prefix string, value json.RawMessage) []string {
	panic("not yet")
}

// CheckValue reports the issues of one value against a field's type, one_of and items, naming it path.
func (f Field) CheckValue(path string, value json.RawMessage) []string {
	panic("not yet")
}
