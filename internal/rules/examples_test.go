package rules_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// unshown need no example, and why: methods by their names, and others in full.
var unshown = map[string]string{
	"Error":  "errors are printed",
	"Unwrap": "errors.Is and errors.As call it",
	"Is":     "errors.Is calls it",
	"String": "fmt calls it",

	"MarshalJSON": "encoding/json calls it",
	"RoundTrip":   "net/http calls it",

	"ftpexec.FS.*": "package io/fs calls them",

	"testserver.New":               "it takes a testing.TB, which no example has: examples/fetch has the test",
	"testserver.NewScript":         "the same",
	"testserver.Network.NewScript": "the same; the comment on Network shows it",
}

// TestExamples checks that for everything exported of the public packages that is called or
// configured there is an example on its page: one of its own, or one that calls or names it,
// with output that go test compares.
func TestExamples(t *testing.T) {
	for _, name := range withoutExample(t, public...) {
		if unshown[name] == "" && unshown[name[:strings.LastIndex(name, ".")]+".*"] == "" {
			t.Errorf("%s has no example: neither its own, nor one that calls or names it", name)
		}
	}
}

// TestExamplesCanFail: of a small package, what no example shows is told, and only that.
func TestExamplesCanFail(t *testing.T) {
	const dir = "internal/rules/testdata/examples"
	got := strings.ReplaceAll(strings.Join(withoutExample(t, dir), " "), dir+".", "")
	if want := "Alone Compiled Type.Alone"; got != want {
		t.Errorf("without an example: %s, want %s", got, want)
	}
}

// withoutExample returns what no example of the packages shows.
func withoutExample(t *testing.T, dirs ...string) (list []string) {
	t.Helper()
	from := loader(t, dirs...)
	shown := map[string]bool{}
	for _, dir := range dirs {
		examples(t, from, dir, shown)
	}
	for _, dir := range dirs {
		for _, name := range entryPoints(load(t, from, dir)) {
			if !shown[name[0]] && !shown[name[1]] {
				list = append(list, strings.TrimPrefix(name[0], module))
			}
		}
	}
	return list
}

// entryPoints returns the exported functions, types and methods of a package, without the methods of
// unshown and those of interfaces, which callers implement. The second name is that of the method
// itself: two types that embed a third share its methods, and an example of them.
func entryPoints(p *types.Package) (list [][2]string) {
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		_, isFunc := o.(*types.Func)
		t, isType := o.(*types.TypeName)
		if !o.Exported() || !isFunc && !isType {
			continue
		}
		name = p.Path() + "." + name
		list = append(list, [2]string{name})
		if !isType || types.IsInterface(t.Type()) {
			continue
		}
		for m := range types.NewMethodSet(types.NewPointer(t.Type())).Methods() {
			if method := m.Obj(); method.Exported() && unshown[method.Name()] == "" {
				list = append(list, [2]string{name + "." + method.Name(), method.(*types.Func).FullName()})
			}
		}
	}
	return list
}

// examples adds to shown what the examples of a package show. They are in the files
// *example_test.go, which stand alone: a reader finds there all that they use.
func examples(t *testing.T, from types.Importer, dir string, shown map[string]bool) {
	t.Helper()
	fset := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(root, dir, "*example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: from}
	if _, err := config.Check(module+dir+"_test", fset, files, info); err != nil {
		t.Fatalf("the examples of %s need another file than *example_test.go: %v", dir, err)
	}
	for _, e := range doc.Examples(files...) {
		if e.Output == "" && !e.EmptyOutput {
			continue // it is compiled only
		}
		shown[module+dir+"."+strings.ReplaceAll(e.Name, "_", ".")] = true
		ast.Inspect(e.Code, func(n ast.Node) bool {
			show(n, info, shown)
			return true
		})
	}
}

// show adds what one node of an example names or calls.
func show(n ast.Node, info *types.Info, shown map[string]bool) {
	switch n := n.(type) {
	case *ast.Ident:
		o := info.Uses[n]
		if o == nil || o.Pkg() == nil {
			return
		}
		if o.Parent() == o.Pkg().Scope() {
			shown[o.Pkg().Path()+"."+o.Name()] = true
		}
		switch o := o.(type) {
		case *types.Const: // shows its type
			showType(o.Type(), "", shown)
		case *types.Func: // shows what it makes
			for result := range o.Signature().Results().Variables() {
				showType(result.Type(), "", shown)
			}
		}
	case *ast.SelectorExpr:
		if s := info.Selections[n]; s != nil {
			showType(s.Recv(), "", shown)
			showType(s.Recv(), "."+s.Obj().Name(), shown)
			if method, ok := s.Obj().(*types.Func); ok {
				shown[method.FullName()] = true
			}
		}
	}
}

// showType adds a type, or its method. An alias is shown with what it stands for.
func showType(t types.Type, method string, shown map[string]bool) {
	if named, ok := types.Unalias(deref(t)).(*types.Named); ok && named.Obj().Pkg() != nil {
		shown[named.Obj().Pkg().Path()+"."+named.Obj().Name()+method] = true
	}
}
