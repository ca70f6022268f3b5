package rules_test

import (
	"cmp"
	"flag"
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
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

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
		t.Error("what was breaks programs if it goes or changes (docs/api.md). If all this is meant: go test ./internal/rules -run TestAPI -update")
	}
}

// names returns the names of all surfaces in order, those of a type's methods beside the type.
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

// readmeProgram and readmeCommands find the programs and the commands of README.md.
var (
	readmeProgram  = regexp.MustCompile(`(?m)^    package main\n(?:\n|    .*\n)+`)
	readmeCommands = regexp.MustCompile(`(?m)^    (go mod .*)$`)
)

// TestReadmePrograms builds the programs of README.md in a new module, by the commands that README.md gives, and runs them.
// The network is not used: "go mod tidy" may miss modules that only tests of other modules need (-e); the build may not.
func TestReadmePrograms(t *testing.T) {
	_, _, _ = download.Options{}, ftphttp.Transport{}, ftpfs.FS{} // so that their modules are in the cache
	checkout := must.Get(filepath.Abs(root))(t)
	readme, dir := read(t, filepath.Join(root, "README.md")), t.TempDir()
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/pub/file": "contents", "/pub/file.gz": "packed"}})
	want := []string{"\r6 of 6 bytes\nsaved 6 bytes\n", "tents", ".\nfile\nfile.gz\n"}
	programs := readmeProgram.FindAllString(readme, -1)
	if len(programs) != len(want) {
		t.Fatalf("README.md has %d programs", len(programs))
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
