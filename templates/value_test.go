package templates

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
)

func TestReadValueKeepsDigitsAndOrder(t *testing.T) {
	t.Parallel()
	v := ReadValue(json.RawMessage(`{"z": 48000.00, "a": [9007199254740993, 1e2], "ok": true, "no": false, "gone": null, "at": "https://example.com/x"}`))
	require.Equal(t, ObjectValue, v.Kind)
	names := make([]string, len(v.Members))
	for i, m := range v.Members {
		names[i] = m.Name
	}
	require.Equal(t, []string{"z", "a", "ok", "no", "gone", "at"}, names)
	require.Equal(t, "48000.00", v.Members[0].Value.Text)
	require.Equal(t, "9007199254740993", v.Members[1].Value.Items[0].Text)
	require.Equal(t, "1e2", v.Members[1].Value.Items[1].Text)
	require.Equal(t, Value{Kind: BoolValue, Text: "Yes"}, v.Members[2].Value)
	require.Equal(t, NoValue, v.Members[4].Value.Kind)
	require.Equal(t, LinkValue, v.Members[5].Value.Kind)
}

func TestReadValueStopsAtADepth(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 1000) + strings.Repeat("]", 1000)
	v := ReadValue(json.RawMessage(deep))
	for range maxDepth {
		require.Equal(t, ListValue, v.Kind)
		v = v.Items[0]
	}
	require.Equal(t, TextValue, v.Kind, "deeper values show as their JSON")
}

func FuzzReadValue(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"c"}]}`))
	f.Add([]byte(`nonsense`))
	f.Add([]byte(`{"a":1`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ReadValue(raw)
		Subject(raw)
		Fields(nil, raw, raw)
	})
}

func TestFieldsComeInDeclaredOrderWithWhatChanged(t *testing.T) {
	t.Parallel()
	declared := process.Fields{{Name: "total", Type: process.Number}, {Name: "supplier", Type: process.String}, {Name: "remark", Type: process.String}}
	members := Fields(declared, json.RawMessage(`{"supplier":"B","extra":1,"total":2.50}`), json.RawMessage(`{"supplier":"A","total":2.50,"remark":"late"}`))
	require.Len(t, members, 4)
	require.Equal(t, "total", members[0].Name)
	require.False(t, members[0].Changed)
	require.Equal(t, "supplier", members[1].Name)
	require.True(t, members[1].Changed)
	require.Equal(t, "A", members[1].Was.Text)
	require.True(t, members[2].New)
	require.Equal(t, "remark", members[3].Name)
	require.Equal(t, NoValue, members[3].Value.Kind)
	require.True(t, members[3].Changed)
	for _, m := range Fields(declared, json.RawMessage(`{"supplier":"B"}`), nil) {
		require.False(t, m.Changed || m.New, "without an earlier round nothing is marked")
	}
}

func TestSubjectTellsCasesApart(t *testing.T) {
	t.Parallel()
	require.Equal(t, "RFP-12 · 48000.00 · Acme", Subject(json.RawMessage(`{"id":"RFP-12","urgent":true,"total":48000.00,"items":[1],"at":"2026-10-06T09:00:00Z","doc":"https://example.com","supplier":"Acme","more":"x"}`)))
	require.Equal(t, "Graz", Subject(json.RawMessage(`{"who":"mira@example.com","to":"Graz","again":"Graz"}`)))
	require.Equal(t, "mira@example.com", Subject(json.RawMessage(`{"who":"mira@example.com","boss":"mira@example.com"}`)))
	require.Empty(t, Subject(nil))
	require.Empty(t, Subject(json.RawMessage(`{}`)))
}

func TestOnlySafeLinksCanBeFollowed(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"https://example.com/a?b#c", "http://example.com", "mailto:mira@example.com", "HTTPS://EXAMPLE.com"} {
		require.NotEmpty(t, SafeLink(link), link)
	}
	for _, link := range []string{
		"javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd",
		"//example.com", "/inbox", "example.com", "https://", "https:///path", "https://user:secret@example.com/", "mailto:", "ftp://example.com", "blob:https://example.com/1", "",
	} {
		require.Empty(t, SafeLink(link), link)
	}
}

func TestControlsFollowTheDeclaredType(t *testing.T) {
	t.Parallel()
	one := []json.RawMessage{json.RawMessage(`"a"`)}
	many := []json.RawMessage{json.RawMessage(`1`), json.RawMessage(`2`), json.RawMessage(`3`), json.RawMessage(`4`), json.RawMessage(`5`), json.RawMessage(`6`)}
	for want, f := range map[Control]process.Field{
		TextControl: {Type: process.String}, NumberControl: {Type: process.Number}, YesNoControl: {Type: process.Boolean}, DateControl: {Type: process.Date},
		DatetimeControl: {Type: process.Datetime}, PersonControl: {Type: process.Person}, RadioControl: {Type: process.String, OneOf: one},
		SelectControl: {Type: process.Number, OneOf: many}, LinesControl: {Type: process.List}, JSONControl: {Type: process.Object},
		ChecksControl: {Type: process.List, Items: &process.Field{Type: process.String, OneOf: one}},
	} {
		require.Equal(t, want, ControlOf(f))
	}
	require.Equal(t, JSONControl, ControlOf(process.Field{Type: process.List, Items: &process.Field{Type: process.Object}}))
	require.Equal(t, LinesControl, ControlOf(process.Field{Type: process.List, Items: &process.Field{Type: process.Date}}))
}

func TestControlIDsAreDistinct(t *testing.T) {
	t.Parallel()
	ids := map[string]string{}
	for _, name := range []string{"field.a b", "field.a_b", "field.a-b", "field.a.b", "field.ä", "field._20", "next", "field.next"} {
		id := ControlID(name)
		require.Empty(t, ids[id], "%s and %s share %s", name, ids[id], id)
		require.Regexp(t, `^[A-Za-z0-9_-]+$`, id)
		ids[id] = name
	}
}
