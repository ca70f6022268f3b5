package download

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// TestFileFaults makes the server fail in many ways and never recover. No file appears, the bytes that arrived stay, and
// the next run fetches the rest.
func TestFileFaults(t *testing.T) {
	for _, tt := range []struct {
		what  string
		verb  string
		fault testserver.Action
		want  error
		tries int  // transfers asked for
		kept  bool // a part
	}{
		{"refused", "RETR", testserver.Reply("550 No such file"), ftpexec.ErrRefused, 1, false},
		{"busy", "RETR", testserver.Reply("450 Try later"), ftpexec.ErrRefused, 4, false},
		{"no login", "USER", testserver.Reply("530 No"), ftpexec.ErrLogin, 0, false},
		{"data ends early", "RETR", testserver.Cut(70_000, testserver.Closed), nil, 5, false},
		{"data ends at once", "RETR", testserver.Cut(0, testserver.Closed), ftpexec.ErrTruncated, 4, false},
		{"426 after all bytes", "RETR", testserver.Final(testserver.Reply("426 Something broke")), ftpexec.ErrTruncated, 4, true},
		{"size too large", "SIZE", testserver.Final(testserver.Reply("213 99999999")), ftpexec.ErrTruncated, 4, true},
		{"size too small", "SIZE", testserver.Final(testserver.Reply("213 1000")), ftpexec.ErrTruncated, 4, false},
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

// TestFileCanceled ends the context while data flows. What arrived stays, and the next run resumes from it.
func TestFileCanceled(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.faulty(during(1, testserver.Cut(100_000, testserver.Stalled)))
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

// TestToBroken checks that the writer's errors are told from the server's, whichever way the bytes take.
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
			_, err := To(t.Context(), k.c, k.url(path), w, nil)
			if !errors.Is(err, want) || !errors.Is(err, ErrLocal) {
				t.Errorf("%s: got %v, want %v as ErrLocal", path, err, want)
			}
		}
	}
}
