package rules_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

// readmeProgram and readmeCommands find the program and the commands of README.md.
var (
	readmeProgram  = regexp.MustCompile(`(?m)^    package main\n(?:\n|    .*\n)+`)
	readmeCommands = regexp.MustCompile(`(?m)^    (go mod .*)$`)
)

// TestReadmeProgram builds the program of README.md in a new module, by the commands that README.md gives, and runs it.
// The network is not used: "go mod tidy" may miss modules that only tests of other modules need (-e); the build may not.
func TestReadmeProgram(t *testing.T) {
	_ = ftpexec.Client{} // so that its modules are in the cache
	readme := read(t, filepath.Join(root, "README.md"))
	checkout := must.Get(filepath.Abs(root))(t)
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(readmeProgram.FindString(readme)), 0o666))
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
	program := filepath.Join(dir, "program.exe")
	run(t, dir, "go", "build", "-o", program)

	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/pub/file": "contents"}})
	if got := run(t, dir, program, s.URL("/pub/file")); got != "contents" {
		t.Errorf("the program printed %q", got)
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
