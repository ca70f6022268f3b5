package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/must"
)

// shape is how code is written, in numbers of places that a reviewer would stop at.
type shape struct {
	tangled int // functions of a cyclomatic complexity over 15
	long    int // functions of more than 60 lines
	idle    int // if X; cond where cond does not use what X assigns
	mapped  int // literal maps that are indexed where they stand, as an if and else
	bare    int // types without a comment
}

// most is the shape that the product may have. The tangled function is statusOf of ftphttp, a switch that is a table.
var most = shape{tangled: 1}

// outside matches what is no part of the product.
var outside = regexp.MustCompile(`^internal/(bench|interop|release|rules|throwaway)|proxytest|^cmd/ftpfetch-|_test\.go$`)

// TestShape holds that the product has no more such places than before.
func TestShape(t *testing.T) {
	t.Chdir(root)
	var got shape
	for _, dir := range []string{"cmd", "urlparse", "ftpexec", "download", "internal"} {
		must.Do(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || outside.MatchString(filepath.ToSlash(path)) {
				return err
			}
			all := token.NewFileSet()
			got.add(all, must.Get(parser.ParseFile(all, path, nil, parser.ParseComments))(t))
			return nil
		}))
	}
	t.Logf("%+v", got)
	if got.tangled > most.tangled || got.long > most.long || got.idle > most.idle || got.mapped > most.mapped || got.bare > most.bare {
		t.Errorf("%+v, at most %+v", got, most)
	}
}

func (s *shape) add(all *token.FileSet, f *ast.File) {
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if complexity(d) > 15 {
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
