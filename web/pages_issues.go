package web

import (
	"cmp"
	"strings"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/templates"
)

// explain puts the protocol's issues into words beside the part of a form they are about. prefix is what the declared
// fields are called in them: "output" or "inputs".
func explain(issues []string, prefix string, fields process.Fields) []templates.Issue {
	told := make([]templates.Issue, 0, len(issues))
	for _, code := range issues {
		told = append(told, explainOne(code, prefix, fields))
	}
	return told
}

func explainOne(code, prefix string, fields process.Fields) templates.Issue {
	issue := templates.Issue{Code: code, Text: sentence(capital(code))}
	if rest, ok := strings.CutPrefix(code, prefix+"."); ok {
		if f, problem, ok := fieldOf(rest, fields); ok {
			issue.About, issue.Label = templates.FieldPrefix+f.Name, f.Name
			issue.Text = fieldProblem(f, problem)
		}
		return issue
	}
	part, problem, _ := strings.Cut(code, ": ")
	switch {
	case part == "evidence" && problem == "file required":
		issue.About, issue.Label, issue.Text = "file", "Evidence file", "At least one file is needed."
	case part == "evidence" && problem == "link required":
		issue.About, issue.Label, issue.Text = "link", "Evidence link", "At least one link is needed."
	case strings.HasPrefix(part, "evidence ") && problem == "not found":
		issue.About, issue.Label, issue.Text = "file", "Evidence file", "A file is no longer there. Choose it again."
	case strings.HasPrefix(part, "evidence ") && problem == "bytes changed":
		issue.About, issue.Label, issue.Text = "file", "Evidence file", "A stored file is not what was uploaded. Choose it again, and tell whoever runs this server."
	case strings.HasPrefix(part, "evidence"):
		issue.About, issue.Label = "link", "Evidence link"
	case part == "next" && strings.HasPrefix(problem, "required"):
		issue.About, issue.Label, issue.Text = "next", "Next step", "Choose one."
	case part == "next":
		issue.About, issue.Label = "next", "Next step"
	case part == "reason":
		issue.About, issue.Label, issue.Text = "reason", "Reason", textProblem(problem, "Say why.")
	case part == "note" && strings.HasPrefix(problem, "not allowed with completed"):
		issue.About, issue.Label, issue.Text = "note", "Note", "A note isn't kept with Complete. Move it to the summary, or clear it."
	case part == "note":
		issue.About, issue.Label, issue.Text = "note", "Note", textProblem(problem, "Say why, for whoever works on it next and for the record.")
	case part == "summary":
		issue.About, issue.Label, issue.Text = "summary", "Summary", textProblem(problem, "Write a summary.")
	case part == "name":
		issue.About, issue.Label, issue.Text = "name", "Event", "Enter the event's name, as the process writes it: lower-case letters, digits, _ and -."
	case part == "data":
		issue.About, issue.Label, issue.Text = "data", "Data", "Enter one “name: value” per line, or a JSON object."
	case part == "run data":
		issue.Text = "This is more than a run may hold. Shorten it, or attach a file instead."
	}
	return issue
}

// fieldOf finds the declared field that an issue is about; the longest name wins, for names may contain anything.
func fieldOf(rest string, fields process.Fields) (field process.Field, problem string, ok bool) {
	for _, f := range fields {
		after, is := strings.CutPrefix(rest, f.Name)
		if !is || after == "" || !strings.ContainsRune(":[.", rune(after[0])) || ok && len(f.Name) <= len(field.Name) {
			continue
		}
		field, problem, ok = f, strings.TrimPrefix(after, ": "), true
	}
	return field, problem, ok
}

// fieldProblem says what is wrong with a field and how to mend it.
func fieldProblem(f process.Field, problem string) string {
	place, what, nested := strings.Cut(problem, ": ")
	if !nested {
		place, what = "", problem
	}
	switch {
	case what == "missing" && place == "":
		return "This is needed."
	case strings.HasPrefix(what, "not one of "):
		return at(place, "Choose one of "+strings.TrimPrefix(what, "not one of ")+".")
	case strings.HasPrefix(what, "expected "):
		return at(place, expected(strings.TrimPrefix(what, "expected "), f))
	}
	return at(place, sentence(capital(what)))
}

// at puts the place within a value before a sentence.
func at(place, text string) string {
	if place == "" {
		return text
	}
	if inner, ok := strings.CutPrefix(place, "["); ok {
		if n, rest, ok := strings.Cut(inner, "]"); ok && rest == "" {
			return "Element " + ordinal(n) + ": " + text
		}
	}
	return strings.TrimPrefix(place, ".") + ": " + text
}

// ordinal counts from one what the protocol counts from zero.
func ordinal(n string) string {
	digits := []byte(n)
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i] < '0' || digits[i] > '9' {
			return n
		}
		if digits[i] < '9' {
			digits[i]++
			return string(digits)
		}
		digits[i] = '0'
	}
	return "1" + string(digits)
}

func expected(kind string, f process.Field) string {
	switch process.Type(kind) {
	case process.Number:
		return "Enter a number with a point for decimals and no separators, like 1250.50."
	case process.Boolean:
		return "Choose yes or no."
	case process.Date:
		return "Enter a real day, like 2026-10-06."
	case process.Datetime:
		return "Enter a real date and time with its offset from UTC, like +02:00."
	case process.Person:
		return "Enter an e-mail address, like name@example.com."
	case process.Object:
		return "Enter one “name: value” per line, or a JSON object."
	case process.List:
		if f.Items != nil && (f.Items.Type == process.List || f.Items.Type == process.Object) {
			return "Enter a JSON list."
		}
		return "Enter one per line."
	}
	return "Enter a " + kind + "."
}

func textProblem(problem, missing string) string {
	if problem == "required" || problem == "missing" {
		return missing
	}
	return sentence(capital(cmp.Or(problem, missing)))
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
