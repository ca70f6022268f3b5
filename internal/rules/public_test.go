package rules_test

import (
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"strings"
	"testing"
)

// public are the packages that docs/api.md promises.
var public = []string{"urlparse", "ftpexec", "ftpexec/ftpfs", "ftpexec/ftphttp", "download", "download/digest", "download/manifest", "download/batch", "testserver"}

// loader returns an importer of the public packages, and of all that they and their tests import, as the go command
// compiles them.
func loader(t *testing.T) types.Importer {
	t.Helper()
	args := []string{"go", "list", "-export", "-deps", "-test", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for _, dir := range public {
		args = append(args, module+dir)
	}
	compiled := map[string]string{}
	for line := range strings.Lines(run(t, root, args...)) {
		path, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		compiled[path] = file // "p [p.test]", a package with its tests, is never asked for
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(compiled[path])
	})
}
