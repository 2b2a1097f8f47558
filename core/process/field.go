package process

import (
	"fmt"
	"slices"
)

// fields checks a map of fields (protocol.md 1.4). What is wrong with one field doesn't hide it from the paths that
// name it.
func (c *checker) fields(n *node, what string) Fields {
	if !c.isMap(n, what) {
		return nil
	}
	var list Fields
	seen := make(map[string]bool, len(n.keys))
	for i, k := range n.keys {
		// A key that is here twice was reported when the tree was built; the first counts.
		if k.kind != textNode || seen[k.text] {
			continue
		}
		seen[k.text] = true
		if k.text == "" {
			c.report(ruleFieldName, k, "a field needs a name, but this key is empty")
			continue
		}
		field := c.field(n.values[i], "`"+shorten(k.text)+"`")
		field.Name = k.text
		list = append(list, field)
	}
	return list
}

// field checks one field's declaration. Its Type is empty when that isn't known.
func (c *checker) field(n *node, what string) Field {
	switch n.kind {
	case textNode:
		return Field{Type: c.fieldType(n), Bare: true}
	case mapNode:
		return c.fieldObject(n, what)
	}
	c.wrongType(n, "the field "+what, "a type name such as `string`, or a map with `type`")
	return Field{}
}

func (c *checker) fieldObject(n *node, what string) Field {
	var f Field
	o := read(n, fieldKeys)
	c.reportUnknown(&o, "a field", keyNames(fieldKeys))
	if t := o.value("type"); t != nil {
		if _, ok := c.text(t, "`type`"); ok {
			f.Type = c.fieldType(t)
		}
	} else {
		c.report(ruleMissingField, c.labelOf(n), fmt.Sprintf("the field %s has no `type`; give it one of %s", what, names(typeNames(), "or")))
	}
	if d := o.value("description"); d != nil {
		f.Description, _ = c.text(d, "`description`")
	}
	if v := o.value("optional"); v != nil {
		f.Optional = c.boolean(v, "`optional`")
	}
	if v := o.value("items"); v != nil {
		if f.Type != List && f.Type != "" {
			c.report(ruleItems, o.keyNode("items"), fmt.Sprintf("`items` says what a list holds, but this field is a %s; remove it, or make `type` list", f.Type))
		} else {
			items := c.field(v, "`items`")
			f.Items = &items
		}
	}
	if v := o.value("one_of"); v != nil {
		c.oneOf(v, o.keyNode("one_of"), &f)
	}
	return f
}

// labelOf is the node by which a reader knows a map: its key, or the map itself in a list.
func (c *checker) labelOf(n *node) *node {
	if n.parent != nil && n.parent.kind == mapNode && n.index < len(n.parent.keys) {
		return n.parent.keys[n.index]
	}
	return n
}

func (c *checker) boolean(n *node, what string) bool {
	if n.kind != boolNode {
		c.wrongType(n, what, "true or false")
		return false
	}
	return n.text == "true"
}

func typeNames() []string {
	list := make([]string, len(types))
	for i, t := range types {
		list[i] = string(t)
	}
	return list
}

// fieldType returns the type that a text names, or "" after reporting that it names none.
func (c *checker) fieldType(n *node) Type {
	if c.settled[n] {
		return ""
	}
	if slices.Contains(types, Type(n.text)) {
		return Type(n.text)
	}
	if s := suggest(n.text, typeNames()); s != "" {
		c.report(ruleFieldType, n, fmt.Sprintf("%s is not a type; did you mean `%s`?", quote(n.text), s))
		return ""
	}
	c.report(ruleFieldType, n, fmt.Sprintf("%s is not a type; use one of %s", quote(n.text), names(typeNames(), "or")))
	return ""
}

// oneOf checks the allowed values: one or more, each of the field's type.
func (c *checker) oneOf(n, key *node, f *Field) {
	if !c.isList(n, "`one_of`", "values") {
		return
	}
	if f.Type == List || f.Type == Object {
		c.report(ruleOneOf, key, fmt.Sprintf("`one_of` can't be used with a %s; it needs values that can be compared, such as strings or numbers", f.Type))
		return
	}
	if len(n.values) == 0 {
		c.report(ruleOneOf, n, "`one_of` allows nothing; list one or more values, or remove it")
		return
	}
	seen := map[string]*node{}
	for _, v := range n.values {
		raw := v.appendJSON(nil)
		f.OneOf = append(f.OneOf, raw)
		if f.Type == "" || v.kind == nullNode || c.settled[v] {
			continue
		}
		if !f.Type.accepts(raw) {
			c.report(ruleOneOf, v, fmt.Sprintf("this field is a %s, but the allowed value is %s; %s", f.Type, v.describe(), oneOfHelp(f.Type, v)))
			continue
		}
		id := f.Type.identity(raw)
		if first := seen[id]; first != nil {
			c.report(ruleRepeatedValue, v, fmt.Sprintf("the value %s is allowed twice, first on line %d; once is enough", shorten(v.raw), first.line))
		} else {
			seen[id] = v
		}
	}
}

// oneOfHelp says how to mend a value of the wrong type.
func oneOfHelp(t Type, v *node) string {
	switch {
	case t == String && (v.kind == boolNode || v.kind == numberNode):
		return fmt.Sprintf("put it in quotes: \"%s\"", shorten(v.raw))
	case t == Number && v.kind == textNode:
		if kind, _ := core(v.text); kind == numberNode {
			return "remove the quotes"
		}
	case t == Boolean && v.kind == textNode:
		return "write true or false"
	case t == Date && v.kind == textNode:
		return "a date is a real day, written YYYY-MM-DD"
	case t == Datetime && v.kind == textNode:
		return "a datetime is written like 2026-10-06T09:00:00Z"
	case t == Person && v.kind == textNode:
		return "a person is an e-mail address"
	}
	return "change the value or the type"
}
