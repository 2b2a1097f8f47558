package process

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsEmail says whether text is a `person`: an e-mail address, a dot-atom of RFC 5322 and a domain name, letters of any
// script (RFC 6531) included. No display name, quotes, comments or address literals.
func IsEmail(text string) bool {
	if len(text) > 254 || !utf8.ValidString(text) {
		return false
	}
	local, domain, found := strings.Cut(text, "@")
	return found && len(local) <= 64 && isDotted(local, isAtom) && isDotted(domain, isLabel)
}

func isDotted(text string, part func(string) bool) bool {
	for p := range strings.SplitSeq(text, ".") {
		if !part(p) {
			return false
		}
	}
	return true
}

func isAtom(text string) bool {
	for _, r := range text {
		if !isWordRune(r) && !strings.ContainsRune("!#$%&'*+-/=?^_`{|}~", r) {
			return false
		}
	}
	return text != ""
}

func isLabel(text string) bool {
	for _, r := range text {
		if !isWordRune(r) && r != '-' {
			return false
		}
	}
	return text != "" && len(text) <= 63 && text[0] != '-' && text[len(text)-1] != '-'
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}
