package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// TestDamagedPart changes a byte at each end of each block of a part, and checks that the next run fetches only the
// damaged block.
func TestDamagedPart(t *testing.T) {
	const block = 64 << 10
	for _, segments := range []int{1, 3} {
		for i := range 4 {
			end := min(i*block+block, 200_000)
			for _, at := range []int{i * block, (i*block + end) / 2, end - 1} {
				k := newKit(t, map[string]string{"/f": body})
				k.write("f.ftpfetch.part", body[:200_000])
				k.write("f.ftpfetch.json", k.journal("/f", 300_000, kitTime, span{0, 200_000}))
				k.flip("f.ftpfetch.part", at)
				r, err := k.get("/f", Options{Segments: segments})
				if err != nil || r.Resumed != int64(200_000-(end-i*block)) || !k.told(Noted, "1 of 4 blocks are damaged") {
					t.Errorf("byte %d: got %+v, %v, events %v", at, r, err, k.events)
				}
				if got := k.rests(); i > 0 && (len(got) == 0 || got[0] != fmt.Sprint(i*block)) {
					t.Errorf("byte %d: REST %q", at, got)
				}
				k.want(map[string]string{"f": body})
			}
		}
	}
}

// flip changes one bit of a file in the test's directory.
func (k *kit) flip(name string, at int) {
	k.Helper()
	text := []byte(read(k.T, k.path(name)))
	text[at] ^= 0x10
	f, err := os.OpenFile(k.path(name), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(text[at:at+1], int64(at))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		k.Fatal(err)
	}
}

// TestDamagedAdopted damages bytes that Continue copied from the target. Continue must copy them again, and other runs
// must fetch them.
func TestDamagedAdopted(t *testing.T) {
	for _, o := range []Options{{Existing: Continue}, {}, {Existing: Overwrite}} {
		k := newKit(t, map[string]string{"/f": body})
		k.write(k.part, body[:200_000])
		text := k.journal("/f", 300_000, kitTime, span{0, 200_000})
		k.write(k.json, strings.Replace(text, `"size":300000,`, `"size":300000,"adopted":1000,`, 1))
		k.flip(k.part, 5)
		if o.Existing == Continue {
			k.write("f", body[:1000])
		}
		_, err := k.get("/f", o)
		if got := k.rests(); err != nil || o.Existing == Continue && !slices.Equal(got, []string{"1000"}) || o.Existing != Continue && len(got) > 0 {
			t.Errorf("%+v: %v, REST %q", o, err, got)
		}
		k.want(map[string]string{"f": body})
	}
}

// namesIn lists a directory.
func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// wantNames checks that dir has exactly these names.
func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := namesIn(t, dir); !slices.Equal(got, want) {
		t.Errorf("the directory holds %q, want %q", got, want)
	}
}

// steady is a Source whose bytes come evenly, over a duration.
type steady struct {
	Source   // nil: the tests call no other method
	contents string
	over     time.Duration
}

func (s steady) Do(context.Context, *ftpexec.Request) (*ftpexec.Response, error) {
	return &ftpexec.Response{Body: &pieces{s, 0}, Size: int64(len(s.contents)), ModTime: kitTime}, nil
}

// pieces is a body of a steady. The bytes come in a hundred pieces.
type pieces struct {
	steady
	n int // bytes read
}

func (p *pieces) Close() error { return nil }

func (p *pieces) Read(b []byte) (int, error) {
	if p.n == len(p.contents) {
		return 0, io.EOF
	}
	<-time.After(p.over / 100) // in a bubble, without waiting
	n := copy(b, p.contents[p.n:min(len(p.contents), p.n+len(p.contents)/100)])
	p.n += n
	return n, nil
}

// TestCheckpoints checks that a run writes the journal after a second, and then four times a second while data arrives:
// of what a killed run has fetched, the next one fetches at most a quarter of a second again.
func TestCheckpoints(t *testing.T) {
	dir := t.TempDir()
	for seconds, want := range []int{0, 2, 6, 10} {
		synctest.Test(t, func(t *testing.T) {
			journals := 0
			onCall(t, func(call, path string) error {
				if call == "rename" && strings.HasSuffix(path, ".next") {
					journals++
				}
				return nil
			})
			path := filepath.Join(dir, strconv.Itoa(seconds))
			from := steady{contents: body, over: time.Duration(seconds)*time.Second + 400*time.Millisecond}
			_, err := File(t.Context(), from, urlOf(t, "ftp://h/f"), path, nil)
			if err != nil || journals != want {
				t.Errorf("in %d.4 seconds: %d journals, want %d (%v)", seconds, journals, want, err)
			}
		})
	}
}

