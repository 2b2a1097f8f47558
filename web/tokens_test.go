package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestBearerToken(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Bearer abc":        "abc",
		"bearer abc":        "abc",
		"BEARER   a.b.c":    "a.b.c",
		"Bearer a-._~+/9==": "a-._~+/9==",
		"Bearer abc ":       "abc",
	} {
		token, err := bearerToken(http.Header{"Authorization": {header}})
		require.NoError(t, err, header)
		require.Equal(t, want, token)
	}
	for header, want := range map[string]error{
		"":                                     errNoToken,
		"Basic abc":                            errNoToken,
		"Bearerabc":                            errNoToken,
		"Bearer":                               errInvalidToken,
		"Bearer ":                              errInvalidToken,
		"Bearer a b":                           errInvalidToken,
		"Bearer a,b":                           errInvalidToken,
		"Bearer ä":                             errInvalidToken,
		"Bearer ===":                           errInvalidToken,
		"Bearer a=b":                           errInvalidToken,
		"Bearer " + strings.Repeat("a", 20000): errInvalidToken,
	} {
		_, err := bearerToken(http.Header{"Authorization": {header}})
		require.ErrorIs(t, err, want, header)
	}
	_, err := bearerToken(http.Header{})
	require.ErrorIs(t, err, errNoToken)
	_, err = bearerToken(http.Header{"Authorization": {"Bearer a", "Bearer b"}})
	require.ErrorIs(t, err, errManyTokens)
}

func FuzzBearerToken(f *testing.F) {
	for _, s := range []string{"Bearer abc", "bearer  a.b.c=", "Basic x", "Bearer \x00", "Bearer a=b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		token, err := bearerToken(http.Header{"Authorization": {s}})
		if err != nil {
			require.Empty(t, token)
			return
		}
		require.NotEmpty(t, token)
		require.LessOrEqual(t, len(token), maxToken)
		require.NotContains(t, token, " ")
		require.True(t, strings.EqualFold(s[:7], "bearer "))
		again, err := bearerToken(http.Header{"Authorization": {"Bearer " + token}})
		require.NoError(t, err)
		require.Equal(t, token, again)
	})
}

