package server

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// maxExponent bounds the exponents that are compared by value: beyond it a number is refused. It keeps the arithmetic
// on exponents inside an int64, whatever is sent.
const maxExponent = 1_000_000_000_000_000_000

// errExponent says that a number's exponent is beyond maxExponent.
var errExponent = errors.New("a number with an exponent beyond 10^18")

// canonical returns the one form of a JSON value that all equal values share: object members sorted by name, strings in
// their shortest form, numbers by value without rounding (1, 1.0 and 10e-1 are equal; protocol.md 7). Two values are
// equal exactly when their canonical forms are the same bytes. Duplicate names, invalid UTF-8, lone surrogates and
// trailing data are errors.
func canonical(value []byte) ([]byte, error) {
	return appendCanonical(make([]byte, 0, len(value)), value)
}

func appendCanonical(dst, value []byte) ([]byte, error) {
	dec := newDecoder(value)
	defer dec.free()
	dst, err := appendNext(dst, dec.Decoder)
	if err != nil {
		return nil, err
	}
	if !dec.atEnd() {
		return nil, errors.New("more than one JSON value")
	}
	return dst, nil
}

// decoder reads JSON strictly: no name twice in an object, no invalid UTF-8, no lone surrogate. It is reused, as every
// call reads its arguments with several.
type decoder struct {
	*jsontext.Decoder
	source bytes.Buffer
}

var decoders = sync.Pool{New: func() any { return &decoder{Decoder: new(jsontext.Decoder)} }}

// newDecoder returns a decoder of text, which must not change until the decoder is freed. What it returns are parts of
// text.
func newDecoder(text []byte) *decoder {
	d := decoders.Get().(*decoder)
	d.source = *bytes.NewBuffer(text)
	d.Reset(&d.source)
	return d
}

func (d *decoder) free() {
	d.source = bytes.Buffer{}
	d.Reset(&d.source)
	decoders.Put(d)
}

// atEnd says whether nothing but white space is left.
func (d *decoder) atEnd() bool {
	_, err := d.ReadToken()
	return errors.Is(err, io.EOF)
}

// appendNext appends the canonical form of the decoder's next value.
func appendNext(dst []byte, dec *jsontext.Decoder) ([]byte, error) {
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case '"':
		return jsontext.AppendQuote(dst, tok.String())
	case '0':
		return appendNumber(dst, tok.String())
	case '[':
		return appendArray(dst, dec)
	case '{':
		return appendObject(dst, dec)
	default: // null, true, false
		return append(dst, tok.String()...), nil
	}
}

func appendArray(dst []byte, dec *jsontext.Decoder) ([]byte, error) {
	var err error
	dst = append(dst, '[')
	for first := true; dec.PeekKind() != ']'; first = false {
		if !first {
			dst = append(dst, ',')
		}
		if dst, err = appendNext(dst, dec); err != nil {
			return nil, err
		}
	}
	_, err = dec.ReadToken()
	return append(dst, ']'), err
}

// appendObject writes the members as they come and puts them in order afterwards, which most often they are already.
func appendObject(dst []byte, dec *jsontext.Decoder) ([]byte, error) {
	type member struct {
		name string
		text []byte
	}
	var members []member
	var ends []int
	sorted := true
	dst = append(dst, '{')
	start := len(dst)
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := tok.String()
		if n := len(members); n > 0 {
			dst = append(dst, ',')
			sorted = sorted && members[n-1].name < name
		}
		if dst, err = jsontext.AppendQuote(dst, name); err != nil {
			return nil, err
		}
		dst = append(dst, ':')
		if dst, err = appendNext(dst, dec); err != nil {
			return nil, err
		}
		members = append(members, member{name: name})
		ends = append(ends, len(dst))
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	if !sorted {
		body := bytes.Clone(dst[start:])
		from := 0
		for i := range members {
			members[i].text = body[from : ends[i]-start]
			from = ends[i] - start + 1
		}
		slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
		dst = dst[:start]
		for i, m := range members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, m.text...)
		}
	}
	return append(dst, '}'), nil
}

// appendNumber appends the number as `-digitsEexponent`, the digits without leading or trailing zeros; zero is 0.
func appendNumber(dst []byte, text string) ([]byte, error) {
	negative, digits, exponent, err := decimal(text)
	if err != nil {
		return nil, err
	}
	if digits == "" {
		return append(dst, '0'), nil
	}
	if negative {
		dst = append(dst, '-')
	}
	dst = append(dst, digits...)
	if exponent != 0 {
		dst = append(dst, 'e')
		dst = strconv.AppendInt(dst, exponent, 10)
	}
	return dst, nil
}

// decimal takes a JSON number apart: its value is digits × 10^exponent, with digits neither beginning nor ending with a
// zero, and empty for zero.
func decimal(text string) (negative bool, digits string, exponent int64, err error) {
	text, negative = strings.CutPrefix(text, "-")
	mantissa := text
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa = text[:i]
		if exponent, err = strconv.ParseInt(text[i+1:], 10, 64); err != nil || exponent > maxExponent || exponent < -maxExponent {
			err = errExponent
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return false, "", 0, nil
	}
	if err != nil {
		return false, "", 0, err
	}
	exponent -= int64(len(fraction))
	trimmed := strings.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(trimmed))
	return negative, trimmed, exponent, nil
}
