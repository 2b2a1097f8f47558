package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/apserver/ap/core/run"
)

const (
	maxDepth  = 64  // levels of lists and objects in a call's arguments
	maxIssues = 100 // issues in one refusal: a hostile call doesn't get a longer answer than it sent
	maxShown  = 120 // characters of a name shown in an issue
)

// decode checks raw arguments against a tool's table. The error is nil or an *Error with every issue.
func (t *tool) decode(raw json.RawMessage) (*arguments, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	a := &arguments{tool: t, values: make([]value, len(t.args))}
	issues := []string(nil)
	if tooDeep(raw) {
		issues = []string{fmt.Sprintf("arguments: nested deeper than %d levels", maxDepth)}
	} else if issues = a.fill(raw); len(issues) == 0 && t.more != nil {
		issues = t.more(a)
	}
	if len(issues) == 0 {
		return a, nil
	}
	if len(issues) > maxIssues {
		issues = append(issues[:maxIssues:maxIssues], fmt.Sprintf("and %d more", len(issues)-maxIssues))
	}
	return nil, invalid("The arguments don't fit "+t.name, issues...)
}

// fill reads the members of an object into a and returns every issue, in the order of the table.
func (a *arguments) fill(raw json.RawMessage) []string {
	dec := newDecoder(raw)
	defer dec.free()
	undeclared, err := a.read(dec)
	if err != nil || !dec.atEnd() {
		if issues := wellFormed(raw); issues != nil {
			return issues
		}
		return []string{"arguments: not valid JSON"}
	}
	var issues []string
	for i := range a.tool.args {
		issues = append(issues, a.tool.args[i].check(&a.values[i])...)
	}
	return append(issues, undeclared...)
}

// errNotAnObject says that the arguments are JSON of another type.
var errNotAnObject = errors.New("expected object")

// read splits an object into the raw values of the arguments. An error is one of syntax, which wellFormed explains.
func (a *arguments) read(dec *decoder) (undeclared []string, err error) {
	if dec.PeekKind() != '{' {
		return nil, errNotAnObject
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := tok.String()
		member, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if i := a.tool.position(name); i >= 0 {
			a.values[i].raw = json.RawMessage(member)
		} else {
			undeclared = append(undeclared, shown(name)+": not declared")
		}
	}
	_, err = dec.ReadToken()
	return undeclared, err
}

// check decodes one argument and returns its issues.
func (d *arg) check(v *value) []string {
	if v.raw == nil {
		if d.required {
			return []string{d.name + ": missing"}
		}
		return nil
	}
	switch d.kind {
	case integer:
		return d.checkInteger(v)
	case object:
		if v.raw[0] != '{' {
			return []string{d.name + ": expected object"}
		}
		var err error
		if v.canonical, err = canonical(v.raw); err != nil {
			return []string{d.name + ": " + err.Error()}
		}
		return nil
	case evidence:
		return d.checkEvidence(v)
	default:
		return d.checkText(v)
	}
}

func (d *arg) checkText(v *value) []string {
	if v.raw[0] != '"' {
		return []string{d.name + ": expected string"}
	}
	v.text = unquote(v.raw)
	n := utf8.RuneCountInString(v.text)
	switch {
	case n < d.min:
		return []string{fmt.Sprintf("%s: at least %d character%s", d.name, d.min, plural(d.min))}
	case d.max > 0 && n > d.max:
		return []string{fmt.Sprintf("%s: at most %d characters", d.name, d.max)}
	case d.enum != nil && !slices.Contains(d.enum, v.text):
		return []string{d.name + ": not one of " + strings.Join(d.enum, ", ")}
	case d.nonBlank && strings.TrimSpace(v.text) == "":
		return []string{d.name + ": required"}
	case d.pattern != nil && !d.pattern.MatchString(v.text):
		return []string{d.name + ": " + d.patternIssue}
	case d.name == "requestId" && v.text == run.NewUUID:
		return []string{"requestId: replace the placeholder with a new UUID"}
	}
	return nil
}

// checkInteger takes any JSON number without a fraction, 20.0 and 2e1 included.
func (d *arg) checkInteger(v *value) []string {
	n, ok := wholeNumber(v.raw)
	switch {
	case !ok:
		return []string{d.name + ": expected integer"}
	case n < int64(d.min):
		return []string{fmt.Sprintf("%s: at least %d", d.name, d.min)}
	case d.max > 0 && n > int64(d.max):
		return []string{fmt.Sprintf("%s: at most %d", d.name, d.max)}
	}
	v.integer = n
	return nil
}

