package rules_test

import (
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// public are the packages that docs/api.md promises.
var public = []string{"urlparse", "ftpexec", "ftpexec/ftpfs", "ftpexec/ftphttp", "download", "download/digest", "download/manifest", "download/batch", "testserver"}

// loader returns an importer of the packages of this repository in dirs, and of all that they and their tests import, as
// the go command compiles them.
func loader(t *testing.T, dirs ...string) types.Importer {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-test", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for _, dir := range dirs {
		args = append(args, module+dir)
	}
	c := exec.CommandContext(t.Context(), "go", args...)
	c.Dir = root
	var report strings.Builder
	c.Stderr = &report
	list, err := c.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, report.String())
	}
	compiled := map[string]string{}
	for line := range strings.Lines(string(list)) {
		path, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		compiled[path] = file // "p [p.test]", a package with its tests, is never asked for
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(compiled[path])
	})
}

// load returns one package of this repository.
func load(t *testing.T, from types.Importer, dir string) *types.Package {
	t.Helper()
	p, err := from.Import(module + dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
