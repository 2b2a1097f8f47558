package cli

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// visitor is a person with a browser without scripts: it keeps cookies, follows redirects and presses buttons.
type visitor struct {
	t      *testing.T
	client *http.Client
	// bend, if set, may change where a redirect leads.
	bend func(to *url.URL)
	// seen is where redirects led.
	seen []*url.URL
}

func newVisitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	v := &visitor{t: t}
	v.client = &http.Client{Jar: jar, Timeout: time.Minute, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		require.Less(t, len(via), 20, "redirects without end")
		if v.bend != nil {
			v.bend(r.URL)
		}
		v.seen = append(v.seen, r.URL)
		return nil
	}}
	return v
}

// page is where a visitor ended up.
type page struct {
	v      *visitor
	at     *url.URL
	status int
	text   string
	root   *html.Node
}

func (v *visitor) open(address string) *page {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, address, nil)
	require.NoError(v.t, err)
	return v.do(r)
}

func (v *visitor) do(r *http.Request) *page {
	v.t.Helper()
	answer, err := v.client.Do(r)
	require.NoError(v.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(v.t, err)
	root, err := html.Parse(bytes.NewReader(text))
	require.NoError(v.t, err)
	return &page{v: v, at: answer.Request.URL, status: answer.StatusCode, text: string(text), root: root}
}

// find returns the first element of a name for which ok says so.
func (p *page) find(name string, ok func(n *html.Node) bool) *html.Node {
	for n := range p.root.Descendants() {
		if n.Type == html.ElementNode && n.Data == name && ok(n) {
			return n
		}
	}
	return nil
}

func attribute(n *html.Node, name string) (value string, there bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

func textOf(n *html.Node) string {
	var text strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			text.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(text.String())
}

// follow opens the link with a text.
func (p *page) follow(text string) *page {
	p.v.t.Helper()
	link := p.find("a", func(n *html.Node) bool { return textOf(n) == text })
	require.NotNil(p.v.t, link, "no link %q:\n%s", text, p.text)
	href, _ := attribute(link, "href")
	to, err := p.at.Parse(href)
	require.NoError(p.v.t, err)
	return p.v.open(to.String())
}

// press sends the form of the button with a text, its fields as they are but for those given.
func (p *page) press(text string, fields map[string]string) *page {
	p.v.t.Helper()
	button := p.find("button", func(n *html.Node) bool { return textOf(n) == text })
	require.NotNil(p.v.t, button, "no button %q at %s (%d):\n%s", text, p.at, p.status, p.text)
	form := p.formOf(button)
	values := url.Values{}
	for n := range form.Descendants() {
		name, named := attribute(n, "name")
		if kind, _ := attribute(n, "type"); !named || n.Data != "input" || kind == "file" || kind == "radio" || kind == "checkbox" {
			continue
		}
		value, _ := attribute(n, "value")
		values.Add(name, value)
	}
	for name, value := range fields {
		values.Set(name, value)
	}
	if name, named := attribute(button, "name"); named {
		value, _ := attribute(button, "value")
		values.Set(name, value)
	}
	action, _ := attribute(form, "action")
	to, err := p.at.Parse(action)
	require.NoError(p.v.t, err)
	body, kind := strings.NewReader(values.Encode()), "application/x-www-form-urlencoded"
	if enctype, _ := attribute(form, "enctype"); enctype == "multipart/form-data" {
		body, kind = inParts(p.v.t, values)
	}
	r, err := http.NewRequestWithContext(p.v.t.Context(), http.MethodPost, to.String(), body)
	require.NoError(p.v.t, err)
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return p.v.do(r)
}

// formOf is the form a button belongs to: the one it names, or the one around it.
func (p *page) formOf(button *html.Node) *html.Node {
	p.v.t.Helper()
	if id, named := attribute(button, "form"); named {
		form := p.find("form", func(n *html.Node) bool { value, _ := attribute(n, "id"); return value == id })
		require.NotNil(p.v.t, form)
		return form
	}
	for n := range button.Ancestors() {
		if n.Data == "form" {
			return n
		}
	}
	require.FailNow(p.v.t, "the button is in no form", p.text)
	return nil
}

func inParts(t *testing.T, values url.Values) (body *strings.Reader, kind string) {
	t.Helper()
	var text strings.Builder
	w := multipart.NewWriter(&text)
	for name, all := range values {
		for _, value := range all {
			require.NoError(t, w.WriteField(name, value))
		}
	}
	require.NoError(t, w.Close())
	return strings.NewReader(text.String()), w.FormDataContentType()
}
