package process

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// yamlKind is what a YAML node is under the core schema.
type yamlKind uint8

const (
	nullNode yamlKind = iota
	boolNode
	numberNode
	textNode
	listNode
	mapNode
)

// node is one value of the frontmatter with its scalars resolved and its aliases followed. A node that an alias names
// is shared and keeps the place and the parent it has where it is anchored.
type node struct {
	kind yamlKind
	// text is a text's value, a number as JSON with its source digits, or "true" or "false".
	text string
	// raw is a scalar as YAML gave it.
	raw string
	// keys and values are the entries of a map, values alone the elements of a list.
	keys, values []*node

	// flow says that a map or list is written in brackets.
	flow bool

	parent *node
	// index is the node's position in its parent's values; a key has that of its value.
	index        int
	line, column int
}

// isEmpty says that nothing at all stands where the node's value would.
func (n *node) isEmpty() bool { return n.kind == nullNode && n.raw == "" }

// path is where the node is, such as `steps[2].next[0].to`.
func (n *node) path() string {
	if n.parent == nil {
		return ""
	}
	above := n.parent.path()
	if n.parent.kind == listNode {
		return fmt.Sprintf("%s[%d]", above, n.index)
	}
	if n.index >= len(n.parent.keys) {
		// A key that isn't finished.
		return above
	}
	key := n.parent.keys[n.index].raw
	if strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || key == "" {
		return fmt.Sprintf("%s[%q]", above, key)
	}
	if above == "" {
		return key
	}
	return above + "." + key
}

var tooDeep = fmt.Sprintf("lists and maps nest more than %d deep here; a process needs far less", maxDepth)

// nodes is the state of building the tree.
type nodes struct {
	restore *strings.Replacer
	slab    []node
	count   int
	// anchored are the finished nodes of anchors; building are those whose end hasn't been reached.
	anchored map[*yaml.Node]anchored
	building map[*yaml.Node]bool
}

// anchored is a node that aliases may name, with how many nodes it holds and how deep it is.
type anchored struct {
	node          *node
	count, height int
}

// build turns the library's nodes into ours. It reports every structural issue it meets; ok is false when a bound was
// passed and the tree isn't whole.
func (c *checker) build(document *yaml.Node) (root *node, ok bool) {
	c.settled = map[*node]bool{}
	if len(document.Content) == 0 {
		return c.newNode(&yaml.Node{Line: 1, Column: 1}, nil, 0), true
	}
	root, _, ok = c.buildNode(document.Content[0], nil, 0, 1)
	return root, ok
}

func (c *checker) newNode(y *yaml.Node, parent *node, index int) *node {
	if len(c.nodes.slab) == 0 {
		c.nodes.slab = make([]node, 64)
	}
	n := &c.nodes.slab[0]
	c.nodes.slab = c.nodes.slab[1:]
	n.parent, n.index = parent, index
	n.line, n.column = y.Line+c.front.first-1, y.Column
	return n
}

// buildNode builds a node at a depth and returns its height: 0 for a scalar.
func (c *checker) buildNode(y *yaml.Node, parent *node, index, depth int) (n *node, height int, ok bool) {
	if y.Kind == yaml.AliasNode {
		return c.follow(y, parent, index, depth)
	}
	n = c.newNode(y, parent, index)
	before := c.nodes.count
	if c.nodes.count++; c.nodes.count > maxNodes {
		c.report(ruleTooManyNodes, n, fmt.Sprintf("the frontmatter holds more than %d values here, aliases expanded; a process of this size can't be read by anyone: split it", maxNodes))
		return nil, 0, false
	}
	if y.Kind != yaml.ScalarNode && depth > maxDepth {
		c.report(ruleTooDeep, n, tooDeep)
		return nil, 0, false
	}
	if y.Anchor != "" {
		if c.nodes.anchored == nil {
			c.nodes.anchored, c.nodes.building = map[*yaml.Node]anchored{}, map[*yaml.Node]bool{}
		}
		c.nodes.building[y] = true
	}
	switch y.Kind {
	case yaml.MappingNode:
		height, ok = c.buildMap(y, n, depth)
	case yaml.SequenceNode:
		height, ok = c.buildList(y, n, depth)
	default:
		c.resolve(y, n)
		ok = true
	}
	if y.Anchor != "" {
		delete(c.nodes.building, y)
		c.nodes.anchored[y] = anchored{n, c.nodes.count - before, height}
	}
	return n, height, ok
}