func TestAgentName(t *testing.T) {
	t.Parallel()
	said := func(s string) claims {
		c := claims{}
		require.NoError(t, json.Unmarshal([]byte(s), &c))
		return c
	}
	for _, c := range []struct{ claims, email, want string }{
		{`{"azp":"claude","sub":"1"}`, "mira@example.com", "claude/mira@example.com"},
		{`{"client_id":"claude","sub":"1"}`, "", "claude/1"},
		{`{"cid":"okta-app","sub":"1"}`, "", "okta-app/1"},
		{`{"sub":"1"}`, "", "unknown/1"},
		{`{"azp":"https://app.example/meta.json","sub":"1"}`, "", "https://app.example/meta.json/1"},
		{`{"azp":"a","sub":"b/c"}`, "", "a/b%2Fc"},
		{`{"azp":"a/b","sub":"c"}`, "", "a/b/c"},
		{`{"azp":"a","sub":"b%2Fc"}`, "", "a/b%252Fc"},
	} {
		name, err := agentName(said(c.claims), c.email)
		require.NoError(t, err)
		require.Equal(t, c.want, name)
	}
	for _, bad := range []string{`{"azp":"a"}`, `{"azp":"a\nb","sub":"1"}`, `{"azp":"a","sub":"x y"}`, `{"azp":"` + strings.Repeat("a", 600) + `","sub":"1"}`} {
		_, err := agentName(said(bad), "")
		require.Error(t, err, bad)
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	c := claims{}
	require.NoError(t, json.Unmarshal([]byte(`{"groups":["legal",7,"",null,"ops"],"one":"legal","none":null,"bad":{"a":1},"n":1759740000,"f":1759740000.5}`), &c))
	require.Equal(t, []string{"legal", "ops"}, c.list("groups"))
	require.Equal(t, []string{"legal"}, c.list("one"))
	require.Empty(t, c.list("none"))
	require.Empty(t, c.list("bad"))
	require.Empty(t, c.list("absent"))
	require.EqualValues(t, 1759740000, c.time("n").Unix())
	require.EqualValues(t, 1759740000, c.time("f").Unix())
	require.True(t, c.time("absent").IsZero())

	for text, want := range map[string][2]bool{
		`{}`: {false, false}, `{"email_verified":null}`: {false, false}, `{"email_verified":true}`: {true, true}, `{"email_verified":"true"}`: {true, true},
		`{"email_verified":false}`: {false, true}, `{"email_verified":"false"}`: {false, true}, `{"email_verified":{}}`: {false, true},
	} {
		c := claims{}
		require.NoError(t, json.Unmarshal([]byte(text), &c))
		verified, known := c.verified()
		require.Equal(t, want, [2]bool{verified, known}, text)
		require.Equal(t, verified || !known, c.mayUseEmail(OIDCOptions{}), text)
		require.Equal(t, verified, c.mayUseEmail(OIDCOptions{RequireEmailVerified: true}), text)
	}
}

func TestBodyProblem(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		`{}`, ` {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1,"x":2}}} `, `{"params":[1,{"a":1,"a":2}]}`,
		`{"a":"}{,\"","b":[[{}],"]"],"params":{}}`, `{"a":{"params":{"x":1,"x":1}}}`, `{"params":{"a":-1.5e3,"b":true,"c":null}}`,
		`{"params":{"arguments":{"a":"\ud800"}}}`,
	} {
		_, problem := bodyProblem([]byte(good))
		require.Empty(t, problem, good)
	}
	for bad, want := range map[string]string{
		``:                                   "not one JSON value",
		`   `:                                "not one JSON value",
		`{`:                                  "not one JSON value",
		`{} {}`:                              "not one JSON value",
		`{}x`:                                "not one JSON value",
		`[{"jsonrpc":"2.0"}]`:                "batches",
		`"a"`:                                "is a JSON object",
		`null`:                               "is a JSON object",
		"{\"a\":\"\xff\"}":                   "UTF-8",
		"{\"a\":\"\xed\xa0\x80\"}":           "UTF-8",
		`{"id":1,"id":2}`:                    `"id" is there twice`,
		`{"id":1,"\u0069d":2}`:               `"id" is there twice`,
		`{"params":{"name":"a","name":"b"}}`: `"name" is there twice`,
		`{"params":{"arguments":{},"_meta":{"a":[1,2]},"arguments":{}}}`: `"arguments" is there twice`,
		`{"params":{},"params":{}}`:                                      `"params" is there twice`,
	} {
		_, problem := bodyProblem([]byte(bad))
		require.Contains(t, problem, want, bad)
	}
}

// A body is refused exactly when it is no JSON object in UTF-8, or has a member twice around the arguments.
func FuzzBodyProblem(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1,"a":2}`, `{"params":{"a":"\"","a":[]}}`, `{"params":[{"a":1}],"x":{"y":{}}}`, "{\"a\" : 1 ,\n\"b\":\"\\\\\"}", `{"":0,"":0}`, `{} x`, "{\"\xff\":1}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, problem := bodyProblem(body)
		if !json.Valid(body) || !utf8.Valid(body) || bytes.TrimLeft(body, " \t\r\n")[0] != '{' {
			require.NotEmpty(t, problem)
			return
		}
		if decodedTwice(t, body, "params") {
			require.NotEmpty(t, problem)
		} else if problem != "" {
			require.Contains(t, problem, "too many members")
		}
	})
}

func decodedTwice(t *testing.T, object []byte, inner string) bool {
	d := json.NewDecoder(bytes.NewReader(object))
	_, err := d.Token()
	require.NoError(t, err)
	seen := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		require.NoError(t, err)
		if seen[name.(string)] {
			return true
		}
		seen[name.(string)] = true
		var value json.RawMessage
		require.NoError(t, d.Decode(&value))
		if name == inner && inner != "" && value[0] == '{' && decodedTwice(t, value, "") {
			return true
		}
	}
	return false
}
