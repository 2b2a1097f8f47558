package server_test

import (
	"fmt"
	"testing"

	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/core/server/servertest"
)

// BenchmarkCalls measures the reads that agents make most; describe is the least that a call costs.
func BenchmarkCalls(b *testing.B) {
	f := servertest.New(b)
	f.Publish(review, nil)
	id := f.Begin(editor, "review", args{"topic": "bees"}).Run.ID
	for i := range 30 {
		f.Begin(editor, "review", args{"topic": fmt.Sprint(i)})
	}
	for name, raw := range map[string]string{"describe": `{}`, "get_run": `{"runId":"` + id + `"}`, "get_work": `{}`, "list_runs": `{}`} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r, _ := f.Server.Call(b.Context(), worker, name, []byte(raw)); r.Code != "" {
					b.Fatal(string(r.JSON))
				}
			}
		})
	}
}

// BenchmarkWrites starts, claims and cancels runs, one after the other.
func BenchmarkWrites(b *testing.B) {
	f := servertest.New(b)
	f.Publish(review, nil)
	b.ReportAllocs()
	for b.Loop() {
		id := f.Begin(editor, "review", args{"topic": "bees"}).Run.ID
		r, _ := f.Server.Call(b.Context(), worker, "claim", []byte(`{"runId":"`+id+`","stepId":"write","requestId":"c`+id+`"}`))
		if r.Code != "" {
			b.Fatal(string(r.JSON))
		}
		if _, err := f.Server.Cancel(b.Context(), server.Identity{Kind: server.Admin}, id, "x", "x"+id); err != nil {
			b.Fatal(err)
		}
	}
}
