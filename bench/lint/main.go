// Command lint measures `ap lint` over the public processes in one run, start-up included, beside a check of the same
// files in Node (yaml and ajv) against the schema of `ap schema`, and how the time grows with the size of a file.
//
// It needs node and npm, and installs what package-lock.json names in its own folder.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/apserver/ap/core/process"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(1)
	}
}

func run() error {
	rounds := flag.Int("rounds", 20, "how often each is run; the median counts")
	files := flag.String("files", "../shared/upstream/*/*/PROCESS.md", "the files, as a pattern")
	flag.Parse()

	paths, err := filepath.Glob(*files)
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("no file is %s (%v)", *files, err)
	}
	work, err := os.MkdirTemp("", "bench-lint-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	ap := filepath.Join(work, "ap")
	folder := filepath.Join("bench", "lint")
	if err := command("go", "build", "-o", ap, "./cmd/ap").Run(); err != nil {
		return fmt.Errorf("building ap: %w", err)
	}
	if err := command("npm", "ci", "--silent", "--prefix", folder).Run(); err != nil {
		return fmt.Errorf("npm ci: %w", err)
	}
	schema := filepath.Join(work, "process.schema.json")
	if err := os.WriteFile(schema, process.JSONSchema(), 0o644); err != nil {
		return err
	}

	ours, theirs, err := race(*rounds,
		append([]string{ap, "lint", "--quiet"}, paths...),
		append([]string{"node", filepath.Join(folder, "check.mjs"), schema}, paths...))
	if err != nil {
		return err
	}
	fmt.Printf("ap-lint   files=%d %s\nnode-ajv  files=%d %s\nratio %.1f\n", len(paths), ours, len(paths), theirs, float64(theirs)/float64(ours))
	for _, kib := range []int{1, 16, 64, 256, 512} {
		src := long(kib << 10)
		fmt.Printf("parse  %4d KiB %s\n", kib, median(*rounds, func() { process.Parse(src, process.Options{}) }))
	}
	src := long(512 << 10)
	src = append(src, bytes.Repeat([]byte("More body.\n"), (process.MaxBytes-len(src))/11)...)
	fmt.Printf("parse  1024 KiB %s (half of it body)\n", median(*rounds, func() { process.Parse(src, process.Options{}) }))
	return nil
}

// race runs two commands in turn, so that both meet the same machine, and returns the median time of each.
func race(rounds int, a, b []string) (time.Duration, time.Duration, error) {
	times := [2][]time.Duration{}
	for range rounds {
		for i, args := range [][]string{a, b} {
			begin := time.Now()
			if err := command(args...).Run(); err != nil {
				return 0, 0, fmt.Errorf("%s: %w", args[0], err)
			}
			times[i] = append(times[i], time.Since(begin))
		}
	}
	return middle(times[0]), middle(times[1]), nil
}

func median(rounds int, f func()) time.Duration {
	var times []time.Duration
	for range rounds {
		begin := time.Now()
		f()
		times = append(times, time.Since(begin))
	}
	return middle(times)
}

func middle(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2].Round(10 * time.Microsecond)
}

func command(args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	return cmd
}

// long is a valid process of about so many bytes.
func long(size int) []byte {
	var b bytes.Buffer
	b.WriteString("---\nname: a\ndescription: A long process.\nsteps:\n")
	for i := 0; b.Len() < size-300; i++ {
		fmt.Fprintf(&b, "  - id: check_%d\n    agent: |\n      Check the vendor against both lists and attach the report, with what was searched for.\n"+
			"    output:\n      cleared: boolean\n      level: { type: string, one_of: [low, high] }\n    evidence: [file]\n    due: 2d\n", i)
	}
	b.WriteString("  - id: done\n    finish: done\n---\nBody.\n")
	return b.Bytes()
}
