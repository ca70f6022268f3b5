//go:build linux

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInsert(t *testing.T) {
	const text = "before\n<!-- made by: go run ./internal/bench -only a -->\nold\n<!-- end of a -->\nafter\n"
	got, err := insert([]byte(text), "a", "new")
	want := "before\n<!-- made by: go run ./internal/bench -only a -->\n\nnew\n\n<!-- end of a -->\nafter\n"
	if string(got) != want || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for _, wrong := range []string{"", strings.Replace(text, "end of a", "end of b", 1), strings.Replace(text, "only a ", "only b ", 1)} {
		if got, err := insert([]byte(wrong), "a", "new"); err == nil {
			t.Errorf("%q became %q", wrong, got)
		}
	}
}

// Every table has its place in its document, and the report there says which benchmark made it.
func TestDocumentsHaveEveryTable(t *testing.T) {
	for _, table := range tables {
		text, err := os.ReadFile(filepath.Join("../..", table.document))
		if err != nil {
			t.Fatal(err)
		}
		begin, end := markers(table.key)
		_, rest, found := strings.Cut(string(text), begin)
		report, _, closed := strings.Cut(rest, end)
		benchmark, _, _ := strings.Cut(table.full, " ")
		if line := "\n    go run ./internal/bench " + benchmark; !found || !closed || !strings.HasPrefix(report, line) || !strings.Contains(report, "|--") {
			t.Errorf("%s: no report of %s that begins with %q", table.document, table.key, line)
		}
	}
}

// The command lines of the tables are right: with -help after its flags a benchmark accepts them and runs nothing.
func TestTablesNameBenchmarks(t *testing.T) {
	for _, table := range tables {
		for _, line := range []string{table.full, table.short} {
			words := strings.Fields(line)
			switch b := benchmarks[words[0]]; {
			case b == nil:
				t.Errorf("%s: no benchmark %s", table.key, words[0])
			case words[0] != "straight" && b(t.Context(), append(words[1:], "-help"), io.Discard, io.Discard) != 0:
				t.Errorf("%s: %s does not take %q", table.key, words[0], line)
			}
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for _, args := range []string{"-only nothing", "-only exact,", "-what", "what"} {
		var stderr strings.Builder
		if got := run(context.Background(), strings.Fields(args), io.Discard, &stderr); got != 2 || stderr.Len() == 0 {
			t.Errorf("%s: got exit code %d and %q", args, got, stderr.String())
		}
	}
}
