package process_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/apserver/ap/core/process"
)

// longProcess is a valid process of about so many bytes: a row of steps with fields, routes and rework.
func longProcess(size int) []byte {
	var b bytes.Buffer
	b.WriteString("---\nname: a\ndescription: A long process.\ninputs: {owner: person}\nsteps:\n")
	for i := 0; b.Len() < size-400; i++ {
		fmt.Fprintf(&b, "  - id: check_%d\n    agent: |\n      Check the vendor against both lists and attach the report, with what was searched for.\n"+
			"    output:\n      cleared: boolean\n      level: { type: string, one_of: [low, high] }\n    evidence: [file]\n", i)
		if i%2 == 0 {
			fmt.Fprintf(&b, "    next:\n      - { to: approve_%d, when: It is clear }\n      - { to: done, when: It is not }\n", i)
		}
		fmt.Fprintf(&b, "  - id: approve_%d\n    approve: The vendor is fine.\n    person: inputs.owner\n    on_reject: check_%d\n    due: 2d\n", i, i)
	}
	b.WriteString("  - id: done\n    finish: done\n---\nBody.\n")
	return b.Bytes()
}

// BenchmarkParse shows that the time grows with the size of the file. Nodes are bounded (protocol.md 1.1), so the
// largest file is mostly body.
func BenchmarkParse(b *testing.B) {
	for _, kib := range []int{4, 16, 64, 256, 512} {
		src := longProcess(kib << 10)
		if doc, issues := process.Parse(src, process.Options{}); doc == nil {
			b.Fatal(kib, issues)
		}
		b.Run(fmt.Sprintf("%dKiB", kib), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				process.Parse(src, process.Options{})
			}
		})
	}
	src := longProcess(512 << 10)
	src = append(src, bytes.Repeat([]byte("More body.\n"), (process.MaxBytes-len(src))/11)...)
	b.Run("1MiB", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			process.Parse(src, process.Options{})
		}
	})
}

// BenchmarkParseCorpus parses the public processes.
func BenchmarkParseCorpus(b *testing.B) {
	var sources [][]byte
	size := 0
	for path := range corpus(b) {
		src, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		sources = append(sources, src)
		size += len(src)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, src := range sources {
			process.Parse(src, process.Options{})
		}
	}
}
