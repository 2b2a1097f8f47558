package process

import (
	"regexp"
	"slices"
	"strings"
)

// The patterns of names (protocol.md 1.2, 1.3).
const (
	namePattern     = `^[a-z0-9]+(-[a-z0-9]+)*$`
	idPattern       = `^[a-z][a-z0-9_-]{0,63}$`
	durationPattern = `^[0-9]+[mhd]$`
	maxNameLength   = 64
)

var (
	nameRegexp     = regexp.MustCompile(namePattern)
	idRegexp       = regexp.MustCompile(idPattern)
	durationRegexp = regexp.MustCompile(durationPattern)
)

// IsEventName says whether a name may be an event's: it has the pattern of a step id (protocol.md 1.3).
func IsEventName(name string) bool { return idRegexp.MatchString(name) }

// types are the types of fields, in the order messages name them.
var types = []Type{String, Number, Boolean, Date, Datetime, List, Object, Person}

// evidenceKinds are what `evidence` may list.
var evidenceKinds = []string{"file", "link"}

// kinds are the kind keys of a step, in the order messages name them.
var kinds = []Kind{Agent, Task, Approve, Wait, WaitUntil, WaitFor, Finish, Parallel}

// key is one key of a map of the frontmatter. The rules and the JSON Schema are made from the same tables of keys.
type key struct {
	name string
	// on are the kinds of step that take the key; nil for a key that any such map takes.
	on []Kind
	// required says that the map, or a step of those kinds, must have it.
	required bool
	// means says what the key is for, to an author.
	means string
	// schema is the JSON Schema of its value.
	schema schema
}

var rootKeys = []key{
	{name: "name", required: true, schema: nameSchema,
		means: "The process's name: lower-case letters, digits and single hyphens, at most 64 characters. The folder that holds the file has the same name."},
	{name: "description", required: true, schema: textSchema,
		means: "One or two sentences: what the process does and when to start it."},
	{name: "inputs", schema: ref("fields"),
		means: "The fields a run starts with."},
	{name: "requires", schema: ref("requires"),
		means: "What the organization needs outside the server before the work can be done. Shown, never checked."},
	{name: "steps", required: true, schema: listSchema(ref("step"), 1),
		means: "The steps, in order. A run begins with the first."},
}

var requiresKeys = []key{
	{name: "systems", required: true, schema: uniqueSchema(nameSchema, 1),
		means: "The external systems that the work needs access to, such as [salesforce, gmail]."},
}