// follow returns the node that an alias names, as long as the bounds hold with it.
func (c *checker) follow(y *yaml.Node, parent *node, index, depth int) (*node, int, bool) {
	alias := c.newNode(y, parent, index)
	if c.nodes.building[y.Alias] {
		c.report(ruleAliasLoop, alias, fmt.Sprintf("the alias `*%s` is part of what it stands for, so it never ends", y.Value))
		return nil, 0, false
	}
	target := c.nodes.anchored[y.Alias]
	if c.nodes.count += target.count; c.nodes.count > maxNodes {
		c.report(ruleTooManyNodes, alias, fmt.Sprintf("with the alias `*%s` the frontmatter holds more than %d values, aliases expanded", y.Value, maxNodes))
		return nil, 0, false
	}
	if target.height > 0 && depth+target.height-1 > maxDepth {
		c.report(ruleTooDeep, alias, fmt.Sprintf("with the alias `*%s` lists and maps nest more than %d deep", y.Value, maxDepth))
		return nil, 0, false
	}
	return target.node, target.height, true
}

func (c *checker) buildList(y *yaml.Node, n *node, depth int) (height int, ok bool) {
	n.kind, n.flow = listNode, y.Style&yaml.FlowStyle != 0
	c.checkCollectionTag(y, n, "!!seq", "a list")
	n.values = make([]*node, 0, len(y.Content))
	for i, child := range y.Content {
		value, h, ok := c.buildNode(child, n, i, depth+1)
		if !ok {
			return 0, false
		}
		n.values = append(n.values, value)
		height = max(height, h)
	}
	return height + 1, true
}

func (c *checker) buildMap(y *yaml.Node, n *node, depth int) (height int, ok bool) {
	n.kind, n.flow = mapNode, y.Style&yaml.FlowStyle != 0
	c.checkCollectionTag(y, n, "!!map", "a map")
	entries := make([]*node, len(y.Content))
	n.keys, n.values = entries[:0:len(entries)/2], entries[len(entries)/2:len(entries)/2]
	first := firstKeys{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		at := len(n.keys)
		key, _, ok := c.buildNode(y.Content[i], n, at, depth+1)
		if !ok {
			return 0, false
		}
		if y.Content[i].Kind == yaml.AliasNode {
			key = c.aliasedKey(y.Content[i], key, n, at)
		}
		n.keys = append(n.keys, key)
		value, h, ok := c.buildNode(y.Content[i+1], n, at, depth+1)
		if !ok {
			return 0, false
		}
		n.values = append(n.values, value)
		height = max(height, h)
		switch {
		case c.settled[key]:
		case key.kind != textNode:
			c.report(ruleKeyType, key, fmt.Sprintf("a key must be text, but this is %s%s", key.describe(), quoteHint(key)))
		default:
			if earlier := first.add(key, n.keys[:at]); earlier != nil {
				c.report(ruleDuplicateKey, key, fmt.Sprintf("the key `%s` is here twice, first on line %d; keep one", key.text, earlier.line))
			}
		}
		if key.kind != textNode || c.settled[key] {
			c.settled[value] = c.settled[value] || value.kind == nullNode
		}
	}
	return height + 1, true
}

// aliasedKey is a key written as an alias, at its own place.
func (c *checker) aliasedKey(y *yaml.Node, target, parent *node, index int) *node {
	key := c.newNode(y, parent, index)
	key.kind, key.text, key.raw, key.keys, key.values = target.kind, target.text, target.raw, target.keys, target.values
	return key
}

// firstKeys finds repeated keys, with a map only where there are many.
type firstKeys map[string]*node

// add returns the key that has the same text among the earlier ones, or nil.
func (f *firstKeys) add(key *node, earlier []*node) *node {
	const few = 12
	if len(earlier) < few {
		for _, k := range earlier {
			if k.kind == textNode && k.text == key.text {
				return k
			}
		}
		return nil
	}
	if len(*f) == 0 {
		*f = firstKeys{}
		for _, k := range earlier {
			if _, there := (*f)[k.text]; !there && k.kind == textNode {
				(*f)[k.text] = k
			}
		}
	}
	if k, there := (*f)[key.text]; there {
		return k
	}
	(*f)[key.text] = key
	return nil
}

// describe names what a node is, for messages.
func (n *node) describe() string {
	switch n.kind {
	case nullNode:
		return "empty (null)"
	case boolNode:
		return "the boolean " + n.text
	case numberNode:
		return "the number " + shorten(n.raw)
	case textNode:
		return "the text " + quote(n.text)
	case listNode:
		return "a list"
	default:
		return "a map"
	}
}

// quoteHint says how to write a scalar as text, for a node that isn't.
func quoteHint(n *node) string {
	if n.kind == boolNode || n.kind == numberNode || n.kind == nullNode && n.raw != "" {
		return fmt.Sprintf("; to mean the text, put it in quotes: \"%s\"", shorten(n.raw))
	}
	return ""
}
