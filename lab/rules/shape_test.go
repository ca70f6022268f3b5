package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
)

// shape counts the places in the code at which a reviewer would stop.
type shape struct {
	tangled int // functions with a cyclomatic complexity over 15
	long    int // functions of more than 60 lines
	idle    int // if X; cond where cond does not use what X assigns
	mapped  int // literal maps that are indexed where they stand, in place of if and else
	bare    int // types without a comment
	wide    int // lines of code over 120 columns

	lines     int // lines of code: neither empty nor only a comment
	over100   int // lines of code over 100 columns
	functions int
	ways      int // the cyclomatic complexity of all functions together
}

// most is the shape that the product may have at most: none of these places.
var most = shape{}

const (
	mostOver100 = 0.015 // of all lines of code
	mostWays    = 4.3   // on average per function
)

// outside matches the files that are not part of the product.
var outside = regexp.MustCompile(`^internal/throwaway|proxytest|^cmd/ftpfetch-|_test\.go$`)

// TestShape checks that the product has no such places.
func TestShape(t *testing.T) {
	t.Chdir(root)
	var got shape
	for _, dir := range []string{"cmd", "urlparse", "ftpexec", "download", "internal"} {
		must.Do(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || outside.MatchString(filepath.ToSlash(path)) {
				return err
			}
			text := must.Get(os.ReadFile(path))(t)
			got.measure(string(text))
			all := token.NewFileSet()
			got.add(all, must.Get(parser.ParseFile(all, path, text, parser.ParseComments))(t))
			return nil
		}))
	}
	t.Logf("%+v", got)
	if got.tangled > most.tangled || got.long > most.long || got.idle > most.idle ||
		got.mapped > most.mapped || got.bare > most.bare || got.wide > most.wide {
		t.Errorf("%+v, at most %+v", got, most)
	}
	if share := float64(got.over100) / float64(got.lines); share > mostOver100 {
		t.Errorf("%.2f %% of the lines of code are over 100 columns, at most %.2f %%", 100*share, 100*mostOver100)
	}
	if mean := float64(got.ways) / float64(got.functions); mean > mostWays {
		t.Errorf("the mean complexity of a function is %.2f, at most %.2f", mean, mostWays)
	}
}

// measure counts the lines of code and their columns, in bytes. A tab counts as four columns.
func (s *shape) measure(text string) {
	for line := range strings.Lines(text) {
		code := strings.TrimSpace(line)
		if code == "" || strings.HasPrefix(code, "//") {
			continue
		}
		s.lines++
		columns := len(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    "))
		if columns > 100 {
			s.over100++
		}
		if columns > 120 {
			s.wide++
		}
	}
}

func (s *shape) add(all *token.FileSet, f *ast.File) {
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			ways := complexity(d)
			s.functions++
			s.ways += ways
			if ways > 15 {
				s.tangled++
			}
			if all.Position(d.End()).Line-all.Position(d.Pos()).Line >= 60 {
				s.long++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if named, ok := spec.(*ast.TypeSpec); ok && d.Doc == nil && named.Doc == nil {
					s.bare++
				}
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			if n.Init != nil && !usesInit(n) {
				s.idle++
			}
		case *ast.IndexExpr:
			if literal, ok := n.X.(*ast.CompositeLit); ok {
				if _, ok := literal.Type.(*ast.MapType); ok {
					s.mapped++
				}
			}
		}
		return true
	})
}

// complexity is the number of ways through a function, as McCabe counts them.
func complexity(f *ast.FuncDecl) int {
	ways := 1
	ast.Inspect(f, func(n ast.Node) bool {
		more := false
		switch n := n.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			more = true
		case *ast.CaseClause:
			more = n.List != nil
		case *ast.CommClause:
			more = n.Comm != nil
		case *ast.BinaryExpr:
			more = n.Op == token.LAND || n.Op == token.LOR
		}
		if more {
			ways++
		}
		return true
	})
	return ways
}

// usesInit reports whether the condition of an if uses what the statement before it assigns.
func usesInit(n *ast.IfStmt) bool {
	assign, ok := n.Init.(*ast.AssignStmt)
	if !ok {
		return false
	}
	var names []string
	for _, to := range assign.Lhs {
		names = append(names, identifiers(to)...)
	}
	return slices.ContainsFunc(identifiers(n.Cond), func(name string) bool { return slices.Contains(names, name) })
}

func identifiers(n ast.Node) (names []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names = append(names, id.Name)
		}
		return true
	})
	return names
}
