package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestWalk runs the first commands of docs/fleet.md as processes.
func TestWalk(t *testing.T) {
	t.Parallel()
	srv, dir := newFTP(t, 20, 4, testserver.Options{}), t.TempDir()
	must.Do(t, os.Rename(srv.list(t, 20), filepath.Join(dir, "list.txt")))
	_, text, _ := strings.Cut(string(must.Get(os.ReadFile("../../docs/fleet.md"))(t)), "## The first job")
	var lines []string
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "    ftpfetch-fleet "); ok && len(lines) < 5 {
			lines = append(lines, command)
		}
	}
	var words []string
	for _, line := range lines {
		args := strings.Fields(line)
		words = append(words, args[0])
		command := exec.CommandContext(t.Context(), must.Get(os.Executable())(t))
		command.Dir = dir
		command.Env = append(os.Environ(), "FLEET_TEST=1", "HOME="+dir)
		command.Stderr = t.Output()
		if last := len(args) - 1; args[last] == "&" {
			command.Args = append(command.Args, args[:last]...)
			must.Do(t, command.Start())
			defer func() { _ = command.Process.Kill(); _ = command.Wait() }()
			eventually(t, "the JOIN file", func() bool { _, err := os.Stat(filepath.Join(dir, "join")); return err == nil })
			continue
		}
		command.Args = append(command.Args, args...)
		if err := command.Run(); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	if got := strings.Join(words, " "); got != "serve add work wait report" {
		t.Errorf("the commands are %s", got)
	}
	for i := range 20 {
		name := filepath.Join(dir, "data", fmt.Sprintf("%06d", i))
		if got := string(must.Get(os.ReadFile(name))(t)); got != contents(i) {
			t.Fatalf("file %d is %q", i, got)
		}
	}
	if rows := strings.Count(string(must.Get(os.ReadFile(filepath.Join(dir, "report.tsv")))(t)), "\n"); rows != 21 {
		t.Errorf("the report has %d lines", rows)
	}
}
