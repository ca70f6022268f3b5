package ftpexec_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
)

func TestEntryJSON(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e8, time.UTC)
	u := parse(t, "ftp://u:hunter2@h/d/f")
	tests := []struct {
		entry ftpexec.Entry
		want  string
	}{
		{ftpexec.Entry{Name: "f", Base: "f", URL: u, Size: 0, Mode: 0o640, HasPerm: true, ModTime: at, Precision: time.Nanosecond},
			`{"name":"f","url":"ftp://u@h/d/f","type":"file","size":0,"time":"2026-01-02T03:04:05.6Z","precision":"fraction","mode":"0640"}`},
		{ftpexec.Entry{Name: "d", URL: u, Size: -1, Mode: fs.ModeDir, ModTime: at.Truncate(time.Minute), Precision: time.Minute, Local: true},
			`{"name":"d","url":"ftp://u@h/d/f","type":"directory","time":"2026-01-02T03:04:00Z","precision":"minute","local":true}`},
		{ftpexec.Entry{Name: "l", URL: u, Size: -1, Mode: fs.ModeSymlink, Target: "a<b"}, `{"name":"l","url":"ftp://u@h/d/f","type":"link","target":"a\u003cb"}`},
		{ftpexec.Entry{Name: "?", URL: u, Size: -1, Mode: fs.ModeIrregular}, `{"name":"?","url":"ftp://u@h/d/f","type":"unknown"}`},
		{ftpexec.Entry{Name: "s", URL: u, Size: -1, Mode: fs.ModeSocket, ModTime: at, Precision: 24 * time.Hour},
			`{"name":"s","url":"ftp://u@h/d/f","type":"special","time":"2026-01-02T03:04:05.6Z","precision":"day"}`},
		{ftpexec.Entry{}, `{"name":"","type":"file","size":0}`},
	}
	for _, tt := range tests {
		got, err := json.Marshal(tt.entry)
		if err != nil || string(got) != tt.want {
			t.Errorf("got %s, %v, want %s", got, err, tt.want)
		}
		if got, err := json.Marshal(&tt.entry); err != nil || string(got) != tt.want {
			t.Errorf("by pointer: got %s, %v, want %s", got, err, tt.want)
		}
	}
	if got := fmt.Sprint(tests[0].entry.URL); got != "ftp://u:***@h/d/f" {
		t.Errorf("the entry's URL has changed: %s", got)
	}
}
