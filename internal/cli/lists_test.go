package cli

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/urlparse"
)

// TestRow checks entries in JSON: what is not known is left out, and no password is shown.
func TestRow(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e8, time.UTC)
	u := must.Get(urlparse.Parse("ftp://u:hunter2@h/d/f"))(t)
	for want, e := range map[string]ftpexec.Entry{
		`"f","url":"ftp://u@h/d/f","type":"file","size":0,"time":"2026-01-02T03:04:05.6Z","precision":"fraction","mode":"0640"`: {Name: "f", Mode: 0o640, HasPerm: true, ModTime: at, Precision: time.Nanosecond},
		`"d","url":"ftp://u@h/d/f","type":"directory","time":"2026-01-02T03:04:00Z","precision":"minute","local":true`:          {Name: "d", Size: -1, Mode: fs.ModeDir, ModTime: at.Truncate(time.Minute), Precision: time.Minute, Local: true},
		`"l","url":"ftp://u@h/d/f","type":"link","target":"a<b"`:                                                                {Name: "l", Size: -1, Mode: fs.ModeSymlink, Target: "a<b"},
		`"?","url":"ftp://u@h/d/f","type":"unknown"`:                                                                            {Name: "?", Size: -1, Mode: fs.ModeIrregular},
		`"s","url":"ftp://u@h/d/f","type":"special","time":"2026-01-02T03:04:05.6Z","precision":"day"`:                          {Name: "s", Size: -1, Mode: fs.ModeSocket, ModTime: at, Precision: 24 * time.Hour},
	} {
		e.URL = u
		if got := string(printable.JSON(rowOf(e))); got != `{"name":`+want+"}\n" {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestListShorter takes lines away from a list after it was checked: what they named is missing, which is no success.
func TestListShorter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	for text, want := range map[string]int{"ftp://h/a\nftp://h/b\n": exitOK, "ftp://h/a\n": 23, "": 3} {
		must.Do(t, os.WriteFile(path, []byte("ftp://h/a\nftp://h/b\n"), 0o666))
		r := newRun(must.Get(config.Parse([]string{"-i", path}))(t), IO{Out: io.Discard, Err: io.Discard})
		r.check(t.Context())
		must.Do(t, os.WriteFile(path, []byte(text), 0o666))
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
