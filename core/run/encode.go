package run

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// encoder writes compact JSON by appending. Every write encodes several small objects, and what it writes is stored and
// hashed, so the bytes are exactly these, whatever encoding/json does in another version of Go.
type encoder struct{ b []byte }

func (e *encoder) open()  { e.b = append(e.b, '{') }
func (e *encoder) close() { e.b = append(e.b, '}') }

func (e *encoder) key(k string) {
	if e.b[len(e.b)-1] != '{' {
		e.b = append(e.b, ',')
	}
	e.b = append(e.b, '"')
	e.b = append(e.b, k...)
	e.b = append(e.b, '"', ':')
}

// The field methods leave out what is empty, as omitempty does.

func (e *encoder) str(k, v string) {
	if v != "" {
		e.key(k)
		e.b = appendString(e.b, v)
	}
}

func (e *encoder) int(k string, v int) {
	if v != 0 {
		e.key(k)
		e.b = strconv.AppendInt(e.b, int64(v), 10)
	}
}

func (e *encoder) bool(k string, v bool) {
	if v {
		e.key(k)
		e.b = append(e.b, "true"...)
	}
}

func (e *encoder) raw(k string, v json.RawMessage) {
	if len(v) > 0 {
		e.key(k)
		e.b = append(e.b, v...)
	}
}

func (e *encoder) time(k string, v *time.Time) {
	if v != nil {
		e.key(k)
		e.b = appendTime(e.b, *v)
	}
}

func (e *encoder) strings(k string, v []string) {
	if len(v) == 0 {
		return
	}
	e.key(k)
	e.b = append(e.b, '[')
	for i, s := range v {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.b = appendString(e.b, s)
	}
	e.b = append(e.b, ']')
}

// evidence writes a list that may be empty; nil is left out. url, if not nil, signs the URL of each file.
func (e *encoder) evidence(k string, items []FileEvidence, url func(ref string) string) {
	if items == nil {
		return
	}
	e.key(k)
	e.b = append(e.b, '[')
	for i, x := range items {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.open()
		e.str("kind", x.Kind)
		e.str("ref", x.Ref)
		e.str("sha256", x.SHA256)
		if url != nil && x.Kind == kindFile {
			e.str("url", url(x.Ref))
		}
		e.close()
	}
	e.b = append(e.b, ']')
}

func appendTime(b []byte, t time.Time) []byte {
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, timeLayout)
	return append(b, '"')
}

// appendString appends s as a JSON string. Only what JSON requires is escaped.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size != 1 {
				i += size
				continue
			}
		}
		b = append(b, s[start:i]...)
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default: // not UTF-8: arguments are checked for that long before
			b = append(b, "\ufffd"...)
		}
		i++
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

const hexDigits = "0123456789abcdef"
