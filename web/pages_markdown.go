package web

import (
	"bytes"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/apserver/ap/core/process"
)

// markdownMax is how much of a body is rendered; a longer one shows its beginning.
const markdownMax = 256 << 10

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify))

// bodyPolicy is what a rendered body may hold: text, lists, tables and links that name where they lead. No picture, for
// that would ask another host; no style, class or id.
var bodyPolicy = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "pre", "blockquote", "ul", "ol", "li",
		"table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(false)
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	return p
})

// bodies keeps rendered bodies by content hash.
var bodies = sync.OnceValue(func() *lru.Cache[string, string] {
	cache, err := lru.New[string, string](128)
	if err != nil {
		panic(err) // the size is a constant
	}
	return cache
})

// markdown renders the body of a process as safe HTML; empty for none.
func (h *site) markdown(doc *process.Document) string {
	if html, ok := bodies().Get(doc.Hash); ok {
		return html
	}
	html := safeMarkdown(doc.Body)
	bodies().Add(doc.Hash, html)
	return html
}

// safeMarkdown renders Markdown: headings two levels down, for the page has its own, and no drawn map, for the page
// draws it.
func safeMarkdown(source string) string {
	if strings.TrimSpace(source) == "" {
		return ""
	}
	src := []byte(source[:min(len(source), markdownMax)])
	doc := markdown.Parser().Parse(text.NewReader(src))
	var maps []ast.Node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			n.Level = min(n.Level+2, 6)
		case *ast.FencedCodeBlock:
			if string(n.Language(src)) == "mermaid" {
				maps = append(maps, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range maps {
		n.Parent().RemoveChild(n.Parent(), n)
	}
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, src, doc); err != nil {
		return ""
	}
	return bodyPolicy().Sanitize(out.String())
}
