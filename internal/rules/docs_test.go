package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testName is how a document names a test: the directory of its package, with
// "ftpfetch" for the top level, and the function. A script that the function runs
// follows after a slash.
var testName = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz|Example|Benchmark)[A-Za-z0-9_]*)(?:/([a-z_]+))?`")

// scripts is where the tests called TestScript have their scripts.
const scripts = "testdata/script"

var (
	// tables are the documents whose tables name, in the last column, the tests of a row.
	tables = []string{"docs/rfc1738.md", "SECURITY.md"}
	// sections are those of which each section ends with a paragraph that names its tests.
	sections = []string{
		"docs/download.md", "docs/listings.md", "docs/manifests.md", "docs/many.md", "docs/pipelining.md", "docs/progress.md", "docs/proxies.md",
	}
)

// TestDocsNameExistingTests checks that all tests exist that a document names.
func TestDocsNameExistingTests(t *testing.T) {
	t.Chdir(root)
	known := map[string]map[string]bool{}
	for _, document := range documents(t) {
		for _, name := range testName.FindAllStringSubmatch(read(t, document), -1) {
			dir := strings.TrimPrefix(name[1], "ftpfetch")
			if dir == "" {
				dir = "."
			}
			if known[dir] == nil {
				known[dir] = testFuncs(t, dir)
			}
			if !known[dir][name[2]] {
				t.Errorf("%s: %s.%s does not exist", document, name[1], name[2])
			}
			if name[2] != "TestScript" {
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, scripts, name[3]+".txtar")); name[3] == "" || err != nil {
				t.Errorf("%s: %s names no script of %s/%s", document, name[0], name[1], scripts)
			}
		}
	}
}

// TestTablesNameTests checks that each row of a table of promises names a test.
func TestTablesNameTests(t *testing.T) {
	t.Chdir(root)
	for _, document := range tables {
		rows := tableRows(read(t, document))
		if len(rows) < 20 {
			t.Errorf("%s has %d rows", document, len(rows))
		}
		for row, cells := range rows {
			if !testName.MatchString(cells[len(cells)-2]) {
				t.Errorf("%s: no test is named for: %s", document, row)
			}
		}
	}
}

// TestSectionsNameTests checks that each section ends with a paragraph of its tests,
// and so does what stands before the first one if it is more than an introduction.
func TestSectionsNameTests(t *testing.T) {
	t.Chdir(root)
	for _, document := range sections {
		for i, section := range strings.Split(read(t, document), "\n## ") {
			paragraphs := strings.Split(strings.TrimSpace(section), "\n\n")
			last := paragraphs[len(paragraphs)-1]
			if introduction := i == 0 && len(paragraphs) == 2; !introduction && (!strings.HasPrefix(last, "Tests: ") || !testName.MatchString(last)) {
				t.Errorf("%s: the section %q does not end with a paragraph of its tests", document, paragraphs[0])
			}
		}
	}
}

// documents returns the paths of all documents of the repository.
func documents(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			paths = append(paths, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil || len(paths) < 10 {
		t.Fatalf("found the documents %v (%v)", paths, err)
	}
	return paths
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
