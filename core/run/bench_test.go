package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// benchRun is a run of claim, submit, approve at the point before each of these, with its journal so far.
type benchRun struct {
	doc      *process.Document
	env      run.Env
	states   []*run.State
	commands []run.Command
	entries  []run.Entry
}

var benchNames = []string{"Start", "Claim", "Submit", "Approve"}

// newBenchRun has an output of about size bytes.
func newBenchRun(size int) *benchRun {
	doc := document(
		output(agent("check"), field("cleared", process.Boolean), field("text", process.String)),
		approve("sign", "finance", "check"), finish("done"))
	doc.Inputs = process.Fields{field("vendor", process.String), field("amount", process.Number)}
	doc.Body = strings.Repeat("Some words about the process.\n", 40)
	b := &benchRun{doc: doc, env: run.Env{
		Now: t0, Groups: map[string]string{"finance": "g_finance"}, Operators: "operators", Lease: lease, RunDataBytes: 262144,
	}}
	var st *run.State
	do := func(cmd run.Command) {
		b.states, b.commands = append(b.states, st), append(b.commands, cmd)
		out := run.Decide(doc, st, cmd, b.env)
		if out.Err != nil {
			panic(out.Err)
		}
		var prev []byte
		if n := len(b.entries); n > 0 {
			prev = b.entries[n-1].Hash
		}
		b.entries = append(b.entries, run.Seal("r_1", len(b.entries), prev, out.Events)...)
		st = out.State
	}
	do(run.Start{RunID: "r_01J9ZZ7N5Q2Y8W4V", Process: doc.Name, Version: 1, By: mira, Human: true,
		Inputs: json.RawMessage(`{"vendor":"Acme Inc.","amount":48000.00}`)})
	do(run.Claim{StepID: "check", By: ana})
	do(run.Submit{Ref: run.ClaimRef{Claim: 1, Lease: 1}, By: ana, Submission: run.Submission{
		Output:  json.RawMessage(`{"cleared":true,"text":"` + strings.Repeat("x", size) + `"}`),
		Summary: p("Searched both lists by legal name and two known aliases. No hits."),
	}})
	do(run.Decision{ItemID: st.OpenItems()[0].ID, Snapshot: st.Snapshot(doc), Decision: run.Approved,
		By: mira, Human: true, Groups: groupsOf[mira]})
	b.states = append(b.states, st)
	return b
}

// BenchmarkDecide is a decision alone; BenchmarkWrite adds what a write needs besides: sealing its events, and the view
// it returns.
func BenchmarkDecide(b *testing.B) {
	for _, size := range []int{64, 32 << 10} {
		r := newBenchRun(size)
		for i, name := range benchNames {
			b.Run(fmt.Sprintf("%s/output=%d", name, size), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if out := run.Decide(r.doc, r.states[i], r.commands[i], r.env); out.Err != nil {
						b.Fatal(out.Err)
					}
				}
			})
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	r := newBenchRun(64)
	for i, name := range benchNames {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				out := run.Decide(r.doc, r.states[i], r.commands[i], r.env)
				run.Seal("r_1", i, nil, out.Events)
				run.NewView(r.doc, out.State, run.ViewOptions{Now: t0})
			}
		})
	}
}

func BenchmarkFold(b *testing.B) {
	r := newBenchRun(64)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := run.Fold(r.doc, nil, r.entries); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(r.entries)), "ns/event")
}

func BenchmarkSeal(b *testing.B) {
	r := newBenchRun(64)
	events := make([]run.Event, len(r.entries))
	for i, e := range r.entries {
		events[i] = e.Event
	}
	b.ReportAllocs()
	for b.Loop() {
		run.Seal("r_1", 0, nil, events)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(events)), "ns/event")
}

func BenchmarkNewView(b *testing.B) {
	r := newBenchRun(64)
	b.ReportAllocs()
	for b.Loop() {
		run.NewView(r.doc, r.states[3], run.ViewOptions{Now: t0})
	}
}

func BenchmarkViewJSON(b *testing.B) {
	for _, size := range []int{64, 32 << 10} {
		b.Run(fmt.Sprintf("output=%d", size), func(b *testing.B) {
			r := newBenchRun(size)
			view := run.NewView(r.doc, r.states[3], run.ViewOptions{Now: t0})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := view.MarshalJSON(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWide is the worst that one write can bring: a fork as wide as a file may be, whose branches' timers are all
// due at once.
func BenchmarkWide(b *testing.B) {
	const wide = 5000
	var src strings.Builder
	src.WriteString("---\nname: wide\ndescription: As wide as can be.\nsteps:\n- {id: fork, parallel: [")
	for i := range wide {
		fmt.Fprintf(&src, "b%d,", i)
	}
	src.WriteString("]}\n- {id: done, finish: done}\n")
	for i := range wide {
		fmt.Fprintf(&src, "- {id: b%d, wait: 1m, next: join}\n", i)
	}
	doc, issues := process.Parse([]byte(src.String()+"---\n"), process.Options{})
	if doc == nil {
		b.Fatal(issues)
	}
	env := run.Env{Now: t0}
	started := run.Decide(doc, nil, run.Start{RunID: "r_1", By: mira, Human: true}, env).State
	env.Now = env.Now.Add(time.Hour)
	for b.Loop() {
		if _, st := run.Advance(doc, started, env); !st.Over() {
			b.Fatal(st.State)
		}
	}
}
