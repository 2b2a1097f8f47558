package process

import (
	"cmp"
	"slices"
)

// MaxBytes is the largest PROCESS.md (protocol.md 1.1).
const MaxBytes = 1 << 20

// Parse reads and checks a PROCESS.md against every rule of protocol.md section 1. All issues come back at once, in
// the order of their places; the document is nil exactly when one of them is an error.
func Parse(src []byte, opts Options) (*Document, []Issue) {
	c := &checker{opts: opts}
	c.parse(src)
	slices.SortStableFunc(c.issues, func(a, b Issue) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	// An aliased mistake is one mistake, however often its anchor is used.
	c.issues = slices.CompactFunc(c.issues, func(a, b Issue) bool {
		return a.Rule == b.Rule && a.Line == b.Line && a.Column == b.Column && a.Message == b.Message
	})
	if c.failed {
		return nil, c.issues
	}
	return &c.doc, c.issues
}

// checker holds one parse.
type checker struct {
	opts   Options
	front  source
	doc    Document
	issues []Issue
	failed bool

	nodes nodes
	root  *node
	// settled are nodes about which an issue says all there is to say: null values under an unknown key.
	settled map[*node]bool
	steps   []*step
	// byID finds the first step that has an id.
	byID map[string]*step
	// forks says that a step is `parallel`, which makes `join` a reserved word.
	forks bool
	// suggestions counts the ids compared so far to find what an unknown one meant.
	suggestions int
}

// parse goes as far as the file lets it: bytes, fences, YAML, then all rules on the tree that YAML gave.
func (c *checker) parse(src []byte) {
	if !c.split(src) {
		return
	}
	top, ok := c.load()
	if !ok {
		return
	}
	root, ok := c.build(top)
	if !ok {
		return
	}
	c.frontmatter(root)
	c.reportNulls()
	if !c.failed {
		c.doc.Hash = contentHash(root, c.doc.Body)
		c.doc.makeIndex()
	}
}
