package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestTasksArePublished checks that docs/side-by-side.md has these tasks and command lines.
func TestTasksArePublished(t *testing.T) {
	text, err := os.ReadFile("../../docs/side-by-side.md")
	if err != nil {
		t.Fatal(err)
	}
	_, made, _ := strings.Cut(string(text), "<!-- made by: go -C lab/bench run . -only tasks -->")
	rows, _, _ := strings.Cut(made, "\n### ")
	if got, want := strings.Count(rows, "\n| "), len(tasks)+2; got != want { // a header, and the row of the best
		t.Errorf("the table has %d rows, want %d", got, want)
	}
	for _, task := range tasks {
		if !strings.Contains(rows, "\n| "+task.title+" | ") {
			t.Errorf("there is no row %q", task.title)
		}
		_, section, _ := strings.Cut(made, "\n### "+task.title+"\n")
		section, _, _ = strings.Cut(section, "\n### ")
		if !strings.Contains(section, task.goal) {
			t.Errorf("%s: the goal is missing", task.title)
		}
		for i, line := range task.lines {
			row := code(line)
			if line == "" {
				row = rivals[i] + ": nothing"
			}
			if !strings.Contains(section, "\n| "+row) {
				t.Errorf("%s: there is no row for %s", task.title, row)
			}
		}
	}
}

// TestWinners checks which programs are best at a task.
func TestWinners(t *testing.T) {
	did := func(line string, took time.Duration) *desk { return &desk{line: line, took: took} }
	for _, tt := range []struct {
		name string
		row  []*desk
		want string
	}{
		{"fewest words", []*desk{did("a b c", 1), did("a b", 1)}, "curl"},
		{"as few", []*desk{did("a b", 1), did("a c", 2)}, "ftpfetch curl"},
		{"slow", []*desk{did("a b", 3*time.Second), did("a b c", time.Second)}, "curl"},
		{"a little slower", []*desk{did("a b", 3*time.Millisecond), did("a b c", time.Millisecond)}, "ftpfetch"},
		{"wrong", []*desk{{line: "a", flaw: "no file"}, did("a b", 1)}, "curl"},
		{"nobody", []*desk{{line: "a", flaw: "no file"}}, ""},
	} {
		if got := strings.Join(winners(tt.row), " "); got != tt.want {
			t.Errorf("%s: the best are %q, want %q", tt.name, got, tt.want)
		}
	}
}
