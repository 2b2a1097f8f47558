package web_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
)

const hostileProcess = `---
name: hostile
description: "<script>hacked = 1</script><img src=x onerror='hacked = 1'>"
inputs:
  "<b>field</b>": string
  data: object
  items:
    type: list
    items: string
steps:
  - id: work
    agent: "Work, <script>hacked = 1</script>."
    output:
      text: string
      link: string
      list:
        type: list
        items: string
      records:
        type: list
        items: object
      deep: object
    evidence: [file, link]
  - id: decide
    person: everyone
    approve: "Approve <img src=x onerror='hacked = 1'> [this](javascript:hacked=1) ` + "\u202e" + `desrever."
    on_reject: work
    next: done
  - id: done
    finish: done
---
# <script>hacked = 1</script>

![pixel](https://elsewhere.example.net/pixel.png) and ![data](data:image/svg+xml,<svg onload=hacked=1>)

[click](javascript:hacked=1) [data](data:text/html,<script>hacked=1</script>) [fine](https://example.com/)

<iframe src="https://elsewhere.example.net/"></iframe><style>body { display: none }</style>
<a href="https://example.com/" onclick="hacked = 1" style="position:fixed">styled</a>
`

// TestHostileRunDataIsHarmlessAndReadable shows what agents and authors may send at its worst.
func TestHostileRunDataIsHarmlessAndReadable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.publish(hostileProcess, map[string]string{"everyone": "buyer"})
	attack := `<script>hacked = 1</script>"'><img src=x onerror="hacked = 1">` + "\u202e" + `fdp.exe {{7*7}} ${7*7}`
	list := make([]string, 1000)
	for i := range list {
		list[i] = fmt.Sprintf("element %d", i)
	}
	marshal := func(v any) string {
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		return string(raw)
	}
	deep := any("bottom")
	for range 40 {
		deep = map[string]any{attack[:20]: deep}
	}
	runID := b.start(b.person(joe), "hostile", run.Live, marshal(map[string]any{
		"<b>field</b>": attack, "data": map[string]any{attack: attack}, "items": list,
	}))
	file := b.upload(bot, "invoice\u202efdp.exe\"><script>hacked=1</script>", "text/html", "<script>hacked = 1</script>")
	page := b.upload(bot, "notes.txt", "text/plain", "<script>hacked = 1</script>\u0000\ufffe")
	b.submit(runID, "work", marshal(map[string]any{
		"text": strings.Repeat("W", 150_000), "link": "javascript:hacked=1", "list": list,
		"records": []any{map[string]any{"a": attack, "b": 1}, map[string]any{"a": strings.Repeat("x", 300)}},
		"deep":    deep,
	}), map[string]any{"summary": attack, "evidence": []map[string]string{
		{"kind": "file", "ref": file}, {"kind": "file", "ref": page},
		{"kind": "link", "ref": "javascript:hacked=1"}, {"kind": "link", "ref": "https://user:secret@example.com/"},
		{"kind": "link", "ref": "data:text/html,<script>hacked=1</script>"}, {"kind": "link", "ref": "https://example.com/" + strings.Repeat("a", 3000)},
	}})

	w := b.browse()
	var mu sync.Mutex
	var asked []string
	require.NoError(t, chromedp.Listen(w.ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, e.Request.URL)
		}
	}))
	_, err := chromedp.Call(w.ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	w.signIn(mira, "/inbox")
	for _, path := range []string{"/inbox", "/items/" + b.openItem(runID), "/runs/" + runID, "/runs/" + runID + "/data", "/runs", "/processes", "/processes/hostile", "/processes/hostile/versions/1", "/processes/hostile/start"} {
		for _, width := range []int64{1280, 390} {
			w.size(width, 844)
			w.open(path)
			eval[bool](w, `(() => { for (const d of document.querySelectorAll("details")) d.open = true; return true; })()`)
			w.until("!document.querySelector('.htmx-request')")
			require.False(t, eval[bool](w, "'hacked' in window"), path)
			require.LessOrEqual(t, eval[int64](w, "document.documentElement.scrollWidth"), width, "%s scrolls sideways: %s", path, eval[string](w, `[...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > innerWidth && !e.closest(".scroll, pre")).map((e) => e.tagName + "." + e.className).slice(0, 8).join(" ")`))
			require.Empty(t, eval[[]string](w, `[...document.querySelectorAll("a[href], form[action], iframe[src], img[src]")].map((e) => e.href || e.action || e.src).filter((u) => !/^(https?|mailto):/.test(u))`), path)
			require.Empty(t, eval[[]string](w, `[...document.querySelectorAll("a[href]")].filter((a) => a.origin !== location.origin && !["noopener", "noreferrer", "nofollow"].every((r) => a.relList.contains(r))).map((a) => a.outerHTML)`), path)
			require.Zero(t, eval[int](w, `document.querySelectorAll("script:not([src]), style, [style], main img[src^='https'], [onclick], [onerror]").length`), path)
			require.NotContains(t, eval[string](w, "document.body.innerText"), "\u202e", "%s shows an override as what it is", path)
		}
	}
	w.size(1280, 900)
	w.open("/items/" + b.openItem(runID))
	require.Less(t, eval[int](w, "document.documentElement.outerHTML.length"), 700_000, "what is very long is cut")
	w.sees("Show the other 990")
	w.press("Approve")
	w.sees("Approved. Your decision is on record.")
	mu.Lock()
	defer mu.Unlock()
	for _, u := range asked {
		at, err := url.Parse(u)
		require.NoError(t, err)
		if at.Scheme != "data" && at.Scheme != "chrome-error" {
			require.Equal(t, strings.TrimPrefix(b.url, "http://"), at.Host, "nothing is asked of anybody else: %s", u)
		}
	}
}
