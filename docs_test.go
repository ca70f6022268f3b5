package ftpfetch_test

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

// testName is how docs/rfc1738.md names a test: the directory of its package,
// with "ftpfetch" for the top level, and the function.
var testName = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz|Example)[A-Za-z0-9_]*)`")

// TestDocsNameExistingTests holds that every clause in docs/rfc1738.md has a
// test, that all the tests named there exist, and that no section is left out.
func TestDocsNameExistingTests(t *testing.T) {
	text, err := os.ReadFile("docs/rfc1738.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]map[string]bool{}
	sections := map[string]bool{}
	for row, cells := range tableRows(string(text)) {
		sections[strings.TrimSpace(cells[1])] = true
		names := testName.FindAllStringSubmatch(cells[len(cells)-2], -1)
		if len(names) == 0 {
			t.Errorf("no test is named for: %s", row)
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
				t.Errorf("%s.%s does not exist; it is named for: %s", name[1], name[2], row)
			}
		}
	}
	for _, want := range []string{"2.1", "2.2", "3.1", "3.2", "3.2.1", "3.2.2", "3.2.3", "3.2.4", "3.2.5", "5", "6", "Appendix"} {
		if !sections[want] {
			t.Errorf("section %s has no row", want)
		}
	}
}

// tableRows gives the rows of all tables, without their heads, with their cells.
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

// testFuncs collects the functions of the _test.go files of a directory.
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
