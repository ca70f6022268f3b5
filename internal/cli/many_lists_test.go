package cli

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/show"
)

// TestListShorter takes lines away from a list after it was checked: what they
// named is missing, which is no success.
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
		via, err := newProxies(o)
		if err != nil {
			t.Fatal(err)
		}
		m := &many{run: newRun(via, &watchdog{print: show.New(show.Options{}, io.Discard, io.Discard, explain)}, IO{}), ctx: t.Context()}
		m.check(path, manifest.Options{})
		write(text)
		for range m.tasks() {
		}
		if m.code != want {
			t.Errorf("list %q: code %d, want %d", text, m.code, want)
		}
	}
}
