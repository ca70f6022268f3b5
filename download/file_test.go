package download_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

var modified = time.Date(2020, 2, 29, 12, 30, 45, 0, time.UTC)

// big is more than one step of a copy.
var big = strings.Repeat("0123456789abcdef", 200_000)

func newServer(t *testing.T, o testserver.Options) *testserver.Server {
	t.Helper()
	o.Tree = map[string]string{"/big": big, "/empty": "", "/text.txt": "one\ntwo\n"}
	o.ModTime = modified
	return testserver.New(t, &o)
}

func parse(t *testing.T, s string) *urlparse.URL {
	t.Helper()
	u, err := urlparse.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// wantOnly checks that dir holds only the file name with these contents, or
// nothing if name is "".
func wantOnly(t *testing.T, dir, name, contents string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != name {
			t.Errorf("%s was left behind", e.Name())
		}
	}
	if name == "" {
		return
	}
	got, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || string(got) != contents {
		t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(contents))
	}
}

func TestFile(t *testing.T) {
	s := newServer(t, testserver.Options{})
	tests := []struct{ path, want string }{
		{"/big", big}, {"/empty", ""}, {"/text.txt", "one\ntwo\n"}, {"/text.txt;type=a", "one\ntwo\n"},
	}
	for _, tt := range tests {
		for _, existing := range []download.Existing{download.Refuse, download.Overwrite, download.Skip} {
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			r, err := download.File(t.Context(), new(ftpexec.Client), parse(t, s.URL(tt.path)), path, &download.Options{Existing: existing})
			want := download.Result{Path: path, Size: int64(len(tt.want)), ModTime: modified, Text: strings.HasSuffix(tt.path, "=a")}
			if err != nil || !reflect.DeepEqual(r, want) {
				t.Errorf("%s: got %+v, %v, want %+v", tt.path, r, err, want)
			}
			wantOnly(t, dir, "f", tt.want)
		}
	}
}

// TestFileStopsBeforeConnecting checks that a local obstacle ends a run before it
// connects.
func TestFileStopsBeforeConnecting(t *testing.T) {
	s := newServer(t, testserver.Options{})
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		path     string
		existing download.Existing
		want     error
	}{
		{there, download.Refuse, fs.ErrExist},
		{there, download.Skip, nil},
		{dir, download.Overwrite, download.ErrName},
		{filepath.Join(dir, "none", "f"), download.Overwrite, os.ErrNotExist},
		{filepath.Join(there, "f"), download.Refuse, download.ErrLocal},
		{filepath.Join(dir, strings.Repeat("n", 256)), download.Refuse, download.ErrLocal},
	}
	for _, tt := range tests {
		_, err := download.File(t.Context(), new(ftpexec.Client), parse(t, s.URL("/big")), tt.path, &download.Options{Existing: tt.existing})
		if !errors.Is(err, tt.want) || err != nil && !errors.Is(err, download.ErrLocal) {
			t.Errorf("%s: got %v, want %v", tt.path, err, tt.want)
		}
	}
	if got := s.Commands(); len(got) > 0 {
		t.Errorf("the server received %q", got)
	}
	wantOnly(t, dir, "there", "mine")
}

// atOnce is a Wait that does not wait.
func atOnce(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// TestFileFaults makes the server fail in many ways and never recover. No file
// appears, the bytes that arrived stay, and the next run fetches the rest.
func TestFileFaults(t *testing.T) {
	tests := []struct {
		what  string
		verb  string
		fault testserver.Fault
		want  error
		tries int  // transfers asked for
		kept  bool // a part
	}{
		{"refused", "RETR", testserver.Fault{Reply: "550 No such file"}, ftpexec.ErrRefused, 1, false},
		{"busy", "RETR", testserver.Fault{Reply: "450 Try later"}, ftpexec.ErrRefused, 4, false},
		{"no login", "USER", testserver.Fault{Reply: "530 No"}, ftpexec.ErrLogin, 0, false},
		{"data ends early", "RETR", testserver.Fault{Data: testserver.Closed, Octets: 700_000}, nil, 5, false},
		{"data ends at once", "RETR", testserver.Fault{Data: testserver.Closed}, ftpexec.ErrTruncated, 4, false},
		{"426 after all bytes", "RETR", testserver.Fault{Final: "426 Something broke"}, ftpexec.ErrTruncated, 4, true},
		{"size too large", "SIZE", testserver.Fault{Final: "213 99999999"}, ftpexec.ErrTruncated, 4, true},
		{"size too small", "SIZE", testserver.Fault{Final: "213 1000"}, ftpexec.ErrTruncated, 4, false},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			var honest atomic.Bool
			s := newServer(t, testserver.Options{Fault: func(p testserver.FaultPoint) testserver.Fault {
				if p.Verb == tt.verb && !honest.Load() {
					return tt.fault
				}
				return testserver.Fault{}
			}})
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			o := &download.Options{Retries: 3, Wait: atOnce}
			_, err := download.File(t.Context(), new(ftpexec.Client), parse(t, s.URL("/big")), path, o)
			if !errors.Is(err, tt.want) || errors.Is(err, download.ErrLocal) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if got := received(s, "RETR"); got != tt.tries {
				t.Errorf("%d transfers, want %d", got, tt.tries)
			}
			switch {
			case tt.want == nil:
				wantOnly(t, dir, "f", big)
				return
			case tt.kept:
				wantExist(t, dir, "f.part", "f.part.json")
			default:
				wantOnly(t, dir, "", "")
			}
			honest.Store(true)
			if _, err := download.File(t.Context(), new(ftpexec.Client), parse(t, s.URL("/big")), path, o); err != nil {
				t.Error(err)
			}
			wantOnly(t, dir, "f", big)
		})
	}
}

