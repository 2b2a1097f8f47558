package process

import (
	"fmt"
	"strings"
)

// object is a map of the frontmatter read by a table of keys.
type object struct {
	node  *node
	table []key
	// at holds, for each key of the table, its position in the map, or -1. A misspelt key stands where the key it was
	// meant to be would, so that one mistake isn't reported as two.
	at []int
	// unknown are the keys that the table doesn't have, with what each was meant to be.
	unknown []unknownKey
}

type unknownKey struct {
	key, value *node
	meant      string
}

// read sorts a map's entries by a table of keys. Entries whose key isn't text were reported when the tree was built.
func read(n *node, table []key) object {
	o := object{node: n, table: table, at: make([]int, len(table))}
	for i := range o.at {
		o.at[i] = -1
	}
	var odd []int
	for i, k := range n.keys {
		if k.kind != textNode {
			continue
		}
		if at := o.index(k.text); at < 0 {
			odd = append(odd, i)
		} else if o.at[at] < 0 {
			o.at[at] = i
		}
	}
	if len(odd) == 0 {
		return o
	}
	all := keyNames(table)
	for _, i := range odd {
		u := unknownKey{key: n.keys[i], value: n.values[i], meant: suggest(n.keys[i].text, all)}
		if at := o.index(u.meant); at >= 0 && o.at[at] < 0 {
			o.at[at] = i
		}
		o.unknown = append(o.unknown, u)
	}
	return o
}

func (o *object) index(name string) int {
	for i := range o.table {
		if o.table[i].name == name {
			return i
		}
	}
	return -1
}

// value returns the value of a key, or nil.
func (o *object) value(name string) *node {
	if at := o.at[o.index(name)]; at >= 0 {
		return o.node.values[at]
	}
	return nil
}

// keyNode returns the key itself, or nil.
func (o *object) keyNode(name string) *node {
	if at := o.at[o.index(name)]; at >= 0 {
		return o.node.keys[at]
	}
	return nil
}

// reportUnknown reports the keys that what (such as "a step") doesn't have; has are the names that it does.
func (c *checker) reportUnknown(o *object, what string, has []string) {
	cut := false
	for _, u := range o.unknown {
		if u.value.kind == nullNode && u.meant == "" {
			c.settled[u.value] = true
		}
		if isCutText(o, u) {
			// The pieces of one text are one mistake.
			c.settled[u.value] = true
			if !cut {
				c.report(ruleUnknownField, u.key, fmt.Sprintf("the comma before this ends the value, so `%s` is taken for a field of %s; put the whole text in quotes", shorten(u.key.text), what))
			}
			cut = true
			continue
		}
		cut = false
		if u.meant != "" {
			c.report(ruleUnknownField, u.key, fmt.Sprintf("`%s` is not a field of %s; did you mean `%s`?", shorten(u.key.text), what, u.meant))
			continue
		}
		c.report(ruleUnknownField, u.key, fmt.Sprintf("`%s` is not a field of %s, which has %s", shorten(u.key.text), what, names(has, "and")))
	}
}

// isCutText says that an unknown key is most likely a piece of the text before it, which has a comma in it but no
// quotes: `{ to: done, when: it is there, or will be }`.
func isCutText(o *object, u unknownKey) bool {
	return u.value.isEmpty() && o.node.flow && u.key.index > 0 && strings.Contains(u.key.text, " ")
}

// isMap reports a node that isn't a map.
func (c *checker) isMap(n *node, what string) bool {
	if n.kind != mapNode {
		c.wrongType(n, what, "a map of keys and values")
	}
	return n.kind == mapNode
}

// isList reports a node that isn't a list.
func (c *checker) isList(n *node, what, of string) bool {
	if n.kind != listNode {
		c.wrongType(n, what, "a list of "+of)
	}
	return n.kind == listNode
}

// text returns the value of a node that has to be text; ok is false, and it is reported, when it isn't.
func (c *checker) text(n *node, what string) (text string, ok bool) {
	if n.kind == textNode {
		return n.text, !c.settled[n]
	}
	c.wrongType(n, what, "text")
	return "", false
}

// sentence returns the value of a node that has to be text which isn't blank.
func (c *checker) sentence(n *node, what string) (text string, ok bool) {
	text, ok = c.text(n, what)
	if ok && isBlank(text) {
		c.report(ruleBlankText, n, what+" is blank; write what it should say")
		return text, false
	}
	return text, ok
}

// wrongType reports a value of the wrong type. A null is reported by reportNulls, and what is settled has been.
func (c *checker) wrongType(n *node, what, expected string) {
	if n.kind == nullNode || c.settled[n] {
		return
	}
	hint := ""
	switch {
	case expected == "text":
		hint = quoteHint(n)
	case strings.HasPrefix(expected, "a list") && n.kind < listNode && len(n.raw) < 40:
		hint = fmt.Sprintf("; write `[%s]`", n.raw)
	}
	c.report(ruleWrongType, n, fmt.Sprintf("%s must be %s, but this is %s%s", what, expected, n.describe(), hint))
}

// reportNulls reports every null that nothing else was said about (protocol.md 1.1).
func (c *checker) reportNulls() {
	var walk func(n *node)
	walk = func(n *node) {
		if n.kind == nullNode && !c.settled[n] {
			c.settled[n] = true
			c.reportNull(n)
		}
		for _, v := range n.values {
			walk(v)
		}
	}
	walk(c.root)
}

func (c *checker) reportNull(n *node) {
	switch {
	case n.parent == nil:
		c.reportAt(ruleWrongType, Place{1, 1, 4}, "the frontmatter is empty; it needs `name`, `description` and `steps`")
	case n.parent.kind == listNode:
		c.report(ruleNullValue, n, "this element is empty (null), which is no value; fill it in or remove it"+quoteHint(n))
	case n.isEmpty():
		// The key is the better place: there is nothing to see where the value would be.
		key := n.parent.keys[n.index]
		c.add(ruleNullValue, n.path(), c.front.place(key), fmt.Sprintf("`%s` has no value; give it one or remove it", shorten(key.raw)))
	default:
		c.report(ruleNullValue, n, fmt.Sprintf("`%s` is null, which is no value; give it one or remove it%s", shorten(n.parent.keys[n.index].raw), quoteHint(n)))
	}
}
