package rules_test

import (
	"cmp"
	"flag"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/ftpexec/ftphttp"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

const module = "example.com/ftpfetch/"

// root is the top of the repository.
const root = "../.."

// floors are the parts of the repository, from the ground up. Code imports only packages of its own floor and of those
// below it: docs/ARCHITECTURE.md has the picture.
var floors = []string{"internal", "urlparse", "ftpexec", "download", "cmd"}

// beside are the directories that stand beside the floors, and the floors and public packages that they may use. Tests
// may import what they need.
var beside = map[string][]string{
	"testserver": {"internal"},
	"docs":       {},
	"examples":   {"urlparse", "ftpexec", "download", "testserver"}, // only what readers can import
	"lab":        {"internal", "urlparse", "ftpexec", "download", "testserver", "lab"},
}

// modules says which directories alone may import a package of another module.
var modules = map[string][]string{
	"github.com/jlaffaye/ftp":                      {"ftpexec", "lab/bench"},
	"github.com/spf13/pflag":                       {"cmd/internal/cli/config", "cmd/ftpfetch-fleet"},
	"golang.org/x/term":                            {"cmd/internal/cli/show", "cmd/ftpfetch-fleet"},
	"github.com/fclairamb/ftpserverlib":            {"testserver", "lab/interop"},
	"github.com/landlock-lsm/go-landlock/landlock": {"internal/local/fence"},
}

// pure are packages that decide or parse: they open no file and no connection.
var pure = []string{"urlparse", "download/internal/decide", "download/internal/sums", "download/manifest", "ftpexec/internal/listing"}

// TestImportsRunDown checks that no import leads up from one floor to another, and the rules above.
func TestImportsRunDown(t *testing.T) {
	t.Chdir(root)
	must.Do(t, filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(file))
		for _, path := range imports(t, file) {
			ours, own := strings.CutPrefix(path, module)
			only, bound := modules[path]
			switch {
			case own && !mayImport(first(dir), first(ours)):
				t.Errorf("%s imports %s, which is above it", file, ours)
			case bound && !slices.ContainsFunc(only, func(d string) bool { return d == dir }):
				t.Errorf("%s imports %s: only %s may", file, path, strings.Join(only, " and "))
			case slices.Contains(pure, dir) && (path == "os" || path == "net"):
				t.Errorf("%s imports %s: this package opens nothing", file, path)
			}
		}
		return nil
	}))
}

// mayImport reports whether code on the floor named from may import a package on the floor named to.
func mayImport(from, to string) bool {
	if allowed, ok := beside[from]; ok {
		return slices.Contains(allowed, to)
	}
	at, below := slices.Index(floors, from), slices.Index(floors, to)
	if from == "cmd" && (to == "docs" || to == "testserver") { // the help is a document; the demo starts a server
		return true
	}
	return at >= 0 && below >= 0 && below <= at
}

func first(dir string) string { return strings.Split(dir, "/")[0] }

func imports(t *testing.T, file string) (paths []string) {
	t.Helper()
	f := must.Get(parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly))(t)
	for _, spec := range f.Imports {
		path := must.Get(strconv.Unquote(spec.Path.Value))(t)
		paths = append(paths, path)
	}
	return paths
}

// public are the packages whose compatibility docs/api.md promises.
var public = []string{"urlparse", "ftpexec", "ftpexec/ftpfs", "ftpexec/ftphttp", "download", "download/digest", "download/manifest", "testserver"}

// loader returns an importer of the public packages and their dependencies, including those of their tests, as compiled
// by the go command.
func loader(t *testing.T) types.Importer {
	t.Helper()
	args := []string{"go", "list", "-export", "-deps", "-test", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for _, dir := range public {
		args = append(args, module+dir)
	}
	compiled := map[string]string{}
	for line := range strings.Lines(run(t, root, args...)) {
		path, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		compiled[path] = file // "p [p.test]", a package with its tests, is never asked for
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(compiled[path])
	})
}

// TestForbidden checks what the files in these directories and below must not contain.
func TestForbidden(t *testing.T) {
	t.Chdir(root)
	all := []string{"ftpexec", "download", "cmd/internal/cli", "cmd/internal/gateway", "cmd/internal/cli/netrc", "internal/network/proxy"}
	for _, rule := range []struct {
		why   string
		dirs  []string
		tests bool // in tests; otherwise in all other files
		words *regexp.Regexp
	}{
		{"compile a regular expression when it is first used, not when the command starts", all, false, regexp.MustCompile(`= regexp\.MustCompile\(`)},
		{"the client has no command that uploads, renames or deletes (RFC 959, RFC 3659, and the methods of jlaffaye/ftp)", []string{"ftpexec"}, false,
			regexp.MustCompile(`"(STOR|STOU|APPE|RNFR|RNTO|DELE|RMD|XRMD|MKD|XMKD|SITE|ALLO|MFMT|MFCT|MFF)\b|conn\.(Stor|StorFrom|Append|Rename|Delete|RemoveDir|RemoveDirRecur|MakeDir)\(`)},
		{"tests neither sleep nor skip anything", []string{"."}, true, regexp.MustCompile(`\btime\.Sleep\(|\bt\.(Skip|Skipf|SkipNow)\(`)},
	} {
		for _, dir := range rule.dirs {
			files := 0
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") != rule.tests {
					return err
				}
				files++
				if found := rule.words.FindString(read(t, path)); found != "" {
					t.Errorf("%s: %s; %s", path, found, rule.why)
				}
				return nil
			})
			if err != nil || files == 0 {
				t.Errorf("%s: %d files, %v", dir, files, err)
			}
		}
	}
}

