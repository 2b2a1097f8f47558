package web

import (
	"encoding/json"
	"strings"
	"time"
)

// claims are what a token or the userinfo endpoint says of someone (OpenID Connect Core 5.1).
type claims map[string]json.RawMessage

// text returns a claim that is a string, or "".
func (c claims) text(name string) string {
	var s string
	if json.Unmarshal(c[name], &s) != nil {
		return ""
	}
	return s
}

// verified says whether the e-mail is verified; known is false when the issuer doesn't say. Some issuers write the
// boolean as a string.
func (c claims) verified() (verified, known bool) {
	raw, ok := c["email_verified"]
	if !ok || string(raw) == "null" {
		return false, false
	}
	switch strings.ToLower(strings.Trim(string(raw), `"`)) {
	case "true", "1":
		return true, true
	default:
		return false, true
	}
}

// list returns a claim that is a list of strings, or one string.
func (c claims) list(name string) []string {
	var many []json.RawMessage
	if json.Unmarshal(c[name], &many) != nil {
		if one := c.text(name); one != "" {
			return []string{one}
		}
		return nil
	}
	var list []string
	for _, raw := range many {
		var s string
		if json.Unmarshal(raw, &s) == nil && s != "" {
			list = append(list, s)
		}
	}
	return list
}

// time returns a claim that is a number of seconds since 1970, or the zero time.
func (c claims) time(name string) time.Time {
	var seconds float64
	if json.Unmarshal(c[name], &seconds) != nil || seconds <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}

// fill takes from more what c doesn't say.
func (c claims) fill(more claims) {
	for name, value := range more {
		if _, ok := c[name]; !ok {
			c[name] = value
		}
	}
}

// mayUseEmail says whether the e-mail among the claims can be taken for the person's: not when the issuer says that it
// is not verified, and when it says nothing only if that isn't demanded (OIDCOptions.RequireEmailVerified).
func (c claims) mayUseEmail(o OIDCOptions) bool {
	verified, known := c.verified()
	if !known {
		return !o.RequireEmailVerified
	}
	return verified
}
