package process

import "slices"

// Rule is one rule of protocol.md section 1, or a warning.
type Rule struct {
	// ID is stable: configurations and scripts may name it.
	ID       string
	Severity Severity
	// Topic is the part of a PROCESS.md that the rule is about.
	Topic string
	// What states the rule, or for a warning what it warns of; Why says what would go wrong, Mend what to do.
	What, Why, Mend string
	// InSchema says that the JSON Schema refuses it too, as far as one can.
	InSchema bool
}

// Rules returns every rule, in the order of the documentation.
func Rules() []Rule { return slices.Clone(rules) }

// The ids of the rules.
const (
	ruleFileSize      = "file-size"
	ruleEncoding      = "encoding"
	ruleByteOrderMark = "byte-order-mark"
	ruleFence         = "fence"
	ruleNoBody        = "no-body"

	ruleControlCharacter = "control-character"
	ruleSyntax           = "yaml-syntax"
	ruleOneDocument      = "one-document"
	ruleTag              = "yaml-tag"
	ruleKeyType          = "key-type"
	ruleDuplicateKey     = "duplicate-key"
	ruleAliasLoop        = "alias-loop"
	ruleTooManyNodes     = "too-many-nodes"
	ruleTooDeep          = "too-deep"
	ruleNumberRange      = "number-range"
	ruleNumberPrecision  = "number-precision"
	ruleNullValue        = "null-value"

	ruleWrongType    = "wrong-type"
	ruleUnknownField = "unknown-field"
	ruleMissingField = "missing-field"
	ruleBlankText    = "blank-text"
	ruleName         = "name-format"
	ruleNameFolder   = "name-folder"
	ruleRequires     = "requires"
	ruleSteps        = "no-steps"

	ruleFieldName = "field-name"
	ruleFieldType = "field-type"
	ruleItems     = "items"
	ruleOneOf     = "one-of"

	ruleStepID          = "step-id"
	ruleDuplicateID     = "duplicate-id"
	ruleStepKind        = "step-kind"
	ruleMisplacedField  = "misplaced-field"
	ruleDuration        = "duration"
	ruleZeroDuration    = "zero-duration"
	ruleEventName       = "event-name"
	ruleReservedOutcome = "reserved-outcome"
	ruleEvidence        = "evidence-kind"
	ruleRepeatedValue   = "repeated-value"

	ruleUnknownStep      = "unknown-step"
	ruleRouteList        = "route-list"
	ruleRouteWithoutWhen = "route-without-when"
	ruleLongWhen         = "long-when"
	ruleNoNext           = "missing-next"
	ruleTimeoutMissing   = "timeout-missing"
	ruleRejectToSelf     = "reject-to-self"
	ruleUnreachable      = "unreachable-step"
	ruleCycle            = "cycle"

	rulePath        = "path-form"
	rulePathUnknown = "path-unknown"
	rulePathType    = "path-type"
	rulePathUnset   = "path-unset"
	ruleSimilarRole = "similar-role"

	ruleParallel       = "parallel-branches"
	ruleJoinID         = "join-id"
	ruleJoin           = "join-outside"
	ruleBranchNext     = "branch-next"
	ruleBranchLeaves   = "branch-leaves"
	ruleBranchEntered  = "branch-entered"
	ruleBranchShared   = "branch-shared"
	ruleBranchReject   = "branch-reject"
	ruleNestedParallel = "nested-parallel"

	ruleCheck         = "check-question"
	ruleCheckPass     = "check-pass"
	ruleProbability   = "check-probability"
	ruleFailAbovePass = "fail-above-pass"
	ruleNeverPasses   = "never-passes"
	ruleAdvisory      = "advisory-alone"
)

// warnings are the rules that never refuse a file.
var warnings = func() map[string]bool {
	set := map[string]bool{}
	for _, r := range rules {
		set[r.ID] = r.Severity == Warning
	}
	return set
}()

