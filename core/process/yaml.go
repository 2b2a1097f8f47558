package process

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// Bounds on a frontmatter (protocol.md 1.1).
const (
	// maxDepth is how deep lists and maps nest, the frontmatter's own map being the first.
	maxDepth = 64
	// maxNodes bounds what aliases expand to: each scalar, list and map is one, keys included.
	maxNodes = 50000
)

// yamlBreaks are the characters that YAML 1.1 took for line breaks and YAML 1.2 does not. The library still does, so
// it is shown other characters in their stead.
var yamlBreaks = []rune{'\u0085', '\u2028', '\u2029'}

// load parses the frontmatter into the library's nodes. It reports a syntax error, after which nothing else can be
// known, and a second document.
func (c *checker) load() (*yaml.Node, bool) {
	if !c.printable() {
		return nil, false
	}
	text, restore := hideBreaks(hideDirectives([]byte(c.front.text)))
	c.nodes.restore = restore
	// Each surrogate pair that has to be joined costs one more parse: bound what that can come to.
	for budget := 16*MaxBytes + len(text); ; budget -= len(text) {
		top, second, err := loadNodes(text)
		if err == nil {
			if second != nil {
				c.reportAt(ruleOneDocument, c.front.spot(second.Line+c.front.first-1, second.Column), "a second YAML document begins here; a frontmatter is one")
				return nil, false
			}
			return top, true
		}
		joined, ok := joinSurrogates(text, err)
		if !ok || budget < len(text) {
			c.reportSyntax(err)
			return nil, false
		}
		text = joined
	}
}

// loadNodes parses text: its document, and what begins a second one.
func loadNodes(text []byte) (top, second *yaml.Node, err error) {
	loader, err := yaml.NewLoader(bytes.NewReader(text), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthFunc(
		// Deeper than this it isn't worth building; build reports the exact place of what is less deep.
		func(depth int, _ *loaderlimits.DepthContext) error {
			if depth > 4*maxDepth {
				return errTooDeep
			}
			return nil
		}))))
	if err != nil {
		return nil, nil, err
	}
	top = &yaml.Node{}
	if err := loader.Load(top); err != nil {
		if errors.Is(err, io.EOF) {
			return top, nil, nil
		}
		return nil, nil, err
	}
	second = &yaml.Node{}
	switch err := loader.Load(second); {
	case errors.Is(err, io.EOF):
		return top, nil, nil
	case err != nil:
		return nil, nil, err
	}
	return top, second, nil
}

var errTooDeep = errors.New("too deep")

// printable reports the characters that no YAML text contains.
func (c *checker) printable() bool {
	text := c.front.text
	line, column, ok := c.front.first, 1, true
	for i := 0; i < len(text); column++ {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		switch {
		case r == '\n' || r == '\r' && !strings.HasPrefix(text[i+1:], "\n"):
			line, column = line+1, 0
		case r < ' ' && r != '\t' && r != '\r' || r >= 0x7F && !isPrintable(r):
			ok = false
			c.reportAt(ruleControlCharacter, Place{line, column, column + 1}, "the character "+codePoint(r)+" here can't be seen and isn't allowed; remove it")
		}
		i += size
	}
	return ok
}

// isPrintable is YAML 1.2's c-printable, beyond ASCII's printable characters.
func isPrintable(r rune) bool {
	return r == '\u0085' || r >= 0xA0 && r != '\uFFFE' && r != '\uFFFF'
}

// directive is a line that YAML 1.2 says to read over: `%YAML` with a version of 1, or one that is reserved.
var directive = regexp.MustCompile(`^%(YAML[ \t]+1\.[0-9]+|[^ \t]+([ \t]+[^ \t#][^ \t]*)*)[ \t]*([ \t]#.*)?$`)