// TestSizes checks that functions of tests are at most 70 lines long. TestShape has the functions of the product.
func TestSizes(t *testing.T) {
	t.Chdir(root)
	must.Do(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		all := token.NewFileSet()
		file := must.Get(parser.ParseFile(all, path, nil, 0))(t)
		lines := func(n ast.Node) int { return all.Position(n.End()).Line - all.Position(n.Pos()).Line + 1 }
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && lines(f) > 70 {
				t.Errorf("%s: %s has %d lines, want at most 70", path, f.Name, lines(f))
			}
		}
		return nil
	}))
}

var update = flag.Bool("update", false, "write docs/api.txt")

const apiFile = root + "/docs/api.txt"

// TestAPI compares what the public packages export with docs/api.txt.
func TestAPI(t *testing.T) {
	got := surface{}
	from := loader(t)
	for _, dir := range public {
		p := must.Get(from.Import(module + dir))(t)
		got.add(dir, p)
	}
	if *update {
		var b strings.Builder
		for _, name := range names(got) {
			b.WriteString(name + ": " + got[name] + "\n")
		}
		must.Do(t, os.WriteFile(apiFile, []byte(b.String()), 0o666))
	}
	for name, what := range got {
		if strings.Contains(what, "internal/") {
			t.Errorf("%s: %s: other modules cannot name this type, and its page shows nothing of it", name, what)
		}
	}
	was := surface{}
	for line := range strings.Lines(read(t, apiFile)) {
		name, what, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		was[name] = what
	}
	for _, name := range names(was, got) {
		if was[name] != got[name] {
			t.Errorf("%s is %q and was %q", name, got[name], was[name])
		}
	}
	if t.Failed() {
		t.Error("what was breaks programs if it goes or changes (docs/api.md). If all this is meant: go test ./lab/rules -run TestAPI -update")
	}
}

// names returns the names of all surfaces, sorted. The methods of *T stand beside those of T.
func names(surfaces ...surface) []string {
	all := map[string]bool{}
	for _, s := range surfaces {
		for name := range s {
			all[name] = true
		}
	}
	plain := strings.NewReplacer("(*", "", ")", "")
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(strings.Compare(plain.Replace(a), plain.Replace(b)), strings.Compare(a, b))
	})
}

func read(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return string(text)
}

// readmeProgram and readmeCommands match the programs and the commands of README.md and docs/go.md.
var readmeProgram = regexp.MustCompile(`(?m)^    package main\n(?:\n|    .*\n)+`)
var readmeCommands = regexp.MustCompile(`(?m)^    (go mod .*)$`)

// TestReadmePrograms builds the programs of README.md and docs/go.md in a new module, with the commands that README.md
// gives, and runs them. It uses no network: "go mod tidy" may miss modules that only tests of other modules need (-e), but
// the build may not.
func TestReadmePrograms(t *testing.T) {
	_, _, _ = download.Options{}, ftphttp.Transport{}, ftpfs.FS{} // so that their modules are in the cache
	checkout := must.Get(filepath.Abs(root))(t)
	readme, dir := read(t, filepath.Join(root, "README.md")), t.TempDir()
	page := read(t, filepath.Join(root, "docs", "go.md"))
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/pub/file": "contents", "/pub/file.gz": "packed"}})
	want := []string{"\r6 of 6 bytes\nsaved 6 bytes\n", "tents", ".\nfile\nfile.gz\n"}
	programs := readmeProgram.FindAllString(readme+page, -1)
	if len(programs) != len(want) {
		t.Fatalf("README.md and docs/go.md have %d programs", len(programs))
	}
	for i, text := range programs {
		if n := strings.Count(text, "\n"); n > 30 {
			t.Errorf("program %d has %d lines", i+1, n)
		}
		text = strings.ReplaceAll(text, "ftp.example.org", s.Addr())
		must.Do(t, os.MkdirAll(filepath.Join(dir, strconv.Itoa(i)), 0o777))
		must.Do(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(i), "main.go"), []byte(text), 0o666))
	}
	commands := readmeCommands.FindAllStringSubmatch(readme, -1)
	if len(commands) != 3 {
		t.Errorf("README.md has %d commands", len(commands))
	}
	for _, command := range commands {
		line, _, _ := strings.Cut(command[1], "#")
		args := strings.Fields(strings.Replace(line, "mod tidy", "mod tidy -e", 1))
		for i := range args {
			args[i] = strings.Replace(args[i], "/path/to/the/checkout", checkout, 1)
		}
		run(t, dir, args...)
	}
	for i, want := range want {
		program := filepath.Join(dir, "program.exe")
		run(t, dir, "go", "build", "-o", program, "./"+strconv.Itoa(i))
		if got := run(t, dir, program); !strings.HasSuffix(got, want) {
			t.Errorf("program %d printed %q, want %q", i+1, got, want)
		}
	}
}

// run runs a command without network and returns what it prints.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Dir = dir
	c.Env = append(c.Environ(), "GOPROXY=off", "GOSUMDB=off", "GOFLAGS=", "GOWORK=off")
	var report strings.Builder
	c.Stderr = &report
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out, report.String())
	}
	return string(out)
}
