package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/urlparse"
)

// TestRowsHideNoPath checks that the row of a complete file shows its whole URL, to fetch it again, and that the row of
// a file that failed hides what may be a password.
func TestRowsHideNoPath(t *testing.T) {
	type row struct {
		url  string
		err  error
		want string
	}
	gone := errors.New("gone")
	for _, tt := range []row{
		{"ftp://h:2121/pkg@1.0/f", nil, "ftp://h:2121/pkg%401.0/f"},
		{"ftp://h:2121/pkg@1.0/f", gone, "ftp://h:2121/***%401.0/f"},
		{"ftp://me:pw@h/f", nil, "ftp://me@h/f"},
		{"ftp://me:pw@h/f", gone, "ftp://me@h/f"},
	} {
		var out bytes.Buffer
		f := must.Get(Create("-", "", &out))(t)
		task := &batch.Task{Item: manifest.Item{URLs: []*urlparse.URL{must.Get(urlparse.Parse(tt.url))(t)}, Path: "f"}}
		must.Do(t, f.Add(batch.Event{Event: download.Event{Err: tt.err}, Task: task}, "gone", 78))
		if !strings.Contains(out.String(), `"url":"`+tt.want+`"`) {
			t.Errorf("%s, %v: %s", tt.url, tt.err, out.String())
		}
	}
}