var rules = []Rule{
	{ID: ruleFileSize, Severity: Error, Topic: "The file",
		What: "A PROCESS.md is at most 1 MiB (1,048,576 bytes).",
		Why:  "A server, and everyone who works a step, reads the whole file.",
		Mend: "Move what is long into a document and link to it from the body."},
	{ID: ruleEncoding, Severity: Error, Topic: "The file",
		What: "The file is UTF-8 without NUL bytes.",
		Why:  "Its hash is over its bytes, so every reader has to take them for the same text.",
		Mend: "Save the file as UTF-8. A NUL byte mostly means that it isn't a text file at all."},
	{ID: ruleByteOrderMark, Severity: Warning, Topic: "The file",
		What: "The file begins with a byte order mark.",
		Why:  "It is dropped, and other programs may stumble over it: for them the first line isn't `---`.",
		Mend: "Save the file as UTF-8 without a byte order mark."},
	{ID: ruleFence, Severity: Error, Topic: "The file",
		What: "The first line is exactly `---`, and a later line that is exactly `---` closes the frontmatter.",
		Why:  "Everything between the two lines is the process; everything after them is the body.",
		Mend: "Write both lines with three hyphens and nothing else."},
	{ID: ruleNoBody, Severity: Warning, Topic: "The file",
		What: "Nothing stands under the frontmatter.",
		Why:  "The body goes to every agent with every step, and to people: it is where the process says what it is for.",
		Mend: "Write a few sentences about when to start the process and what a good result is."},
	{ID: ruleControlCharacter, Severity: Error, Topic: "YAML",
		What: "No text holds a control character, written as it is or as an escape; tabs and line breaks are fine.",
		Why:  "Such characters can't be seen, and make a terminal or a log show something else than what is there.",
		Mend: "Remove the character or its escape."},
	{ID: ruleSyntax, Severity: Error, Topic: "YAML",
		What: "The frontmatter is YAML 1.2.",
		Why:  "When it can't be read, nothing else in it can be checked.",
		Mend: "Most often an indent is wrong, or text with `: ` or ` #` in it needs quotes."},
	{ID: ruleOneDocument, Severity: Error, Topic: "YAML",
		What: "The frontmatter is one YAML document.",
		Why:  "There is one process in a file.",
		Mend: "Remove the line that begins the second document (`---` or `...`), or split the file."},
	{ID: ruleTag, Severity: Error, Topic: "YAML",
		What: "A tag is one of the core schema (`!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!seq`, `!!map`) and fits what it tags.",
		Why:  "Other tags mean something in one program only.",
		Mend: "Remove the tag. To make text of a number, put it in quotes."},
	{ID: ruleKeyType, Severity: Error, Topic: "YAML",
		What: "Every key is text.",
		Why:  "JSON, in which a process is hashed and shown, has no other keys.",
		Mend: "Put the key in quotes."},
	{ID: ruleDuplicateKey, Severity: Error, Topic: "YAML",
		What: "No map has the same key twice.",
		Why:  "Readers disagree on which one counts.",
		Mend: "Keep one of them."},
	{ID: ruleAliasLoop, Severity: Error, Topic: "YAML",
		What: "No alias is part of what it stands for.",
		Why:  "What it stands for would never end.",
		Mend: "Write the value out."},
	{ID: ruleTooManyNodes, Severity: Error, Topic: "YAML",
		What: "The frontmatter holds at most 50,000 values, keys included and aliases expanded.",
		Why:  "Aliases can make a small file stand for an endless one.",
		Mend: "Split the process, or use fewer aliases."},
	{ID: ruleTooDeep, Severity: Error, Topic: "YAML",
		What: "Lists and maps nest at most 64 deep.",
		Why:  "A process needs far less, and a reader has to stop somewhere.",
		Mend: "Flatten what is nested."},
	{ID: ruleNumberRange, Severity: Error, Topic: "YAML",
		What: "A number is one that a double can hold: no `.inf` or `.nan`, nothing beyond 1.8e308.",
		Why:  "JSON has no other numbers.",
		Mend: "Write a number, or put it in quotes to mean the text."},
	{ID: ruleNumberPrecision, Severity: Warning, Topic: "YAML",
		What: "A number has more digits than a double holds.",
		Why:  "The content hash takes it for the nearest double, and so will other programs. Here its digits stay as written.",
		Mend: "Write fewer digits, or make the field a string."},
	{ID: ruleNullValue, Severity: Error, Topic: "YAML", InSchema: true,
		What: "No value is null: not `null`, not `~`, and not nothing after a colon.",
		Why:  "An empty value is mostly one that somebody forgot.",
		Mend: "Give the key a value or remove it."},
	{ID: ruleWrongType, Severity: Error, Topic: "The frontmatter", InSchema: true,
		What: "Every value has the type that its key asks for.",
		Why:  "Under YAML 1.2 `5` and `true` are no text, while `yes`, `no` and `2026-10-06` are.",
		Mend: "Put text that looks like a number or a boolean in quotes; write lists with dashes or in `[ ]`."},
	{ID: ruleUnknownField, Severity: Error, Topic: "The frontmatter", InSchema: true,
		What: "Only the fields of the specification are allowed, at every depth.",
		Why:  "A misspelt key would be ignored in silence; a key that only one server knows would not work on another.",
		Mend: "Use the name that is suggested, or remove the key."},
	{ID: ruleMissingField, Severity: Error, Topic: "The frontmatter", InSchema: true,
		What: "Required fields are there: `name`, `description` and `steps`, a step's `id`, `person` for a task or an approval, `to` of a route, `type` of a field, `ask` of a question.",
		Why:  "Without them there is nothing to show, or nobody to ask.",
		Mend: "Add the field."},
	{ID: ruleBlankText, Severity: Error, Topic: "The frontmatter", InSchema: true,
		What: "Texts that somebody acts on are not blank: `description`, `agent`, `task`, `approve`, `finish`, `person`, `when`, `ask`.",
		Why:  "Nobody could do what it says.",
		Mend: "Write the text."},
	{ID: ruleName, Severity: Error, Topic: "The frontmatter", InSchema: true,
		What: "`name` has 1 to 64 characters: lower-case letters, digits and single hyphens between them.",
		Why:  "It is a folder's name and part of links.",
		Mend: "Write it like `purchase-request`."},
	{ID: ruleNameFolder, Severity: Error, Topic: "The frontmatter",
		What: "`name` equals the name of the folder that holds the PROCESS.md.",
		Why:  "A process travels as its folder; two names for one process would be confusing.",
		Mend: "Rename one of the two."},
	{ID: ruleRequires, Severity: Error, Topic: "The frontmatter", InSchema: true,
		What: "`requires.systems` lists one or more names like that of a process, none twice.",
		Why:  "The list is shown wherever the process is offered, so that an organization knows what to connect.",
		Mend: "Write names such as `salesforce` or `google-drive`, each once."},
	{ID: ruleSteps, Severity: Error, Topic: "The frontmatter", InSchema: true,
		What: "There is at least one step.",
		Why:  "A process without steps does nothing.",
		Mend: "Write the first step."},
	{ID: ruleFieldName, Severity: Error, Topic: "Fields", InSchema: true,
		What: "A field has a name.",
		Why:  "Nobody could fill in a field that is called nothing.",
		Mend: "Name the field."},
	{ID: ruleFieldType, Severity: Error, Topic: "Fields", InSchema: true,
		What: "A type is one of `string`, `number`, `boolean`, `date`, `datetime`, `list`, `object` and `person`.",
		Why:  "These eight are the whole schema language; what is finer goes into the instructions.",
		Mend: "Use the nearest of them."},
	{ID: ruleItems, Severity: Error, Topic: "Fields", InSchema: true,
		What: "`items` stands only beside `type: list`.",
		Why:  "It says what each element of a list is.",
		Mend: "Remove it, or make the field a list."},
	{ID: ruleOneOf, Severity: Error, Topic: "Fields", InSchema: true,
		What: "`one_of` lists one or more values of the field's type, which is not `list` or `object`.",
		Why:  "A value of another type could never be given.",
		Mend: "Change the values or the type. `yes`, `no` and dates are text in YAML 1.2; `1` is a number."},
	{ID: ruleStepID, Severity: Error, Topic: "Steps", InSchema: true,
		What: "A step's `id` begins with a lower-case letter, followed by at most 63 letters, digits, hyphens and underscores, all lower-case.",
		Why:  "Other steps and run data refer to it.",
		Mend: "Write it like `check_vendor`."},
	{ID: ruleDuplicateID, Severity: Error, Topic: "Steps",
		What: "No two steps have the same `id`.",
		Why:  "`next` could mean either.",
		Mend: "Give one of them another id."},
	{ID: ruleStepKind, Severity: Error, Topic: "Steps", InSchema: true,
		What: "A step has exactly one of `agent`, `task`, `approve`, `wait`, `wait_until`, `wait_for`, `finish` and `parallel`.",
		Why:  "It says who or what completes the step.",
		Mend: "Add the one that is missing, or make two steps."},
	{ID: ruleMisplacedField, Severity: Error, Topic: "Steps", InSchema: true,
		What: "A step has only the fields that its kind takes.",
		Why:  "`due` on a wait, or `output` on an approval, would have no effect.",
		Mend: "Remove the field, or use the kind of step it belongs to."},
	{ID: ruleDuration, Severity: Error, Topic: "Steps", InSchema: true,
		What: "A duration is a whole number and `m`, `h` or `d`, at most 36500 days.",
		Why:  "Nothing else is a duration, so that nobody has to guess.",
		Mend: "Write `30m`, `4h` or `3d`; a week is `7d`."},
	{ID: ruleZeroDuration, Severity: Warning, Topic: "Steps",
		What: "A duration is zero.",
		Why:  "It passes at once, which is rarely meant.",
		Mend: "Write the real time, or remove it."},
	{ID: ruleEventName, Severity: Error, Topic: "Steps", InSchema: true,
		What: "An event's name has the form of a step's id.",
		Why:  "Whoever sends the event has to write exactly this name.",
		Mend: "Write it like `contract_signed`."},
	{ID: ruleReservedOutcome, Severity: Warning, Topic: "Steps",
		What: "A finish has the outcome `rejected` or `failed`.",
		Why:  "A server ends runs with these two itself: on a rejection without `on_reject`, and on a failure.",
		Mend: "Say what happened in the process's own words, such as `declined`."},
	{ID: ruleEvidence, Severity: Error, Topic: "Steps", InSchema: true,
		What: "`evidence` lists `file`, `link` or both.",
		Why:  "These are the kinds that can be attached.",
		Mend: "Use `file` for an upload that is verified, `link` for an address or a document number."},
	{ID: ruleRepeatedValue, Severity: Warning, Topic: "Steps",
		What: "A list names the same thing twice: a kind of evidence, a value of `one_of`, an answer, or a route's target.",
		Why:  "The second one changes nothing.",
		Mend: "Keep one of them."},
	{ID: ruleUnknownStep, Severity: Error, Topic: "Where steps lead",
		What: "`next`, `on_reject`, `on_timeout`, `to` and `parallel` name steps that exist.",
		Why:  "The run would have nowhere to go.",
		Mend: "Use the id that is suggested, or add the step."},
	{ID: ruleRouteList, Severity: Error, Topic: "Where steps lead", InSchema: true,
		What: "A list in `next` has two or more routes, and only an agent or task step has one.",
		Why:  "A choice needs somebody who chooses, and something to choose from.",
		Mend: "Write one step id. A person who has to choose does so in a `task`."},
	{ID: ruleRouteWithoutWhen, Severity: Warning, Topic: "Where steps lead",
		What: "Some routes of a list say `when` to take them, and one doesn't.",
		Why:  "The actor has to guess what the remaining route is for.",
		Mend: "Add `when` to it."},
	{ID: ruleLongWhen, Severity: Warning, Topic: "Where steps lead",
		What: "A `when` has more than 200 characters.",
		Why:  "It labels a line on the process map.",
		Mend: "Keep the label short and explain the rest in the step's instructions."},
	{ID: ruleNoNext, Severity: Error, Topic: "Where steps lead",
		What: "The last step of the list, unless it is a finish, names `next`.",
		Why:  "No step follows it in the list.",
		Mend: "Name the step it leads to, or end the list with a finish."},
	{ID: ruleTimeoutMissing, Severity: Warning, Topic: "Where steps lead",
		What: "`on_timeout` stands without `timeout`.",
		Why:  "Without a timeout it never happens.",
		Mend: "Add `timeout`, or remove `on_timeout`."},
	{ID: ruleRejectToSelf, Severity: Warning, Topic: "Where steps lead",
		What: "An approval's `on_reject` names the approval itself.",
		Why:  "The same thing is put up for approval again before anybody has changed it.",
		Mend: "Return to the step that should redo the work."},
	{ID: ruleUnreachable, Severity: Error, Topic: "Where steps lead",
		What: "Every step can be reached from the first.",
		Why:  "A step that nothing leads to is never done.",
		Mend: "Name it in the `next` of the step before it, or remove it."},
	{ID: ruleCycle, Severity: Error, Topic: "Where steps lead",
		What: "Along `next` and `on_timeout` no run comes to a step twice.",
		Why:  "`on_reject` is the only way back: it keeps a record of what was done before.",
		Mend: "Return with the `on_reject` of an approval, or lead on to another step."},
	{ID: rulePath, Severity: Error, Topic: "People and times", InSchema: true,
		What: "A path is `inputs.<field>` or `steps.<id>.output.<field>`: in `wait_until`, and in a `person` with a dot.",
		Why:  "It names the field that holds the person or the time.",
		Mend: "Write it in one of the two forms. A role has no dot."},
	{ID: rulePathUnknown, Severity: Error, Topic: "People and times",
		What: "A path names a declared field.",
		Why:  "It would always be empty.",
		Mend: "Use the name that is suggested, or declare the field."},
	{ID: rulePathType, Severity: Error, Topic: "People and times",
		What: "A path of `person` names a `person` field, one of `wait_until` a `datetime` field.",
		Why:  "Anything else is nobody, or no time.",
		Mend: "Change the field's type, or name another field."},
	{ID: rulePathUnset, Severity: Warning, Topic: "People and times",
		What: "A path names a field of a step that no route completes before this one.",
		Why:  "The field is empty whenever the run comes here, so the run fails.",
		Mend: "Name a field of a step that comes before."},
	{ID: ruleSimilarRole, Severity: Warning, Topic: "People and times",
		What: "A role is spelt almost like another.",
		Why:  "They would be two roles, each to be bound to a group.",
		Mend: "Use one spelling."},
	{ID: ruleParallel, Severity: Error, Topic: "Parallel branches (profile parallel-1)", InSchema: true,
		What: "`parallel` lists two or more different steps, the first of each branch, and not itself.",
		Why:  "With fewer nothing runs in parallel.",
		Mend: "List the first step of each branch."},
	{ID: ruleJoinID, Severity: Error, Topic: "Parallel branches (profile parallel-1)",
		What: "In a process with a `parallel` step no step has the id `join`.",
		Why:  "`next: join` ends a branch.",
		Mend: "Give the step another id."},
	{ID: ruleJoin, Severity: Error, Topic: "Parallel branches (profile parallel-1)",
		What: "`join` is the `next` or `on_timeout` of a step in a branch, and nothing else.",
		Why:  "Elsewhere there is no branch to end.",
		Mend: "Name the step that follows."},
	{ID: ruleBranchNext, Severity: Error, Topic: "Parallel branches (profile parallel-1)",
		What: "Every step in a branch names `next`.",
		Why:  "The following step of the list may belong to another branch.",
		Mend: "Name the step that follows in the branch, or `join`."},
	{ID: ruleBranchLeaves, Severity: Error, Topic: "Parallel branches (profile parallel-1)",
		What: "A branch leads only to its own steps and to `join`: not outside, not back to its parallel step, not to a finish.",
		Why:  "The parallel step waits for every branch to join.",
		Mend: "End the branch with `next: join`; the run goes on at the `next` of the parallel step."},
	{ID: ruleBranchEntered, Severity: Error, Topic: "Parallel branches (profile parallel-1)",
		What: "Only the parallel step leads into its branches, and the first step of the process is in none.",
		Why:  "A branch that was entered alone would wait for the others for ever.",
		Mend: "Name the parallel step, or another step outside."},
	{ID: ruleBranchShared, Severity: Error, Topic: "Parallel branches (profile parallel-1)",
		What: "A step is in one branch only.",
		Why:  "Each branch joins for itself.",
		Mend: "Make two steps, or do the work after the branches have joined."},
	{ID: ruleBranchReject, Severity: Error, Topic: "Parallel branches (profile parallel-1)",
		What: "`on_reject` in a branch stays in that branch; from outside it doesn't lead into one.",
		Why:  "A rejection repeats one branch or all of them.",
		Mend: "Return to a step of the same branch, or from outside to the parallel step."},
	{ID: ruleNestedParallel, Severity: Error, Topic: "Parallel branches (profile parallel-1)",
		What: "A branch holds no `parallel` step.",
		Why:  "This version of the profile has one level.",
		Mend: "Add branches to the outer parallel step, or put one after the other."},
	{ID: ruleCheck, Severity: Error, Topic: "Checks (profile check-1)", InSchema: true,
		What: "A question of `check` is yes/no, a choice (`one_of`: two or more answers) or a rubric (`levels`: 2 to 10), and has only the keys of its kind. `unsure` lists answers that are not in `pass`.",
		Why:  "The kind of a question says how its answer is judged.",
		Mend: "Keep the keys of one kind."},
	{ID: ruleCheckPass, Severity: Error, Topic: "Checks (profile check-1)",
		What: "`pass` of a choice lists some of its answers; of a rubric it is the number of a level, counted from 0. Both are required.",
		Why:  "It says which answer is good enough.",
		Mend: "Add it, with answers or a level that exist."},
	{ID: ruleProbability, Severity: Error, Topic: "Checks (profile check-1)", InSchema: true,
		What: "`pass` and `fail` of a yes/no question, and `confidence`, are numbers from 0 to 1.",
		Why:  "They are probabilities.",
		Mend: "Write 0.9 for 90 %."},
	{ID: ruleFailAbovePass, Severity: Warning, Topic: "Checks (profile check-1)",
		What: "`fail` is greater than `pass`.",
		Why:  "Some answers would both pass and fail.",
		Mend: "Make `fail` the smaller one: between the two a person decides."},
	{ID: ruleNeverPasses, Severity: Warning, Topic: "Checks (profile check-1)",
		What: "`pass` of a choice lists no answer.",
		Why:  "Whatever the answer, it would not pass.",
		Mend: "List one or more answers."},
	{ID: ruleAdvisory, Severity: Error, Topic: "Checks (profile check-1)", InSchema: true,
		What: "`advisory` stands only beside `check`.",
		Why:  "It says how the check counts.",
		Mend: "Add `check`, or remove it."},
}
