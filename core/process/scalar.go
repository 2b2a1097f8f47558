package process

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
	"go.yaml.in/yaml/v4"
)

// Tags of the core schema that a scalar may carry, by what they make of it.
var scalarTags = map[string]yamlKind{
	"!!str": textNode, "!!int": numberNode, "!!float": numberNode, "!!bool": boolNode, "!!null": nullNode,
}

// resolve gives a scalar its kind and value under the core schema (protocol.md 1.1), whatever the library thinks.
func (c *checker) resolve(y *yaml.Node, n *node) {
	n.raw = y.Value
	if c.nodes.restore != nil {
		n.raw = c.nodes.restore.Replace(n.raw)
	}
	quotedStyle := y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	switch {
	case y.Style&yaml.TaggedStyle != 0:
		c.resolveTagged(y.Tag, n)
	case quotedStyle || y.Tag == "!":
		n.kind, n.text = textNode, n.raw
	default:
		n.kind, n.text = core(n.raw)
	}
	switch {
	case n.kind == textNode && y.Style&yaml.DoubleQuotedStyle != 0:
		c.checkCharacters(n)
	case n.kind == numberNode:
		c.checkNumber(n)
	}
}

// resolveTagged resolves a scalar with an explicit tag.
func (c *checker) resolveTagged(tag string, n *node) {
	kind, known := scalarTags[tag]
	if !known {
		c.unknownTag(tag, n)
		n.kind, n.text = textNode, n.raw
		return
	}
	plainKind, text := core(n.raw)
	switch {
	case kind == textNode:
		n.kind, n.text = textNode, n.raw
		return
	case plainKind == kind && !(tag == "!!int" && !isInteger(n.raw)):
		n.kind, n.text = kind, text
		return
	}
	n.kind, n.text = textNode, n.raw
	c.reportTag(n, fmt.Sprintf("%s can't be %s, as its tag `%s` says; remove the tag", quote(n.raw), tagName(tag), tag))
}

func (c *checker) checkCollectionTag(y *yaml.Node, n *node, own, what string) {
	if y.Style&yaml.TaggedStyle == 0 || y.Tag == own {
		return
	}
	if _, scalar := scalarTags[y.Tag]; scalar || y.Tag == "!!seq" || y.Tag == "!!map" {
		c.reportTag(n, fmt.Sprintf("%s can't be %s, as its tag `%s` says; remove the tag", what, tagName(y.Tag), y.Tag))
		return
	}
	c.unknownTag(y.Tag, n)
}

func (c *checker) unknownTag(tag string, n *node) {
	c.reportTag(n, fmt.Sprintf("the tag `%s` isn't part of YAML's core schema; remove it", shorten(tag)))
}

// reportTag reports a node's tag, where the node begins.
func (c *checker) reportTag(n *node, message string) {
	tag := firstToken(c.front.after(n.line, n.column))
	c.add(ruleTag, n.path(), Place{n.line, n.column, n.column + max(1, utf8.RuneCountInString(tag))}, message)
	c.settled[n] = true
}

func tagName(tag string) string {
	switch tag {
	case "!!str":
		return "a text"
	case "!!int":
		return "an integer"
	case "!!float":
		return "a number"
	case "!!bool":
		return "a boolean"
	case "!!null":
		return "null"
	case "!!seq":
		return "a list"
	default:
		return "a map"
	}
}

// checkCharacters reports characters that only an escape can write and that no text of a process holds.
func (c *checker) checkCharacters(n *node) {
	for _, r := range n.text {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0x7F && r < 0xA0 && r != '\u0085' {
			c.report(ruleControlCharacter, n, fmt.Sprintf("this text holds the character %s, which can't be seen and isn't allowed; remove its escape", codePoint(r)))
			c.settled[n] = true
			return
		}
	}
}

func codePoint(r rune) string { return fmt.Sprintf("U+%04X", r) }