// wholeNumber returns the value of a JSON number without a fraction, held within ±10^18 where it is larger.
func wholeNumber(raw json.RawMessage) (int64, bool) {
	if c := raw[0]; c != '-' && (c < '0' || c > '9') {
		return 0, false
	}
	negative, digits, exponent, err := decimal(string(raw))
	if err != nil || exponent < 0 {
		return 0, false
	}
	if digits == "" {
		return 0, true
	}
	n := int64(maxExponent)
	if int64(len(digits))+exponent <= 18 {
		n, _ = strconv.ParseInt(digits+strings.Repeat("0", int(exponent)), 10, 64)
	}
	if negative {
		n = -n
	}
	return n, true
}

func (d *arg) checkEvidence(v *value) []string {
	if v.raw[0] != '[' {
		return []string{d.name + ": expected list"}
	}
	var items []json.RawMessage
	if err := json.Unmarshal(v.raw, &items); err != nil {
		return []string{d.name + ": " + err.Error()}
	}
	v.evidence = make([]run.Evidence, len(items))
	var issues []string
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", d.name, i)
		if item[0] != '{' {
			issues = append(issues, at+": expected object")
			continue
		}
		nested := &arguments{tool: evidenceItem, values: make([]value, len(evidenceItem.args))}
		for _, issue := range nested.fill(item) {
			issues = append(issues, at+"."+issue)
		}
		v.evidence[i] = run.Evidence{Kind: nested.text("kind"), Ref: nested.text("ref")}
	}
	return issues
}

// evidenceItem is the table of one evidence item.
var evidenceItem = newTool(tool{name: "evidence", args: []arg{
	{name: "kind", required: true, enum: []string{"file", "link"}, help: "file for an upload, link for a URL or a document number."},
	{name: "ref", required: true, min: 1, help: "The id that upload returned, or the URL or document number."},
}})

// wellFormed says what is wrong with arguments that can't be read: UTF-8, JSON syntax, one object and nothing after it, no
// name twice in one object, and depth.
func wellFormed(raw json.RawMessage) []string {
	if !utf8.Valid(raw) {
		return []string{"arguments: not valid UTF-8"}
	}
	if tooDeep(raw) {
		return []string{fmt.Sprintf("arguments: nested deeper than %d levels", maxDepth)}
	}
	dec := newDecoder(raw)
	defer dec.free()
	first := dec.PeekKind()
	if err := dec.SkipValue(); err != nil {
		return syntaxIssues(raw, err)
	}
	switch {
	case !dec.atEnd():
		return []string{"arguments: data after the end"}
	case first != '{':
		return []string{"arguments: expected object"}
	}
	return nil
}

// tooDeep bounds nesting before anything recurses. It may count brackets of text that is not JSON, which is refused
// anyway.
func tooDeep(raw []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// syntaxIssues says where the JSON is broken; for a duplicate name, it finds all of them.
func syntaxIssues(raw []byte, err error) []string {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		if issues := duplicates(raw); len(issues) > 0 {
			return issues
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return []string{"arguments: not valid JSON: it ends too early"}
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && syntax.Err != nil {
		return []string{fmt.Sprintf("arguments: not valid JSON at byte %d: %v", syntax.ByteOffset, syntax.Err)}
	}
	return []string{"arguments: not valid JSON"}
}

// duplicates lists every name that stands twice in one object.
func duplicates(raw []byte) []string {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))
	var issues []string
	var walk func(path string) error
	walk = func(path string) error {
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		switch tok.Kind() {
		case '[':
			for i := 0; dec.PeekKind() != ']'; i++ {
				if err := walk(fmt.Sprintf("%s[%d]", path, i)); err != nil {
					return err
				}
			}
			_, err = dec.ReadToken()
		case '{':
			seen := map[string]int{}
			for dec.PeekKind() != '}' {
				tok, err := dec.ReadToken()
				if err != nil {
					return err
				}
				name := tok.String()
				at := strings.TrimPrefix(path+"."+shown(name), ".")
				if seen[name]++; seen[name] == 2 {
					issues = append(issues, at+": duplicate key")
				}
				if err := walk(at); err != nil {
					return err
				}
			}
			_, err = dec.ReadToken()
		}
		return err
	}
	if walk("") != nil {
		return nil // it is not JSON further on: that is what to say
	}
	return issues
}

// unquote decodes a JSON string that was checked already.
func unquote(raw json.RawMessage) string {
	b, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return ""
	}
	return string(b)
}

// shown shortens a name that came from outside for an issue.
func shown(name string) string {
	if utf8.RuneCountInString(name) <= maxShown {
		return name
	}
	return string([]rune(name)[:maxShown]) + "…"
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
