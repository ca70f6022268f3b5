package rules_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goFile = regexp.MustCompile("`([a-z_/]+\\*?\\.go)`")

// TestArchitectureNamesFiles checks that every file that docs/ARCHITECTURE.md names
// exists.
func TestArchitectureNamesFiles(t *testing.T) {
	t.Chdir(root)
	var files []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") {
			files = append(files, "/"+filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := goFile.FindAllStringSubmatch(read(t, "docs/ARCHITECTURE.md"), -1)
	if len(names) < 20 {
		t.Errorf("it names %d files", len(names))
	}
	for _, name := range names {
		if !anyMatches(files, name[1]) {
			t.Errorf("%s does not exist", name[1])
		}
	}
}

// anyMatches reports whether a file ends in name, whose "*" stands for anything.
func anyMatches(files []string, name string) bool {
	pattern := regexp.MustCompile("/" + strings.ReplaceAll(regexp.QuoteMeta(name), `\*`, ".*") + "$")
	for _, file := range files {
		if pattern.MatchString(file) {
			return true
		}
	}
	return false
}