// core resolves a plain scalar by the tag resolution table of YAML 1.2's core schema. A number comes back as JSON with
// the source's digits; `.inf` and `.nan`, which JSON has no number for, come back as they are.
func core(text string) (yamlKind, string) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nullNode, ""
	case "true", "True", "TRUE":
		return boolNode, "true"
	case "false", "False", "FALSE":
		return boolNode, "false"
	case ".nan", ".NaN", ".NAN":
		return numberNode, text
	}
	first := text[0]
	if first > '9' || first < '+' {
		return textNode, text
	}
	unsigned := strings.TrimPrefix(text, "-")
	if len(unsigned) == len(text) {
		unsigned = strings.TrimPrefix(text, "+")
	}
	switch {
	case unsigned == ".inf" || unsigned == ".Inf" || unsigned == ".INF":
		return numberNode, text
	case isFloat(unsigned):
		return numberNode, decimalJSON(text[0] == '-', unsigned)
	case strings.HasPrefix(text, "0x") && allIn(text[2:], "0123456789abcdefABCDEF"):
		return numberNode, radixJSON(text[2:], 16)
	case strings.HasPrefix(text, "0o") && allIn(text[2:], "01234567"):
		return numberNode, radixJSON(text[2:], 8)
	}
	return textNode, text
}

func allIn(text, set string) bool { return text != "" && strings.Trim(text, set) == "" }

// isInteger says whether a scalar that is a number has one of the forms of the core schema's !!int.
func isInteger(text string) bool {
	return strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0o") || allIn(strings.TrimLeft(text, "+-"), "0123456789")
}

// isFloat matches the core schema's `\. [0-9]+ | [0-9]+ ( \. [0-9]* )?` with an exponent, which includes its decimal
// integers.
func isFloat(text string) bool {
	i := 0
	digits := func() int {
		from := i
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			i++
		}
		return i - from
	}
	whole := digits()
	fraction := 0
	if i < len(text) && text[i] == '.' {
		i++
		fraction = digits()
	}
	if whole+fraction == 0 {
		return false
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		if digits() == 0 {
			return false
		}
	}
	return i == len(text)
}

// decimalJSON writes an unsigned YAML decimal as a JSON number: no leading zeros or plus sign, a digit on both sides
// of a point. All other digits stay.
func decimalJSON(negative bool, text string) string {
	mantissa, exponent := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	sign := ""
	if negative {
		sign = "-"
	}
	if sign == "" && len(whole)+len(fraction)+len(exponent) == len(text) {
		return text
	}
	return sign + whole + fraction + exponent
}

// radixJSON writes hexadecimal or octal digits as a JSON number; ".inf" for what is beyond a double anyway.
func radixJSON(digits string, base int) string {
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return "0"
	}
	if len(digits) > 400 {
		return ".inf"
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok {
		return ".inf"
	}
	return n.String()
}

// checkNumber reports numbers that JSON or a double can't hold (protocol.md 1.1), and warns of those whose canonical
// form is another decimal (1.7).
func (c *checker) checkNumber(n *node) {
	value, err := strconv.ParseFloat(n.text, 64)
	switch lower := strings.ToLower(n.raw); {
	case strings.HasSuffix(lower, ".inf"), lower == ".nan":
		c.report(ruleNumberRange, n, fmt.Sprintf("`%s` is no number that JSON can hold; write a number, or put it in quotes to mean the text", n.raw))
	case err != nil:
		c.report(ruleNumberRange, n, fmt.Sprintf("%s is beyond the range of a number; the largest is about 1.8e308", shorten(n.raw)))
	default:
		shortest, _ := jcs.NumberToJSON(value)
		if len(n.text) > 15 && NumberKey(n.text) != NumberKey(shortest) || value == 0 && NumberKey(n.text) != "0" {
			c.report(ruleNumberPrecision, n, fmt.Sprintf("%s has more digits than a double holds: the content hash takes it for %s, and other programs may too; put it in quotes to mean the text", shorten(n.raw), shortest))
		}
		return
	}
	n.text = "0"
	c.settled[n] = true
}