// TestFileFaults makes the server fail in many ways and never recover. The run must create no file and keep the bytes
// that arrived, and the next run must fetch the rest.
func TestFileFaults(t *testing.T) {
	for _, tt := range []struct {
		what  string
		verb  string
		fault testserver.Action
		want  error
		tries int  // transfers that the client requests
		kept  bool // the part is kept
	}{
		{"refused", "RETR", testserver.Reply("550 No such file"), ftpexec.ErrRefused, 1, false},
		{"busy", "RETR", testserver.Reply("450 Try later"), ftpexec.ErrRefused, 4, false},
		{"no login", "USER", testserver.Reply("530 No"), ftpexec.ErrLogin, 0, false},
		{"data ends early", "RETR", testserver.EndDataAfter(70_000, testserver.Closed), nil, 5, false},
		{"data ends at once", "RETR", testserver.EndDataAfter(0, testserver.Closed), ftpexec.ErrTruncated, 2, false},
		{"426 after all bytes", "RETR", testserver.ReplaceReply(testserver.Reply("426 Something broke")), ftpexec.ErrTruncated, 4, true},
		{"size too large", "SIZE", testserver.ReplaceReply(testserver.Reply("213 99999999")), ftpexec.ErrTruncated, 2, true},
		{"size too small", "SIZE", testserver.ReplaceReply(testserver.Reply("213 1000")), ftpexec.ErrTruncated, 2, false},
	} {
		k := newKit(t, map[string]string{"/f": body})
		k.faulty(always(tt.verb, tt.fault))
		if _, err := k.get("/f", Options{Retries: 3}); !errors.Is(err, tt.want) || errors.Is(err, ErrLocal) {
			t.Errorf("%s: got %v, want %v", tt.what, err, tt.want)
		}
		retrs := slices.DeleteFunc(k.Commands(), func(c string) bool { return !strings.HasPrefix(c, "RETR ") })
		if len(retrs) != tt.tries {
			t.Errorf("%s: %d transfers, want %d", tt.what, len(retrs), tt.tries)
		}
		switch {
		case tt.kept:
			wantNames(t, k.dir, k.json, k.part)
		case tt.want != nil:
			wantNames(t, k.dir)
		default:
			k.want(map[string]string{"f": body})
			continue
		}
		k.faulty(nil)
		if _, err := k.get("/f", Options{}); err != nil {
			t.Errorf("%s: then %v", tt.what, err)
		}
		k.want(map[string]string{"f": body})
	}
}

// TestFileCanceled ends the context while data arrives. The run must keep the bytes that arrived, and the next run must
// resume from them.
func TestFileCanceled(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.faulty(during(1, testserver.EndDataAfter(100_000, testserver.Stalled)))
	ctx, cancel := context.WithCancel(t.Context())
	o := &Options{Events: onProgress(func(done, _ int64) {
		if done == 100_000 {
			cancel()
		}
	})}
	k.c.Timeout = time.Hour // only ctx can end it
	if _, err := File(ctx, k.c, k.url("/f"), k.path("f"), o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantNames(t, k.dir, k.json, k.part)
	r, err := k.get("/f", Options{})
	if err != nil || r.Resumed != 100_000 || !slices.Contains(k.Commands(), "REST 99488") || !k.told(Noted, "resuming at 97.7 KiB") {
		t.Errorf("second run: %+v, %v, want one resumed at 100000", r, err)
	}
	k.want(map[string]string{"f": body})
}

func TestProgress(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body, "/empty": "", "/text.txt": "one\ntwo\n"})
	type step struct{ done, total int64 }
	for path, want := range map[string]step{"/f": {300_000, 300_000}, "/empty": {0, 0}, "/text.txt;type=a": {8, -1}} {
		var steps []step
		o := &Options{Events: onProgress(func(done, total int64) { steps = append(steps, step{done, total}) })}
		_, err := To(t.Context(), k.c, k.url(path), io.Discard, o)
		if err != nil || len(steps) == 0 || steps[len(steps)-1] != want {
			t.Errorf("%s: %v, steps %v, want %v at last", path, err, steps, want)
		}
		if !slices.IsSortedFunc(steps, func(a, b step) int { return int(a.done - b.done) }) {
			t.Errorf("%s: goes back: %v", path, steps)
		}
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

// TestToBroken checks that To tells the writer's errors from the server's, whether it copies through a buffer or not.
func TestToBroken(t *testing.T) {
	k := newKit(t, map[string]string{"/f": strings.Repeat("0123456789abcdef", 200_000)})
	r, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer pipe.Close()
	for want, w := range map[error]io.Writer{syscall.ENOSPC: &brokenWriter{left: 300_000}, syscall.EPIPE: pipe} {
		for _, path := range []string{"/f", "/f;type=a"} {
			if _, err := To(t.Context(), k.c, k.url(path), w, nil); !errors.Is(err, want) || !errors.Is(err, ErrLocal) {
				t.Errorf("%s: got %v, want %v as ErrLocal", path, err, want)
			}
		}
	}
}