// hideDirectives makes comments of the directives before the line that begins the document, for the library refuses
// all but `%YAML 1.1` and `%TAG`. The line is there because a frontmatter may not hold `---` alone, but `--- # text`.
func hideDirectives(text []byte) []byte {
	if !bytes.HasPrefix(text, []byte("%")) && !bytes.Contains(text, []byte("\n%")) {
		return text
	}
	var at []int
	yaml := false
	whole := string(text)
	for begin := 0; begin < len(text); {
		line := whole[begin : begin+lineEnd(whole[begin:])]
		bare := strings.TrimRight(line, "\r\n")
		switch name, _, _ := strings.Cut(bare, " "); {
		case strings.HasPrefix(bare, "--- ") || strings.HasPrefix(bare, "---\t"):
			if len(at) == 0 {
				return text
			}
			text = slices.Clone(text)
			for _, i := range at {
				text[i] = '#'
			}
			return text
		case name == "%TAG":
		case name == "%YAML" && (yaml || !strings.HasPrefix(strings.TrimLeft(bare[len(name):], " \t"), "1.")):
			return text
		case directive.MatchString(bare):
			yaml = yaml || name == "%YAML"
			at = append(at, begin)
		case strings.TrimSpace(bare) != "" && !strings.HasPrefix(strings.TrimLeft(bare, " \t"), "#"):
			return text
		}
		begin += len(line)
	}
	return text
}

// hideBreaks replaces the breaks of YAML 1.1 with private characters that the text doesn't contain, one for one, and
// returns what puts them back; nil when there are none.
func hideBreaks(text []byte) ([]byte, *strings.Replacer) {
	if !bytes.ContainsAny(text, string(yamlBreaks)) {
		return text, nil
	}
	var hide, restore []string
	private := rune(0xE000)
	for _, b := range yamlBreaks {
		for bytes.ContainsRune(text, private) {
			private++
		}
		hide = append(hide, string(b), string(private))
		restore = append(restore, string(private), string(b))
		private++
	}
	return []byte(strings.NewReplacer(hide...).Replace(string(text))), strings.NewReplacer(restore...)
}

// joinSurrogates answers the library's refusal of an escaped surrogate: where the escapes of a pair stand there, as
// JSON writes a character beyond 16 bits, the text with the character itself, for all pairs in that scalar.
func joinSurrogates(text []byte, err error) ([]byte, bool) {
	var at *yaml.LoadError
	if !errors.As(err, &at) || at.Message != "found invalid Unicode character escape code" {
		return nil, false
	}
	begin := offset(text, at.Mark.Line, at.Mark.Column)
	begin -= len(`\u`)
	if begin < 0 {
		return nil, false
	}
	if _, ok := surrogatePair(text[begin:]); !ok {
		return nil, false
	}
	joined := slices.Clone(text[:begin])
	for rest := text[begin:]; ; {
		end := bytes.IndexAny(rest, "\\\"")
		if end < 0 || rest[end] == '"' || end+2 > len(rest) {
			return append(joined, rest...), true
		}
		joined, rest = append(joined, rest[:end]...), rest[end:]
		if character, ok := surrogatePair(rest); ok {
			joined, rest = append(joined, character...), rest[pair:]
		} else {
			joined, rest = append(joined, rest[:2]...), rest[2:]
		}
	}
}

const pair = len(`\uD83D\uDE00`)

// surrogatePair reads the escapes of a pair at the beginning of a text.
func surrogatePair(text []byte) (string, bool) {
	if len(text) < pair || text[0] != '\\' || text[1] != 'u' || text[6] != '\\' || text[7] != 'u' {
		return "", false
	}
	high, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	low, err2 := strconv.ParseUint(string(text[8:12]), 16, 16)
	r := utf16.DecodeRune(rune(high), rune(low))
	return string(r), err == nil && err2 == nil && r != utf8.RuneError
}

// offset returns where a line and a column lie in the text, or -1.
func offset(text []byte, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		i := bytes.IndexAny(text[at:], "\r\n")
		if i < 0 {
			return -1
		}
		at += i + 1
		if text[at-1] == '\r' && at < len(text) && text[at] == '\n' {
			at++
		}
	}
	for ; column > 1 && at < len(text); column-- {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at
}
