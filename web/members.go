package web

import "encoding/json"

// twice finds a name that an object, or the object that its member called inner has, has twice. object must be valid JSON
// that begins with an object.
func twice(object []byte, inner string) (name string, found bool) {
	s := memberScanner{json: object}
	return s.twice(inner)
}

// memberScanner walks the members of an object without decoding their values. The JSON it is given is valid, so that it
// has nothing to check.
type memberScanner struct {
	json []byte
	at   int
}

func (s *memberScanner) twice(inner string) (name string, found bool) {
	seen := make([]string, 0, 8)
	s.space()
	s.at++ // {
	for s.space(); s.json[s.at] != '}'; s.space() {
		if s.json[s.at] == ',' {
			s.at++
			continue
		}
		name = s.name()
		for _, before := range seen {
			if before == name {
				return name, true
			}
		}
		seen = append(seen, name)
		s.space()
		s.at++ // :
		s.space()
		if inner != "" && name == inner && s.json[s.at] == '{' {
			if name, found := s.twice(""); found {
				return name, true
			}
			continue
		}
		s.value()
	}
	s.at++ // }
	return "", false
}

func (s *memberScanner) space() {
	for {
		switch s.json[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// name reads a member's name, its escapes resolved.
func (s *memberScanner) name() string {
	start := s.at
	if plain := s.text(); plain {
		return string(s.json[start+1 : s.at-1])
	}
	var name string
	if json.Unmarshal(s.json[start:s.at], &name) != nil {
		return string(s.json[start:s.at])
	}
	return name
}

// text moves past a string; plain says that nothing in it is escaped.
func (s *memberScanner) text() (plain bool) {
	plain = true
	for s.at++; s.json[s.at] != '"'; s.at++ {
		if s.json[s.at] == '\\' {
			plain = false
			s.at++
		}
	}
	s.at++
	return plain
}

// value moves past a value.
func (s *memberScanner) value() {
	depth := 0
	for {
		switch s.json[s.at] {
		case '"':
			s.text()
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			if depth == 0 {
				return // of the object around, after a number or a word
			}
			depth--
			s.at++
		case ',':
			if depth == 0 {
				return
			}
			s.at++
			continue
		default:
			s.at++
			continue
		}
		if depth == 0 {
			return
		}
	}
}
