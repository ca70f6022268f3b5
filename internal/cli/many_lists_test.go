package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/cli/config"
)

// TestListShorter takes lines away from a list after it was checked: what they named is missing, which is no success.
func TestListShorter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	const first = "ftp://h/a\n"
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]int{first + "ftp://h/b\n": exitOK, first: 23, "": 3} {
		write(first + "ftp://h/b\n")
		o, err := config.Parse([]string{"-i", path})
		if err != nil {
			t.Fatal(err)
		}
		r := newRun(o, IO{Out: io.Discard, Err: io.Discard})
		r.check(t.Context())
		write(text)
		for range r.tasks(t.Context()) {
		}
		if code := int(r.code.Load()); code != want {
			t.Errorf("list %q: code %d, want %d", text, code, want)
		}
	}
}

// TestListTooLong reads a list from a pipe that is one byte too long, and one that is not.
func TestListTooLong(t *testing.T) {
	defer func(most int) { mostPiped = most }(mostPiped)
	const text = "# a list of nothing\n"
	for most, want := range map[int]string{len(text): "ftpfetch: warning: standard input names no file\n", len(text) - 1: "ftpfetch: -: cannot be read: it is longer than 1 GiB: save it as a file\n"} {
		mostPiped = most
		var said strings.Builder
		if code := Run(t.Context(), []string{"-q", "-i", "-"}, IO{In: strings.NewReader(text), Out: io.Discard, Err: &said}); said.String() != want || (code == 23) != (most < len(text)) {
			t.Errorf("with a limit of %d bytes: exit %d, %q", most, code, said.String())
		}
	}
}