// received counts the commands of a verb.
func received(s *testserver.Server, verb string) (n int) {
	for _, c := range s.Commands() {
		if got, _, _ := strings.Cut(c, " "); got == verb {
			n++
		}
	}
	return n
}

// wantExist checks that dir holds exactly these names.
func wantExist(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(names)
	if !slices.Equal(got, names) {
		t.Errorf("the directory holds %q, want %q", got, names)
	}
}

// TestFileCanceled ends the context while data flows. What arrived stays, and the
// next run resumes from it.
func TestFileCanceled(t *testing.T) {
	s := newServer(t, testserver.Options{Fault: func(p testserver.FaultPoint) testserver.Fault {
		if p.Transfer == 1 {
			return testserver.Fault{Data: testserver.Stalled, Octets: 100_000}
		}
		return testserver.Fault{}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	o := &download.Options{Events: func(e download.Event) {
		if e.Kind == download.Progress && e.Done == 100_000 {
			cancel()
		}
	}}
	patient := &ftpexec.Client{Timeout: time.Hour} // only ctx can end it
	_, err := download.File(ctx, patient, parse(t, s.URL("/big")), filepath.Join(dir, "f"), o)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantExist(t, dir, "f.part", "f.part.json")
	r, err := download.File(t.Context(), new(ftpexec.Client), parse(t, s.URL("/big")), filepath.Join(dir, "f"), nil)
	if err != nil || r.Resumed != 100_000 || !slices.Contains(s.Commands(), "REST 99488") {
		t.Errorf("second run: %+v, %v, want one resumed at 100000", r, err)
	}
	wantOnly(t, dir, "f", big)
}

func TestProgress(t *testing.T) {
	s := newServer(t, testserver.Options{})
	type step struct{ done, total int64 }
	for path, want := range map[string]step{
		"/big": {int64(len(big)), int64(len(big))}, "/empty": {0, 0}, "/text.txt;type=a": {10, -1},
	} {
		var mu sync.Mutex
		var steps []step
		_, err := download.To(t.Context(), new(ftpexec.Client), parse(t, s.URL(path)), io.Discard, &download.Options{
			Events: func(e download.Event) {
				mu.Lock()
				defer mu.Unlock()
				if e.Kind == download.Progress {
					steps = append(steps, step{e.Done, e.Total})
				}
			},
		})
		mu.Lock()
		defer mu.Unlock()
		if err != nil || len(steps) == 0 || steps[len(steps)-1] != want {
			t.Errorf("%s: %v, steps %v, want %v at last", path, err, steps, want)
		}
		for i := 1; i < len(steps); i++ {
			if steps[i].done < steps[i-1].done {
				t.Errorf("%s: goes back: %v", path, steps)
			}
		}
	}
}

func TestTo(t *testing.T) {
	s := newServer(t, testserver.Options{})
	var got bytes.Buffer
	r, err := download.To(t.Context(), new(ftpexec.Client), parse(t, s.URL("/big")), &got, nil)
	if err != nil || got.String() != big || r.Size != int64(len(big)) || !r.ModTime.Equal(modified) {
		t.Errorf("%d bytes, %+v, %v", got.Len(), r, err)
	}
}

// brokenWriter fails after some bytes.
type brokenWriter struct{ left int }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return 0, syscall.ENOSPC
	}
	w.left -= len(p)
	return len(p), nil
}

// TestToBroken checks that the writer's errors are told from the server's,
// whichever way the bytes take.
func TestToBroken(t *testing.T) {
	s := newServer(t, testserver.Options{})
	r, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer pipe.Close()
	for want, w := range map[error]io.Writer{syscall.ENOSPC: &brokenWriter{left: 300_000}, syscall.EPIPE: pipe} {
		for _, path := range []string{"/big", "/big;type=a"} {
			_, err := download.To(t.Context(), new(ftpexec.Client), parse(t, s.URL(path)), w, nil)
			if !errors.Is(err, want) || !errors.Is(err, download.ErrLocal) {
				t.Errorf("%s: got %v, want %v as ErrLocal", path, err, want)
			}
		}
	}
}
