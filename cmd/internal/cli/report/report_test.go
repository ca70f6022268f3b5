package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/internal/testkit/must"
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
		task := &download.Task{URLs: []*urlparse.URL{must.Get(urlparse.Parse(tt.url))(t)}, Path: "f"}
		must.Do(t, f.Add(download.Event{Err: tt.err, Task: task}, "gone", 78))
		if !strings.Contains(out.String(), `"url":"`+tt.want+`"`) {
			t.Errorf("%s, %v: %s", tt.url, tt.err, out.String())
		}
	}
}

// TestReportIsAList reads reports back as lists. Every path must come back octet for octet, whatever is in it.
func TestReportIsAList(t *testing.T) {
	paths := []string{"d/plain", "caf\xe9", "d\xff/\xfe", `back\slash`, `caf\xe9`, "100%", "a%41", "tab\there", "line\nend", "cr\rx", " x", "x ", "x\u00a0", "\u3000",
		`"q"`, `"`, `a"b`, "a,b", "a;b", "#c", "\u202eover", "\u0085", "\x1b[31m", "\ufffd", "a\u0301", "\ufeffbom", "naïve – 日本"}
	for c := range 256 {
		if name := string([]byte{'b', byte(c)}); c != 0 && c != '/' && c != '\\' {
			paths = append(paths, name, string([]byte{byte(c), 'e'}))
		}
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return strings.Contains(p, `\`) && filepath.Separator == '\\' })
	for _, name := range []string{"r.json", "r.tsv", "r.csv"} {
		name = filepath.Join(t.TempDir(), name)
		f := must.Get(Create(name, "", nil))(t)
		u := must.Get(urlparse.Parse("ftp://h/f"))(t)
		for _, path := range paths {
			task := &download.Task{URLs: []*urlparse.URL{u}, Path: path}
			must.Do(t, f.Add(download.Event{Task: task, Result: download.Result{Size: 3}}, "", 0))
		}
		must.Do(t, f.Close())
		list := must.Get(os.Open(name))(t)
		defer list.Close()
		var got []string
		for item, err := range manifest.Read(list, nil) {
			if err != nil {
				t.Error(err)
			}
			got = append(got, filepath.FromSlash(item.Path))
		}
		if !slices.Equal(got, paths) {
			t.Errorf("%s: got %q\nwant %q", name, got, paths)
		}
		must.Get(Create(name, "", nil))(t).Close() // a later run may replace it
	}
}

// TestBuffer checks that a buffered report is whole after Close, and that Close says if it cannot be written.
func TestBuffer(t *testing.T) {
	task := &download.Task{URLs: []*urlparse.URL{must.Get(urlparse.Parse("ftp://h/f"))(t)}, Path: "f"}
	var out bytes.Buffer
	f := must.Get(Create("-", "", &out))(t)
	f.Buffer()
	for range 1000 {
		must.Do(t, f.Add(download.Event{Task: task}, "", 0))
	}
	must.Do(t, f.Close())
	if n := strings.Count(out.String(), "\n"); n != 1000 {
		t.Errorf("%d rows", n)
	}
	full := must.Get(Create("-", "", failing{}))(t)
	full.Buffer()
	if err := full.Add(download.Event{Task: task}, "", 0); err != nil {
		t.Error(err)
	}
	if err := full.Close(); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}

var errFull = errors.New("the disk is full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }
