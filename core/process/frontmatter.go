package process

import (
	"fmt"
	"strings"
)

// frontmatter checks the frontmatter's own keys (protocol.md 1.2), then the steps.
func (c *checker) frontmatter(root *node) {
	c.root = root
	if !c.isMap(root, "the frontmatter") {
		return
	}
	o := read(root, rootKeys)
	c.reportUnknown(&o, "the frontmatter", keyNames(rootKeys))
	c.reportMissing(&o)
	if n := o.value("name"); n != nil {
		c.name(n)
	}
	if n := o.value("description"); n != nil {
		c.doc.Description, _ = c.sentence(n, "`description`")
	}
	if n := o.value("inputs"); n != nil {
		c.doc.Inputs = c.fields(n, "`inputs`")
	}
	if n := o.value("requires"); n != nil {
		c.requires(n)
	}
	if n := o.value("steps"); n != nil {
		c.readSteps(n)
	}
}

// missingHelp says what to write for a required key of the frontmatter.
var missingHelp = map[string]string{
	"name":        "write the process's name, such as `name: purchase-request`",
	"description": "say in a sentence or two what the process does and when to start it",
	"steps":       "list at least one step",
}

func (c *checker) reportMissing(o *object) {
	for i := range o.table {
		if k := &o.table[i]; k.required && o.at[i] < 0 {
			c.reportAt(ruleMissingField, Place{1, 1, 4}, fmt.Sprintf("`%s` is missing from the frontmatter; %s", k.name, missingHelp[k.name]))
		}
	}
}

func (c *checker) name(n *node) {
	name, ok := c.text(n, "`name`")
	if !ok {
		return
	}
	c.doc.Name = name
	if fault := nameFault(name); fault != "" {
		c.report(ruleName, n, fmt.Sprintf("%s can't be a process's name: %s", quote(name), fault))
		return
	}
	if c.opts.Folder != "" && c.opts.Folder != name {
		c.report(ruleNameFolder, n, fmt.Sprintf("`name` is `%s`, but the folder is called %s; give both the same name", name, quote(c.opts.Folder)))
	}
}

// nameFault says why a text can't be a name, or nothing.
func nameFault(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case len([]rune(name)) > maxNameLength:
		return fmt.Sprintf("it has more than %d characters", maxNameLength)
	case nameRegexp.MatchString(name):
		return ""
	}
	const rule = "use lower-case letters and digits, with single hyphens between them"
	if better := nameFrom(name); better != "" {
		return rule + ", such as `" + better + "`"
	}
	return rule
}

// nameFrom makes a name of a text, or nothing.
func nameFrom(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	if name := strings.Join(words, "-"); len(name) <= maxNameLength {
		return name
	}
	return ""
}

// requires checks `requires: {systems: [...]}`.
func (c *checker) requires(n *node) {
	if !c.isMap(n, "`requires`") {
		return
	}
	o := read(n, requiresKeys)
	c.reportUnknown(&o, "`requires`", keyNames(requiresKeys))
	systems := o.value("systems")
	if systems == nil {
		if len(o.unknown) == 0 {
			c.report(ruleMissingField, n, "`requires` needs `systems`, a list of the external systems the work needs; or remove `requires`")
		}
		return
	}
	if !c.isList(systems, "`systems`", "names") {
		return
	}
	if len(systems.values) == 0 {
		c.report(ruleRequires, systems, "`systems` is empty; name one or more systems, or remove `requires`")
	}
	seen := map[string]*node{}
	for _, v := range systems.values {
		name, ok := c.text(v, "a system's name")
		if !ok {
			continue
		}
		if fault := nameFault(name); fault != "" {
			c.report(ruleRequires, v, fmt.Sprintf("%s can't be a system's name: %s", quote(name), fault))
		} else if first := seen[name]; first != nil {
			c.report(ruleRequires, v, fmt.Sprintf("the system `%s` is listed twice, first on line %d; list it once", name, first.line))
		} else {
			seen[name] = v
		}
		c.doc.Requires = append(c.doc.Requires, name)
	}
}
