package cli

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/apserver/ap"

// imports says which packages of ours each part may import; a part is a folder with those below it, and may always
// import itself. Imports point one way: cli, then web, db and conformance, then core/server, core/run, core/process.
var imports = map[string][]string{
	"cmd":          {"cli"},
	"cli":          {"web", "db", "conformance", "core/server", "core/run", "core/process"},
	"web":          {"templates", "static", "core/server", "core/run", "core/process"},
	"db":           {"core/server", "core/run", "core/process"},
	"templates":    {"static", "core/server", "core/run", "core/process"},
	"static":       {},
	"conformance":  {},
	"core/server":  {"core/run", "core/process"},
	"core/run":     {"core/process"},
	"core/process": {},
	// A server on the real store, for the tests of whatever stands above it.
	"core/server/servertest": {"db", "core/server", "core/run", "core/process"},
	// Measurements use whatever they measure.
	"bench": {"cli", "web", "db", "conformance", "core/server", "core/run", "core/process"},
}

func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	for _, pkg := range ownPackages(t) {
		part, ok := partOf(pkg.path)
		if !ok {
			t.Errorf("%s is in no part of the layout: say in docs/how-it-is-built.md and here what it may import", pkg.path)
			continue
		}
		for _, imported := range pkg.imports {
			target, ok := partOf(imported)
			if !ok || target == part {
				continue
			}
			require.Contains(t, imports[part], target, "%s imports %s", pkg.path, imported)
		}
	}
}

func TestPureCoreDoesNoInputOrOutput(t *testing.T) {
	t.Parallel()
	for _, pkg := range ownPackages(t) {
		if pkg.path != "core/run" && pkg.path != "core/process" {
			continue
		}
		for _, imported := range pkg.all {
			switch imported {
			case "os", "net", "net/http", "database/sql", "math/rand", "math/rand/v2", "crypto/rand", "io/fs", "log", "log/slog":
				t.Errorf("%s imports %s: it is to be pure", pkg.path, imported)
			}
		}
	}
}

type ownPackage struct {
	path string
	// imports are the imported packages of ours, relative to the module; all are all of them.
	imports, all []string
}

func ownPackages(t *testing.T) []ownPackage {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = repository(t)
	out, err := cmd.Output()
	require.NoError(t, err)
	var packages []ownPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		own := ownPackage{path: strings.TrimPrefix(p.ImportPath, module+"/"), all: p.Imports}
		for _, i := range p.Imports {
			if rest, ok := strings.CutPrefix(i, module+"/"); ok {
				own.imports = append(own.imports, rest)
			}
		}
		packages = append(packages, own)
	}
	require.NotEmpty(t, packages)
	return packages
}

// partOf returns the part of the layout that a package belongs to.
func partOf(path string) (string, bool) {
	for p := path; p != "." && p != "/"; p = filepath.Dir(p) {
		if _, ok := imports[p]; ok {
			return p, true
		}
	}
	return "", false
}

// repository is the root of the repository.
func repository(t testing.TB) string {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(root, "go.mod"))
	return root
}
