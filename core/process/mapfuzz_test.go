package process

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// hostileTexts try to end a label, a tag, an attribute or a code fence, to be markup of any kind, or to be wide.
var hostileTexts = []string{
	`end`, `"quoted" 'single'`, "back`tick```\nflowchart", `<script>x()</script>`, `<img src=x onerror="x()">`, `]]>`, `<!-- -->`,
	`a]b}c)d>e|f`, `#35;&lt;&amp;#quot;`, "1. list item", "1) list item", "- list", "+ list", "* star _em_ **bold** ~~x~~", "# heading", "> quote",
	`fa:fa-car icon`, `https://example.com/x?a=b www.example.com a@b.co`, "line\none\r\ntwo\tthree", "%%{init: {}}%% comment",
	"style a:#fff; classDef x fill:#f00;", "ﬂ°lt¶ßscript ﬂ°°60¶ß", "\u202eevil\u202c", "漢字かな한글 العربية हिन्दी 👩‍👩‍👧‍👦 é", "$$x^2$$ \\(a\\) \\n",
	"subgraph x", `click a href "javascript:alert(1)"`, "a --> b", "---", ";;;", "{{x}} @{shape: x}", ":::class", "o--o x--x", "default",
	"z\u0335\u0321\u0322\u031b\u0317\u0318\u0319\u031c\u031d", "x\u0000y\ufffe\uffff", "\u200b", "", "   ", "﷽﷽﷽", "𒐫𒐫𒐫", "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
	"\xff\xfe", "ÀÉÎÕÜßŒ", "ЖФЩѾҖ", "🏳️‍🌈🇩🇪👍🏽", "iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii",
}

func TestHostileTextIsSafeEverywhere(t *testing.T) {
	t.Parallel()
	for _, text := range hostileTexts {
		timeout := time.Hour
		d := &Document{Name: text, Steps: []Step{
			{ID: "a", Kind: Task, Person: text, Routes: []Route{{To: "b", When: text}, {To: "c", When: text + " " + text}}},
			{ID: "b", Kind: WaitFor, Text: text, Next: "c", Timeout: &timeout, OnTimeout: "d"},
			{ID: "c", Kind: WaitUntil, Text: text, Next: "d"},
			{ID: "d", Kind: Approve, Person: "inputs." + text, Next: "e", OnReject: "a"},
			{ID: "e", Kind: Finish, Text: text},
		}}
		CheckMap(t, d)
	}
}

// anyDocument makes a process of any shape that the rules allow, and of some they don't, with any text in it.
func anyDocument(t *rapid.T) *Document {
	text := rapid.OneOf(rapid.SampledFrom(hostileTexts), rapid.String())
	minutes := func() *time.Duration {
		d := time.Duration(rapid.IntRange(0, 52560000).Draw(t, "minutes")) * time.Minute
		return &d
	}
	d := &Document{Name: text.Draw(t, "name")}
	kinds := []Kind{Agent, Task, Approve, Wait, WaitUntil, WaitFor, Finish, Parallel}
	for range rapid.IntRange(1, 10).Draw(t, "steps") {
		s := Step{
			ID:     fmt.Sprintf("%s%d", rapid.StringMatching(`[a-z][a-z0-9_-]{0,40}`).Draw(t, "id"), len(d.Steps)),
			Kind:   rapid.SampledFrom(kinds).Draw(t, "kind"),
			Text:   text.Draw(t, "text"),
			Person: rapid.OneOf(text, rapid.SampledFrom([]string{"a", "b", Initiator, "inputs.c"})).Draw(t, "person"),
		}
		if rapid.Bool().Draw(t, "due") {
			s.Due, s.Timeout = minutes(), minutes()
		}
		d.Steps = append(d.Steps, s)
		if s.Kind == Parallel {
			at := len(d.Steps) - 1
			for b := range rapid.IntRange(2, 4).Draw(t, "branches") {
				entry := Step{ID: fmt.Sprintf("%s-b%d", s.ID, b), Kind: Task, Person: fmt.Sprint("p", b), Next: Join, Fork: s.ID}
				d.Steps[at].Branches = append(d.Steps[at].Branches, entry.ID)
				d.Steps = append(d.Steps, entry)
			}
		}
	}
	any := func() string { return d.Steps[rapid.IntRange(0, len(d.Steps)-1).Draw(t, "target")].ID }
	for i := range d.Steps {
		s := &d.Steps[i]
		if s.Fork != "" {
			continue
		}
		if s.Next = any(); rapid.Bool().Draw(t, "ahead") && i+1 < len(d.Steps) {
			s.Next = d.Steps[i+1].ID
		}
		switch s.Kind {
		case Approve:
			if rapid.Bool().Draw(t, "returns") {
				s.OnReject = any()
			}
		case WaitFor:
			s.OnTimeout = any()
		case Agent, Task:
			for range rapid.IntRange(0, 4).Draw(t, "routes") {
				s.Routes = append(s.Routes, Route{To: any(), When: text.Draw(t, "when")})
			}
		}
	}
	return d
}

func TestMapOfAnyProcess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { CheckMap(t, anyDocument(t)) })
}

func FuzzMap(f *testing.F) {
	samples, err := filepath.Glob(filepath.Join("testdata", "map", "*.md"))
	require.NoError(f, err)
	for _, path := range samples {
		src, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if d, _ := Parse(src, Options{}); d != nil {
			CheckMap(t, d)
		}
	})
}

// FuzzMapOfAnyProcess makes processes out of the bytes, so that few are wasted.
func FuzzMapOfAnyProcess(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { CheckMap(t, anyDocument(t)) }))
}
