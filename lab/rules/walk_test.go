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

	"example.com/ftpfetch/internal/testkit/must"
)

// mostToTheWire and mostToTheDisk are how many files a reader of one URL's way opens.
const mostToTheWire, mostToTheDisk = 15, 13

// TestWalk follows one URL through the table of docs/ARCHITECTURE.md: each function is in the file of its row, and an
// earlier function of the table names it or, where the table has a type before the name, that type.
func TestWalk(t *testing.T) {
	text := string(must.Get(os.ReadFile(filepath.Join(root, "docs/ARCHITECTURE.md")))(t))
	rows := regexp.MustCompile("(?m)^\\| \\d+ \\| `(.+)` \\| (.+) \\|$").FindAllStringSubmatch(text, -1)
	if len(rows) < mostToTheWire || len(rows) > mostToTheWire+mostToTheDisk {
		t.Errorf("the way has %d files, want at most %d to the wire and %d more to the disk", len(rows), mostToTheWire, mostToTheDisk)
	}
	named := map[string]bool{"main": true} // by a function before
	for _, row := range rows {
		file := must.Get(parser.ParseFile(token.NewFileSet(), filepath.Join(root, row[1]), nil, 0))(t)
		bodies := make(map[string][]*ast.BlockStmt)
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				bodies[f.Name.Name] = append(bodies[f.Name.Name], f.Body)
			}
		}
		for name := range strings.SplitSeq(row[2], ", ") {
			of, method, isMethod := strings.Cut(name, ".")
			if isMethod {
				name = method
			}
			if bodies[name] == nil {
				t.Errorf("%s has no function %s", row[1], name)
			}
			if !named[of] {
				t.Errorf("%s: no function before %s calls it", row[1], name)
			}
			for _, body := range bodies[name] {
				ast.Inspect(body, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						named[id.Name] = true
					}
					return true
				})
			}
		}
	}
}
