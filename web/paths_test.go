package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Where a sign-in may return to: pages of this site, and no other site however it is written.
func TestOwnPath(t *testing.T) {
	t.Parallel()
	for _, own := range []string{
		"/inbox", "/items/w_1", "/runs?state=active&process=a", "/runs/r_1", "/", "/processes/x/start", "/inbox?q=a%2Fb", "/items/%C3%A4",
		"/inbox?next=https://evil.example",
	} {
		require.Equal(t, own, ownPath(own), own)
	}
	for _, other := range []string{
		"", "inbox", "https://evil.example", "http://evil.example/inbox", "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example",
		"/\t/evil.example", "/\n/evil.example", "/%0d%0aLocation:x", "/%5cevil.example", "/%2fevil.example", "/\x00", "javascript:alert(1)", "data:text/html,x",
		" /inbox", "/inbox\r\nX: y", "/ /evil.example", "https:evil.example", "/login?next=/inbox", "/logout", "/auth/callback?code=x", "/signed-out",
		"/dev/clock", "/events", "/" + strings.Repeat("a", 3000), "/\ufffd", "/a b",
	} {
		require.Equal(t, "/inbox", ownPath(other), other)
	}
}

func FuzzOwnPath(f *testing.F) {
	for _, s := range []string{"/inbox", "//x", "/\\x", "/%2f%2fx", "https://x", "/a?b=c#d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := ownPath(s)
		base, err := url.Parse("https://ap.example/login")
		require.NoError(t, err)
		to, err := base.Parse(got)
		require.NoError(t, err)
		require.Equal(t, "ap.example", to.Host, "%q leads away", s)
		require.Equal(t, "https", to.Scheme)
		require.False(t, len(got) > 1 && (got[1] == '/' || got[1] == '\\'), "%q leads away in browsers", s)
		require.Equal(t, got, ownPath(got), "not stable")
	})
}

func TestReturnPath(t *testing.T) {
	t.Parallel()
	get := httptest.NewRequest(http.MethodGet, "http://ap.example/items/w_1?x=1", nil)
	require.Equal(t, "/items/w_1?x=1", returnPath(get))
	post := httptest.NewRequest(http.MethodPost, "http://ap.example/items/w_1", nil)
	require.Equal(t, "/items/w_1", returnPath(post))
	post.Header.Set("Referer", "http://ap.example/items/w_1?tab=2")
	require.Equal(t, "/items/w_1?tab=2", returnPath(post))
	post.Header.Set("Referer", "http://evil.example/x")
	require.Equal(t, "/items/w_1", returnPath(post))
}

func TestSafeFileName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"contract.pdf":                    "contract.pdf",
		"../../etc/passwd":                "passwd",
		`C:\temp\a.txt`:                   "a.txt",
		"a\r\nSet-Cookie: x.pdf":          "aSet-Cookie_ x.pdf",
		"photo\u202egnp.exe":              "photognp.exe",
		"":                                "f_1",
		".":                               "f_1",
		"..":                              "f_1",
		"/":                               "f_1",
		".htaccess":                       "htaccess",
		"Übersicht 2026.pdf":              "Übersicht 2026.pdf",
		"a\xffb.txt":                      "a_b.txt",
		strings.Repeat("é", 200) + ".pdf": strings.Repeat("é", 73) + ".pdf",
	} {
		require.Equal(t, want, safeFileName(name, "f_1"), "%q", name)
	}
}

func FuzzSafeFileName(f *testing.F) {
	f.Add("a.pdf")
	f.Add("../x\u202e")
	f.Fuzz(func(t *testing.T, name string) {
		got := safeFileName(name, "f_1")
		require.NotEmpty(t, got)
		require.LessOrEqual(t, len(got), 150)
		require.NotContains(t, got, "/")
		require.NotContains(t, got, "\\")
		require.NotContains(t, got, "\n")
		require.NotEqual(t, "..", got)
	})
}

// What a browser could run is never shown, whatever the upload says it is.
func TestFileType(t *testing.T) {
	t.Parallel()
	for _, shown := range []string{"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "text/plain", "TEXT/PLAIN; charset=latin1"} {
		_, disposition := fileType(shown)
		require.Equal(t, "inline", disposition, shown)
	}
	for _, attached := range []string{
		"text/html", "image/svg+xml", "application/xhtml+xml", "text/xml", "application/javascript", "text/css", "application/x-shockwave-flash",
		"", "image/png, text/html", "text/plain\r\nX: y", "multipart/x-mixed-replace", "application/octet-stream", "text/vtt", "message/rfc822",
	} {
		kind, disposition := fileType(attached)
		require.Equal(t, "attachment", disposition, attached)
		require.Equal(t, "application/octet-stream", kind, attached)
	}
	for _, text := range []string{"text/csv", "text/markdown", "application/json"} {
		kind, _ := fileType(text)
		require.Equal(t, "text/plain; charset=utf-8", kind)
	}
	for _, kind := range inlineTypes {
		if kind != "application/pdf" {
			require.Contains(t, filePolicy(kind), "; sandbox")
		}
		require.Contains(t, filePolicy(kind), "default-src 'none'")
	}
}

func TestAdvanceBy(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"72h": "72h0m0s", "3d": "72h0m0s", "0d": "0s", "1h30m": "1h30m0s", "36500d": "876000h0m0s", "1ms": "1ms"} {
		d, err := advanceBy(s)
		require.NoError(t, err, s)
		require.Equal(t, want, d.String())
	}
	for _, s := range []string{"", "d", "-1d", "-1h", "3", "3 d", "36501d", "999999999d", "99999999999999h", "876001h", "1.5d", "3D", "x"} {
		_, err := advanceBy(s)
		require.ErrorContains(t, err, "advance:", s)
	}
}

func TestRemoteAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"Direct", "203.0.113.9:1234", nil, "203.0.113.9"},
		{"AStrangerCannotChooseItsAddress", "203.0.113.9:1234", []string{"10.0.0.1"}, "203.0.113.9"},
		{"AProxyHereIsBelieved", "127.0.0.1:1234", []string{"198.51.100.7"}, "198.51.100.7"},
		{"OnlyItsOwnEntry", "127.0.0.1:1234", []string{"1.2.3.4, 198.51.100.7"}, "198.51.100.7"},
		{"InTheLastHeader", "[::1]:1234", []string{"1.2.3.4", "198.51.100.7"}, "198.51.100.7"},
		{"Nonsense", "127.0.0.1:1234", []string{"unknown"}, "127.0.0.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.forwarded}}
			require.Equal(t, c.want, remoteAddress(r))
		})
	}
}
