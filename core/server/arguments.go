package server

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/apserver/ap/core/run"
)

// kind is the JSON type of an argument.
type kind int

const (
	text kind = iota
	integer
	object
	evidence // a list of {kind, ref}
)

// arg declares one argument of a tool. The table of a tool's arguments is all there is: its JSON Schema is generated
// from it and its calls are checked against it, so that the two can't disagree.
type arg struct {
	name     string
	kind     kind
	required bool
	// min and max bound a string's length in code points, or an integer's value; 0 is no bound.
	min, max int
	enum     []string
	// pattern is what a string has to match, and patternIssue what is said when it doesn't.
	pattern      *regexp.Regexp
	patternIssue string
	// nonBlank refuses a string of white space only.
	nonBlank bool
	base64   bool
	// fallback is the value an absent argument stands for, shown to models.
	fallback string
	help     string
}

var eventName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

// requestIDArg is the argument that every write takes (protocol.md 7).
func requestIDArg() arg {
	return arg{name: "requestId", required: true, min: 1, max: 128,
		help: "An id of your own for this call, such as a new UUID. Sending the same call again with the same id returns the first result and changes nothing; use a new id for every new call."}
}

// arguments are a call's arguments, checked.
type arguments struct {
	tool   *tool
	values []value // by position in tool.args
}

// value is one argument; raw is nil when it was not given.
type value struct {
	raw       json.RawMessage
	text      string
	integer   int64
	canonical []byte // of an object
	evidence  []run.Evidence
}

func (a *arguments) at(name string) value {
	if i := a.tool.position(name); i >= 0 {
		return a.values[i]
	}
	panic(fmt.Sprintf("%s has no argument %s", a.tool.name, name))
}

func (a *arguments) text(name string) string             { return a.at(name).text }
func (a *arguments) raw(name string) json.RawMessage     { return a.at(name).raw }
func (a *arguments) has(name string) bool                { return a.at(name).raw != nil }
func (a *arguments) evidence(name string) []run.Evidence { return a.at(name).evidence }

// optional is a string argument, or nil when it was not given.
func (a *arguments) optional(name string) *string {
	v := a.at(name)
	if v.raw == nil {
		return nil
	}
	return &v.text
}

// number is an integer argument, or fallback when it was not given.
func (a *arguments) number(name string, fallback int) int {
	v := a.at(name)
	if v.raw == nil {
		return fallback
	}
	return int(v.integer)
}

// hash is SHA-256 over the arguments as JSON values, requestId left out: what makes two calls the same call
// (protocol.md 7).
func (a *arguments) hash() []byte {
	buf := make([]byte, 0, 512)
	for _, i := range a.tool.sorted {
		if a.values[i].raw == nil || a.tool.args[i].name == "requestId" {
			continue
		}
		buf = append(buf, a.tool.args[i].name...)
		buf = append(buf, ':')
		buf = a.values[i].appendCanonical(buf, a.tool.args[i].kind)
		buf = append(buf, ',')
	}
	sum := sha256.Sum256(buf)
	return sum[:]
}

func (v *value) appendCanonical(dst []byte, k kind) []byte {
	switch k {
	case integer:
		return strconv.AppendInt(dst, v.integer, 10)
	case object:
		return append(dst, v.canonical...)
	case evidence:
		dst = append(dst, '[')
		for _, e := range v.evidence {
			dst = strconv.AppendQuote(dst, e.Kind)
			dst = strconv.AppendQuote(dst, e.Ref)
		}
		return append(dst, ']')
	default:
		return strconv.AppendQuote(dst, v.text)
	}
}
