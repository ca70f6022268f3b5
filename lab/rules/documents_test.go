package rules_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
)

// TestDocumentsNameWhatExists checks that the tests named in SECURITY.md and the files named in ARCHITECTURE.md exist.
func TestDocumentsNameWhatExists(t *testing.T) {
	var files []string
	tests := make(map[string][]string) // the directories with a test of this name
	declaration := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	must.Do(t, filepath.WalkDir(root, func(name string, _ os.DirEntry, err error) error {
		if filepath.Ext(name) != ".go" {
			return err
		}
		files = append(files, filepath.ToSlash(name))
		if strings.HasSuffix(name, "_test.go") {
			dir := filepath.ToSlash(filepath.Dir(name))
			for _, found := range declaration.FindAllStringSubmatch(string(must.Get(os.ReadFile(name))(t)), -1) {
				tests[found[1]] = append(tests[found[1]], dir)
			}
		}
		return err
	}))
	security := must.Get(os.ReadFile(filepath.Join(root, "SECURITY.md")))(t)
	named := regexp.MustCompile("`([a-z/-]+)\\.((?:Test|Fuzz)\\w+)[`/]").FindAllStringSubmatch(string(security), -1)
	for _, n := range named {
		if !slices.ContainsFunc(tests[n[2]], func(dir string) bool { return strings.HasSuffix(dir, "/"+n[1]) }) {
			t.Errorf("SECURITY.md names %s.%s, which does not exist", n[1], n[2])
		}
	}
	architecture := must.Get(os.ReadFile(filepath.Join(root, "docs/ARCHITECTURE.md")))(t)
	paths := regexp.MustCompile("`([a-z_/]+\\.go)`").FindAllStringSubmatch(string(architecture), -1)
	for _, p := range paths {
		if !slices.ContainsFunc(files, func(name string) bool { return strings.HasSuffix(name, "/"+p[1]) }) {
			t.Errorf("ARCHITECTURE.md names %s, which does not exist", p[1])
		}
	}
	if len(named) < 100 || len(paths) < 50 {
		t.Errorf("only %d tests and %d files are named: are the patterns right?", len(named), len(paths))
	}
}