var stepKeys = []key{
	{name: "id", required: true, schema: idSchema,
		means: "The step's name within the process: a lower-case letter, then letters, digits, hyphens and underscores."},
	{name: "agent", on: []Kind{Agent}, schema: textSchema,
		means: "Instructions to the agent that does this step."},
	{name: "task", on: []Kind{Task}, schema: textSchema,
		means: "Instructions to the person who does this step."},
	{name: "approve", on: []Kind{Approve}, schema: textSchema,
		means: "What a person approves or rejects in this step."},
	{name: "wait", on: []Kind{Wait}, schema: ref("duration"),
		means: "How long the run waits here, such as 30m, 4h or 3d."},
	{name: "wait_until", on: []Kind{WaitUntil}, schema: ref("path"),
		means: "The datetime field that holds the time until which the run waits here, such as inputs.startDate."},
	{name: "wait_for", on: []Kind{WaitFor}, schema: idSchema,
		means: "The name of the event that the run waits for here."},
	{name: "finish", on: []Kind{Finish}, schema: textSchema,
		means: "The run's outcome: reaching this step ends it."},
	{name: "parallel", on: []Kind{Parallel}, schema: uniqueSchema(idSchema, 2),
		means: "The first steps of two or more branches that run at the same time. Each branch ends with `next: join`."},
	{name: "person", on: []Kind{Task, Approve}, required: true, schema: personSchema,
		means: "Who does it: a role (finance-approver), initiator (who started the run), or a person field (inputs.managerEmail)."},
	{name: "output", on: []Kind{Agent, Task}, schema: ref("fields"),
		means: "The fields that completing this step must fill in."},
	{name: "evidence", on: []Kind{Agent, Task}, schema: listSchema(enumSchema(evidenceKinds...), 0),
		means: "What must be attached: file, link or both."},
	{name: "check", on: []Kind{Agent, Task}, schema: ref("check"),
		means: "Questions that a model answers about what was submitted (profile check-1)."},
	{name: "advisory", on: []Kind{Agent, Task}, schema: schema{"type": "boolean"},
		means: "true records what `check` finds without ever blocking."},
	{name: "next", on: []Kind{Agent, Task, Approve, Wait, WaitUntil, WaitFor, Parallel}, schema: ref("next"),
		means: "The step that follows, or (agent and task) a list of routes to choose from. Without it, the next step of the list."},
	{name: "on_reject", on: []Kind{Approve}, schema: idSchema,
		means: "The step a rejection returns to. Without it, a rejection ends the run as rejected."},
	{name: "due", on: []Kind{Agent, Task, Approve}, schema: ref("duration"),
		means: "How long the step may take before it is overdue, such as 2d."},
	{name: "timeout", on: []Kind{WaitFor}, schema: ref("duration"),
		means: "How long to wait for the event at most."},
	{name: "on_timeout", on: []Kind{WaitFor}, schema: idSchema,
		means: "The step that follows when the timeout passes. Without it, the one `next` names."},
}

var routeKeys = []key{
	{name: "to", required: true, schema: idSchema,
		means: "The step this route leads to."},
	{name: "when", schema: textSchema,
		means: "When to take it, in plain words."},
}

var fieldKeys = []key{
	{name: "type", required: true, schema: ref("type"),
		means: "The field's type."},
	{name: "description", schema: schema{"type": "string"},
		means: "What belongs in the field."},
	{name: "optional", schema: schema{"type": "boolean"},
		means: "true when the field may be left out."},
	{name: "one_of", schema: schema{"type": "array", "minItems": 1},
		means: "The only values allowed, each of the field's type."},
	{name: "items", schema: ref("field"),
		means: "What each element of a list is: a type, or a field like this one."},
}

var questionKeys = []key{
	{name: "ask", required: true, schema: textSchema,
		means: "The question, in plain words."},
	{name: "pass", means: "What passes: a probability (yes/no), a list of answers (one_of), or a level counted from 0 (levels)."},
	{name: "fail", schema: probabilitySchema,
		means: "Below this probability of yes the answer fails; between fail and pass a person decides."},
	{name: "one_of", schema: schema{"type": "object", "minProperties": 2, "additionalProperties": schema{"type": "string"}},
		means: "The possible answers and what each means."},
	{name: "unsure", schema: listSchema(schema{"type": "string"}, 0),
		means: "The answers that a person has to look at."},
	{name: "levels", schema: schema{"type": "array", "items": schema{"type": "string"}, "minItems": minLevels, "maxItems": maxLevels},
		means: "The levels of a rubric, worst first."},
	{name: "confidence", schema: probabilitySchema,
		means: "Below this confidence of the model a person decides."},
}

// The levels of a rubric (protocol.md 1.6).
const minLevels, maxLevels = 2, 10

// takes says whether a step of a kind may have the key.
func (k *key) takes(kind Kind) bool { return k.on == nil || slices.Contains(k.on, kind) }

// keyNames lists the names of a table's keys.
func keyNames(table []key) []string {
	list := make([]string, len(table))
	for i := range table {
		list[i] = table[i].name
	}
	return list
}

// kindNames lists kinds for a message: "agent, task and approve".
func kindNames(list []Kind) string {
	words := make([]string, len(list))
	for i, k := range list {
		words[i] = string(k)
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
