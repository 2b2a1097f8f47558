package process

// Severity says whether an issue refuses the file or only warns.
type Severity string

const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Issue is one thing wrong, or odd, in a PROCESS.md.
type Issue struct {
	Severity Severity
	// Rule is the stable id of the rule, such as "unknown-field".
	Rule string
	// Message says what is wrong and how to mend it, in one line.
	Message string
	// Path is where in the frontmatter, such as `steps[2].next[0].to`; empty for the file as a whole.
	Path string
	// Line and Column are 1-based; Column counts characters (code points). EndColumn is one past the last
	// character of the token on that line, for a caret; it is at least Column+1.
	Line, Column, EndColumn int
}

// Options says what a PROCESS.md is checked against beyond its own text.
type Options struct {
	// Folder is the name of the folder the file lies in, which its `name` has to equal; empty skips that check.
	Folder string
}

// report adds an issue at a node.
func (c *checker) report(rule string, n *node, message string) {
	c.add(rule, n.path(), c.front.place(n), message)
}

// reportAt adds an issue at a place, about the file as a whole.
func (c *checker) reportAt(rule string, at Place, message string) {
	c.add(rule, "", at, message)
}

func (c *checker) add(rule, path string, at Place, message string) {
	severity := Error
	if warnings[rule] {
		severity = Warning
	} else {
		c.failed = true
	}
	c.issues = append(c.issues, Issue{severity, rule, oneLine(message), path, at.Line, at.Column, at.EndColumn})
}
