package conformance

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed fixtures/conf-*/PROCESS.md
var fixtureFiles embed.FS

// Group is the group that the fixtures' roles are bound to: the first two people given are its members.
const Group = "conformance"

// Fixture is a process that the cases start runs of.
type Fixture struct {
	Name   string
	Source string
	// Roles are what has to be bound before publication, each to its group.
	Roles map[string]string
	// Profile is the profile it needs, or "".
	Profile string
}

// Fixtures lists the processes that have to be published before the suite runs.
func Fixtures() []Fixture {
	files, err := fs.Glob(fixtureFiles, "fixtures/*/PROCESS.md")
	if err != nil {
		panic(err)
	}
	var out []Fixture
	for _, f := range files {
		source, err := fixtureFiles.ReadFile(f)
		if err != nil {
			panic(err)
		}
		x := Fixture{Name: path.Base(path.Dir(f)), Source: string(source), Roles: map[string]string{}}
		if strings.Contains(x.Source, "person: approver") {
			x.Roles["approver"] = Group
		}
		switch {
		case strings.Contains(x.Source, "parallel:"):
			x.Profile = "parallel-1"
		case strings.Contains(x.Source, "check:"):
			x.Profile = "check-1"
		}
		out = append(out, x)
	}
	return out
}

// Prepare writes the fixtures into a folder, one folder each.
func Prepare(dir string) error {
	for _, f := range Fixtures() {
		folder := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("writing the fixtures: %w", err)
		}
		if err := os.WriteFile(filepath.Join(folder, "PROCESS.md"), []byte(f.Source), 0o644); err != nil {
			return fmt.Errorf("writing the fixtures: %w", err)
		}
	}
	return nil
}

// runImport runs an import command template on a file. In the template {path} is the file, {name} the process's name,
// and {roles} a `--role ROLE=GROUP` for each role; the environment has PROCESS_PATH, PROCESS_NAME and PROCESS_ROLES
// (`ROLE=GROUP …`) for a script of the server's own. An exit status other than 0 is a refusal.
func runImport(ctx context.Context, template, file string, roles map[string]string) (output string, err error) {
	var pairs, flags []string
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		pair := role + "=" + roles[role]
		pairs, flags = append(pairs, pair), append(flags, "--role "+pair)
	}
	name := filepath.Base(filepath.Dir(file))
	line := strings.NewReplacer("{path}", "'"+file+"'", "{name}", name, "{roles}", strings.Join(flags, " ")).Replace(template)
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Env = append(os.Environ(), "PROCESS_PATH="+file, "PROCESS_NAME="+name, "PROCESS_ROLES="+strings.Join(pairs, " "))
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
