package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testName is how a document names a test: the directory of its package,
// with "ftpfetch" for the top level, and the function.
var testName = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz|Example)[A-Za-z0-9_]*)`")

// documents are the files whose tables name, in the last column, the tests of a row.
var documents = []string{"docs/rfc1738.md", "SECURITY.md"}

// TestDocsNameExistingTests checks that every row in them names a test, and that
// all the tests named there exist.
func TestDocsNameExistingTests(t *testing.T) {
	t.Chdir(root)
	known := map[string]map[string]bool{}
	for _, document := range documents {
		for row, cells := range tableRows(read(t, document)) {
			names := testName.FindAllStringSubmatch(cells[len(cells)-2], -1)
			if len(names) == 0 {
				t.Errorf("%s: no test is named for: %s", document, row)
			}
			for _, name := range names {
				dir := name[1]
				if dir == "ftpfetch" {
					dir = "."
				}
				if known[dir] == nil {
					known[dir] = testFuncs(t, dir)
				}
				if !known[dir][name[2]] {
					t.Errorf("%s: %s.%s does not exist; it is named for: %s", document, name[1], name[2], row)
				}
			}
		}
	}
}

// TestReadmeNamesExistingExamples checks that every example in its table exists.
func TestReadmeNamesExistingExamples(t *testing.T) {
	t.Chdir(root)
	names := testName.FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(names) < 10 {
		t.Errorf("README.md names %d examples", len(names))
	}
	for _, name := range names {
		if !testFuncs(t, name[1])[name[2]] {
			t.Errorf("README.md: %s.%s does not exist", name[1], name[2])
		}
	}
}

// TestReadmeNamesPrograms checks that README.md names all programs in examples, and no others.
func TestReadmeNamesPrograms(t *testing.T) {
	t.Chdir(root)
	named := map[string]bool{}
	for _, name := range regexp.MustCompile(`examples/[a-z-]+`).FindAllString(read(t, "README.md"), -1) {
		named[name] = true
	}
	dirs, err := filepath.Glob("examples/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		dir = filepath.ToSlash(dir)
		if !named[dir] {
			t.Errorf("README.md does not name %s", dir)
		}
		delete(named, dir)
	}
	for name := range named {
		t.Errorf("README.md names %s, which does not exist", name)
	}
}

// TestDocsNameEverySection checks that docs/rfc1738.md leaves no section out.
func TestDocsNameEverySection(t *testing.T) {
	t.Chdir(root)
	sections := map[string]bool{}
	for _, cells := range tableRows(read(t, "docs/rfc1738.md")) {
		sections[strings.TrimSpace(cells[1])] = true
	}
	for _, want := range []string{"2.1", "2.2", "3.1", "3.2", "3.2.1", "3.2.2", "3.2.3", "3.2.4", "3.2.5", "5", "6", "Appendix"} {
		if !sections[want] {
			t.Errorf("section %s has no row", want)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tableRows maps the rows of all tables, without the headers, to their cells.
func tableRows(text string) map[string][]string {
	rows := map[string][]string{}
	body := false
	for line := range strings.Lines(text) {
		switch {
		case !strings.HasPrefix(line, "|"):
			body = false
		case strings.HasPrefix(line, "|--"):
			body = true
		case body:
			rows[line] = strings.Split(strings.ReplaceAll(line, `\|`, " "), "|")
		}
	}
	return rows
}

// testFuncs returns the functions of the _test.go files of a directory.
func testFuncs(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, decl := range tree.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
