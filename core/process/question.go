package process

import (
	"fmt"
	"math"
	"strconv"
)

// checkQuestions checks `check` and `advisory` (protocol.md 1.6).
func (c *checker) checkQuestions(s *step) {
	check, advisory := s.value("check"), s.value("advisory")
	if !s.takes("check") {
		return
	}
	if advisory != nil {
		s.Advisory = c.boolean(advisory, "`advisory`")
		if check == nil {
			c.report(ruleAdvisory, s.keyNode("advisory"), "`advisory` says how `check` counts, but this step has no `check`; add one or remove this")
		}
	}
	if check == nil {
		return
	}
	switch check.kind {
	case textNode:
		c.sentence(check, "`check`")
	case listNode:
		if len(check.values) == 0 {
			c.report(ruleCheck, check, "`check` asks nothing; write a question, or remove it")
		}
		for _, q := range check.values {
			if c.isMap(q, "a question of `check`") {
				c.question(q)
			}
		}
	default:
		c.wrongType(check, "`check`", "a question, or a list of questions that each have `ask`")
	}
	s.Check = check.appendJSON(nil)
}

// question checks one question: yes/no, a choice (one_of) or a rubric (levels).
func (c *checker) question(n *node) {
	o := read(n, questionKeys)
	c.reportUnknown(&o, "a question", keyNames(questionKeys))
	if ask := o.value("ask"); ask != nil {
		c.sentence(ask, "`ask`")
	} else {
		c.report(ruleMissingField, o.first(), "this question has no `ask`; write the question out")
	}
	answers, levels := o.value("one_of"), o.value("levels")
	switch {
	case answers != nil && levels != nil:
		c.report(ruleCheck, o.keyNode("levels"), "a question has either `one_of` or `levels`, not both; remove one")
	case answers != nil:
		c.choice(&o, answers)
	case levels != nil:
		c.rubric(&o, levels)
	default:
		c.yesNo(&o)
	}
}

// first is the map's first key, or the map when it has none.
func (o *object) first() *node {
	if len(o.node.keys) > 0 {
		return o.node.keys[0]
	}
	return o.node
}

func (c *checker) yesNo(o *object) {
	c.only(o, "`unsure`", "a choice (`one_of`)", "unsure")
	c.only(o, "`confidence`", "a choice (`one_of`) or a rubric (`levels`)", "confidence")
	pass, hasPass := 0.0, false
	if n := o.value("pass"); n != nil {
		pass, hasPass = c.probability(n, "`pass` of a yes/no question")
	}
	if n := o.value("fail"); n != nil {
		if fail, ok := c.probability(n, "`fail`"); ok && hasPass && fail > pass {
			c.report(ruleFailAbovePass, n, fmt.Sprintf("`fail` (%s) is above `pass` (%s), so some answers would both pass and fail; make it smaller", n.raw, o.value("pass").raw))
		}
	}
}

func (c *checker) choice(o *object, n *node) {
	c.only(o, "`fail`", "a yes/no question", "fail")
	if v := o.value("confidence"); v != nil {
		c.probability(v, "`confidence`")
	}
	known := c.isMap(n, "`one_of` of a question")
	var answers []string
	if known {
		for i, k := range n.keys {
			if k.kind == textNode {
				answers = append(answers, k.text)
				c.text(n.values[i], "what the answer `"+shorten(k.text)+"` means")
			}
		}
		if len(n.keys) < 2 {
			c.report(ruleCheck, n, "a choice needs two or more answers in `one_of`")
		}
	}
	passing := map[string]*node{}
	if v := o.value("pass"); v == nil {
		c.report(ruleCheckPass, o.keyNode("one_of"), "a choice needs `pass`, a list of the answers that pass")
	} else if c.isList(v, "`pass` of a choice", "answers") {
		if len(v.values) == 0 {
			c.report(ruleNeverPasses, v, "`pass` lists no answer, so nothing could ever pass; list one or more")
		}
		passing = c.answers(v, answers, known, ruleCheckPass)
	}
	if v := o.value("unsure"); v != nil && c.isList(v, "`unsure`", "answers") {
		for name, at := range c.answers(v, answers, known, ruleCheck) {
			if passing[name] != nil {
				c.report(ruleCheck, at, fmt.Sprintf("the answer `%s` can't be both in `pass` and in `unsure`; remove it from one", shorten(name)))
			}
		}
	}
}

