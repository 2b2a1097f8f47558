package process

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// mapSample reads one of the processes in testdata/map.
func mapSample(t testing.TB, name string) *Document {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("testdata", "map", name+".md"))
	require.NoError(t, err)
	d, issues := Parse(src, Options{})
	require.NotNil(t, d, "%v", issues)
	return d
}

func TestMapsLookAsTheyShould(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"small", "everything", "hostile"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := mapSample(t, name)
			CheckMap(t, d)
			for suffix, drawn := range map[string]string{".mmd": Mermaid(d), ".svg": SVG(d, MapOptions{})} {
				path := filepath.Join("testdata", "map", name+suffix)
				if *update {
					require.NoError(t, os.WriteFile(path, []byte(drawn), 0o644))
				}
				golden, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, string(golden), drawn, "run the test with -update when the change is meant, and look at the picture")
			}
		})
	}
}

// laneOf finds which subgraph of a Mermaid map a node is in.
func laneOf(t *testing.T, mermaid, node string) string {
	t.Helper()
	lane := ""
	for _, line := range strings.Split(mermaid, "\n") {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), "subgraph "); ok {
			lane = title[strings.Index(title, `"`)+1 : strings.LastIndex(title, `"`)]
		}
		if regexp.MustCompile(`^    ` + node + `[^A-Za-z0-9_]`).MatchString(line) {
			return lane
		}
	}
	t.Fatalf("no node %s in\n%s", node, mermaid)
	return ""
}

func TestEachPerformerHasALane(t *testing.T) {
	t.Parallel()
	m := Mermaid(mapSample(t, "everything"))
	for node, lane := range map[string]string{
		"step_check_vendor": "Agent",
		"step_chase":        "Initiator",
		"step_confirm":      "Hiring manager (inputs#46;hiringManager)",
		"step_contract":     "Legal reviewer",
		"step_sign":         "Legal reviewer",
		"step_welcome":      "Buddy (steps#46;check_vendor#46;output#46;buddy)",
	} {
		require.Equal(t, lane, laneOf(t, m, node), node)
	}
	require.Equal(t, 5, strings.Count(m, "subgraph "))
}

func TestRoleAndPathOfOneNameAreTwoLanes(t *testing.T) {
	t.Parallel()
	d := &Document{Name: "x", Steps: []Step{
		{ID: "a", Kind: Task, Person: "manager", Next: "b"},
		{ID: "b", Kind: Task, Person: "inputs.manager", Next: "c"},
		{ID: "c", Kind: Finish, Text: "done"},
	}}
	m := Mermaid(d)
	require.Contains(t, m, `["Manager"]`)
	require.Contains(t, m, `["Manager (inputs#46;manager)"]`)
}

func TestWaitsAndFinishesSitInTheLaneOfTheStepBefore(t *testing.T) {
	t.Parallel()
	m := Mermaid(mapSample(t, "everything"))
	for node, lane := range map[string]string{
		"step_declined":       "Agent",
		"choice_check_vendor": "Agent",
		"step_settle":         "Agent",
		"step_account_answer": "Agent",
		"step_prepare":        "Hiring manager (inputs#46;hiringManager)",
		"join_prepare":        "Hiring manager (inputs#46;hiringManager)",
		"step_cool_down":      "Hiring manager (inputs#46;hiringManager)",
		"step_done":           "Buddy (steps#46;check_vendor#46;output#46;buddy)",
		// Nothing is before the first step.
		"step_opening_time": "Agent",
		"start":             "Agent",
	} {
		require.Equal(t, lane, laneOf(t, m, node), node)
	}
}

func TestProcessThatNobodyPerformsHasALane(t *testing.T) {
	t.Parallel()
	d := &Document{Name: "x", Steps: []Step{{ID: "a", Kind: Wait, Wait: time.Hour, Next: "b"}, {ID: "b", Kind: Finish, Text: "done"}}}
	CheckMap(t, d)
	require.Equal(t, "Process", laneOf(t, Mermaid(d), "step_b"))
}

