package process

import (
	"errors"

	"go.yaml.in/yaml/v4"
)

// reportSyntax reports what the YAML parser refused.
func (c *checker) reportSyntax(err error) {
	var at *yaml.LoadError
	if !errors.As(err, &at) {
		c.reportAt(ruleSyntax, c.front.spot(c.front.first, 1), "this is not YAML: "+err.Error())
		return
	}
	place := c.front.spot(at.Mark.Line+c.front.first-1, at.Mark.Column)
	if at.Message == errTooDeep.Error() {
		c.reportAt(ruleTooDeep, place, "lists and maps nest too deep here; a process needs far less")
		return
	}
	c.reportAt(ruleSyntax, place, at.Message)
}