// answers checks a list of answer names and returns them.
func (c *checker) answers(n *node, answers []string, known bool, rule string) map[string]*node {
	list := map[string]*node{}
	for _, v := range n.values {
		name, ok := c.text(v, "an answer's name")
		if !ok {
			continue
		}
		if known && !contains(answers, name) {
			c.report(rule, v, fmt.Sprintf("%s is not an answer in `one_of`%s", quote(name), orNames(name, answers)))
			continue
		}
		if first := list[name]; first != nil {
			c.report(ruleRepeatedValue, v, fmt.Sprintf("the answer `%s` is listed twice, first on line %d; once is enough", shorten(name), first.line))
			continue
		}
		list[name] = v
	}
	return list
}

func contains(list []string, name string) bool {
	for _, x := range list {
		if x == name {
			return true
		}
	}
	return false
}

// orNames is the end of a message that suggests one name, or lists them when they are few.
func orNames(word string, list []string) string {
	if s := meant(word, list); s != "" {
		return s
	}
	if len(list) == 0 || len(list) > 8 {
		return ""
	}
	return "; there is " + names(list, "and")
}

func (c *checker) rubric(o *object, n *node) {
	c.only(o, "`fail`", "a yes/no question", "fail")
	c.only(o, "`unsure`", "a choice (`one_of`)", "unsure")
	if v := o.value("confidence"); v != nil {
		c.probability(v, "`confidence`")
	}
	levels := -1
	if c.isList(n, "`levels`", "texts, worst first") {
		levels = len(n.values)
		if levels < minLevels || levels > maxLevels {
			c.report(ruleCheck, n, fmt.Sprintf("`levels` has %d; a rubric has %d to %d, worst first", levels, minLevels, maxLevels))
			levels = -1
		}
		for _, v := range n.values {
			c.text(v, "a level")
		}
	}
	v := o.value("pass")
	if v == nil {
		c.report(ruleCheckPass, o.keyNode("levels"), "a rubric needs `pass`, the level that is good enough, counted from 0")
		return
	}
	level, ok := c.number(v, "`pass` of a rubric", "a level, counted from 0")
	switch {
	case !ok:
	case level != math.Trunc(level) || level < 0:
		c.report(ruleCheckPass, v, fmt.Sprintf("`pass` of a rubric is a level's number, counted from 0; %s is none", shorten(v.raw)))
	case levels > 0 && level >= float64(levels):
		c.report(ruleCheckPass, v, fmt.Sprintf("there is no level %s; %d levels are counted from 0 to %d", shorten(v.raw), levels, levels-1))
	}
}

// only reports a key that the question's kind doesn't have.
func (c *checker) only(o *object, what, of, name string) {
	if key := o.keyNode(name); key != nil {
		c.report(ruleCheck, key, fmt.Sprintf("%s belongs to %s; remove it here", what, of))
		if v := o.value(name); v.kind == nullNode {
			c.settled[v] = true
		}
	}
}

// number returns the value of a node that has to be a number.
func (c *checker) number(n *node, what, expected string) (float64, bool) {
	if n.kind != numberNode || c.settled[n] {
		c.wrongType(n, what, expected)
		return 0, false
	}
	value, err := strconv.ParseFloat(n.text, 64)
	return value, err == nil
}

// probability checks a number from 0 to 1.
func (c *checker) probability(n *node, what string) (float64, bool) {
	p, ok := c.number(n, what, "a probability from 0 to 1")
	if ok && (p < 0 || p > 1) {
		c.report(ruleProbability, n, fmt.Sprintf("%s is a probability from 0 to 1, but this is %s", what, shorten(n.raw)))
		return 0, false
	}
	return p, ok
}