func TestWords(t *testing.T) {
	t.Parallel()
	for name, said := range map[string]string{
		"check_vendor": "Check vendor", "legal-reviewer": "Legal reviewer", "a": "A", "z--": "Z", "GitHub-admins": "GitHub admins",
		"order.issued": "Order issued", "step2_b": "Step2 b", "VP of Sales": "VP of Sales", "50 % off": "50 % off", "über_mut": "Über mut",
		"__": "__", "\u200b": "(blank)", " \n ": "(blank)", "a\nb": "a b", "hiringManager": "HiringManager",
	} {
		require.Equal(t, said, words(name), "%q", name)
	}
	for name, said := range map[string]string{"hiringManager": "Hiring manager", "owner": "Owner", "HRLead": "HRLead", "lead2Name": "Lead2 name", "a.b_c": "A b c"} {
		require.Equal(t, said, fieldWords(name), "%q", name)
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	face := typeface{size: 10}
	m := face.width("m")
	for _, c := range []struct {
		text  string
		width float64
		lines int
		want  []string
		cut   bool
	}{
		{"", 50, 3, nil, false},
		{"mm mm", 5 * m, 3, []string{"mm mm"}, false},
		{"mm mm", 3 * m, 3, []string{"mm", "mm"}, false},
		{"mmmmm", 2 * m, 3, []string{"mm", "mm", "m"}, false},
		{"mm mmmm", 3 * m, 3, []string{"mm", "mmm", "m"}, false},
		{"mm mm mm", 3 * m, 2, []string{"mm", "m…"}, true},
		{"mmmmmm", 3 * m, 1, []string{"m…"}, true},
		{"m", m / 2, 1, []string{"m"}, false}, // no narrower than a character
		{"e\u0301e\u0301", face.width("e"), 2, []string{"e\u0301", "e\u0301"}, false},
	} {
		lines, cut := face.wrap(c.text, c.width+0.01, c.lines)
		require.Equal(t, c.want, lines, "%q", c.text)
		require.Equal(t, c.cut, cut, "%q", c.text)
	}
}

func TestDurationsInWords(t *testing.T) {
	t.Parallel()
	for d, said := range map[time.Duration][2]string{
		0:                      {"0 minutes", "0m"},
		time.Minute:            {"1 minute", "1m"},
		90 * time.Minute:       {"90 minutes", "90m"},
		time.Hour:              {"1 hour", "1h"},
		25 * time.Hour:         {"25 hours", "25h"},
		24 * time.Hour:         {"1 day", "1d"},
		36500 * 24 * time.Hour: {"36500 days", "36500d"},
	} {
		require.Equal(t, said, [2]string{durationWords(d), durationShort(d)})
	}
}

func TestMermaidEdges(t *testing.T) {
	t.Parallel()
	m := Mermaid(mapSample(t, "everything"))
	for _, line := range []string{
		`start --> step_opening_time`,
		`step_check_vendor --> choice_check_vendor`,
		`choice_check_vendor -->|"The vendor is known and nothing speaks against it."| step_confirm`,
		`choice_check_vendor --> step_declined`,
		`step_settle -->|"Received"| step_confirm`,
		`step_settle -->|"After 90 minutes"| step_chase`,
		`step_confirm -->|"Approved"| step_prepare`,
		`step_confirm -.->|"Rejected"| step_check_vendor`,
		`step_prepare --> step_contract`,
		`step_prepare --> step_account`,
		`step_sign -->|"Approved"| join_prepare`,
		`choice_account -->|"The account is open."| join_prepare`,
		`step_account_answer --> join_prepare`,
		`join_prepare --> step_cool_down`,
		`step_welcome -.->|"Rejected"| rejected_welcome`,
	} {
		require.Contains(t, m, "  "+line+"\n")
	}
}

func TestMermaidCards(t *testing.T) {
	t.Parallel()
	m := Mermaid(mapSample(t, "everything"))
	for _, card := range []string{
		`start(["Start"])`,
		`step_check_vendor("Check vendor<br/>Agent<br/>checked")`,
		`choice_check_vendor{"Decision"}`,
		`step_chase["Chase<br/>Task<br/>due in 1 hour"]`,
		`step_confirm{{"Confirm<br/>Approval"}}`,
		`step_cool_down[/"Cool down<br/>Wait<br/>2 days"/]`,
		`step_opening_time[/"Opening time<br/>Wait until<br/>inputs#46;startsAt"/]`,
		`step_settle[/"Settle<br/>Wait for event<br/>vendor-answered, at most 90 minutes"/]`,
		`step_prepare[["Prepare<br/>Parallel<br/>2 branches at once"]]`,
		`join_prepare[["All branches done<br/>Join"]]`,
		`step_done(["Onboarded<br/>End"])`,
		`rejected_welcome(["Rejected<br/>End"])`,
	} {
		require.Contains(t, m, "    "+card+"\n")
	}
}

func TestMarksAndCurrentAreShownInWords(t *testing.T) {
	t.Parallel()
	d := mapSample(t, "small")
	plain := SVG(d, MapOptions{})
	marked := SVG(d, MapOptions{Marks: map[string]string{"draft": "done", "review": "waiting", "done": `"><script>`}, Current: "review"})
	require.Contains(t, marked, ">Done</text>")
	require.Contains(t, marked, ">Waiting</text>")
	require.Contains(t, marked, "Review (review): approval by Editor, due in 2 days, waiting, this step.")
	require.Equal(t, 1, strings.Count(marked, `class="map-current"`))
	require.NotContains(t, marked, "script")
	require.NotContains(t, plain, "map-badge\"")
	require.NotContains(t, plain, `class="map-current"`)
	// A state changes nothing about where things are.
	size := regexp.MustCompile(`viewBox="[^"]*"`)
	require.Equal(t, size.FindString(plain), size.FindString(marked))
}

func TestEmbeddedMapHasNoStyleOfItsOwn(t *testing.T) {
	t.Parallel()
	d := mapSample(t, "everything")
	alone, embedded := SVG(d, MapOptions{}), SVG(d, MapOptions{Embedded: true})
	require.Contains(t, alone, "<style>")
	require.Contains(t, alone, MapCSS())
	require.NotContains(t, embedded, "style")
}

func TestEmbeddedMapOfAHugeProcessSaysSo(t *testing.T) {
	t.Parallel()
	d := &Document{Name: "huge"}
	for i := range embeddedLimit {
		d.Steps = append(d.Steps, Step{ID: fmt.Sprint("s", i), Kind: Agent, Next: fmt.Sprint("s", i+1)})
	}
	require.Less(t, len(SVG(d, MapOptions{Embedded: true})), 1000)
	require.Contains(t, SVG(d, MapOptions{Embedded: true}), "4000 steps: too many to draw")
	require.Greater(t, len(SVG(d, MapOptions{})), 1_000_000)
}

func TestTextAlternativeTellsTheFlow(t *testing.T) {
	t.Parallel()
	svg := SVG(mapSample(t, "everything"), MapOptions{})
	for _, s := range []string{
		"<title>Process map of everything</title>",
		"Performed by: Agent, Initiator, Hiring manager, Legal reviewer, Buddy.",
		"Confirm (confirm): approval by Hiring manager. approved, to Prepare; rejected, to Check vendor.",
		"Settle (settle): wait for event, vendor-answered, at most 90 minutes. received, to Confirm; after 90 minutes, to Chase.",
		"to Settle when: Something is missing; or to Declined for good.",
		"When all branches of Prepare are done: to Cool down.",
		"rejected, to the end of the run",
	} {
		require.Contains(t, svg, s)
	}
}

// TestTextCanBeReadInLightAndDark checks the contrast that WCAG 2.2 AA asks for: 4.5 for text, 3 for what carries meaning.
func TestTextCanBeReadInLightAndDark(t *testing.T) {
	t.Parallel()
	value := func(class, prop string, dark bool) string {
		for _, p := range mapStyles().of[class] {
			if p.name == prop {
				if dark && p.dark != "" {
					return p.dark
				}
				return p.light
			}
		}
		t.Fatalf("%s has no %s", class, prop)
		return ""
	}
	type pair struct{ class, prop, on string }
	var text, graphics []pair
	for _, lane := range []string{"map-lane", "map-lane-odd"} {
		for _, class := range []string{"map-lane-title", "map-lane-note", "map-kind"} {
			text = append(text, pair{class, "fill", lane})
		}
		for _, class := range []string{"map-line", "map-rejected", "map-timeout", "map-agent", "map-person", "map-wait", "map-end", "map-parallel", "map-current"} {
			graphics = append(graphics, pair{class, "stroke", lane})
		}
		for _, class := range []string{"map-arrow", "map-arrow-rejected", "map-arrow-timeout", "map-bar"} {
			graphics = append(graphics, pair{class, "fill", lane})
		}
	}
	for _, class := range []string{"map-kind", "map-title", "map-detail"} {
		text = append(text, pair{class, "fill", "map-card"})
	}
	text = append(text, pair{"map-label", "fill", "map-label-back"}, pair{"map-badge-text", "fill", "map-badge"})
	for state := range mapStates {
		if state != "cancelled" {
			text = append(text, pair{"map-badge-text", "fill", "map-badge-" + state})
		}
	}
	for _, dark := range []bool{false, true} {
		for _, p := range text {
			require.GreaterOrEqual(t, contrast(value(p.class, p.prop, dark), value(p.on, "fill", dark)), 4.5, "%v, dark %v", p, dark)
		}
		for _, p := range graphics {
			require.GreaterOrEqual(t, contrast(value(p.class, p.prop, dark), value(p.on, "fill", dark)), 3.0, "%v, dark %v", p, dark)
		}
	}
}

// contrast is the contrast ratio of two colours (#rrggbb), as WCAG 2.2 defines it.
func contrast(a, b string) float64 {
	luminance := func(colour string) float64 {
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
			if err != nil {
				panic(err)
			}
			c := float64(n) / 255
			if c <= 0.03928 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}
