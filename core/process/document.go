package process

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// Document is a PROCESS.md that keeps every rule of protocol.md section 1. It is immutable: share it freely.
type Document struct {
	Name        string
	Description string
	// Inputs are the fields a run starts with, in the order the file declares them; nil when it declares none.
	Inputs Fields
	// Requires names the external systems the work needs (`requires.systems`): shown, never checked.
	Requires []string
	Steps    []Step
	// Body is everything after the closing fence, byte for byte.
	Body string
	// Hash is the content hash of protocol.md 1.7, in lower-case hex.
	Hash string
	// index finds steps by id. Only a parsed document has it, and only when it is long.
	index map[string]int
}

// Kind is what completes a step: the one kind key it carries (protocol.md 1.3).
type Kind string

const (
	Agent     Kind = "agent"
	Task      Kind = "task"
	Approve   Kind = "approve"
	Wait      Kind = "wait"
	WaitUntil Kind = "wait_until"
	WaitFor   Kind = "wait_for"
	Finish    Kind = "finish"
	Parallel  Kind = "parallel"
)

// Join is the reserved target that ends a branch (protocol.md 1.5).
const Join = "join"

// Initiator is the reserved role of the person who started the run (protocol.md 1.3).
const Initiator = "initiator"

// Step is one step with its defaults resolved.
type Step struct {
	ID   string
	Kind Kind
	// Text is the value of the kind key as written: instructions, what is approved, the duration of a wait,
	// the path of a wait_until, the event name of a wait_for, the outcome of a finish. Empty for a parallel step.
	Text string
	// Person is a role, Initiator, or a path (it contains a dot). Only task and approve steps have one.
	Person string
	// Output is nil where the step declares no field.
	Output Fields
	// Evidence holds the required kinds, "file" or "link"; nil where none is required.
	Evidence []string
	// Next is the one step that follows: as written, or the following step of the list. It may be Join inside a
	// branch. Empty for a finish and where Routes is set.
	Next string
	// Routes are the targets an actor chooses from when `next` is a list (two or more); else nil.
	Routes []Route
	// OnReject is the step an approval returns to; empty ends the run as rejected.
	OnReject string
	// Due is the time a person or agent has from the moment the step is ready; nil for none.
	Due *time.Duration
	// Wait is the duration of a wait step.
	Wait time.Duration
	// Timeout is how long a wait_for waits; nil for ever.
	Timeout *time.Duration
	// OnTimeout is where a timeout leads: as written, or Next.
	OnTimeout string
	// Branches are the entries of a parallel step, in the order written.
	Branches []string
	// Branch is the entry id of the branch this step is in, and Fork the id of that branch's parallel step; both
	// are empty outside a branch.
	Branch, Fork string
	// Check is the value of `check` as JSON and nil without one; Advisory goes with it (profile check-1).
	Check    json.RawMessage
	Advisory bool
}

// Route is one target of a `next` list, with the plain-language condition that labels it.
type Route struct {
	To   string `json:"to"`
	When string `json:"when,omitempty"`
}

// Type is the type of a field (protocol.md 1.4).
type Type string

const (
	String   Type = "string"
	Number   Type = "number"
	Boolean  Type = "boolean"
	Date     Type = "date"
	Datetime Type = "datetime"
	List     Type = "list"
	Object   Type = "object"
	Person   Type = "person"
)

// Fields is an ordered set of declared fields. It marshals to a JSON object in declared order, each field as it was
// written (a bare type name or an object), and a nil Fields to null.
type Fields []Field

// Field is one declared field.
type Field struct {
	Name        string
	Type        Type
	Description string
	Optional    bool
	// OneOf holds the allowed values as JSON with their source digits; nil for any.
	OneOf []json.RawMessage
	// Items is the declared element of a list (its Name is empty), or nil.
	Items *Field
	// Bare says that the field was written as a type name alone.
	Bare bool
}

// Find returns the field of that name.
func (f Fields) Find(name string) (Field, bool) {
	for _, x := range f {
		if x.Name == name {
			return x, true
		}
	}
	return Field{}, false
}

// MarshalJSON implements json.Marshaler.
func (f Fields) MarshalJSON() ([]byte, error) {
	if f == nil {
		return []byte("null"), nil
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, x := range f {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(x.Name)
		if err != nil {
			return nil, err
		}
		value, err := x.MarshalJSON()
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// MarshalJSON implements json.Marshaler: the field's declaration, without its name.
func (f Field) MarshalJSON() ([]byte, error) {
	if f.Bare {
		return json.Marshal(f.Type)
	}
	return json.Marshal(struct {
		Type        Type              `json:"type"`
		Description string            `json:"description,omitempty"`
		Optional    bool              `json:"optional,omitempty"`
		OneOf       []json.RawMessage `json:"one_of,omitempty"`
		Items       *Field            `json:"items,omitempty"`
	}{f.Type, f.Description, f.Optional, f.OneOf, f.Items})
}

// Index returns the position of the step with that id, or -1.
func (d *Document) Index(id string) int {
	if d.index != nil {
		if i, ok := d.index[id]; ok {
			return i
		}
		return -1
	}
	for i := range d.Steps {
		if d.Steps[i].ID == id {
			return i
		}
	}
	return -1
}

// makeIndex makes the index where looking through the steps would take longer.
func (d *Document) makeIndex() {
	const few = 16
	if len(d.Steps) <= few {
		return
	}
	d.index = make(map[string]int, len(d.Steps))
	for i := range d.Steps {
		d.index[d.Steps[i].ID] = i
	}
}

// Step returns the step with that id, or nil.
func (d *Document) Step(id string) *Step {
	if i := d.Index(id); i >= 0 {
		return &d.Steps[i]
	}
	return nil
}

// Roles lists the role names that must be bound to a group before publication, in order of first use, each once.
func (d *Document) Roles() []string {
	var roles []string
	seen := map[string]bool{Initiator: true}
	for _, s := range d.Steps {
		if s.Person == "" || strings.Contains(s.Person, ".") || seen[s.Person] {
			continue
		}
		seen[s.Person] = true
		roles = append(roles, s.Person)
	}
	return roles
}

// UsesInitiator says whether any step is assigned to the person who started the run.
func (d *Document) UsesInitiator() bool {
	for _, s := range d.Steps {
		if s.Person == Initiator {
			return true
		}
	}
	return false
}

// Profiles lists the profiles whose keys the process uses: "parallel-1", "check-1", in that order.
func (d *Document) Profiles() []string {
	var parallel, check bool
	for _, s := range d.Steps {
		parallel = parallel || s.Kind == Parallel
		check = check || s.Check != nil
	}
	var profiles []string
	if parallel {
		profiles = append(profiles, "parallel-1")
	}
	if check {
		profiles = append(profiles, "check-1")
	}
	return profiles
}

// Path is a reference into run data: `inputs.<field>` or `steps.<id>.output.<field>`. Field may contain dots.
type Path struct {
	// Step is the step's id, or empty for an input.
	Step  string
	Field string
}

// ParsePath reads a path as `person` and `wait_until` write it; ok is false when it has neither form.
func ParsePath(s string) (p Path, ok bool) {
	if rest, found := strings.CutPrefix(s, "inputs."); found {
		return Path{Field: rest}, rest != ""
	}
	rest, found := strings.CutPrefix(s, "steps.")
	if !found {
		return Path{}, false
	}
	id, field, found := strings.Cut(rest, ".output.")
	if !found || id == "" || field == "" {
		return Path{}, false
	}
	return Path{Step: id, Field: field}, true
}
