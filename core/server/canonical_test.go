package server

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Arguments compare as JSON values, numbers by value (protocol.md 7).
func TestCanonicalFormIsTheSameForEqualValuesOnly(t *testing.T) {
	t.Parallel()
	equal := [][]string{
		{"1", "1.0", "10e-1", "1E0", "0.1e1", "100e-2", "1.000", "1e+0"},
		{"0", "-0", "0.0", "0e5", "-0.00E-7", "0e99999999999999999999"},
		{"-12.5", "-125e-1", "-0.125E2"},
		{"1e400", "10e399", "0.1e401"},
		{"9007199254740993", "9007199254740993.0"},
		{`{"a":1,"b":[true,null]}`, ` { "b" : [ true , null ] , "a" : 1.0 } `},
		{`"\u0041é"`, `"Aé"`, `"A\u00e9"`},
		{`{"a\u0062":1}`, `{"ab":1}`},
		{`"\ud83d\ude00"`, `"😀"`},
	}
	seen := map[string]string{}
	for _, same := range equal {
		first, err := canonical([]byte(same[0]))
		require.NoError(t, err)
		require.NotContains(t, seen, string(first))
		seen[string(first)] = same[0]
		for _, other := range same[1:] {
			form, err := canonical([]byte(other))
			require.NoError(t, err)
			require.Equal(t, string(first), string(form), "%s and %s", same[0], other)
		}
	}
	different := []string{"9007199254740992", "1e401", `"1"`, "true", `"true"`, "[]", "{}", `[1,2]`, `[2,1]`, `"é"`, `[1]`, `[[1]]`}
	for _, d := range different {
		form, err := canonical([]byte(d))
		require.NoError(t, err)
		require.NotContains(t, seen, string(form), "%s and %s", d, seen[string(form)])
		seen[string(form)] = d
	}
}

func TestCanonicalFormRefusesWhatHasNoOneValue(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "1 2", `{"a":1,"a":1}`, `{"x":[{"b":1,"b":2}]}`, `"\ud800"`, "\"\xff\"", "1e9999999999999999999", "01", "nul", "[1,]"} {
		_, err := canonical([]byte(bad))
		require.Error(t, err, bad)
	}
}

func TestNumbersCompareByValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := func(label string) string {
			s := rapid.SampledFrom([]string{"", "-"}).Draw(t, label+" sign")
			s += rapid.StringMatching(`0|[1-9][0-9]{0,3}`).Draw(t, label+" whole")
			if rapid.Bool().Draw(t, label+" has fraction") {
				s += "." + rapid.StringMatching(`[0-9]{1,4}`).Draw(t, label+" fraction")
			}
			if rapid.Bool().Draw(t, label+" has exponent") {
				s += "e" + fmt.Sprint(rapid.IntRange(-4, 4).Draw(t, label+" exponent"))
			}
			return s
		}
		a, b := number("a"), number("b")
		x, ok := new(big.Rat).SetString(a)
		require.True(t, ok)
		y, ok := new(big.Rat).SetString(b)
		require.True(t, ok)
		left, err := canonical([]byte(a))
		require.NoError(t, err)
		right, err := canonical([]byte(b))
		require.NoError(t, err)
		require.Equal(t, x.Cmp(y) == 0, string(left) == string(right), "%s and %s", a, b)
	})
}

// jsonValue draws any JSON value.
func jsonValue(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Int32(), func(i int32) any { return i }), rapid.Map(rapid.String(), func(s string) any { return strings.ToValidUTF8(s, "?") }),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	return rapid.OneOf(append(leaves,
		rapid.Map(rapid.SliceOfN(jsonValue(depth-1), 0, 4), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-zé"]{0,5}`), jsonValue(depth-1), 0, 4), func(m map[string]any) any { return m }),
	)...)
}

func TestCanonicalFormDependsOnNeitherOrderNorSpace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := jsonValue(3).Draw(t, "value")
		plain, err := json.Marshal(v)
		require.NoError(t, err)
		form, err := canonical(plain)
		require.NoError(t, err)
		again, err := canonical(shuffled(t, v))
		require.NoError(t, err)
		require.Equal(t, string(form), string(again))
		twice, err := canonical(form)
		require.NoError(t, err)
		require.Equal(t, string(form), string(twice))
	})
}

// shuffled writes a value with its members in any order and spaces around everything.
func shuffled(t *rapid.T, v any) []byte {
	switch v := v.(type) {
	case []any:
		var parts []string
		for _, x := range v {
			parts = append(parts, string(shuffled(t, x)))
		}
		return []byte(" [ " + strings.Join(parts, " , ") + " ] ")
	case map[string]any:
		var parts []string
		for name, x := range v {
			key, _ := json.Marshal(name)
			parts = append(parts, string(key)+" : "+string(shuffled(t, x)))
		}
		return []byte("\n{" + strings.Join(rapid.Permutation(parts).Draw(t, "order"), "\t,") + "}")
	default:
		b, _ := json.Marshal(v)
		return b
	}
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":[1.50e3,"x"]}`, `-0.0e-0`, `"\ud83d\ude00"`, `[[[]]]`, `1e999999999999999999`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if tooDeep(b) {
			return
		}
		form, err := canonical(b)
		if err != nil {
			return
		}
		if !json.Valid(b) || !json.Valid(form) {
			t.Fatalf("%q became %q", b, form)
		}
		again, err := canonical(form)
		if err != nil || string(again) != string(form) {
			t.Fatalf("%q became %q and then %q: %v", b, form, again, err)
		}
	})
}
