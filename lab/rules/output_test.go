package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
)

// streams says which functions may name the standard output of the process, or the one that a caller gave a run.
var streams = map[string][]string{
	"os.Stdout": {"cmd/internal/cli.Standard", "cmd/internal/cli.standard"},
	"stdio.Out": {"cmd/internal/cli.newRun", "cmd/internal/cli.keepCommands"},
	"r.Out":     {"cmd/internal/cli.saysWhere"},
}

// TestStandardOutput checks that everything the command prints goes through show.Printer, which remembers lost output.
// Nothing may bypass it. Only Print may write to its stream, or a function that gets the stream as a writer.
func TestStandardOutput(t *testing.T) {
	t.Chdir(root)
	files := 0
	for _, dir := range []string{"cmd/ftpfetch", "cmd/internal", "download", "ftpexec", "urlparse", "internal"} {
		must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			tools := []string{"internal/testkit"}
			if slices.Contains(tools, filepath.ToSlash(path)) {
				return fs.SkipDir
			}
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			all := token.NewFileSet()
			for _, decl := range must.Get(parser.ParseFile(all, path, nil, 0))(t).Decls {
				for _, wrong := range prints(filepath.ToSlash(filepath.Dir(path)), decl) {
					t.Errorf("%v: %s", all.Position(wrong.Pos()), "prints past show.Printer, or does not look at the error")
				}
			}
			return nil
		}))
	}
	if files < 80 {
		t.Errorf("%d files", files)
	}
}

// prints returns the nodes in decl that may print to standard output and lose an error.
func prints(dir string, decl ast.Decl) (wrong []ast.Node) {
	name := dir
	if f, ok := decl.(*ast.FuncDecl); ok {
		name += "." + f.Name.Name
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			text := words(n)
			if may, ok := streams[text]; ok && !slices.Contains(may, name) || slices.Contains([]string{"fmt.Print", "fmt.Printf", "fmt.Println"}, text) {
				wrong = append(wrong, n)
			}
		case *ast.CallExpr:
			if writes(n) && dir != "cmd/internal/cli/show" {
				wrong = append(wrong, n)
			}
		case *ast.ExprStmt: // a Flush returns the error of all writes before it
			if call, ok := n.X.(*ast.CallExpr); ok && strings.HasSuffix(words(call.Fun), ".Flush") {
				wrong = append(wrong, n)
			}
		}
		return true
	})
	return wrong
}

// writes reports whether a call is print or println, or writes to a field Out itself.
func writes(call *ast.CallExpr) bool {
	fun := words(call.Fun)
	to := ""
	if len(call.Args) > 0 {
		to = words(call.Args[0])
	}
	formats := strings.HasPrefix(fun, "fmt.Fprint") || fun == "io.WriteString" || strings.HasPrefix(fun, "io.Copy")
	return fun == "print" || fun == "println" || strings.HasSuffix(fun, ".Out.Write") || formats && strings.HasSuffix(to, ".Out")
}

// words returns a name such as a.b.c, or the end of such a name.
func words(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return words(e.X) + "." + e.Sel.Name
	}
	return ""
}

// TestStandardOutputFails checks that the rule finds every form that it forbids.
func TestStandardOutputFails(t *testing.T) {
	for _, text := range []string{
		`fmt.Println("x")`, `fmt.Print()`, `fmt.Printf("x")`, `println()`, `print("x")`, `os.Stdout.Write(b)`, `f(os.Stdout)`, `_, err = fmt.Fprintln(r.print.Out, "x")`,
		`fmt.Fprint(p.Out)`, `_, _ = io.WriteString(r.print.Out, "x")`, `r.print.Out.Write(b)`, `_, err = io.Copy(p.Out, f)`, `f(r.Out)`, `w := stdio.Out`, `out.Flush()`,
	} {
		f := must.Get(parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() { "+text+" }", 0))(t)
		if len(prints("cmd/internal/cli", f.Decls[0])) == 0 {
			t.Errorf("%s is not found", text)
		}
	}
}

// flagged finds a flag of a command in a text.
var flagged = regexp.MustCompile(`^--[a-z]|[ (:]--?[a-zA-Z]`)

// TestErrorsNameNoFlags checks that the library's errors name its own options. The command replaces them by flags
// (show.OneLine).
func TestErrorsNameNoFlags(t *testing.T) {
	theirs := []string{"ls -l", "--location", "write curl -L ftp://host/path -o NAME, or a list of URLs alone"} // other programs' flags
	for _, dir := range []string{"urlparse", "ftpexec", "download", "testserver"} {
		must.Do(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					if text, _ := strconv.Unquote(l.Value); flagged.MatchString(text) && !slices.Contains(theirs, text) {
						t.Errorf("%s: %s names a flag", path, l.Value)
					}
				}
				return true
			})
			return nil
		}))
	}
}
