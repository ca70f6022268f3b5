package cli

import (
	"io/fs"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// TestRow checks entries in JSON: what is not known is left out, and no password is shown.
func TestRow(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e8, time.UTC)
	u, err := urlparse.Parse("ftp://u:hunter2@h/d/f")
	if err != nil {
		t.Fatal(err)
	}
	for want, e := range map[string]ftpexec.Entry{
		`"f","url":"ftp://u@h/d/f","type":"file","size":0,"time":"2026-01-02T03:04:05.6Z","precision":"fraction","mode":"0640"`: {Name: "f", Mode: 0o640, HasPerm: true, ModTime: at, Precision: time.Nanosecond},
		`"d","url":"ftp://u@h/d/f","type":"directory","time":"2026-01-02T03:04:00Z","precision":"minute","local":true`:          {Name: "d", Size: -1, Mode: fs.ModeDir, ModTime: at.Truncate(time.Minute), Precision: time.Minute, Local: true},
		`"l","url":"ftp://u@h/d/f","type":"link","target":"a<b"`:                                                                {Name: "l", Size: -1, Mode: fs.ModeSymlink, Target: "a<b"},
		`"?","url":"ftp://u@h/d/f","type":"unknown"`:                                                                            {Name: "?", Size: -1, Mode: fs.ModeIrregular},
		`"s","url":"ftp://u@h/d/f","type":"special","time":"2026-01-02T03:04:05.6Z","precision":"day"`:                          {Name: "s", Size: -1, Mode: fs.ModeSocket, ModTime: at, Precision: 24 * time.Hour},
	} {
		e.URL = u
		if got := string(printable.JSON(rowOf(e, true))); got != `{"name":`+want+"}\n" {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
