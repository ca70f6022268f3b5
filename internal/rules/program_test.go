package rules_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/ftpexec/ftphttp"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

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
