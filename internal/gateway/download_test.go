package gateway_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/proxy/proxytest"
)

// large is longer than the buffers between a proxy and a file, so that the start of a cut file arrives, and no part of
// it is like another.
var large = func() string {
	var b strings.Builder
	for i := range 1 << 18 {
		fmt.Fprintf(&b, "%08d", i)
	}
	return b.String()
}()

// cutting serves with serve, but cuts off the first answers with a whole body after half of it.
func cutting(times int, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get("Range") == "bytes=-1" || times == 0 {
			serve(w, r)
			return
		}
		times--
		half := &halfWriter{ResponseWriter: w, left: len(large) / 2}
		serve(half, r)
	}
}

// halfWriter gives up the connection after some bytes.
type halfWriter struct {
	http.ResponseWriter
	left int
}

func (h *halfWriter) Write(p []byte) (int, error) {
	n, err := h.ResponseWriter.Write(p[:min(len(p), h.left)])
	if h.left -= n; h.left == 0 {
		h.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// options retry at once.
func options(retries int) *download.Options {
	return &download.Options{Retries: &retries, Wait: func(context.Context, time.Duration) error { return nil }}
}

// TestDownload saves a file whose first transfer is cut off, within one run and over two, with a digest.
func TestDownload(t *testing.T) {
	whole := sha256.Sum256([]byte(large))
	want := digest.Sum{Algorithm: digest.SHA256, Digest: whole[:]}
	tests := []struct {
		name     string
		serve    http.HandlerFunc
		segments int
		resumes  bool
	}{
		{"a proxy that resumes", serving(large), 1, true},
		{"a proxy that skips twice", skipping(large), 1, false},
		{"segments", serving(large), 4, true},
		{"segments that are skipped twice", skipping(large), 4, false},
	}
	for _, tt := range tests {
		for runs := 1; runs == 1 || runs == 2 && tt.segments == 1; runs++ { // segments take over from one that was cut off
			t.Run(fmt.Sprintf("%s, %d runs", tt.name, runs), func(t *testing.T) {
				k := newKit(t, proxytest.Options{}, cutting(1, tt.serve))
				path := filepath.Join(t.TempDir(), "f")
				o := options(2 - runs)
				o.Sum, o.Segments, o.Parallel = want, tt.segments, k.Source
				for run := 1; run < runs; run++ {
					if _, err := download.File(t.Context(), k, urlOf(t, "ftp://h/f"), path, o); !errors.Is(err, ftpexec.ErrTruncated) {
						t.Fatalf("run %d: got %v, want ErrTruncated", run, err)
					}
					if _, err := os.Stat(path + ".part.json"); err != nil {
						t.Errorf("no journal: %v", err)
					}
				}
				r, err := download.File(t.Context(), k, urlOf(t, "ftp://h/f"), path, o)
				got, rerr := os.ReadFile(path)
				if err != nil || rerr != nil || string(got) != large || r.Verified == "" {
					t.Errorf("got %+v, %v, %v, %d bytes", r, err, rerr, len(got))
				}
				if resumed := k.restarted(); resumed != tt.resumes {
					t.Errorf("resumed: %v, want %v", resumed, tt.resumes)
				}
			})
		}
	}
}

// restarted reports whether the proxy was asked for the rest of a file.
func (k *kit) restarted() bool {
	for _, r := range k.requests {
		if span := r.Header.Get("Range"); span != "" && span != "bytes=-1" {
			return true
		}
	}
	return false
}

// TestDigestMismatch checks that a wrong file gets no name.
func TestDigestMismatch(t *testing.T) {
	k := newKit(t, proxytest.Options{}, serving("contents"))
	path := filepath.Join(t.TempDir(), "f")
	o := options(0)
	var err error
	if o.Sum, err = digest.Parse("crc32:00000000"); err != nil {
		t.Fatal(err)
	}
	_, err = download.File(t.Context(), k, urlOf(t, "ftp://h/f"), path, o)
	if _, serr := os.Stat(path); !errors.Is(err, download.ErrDigest) || !errors.Is(serr, os.ErrNotExist) {
		t.Errorf("got %v, and the file: %v", err, serr)
	}
}

// TestChangedFile checks that the rest of another file is not taken for the rest of this one.
func TestChangedFile(t *testing.T) {
	first := cutting(1, serving(large))
	changed := strings.ToUpper(large[8:]) + "!"
	n := 0
	k := newKit(t, proxytest.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			first(w, r)
			return
		}
		serving(changed)(w, r)
	})
	path := filepath.Join(t.TempDir(), "f")
	if _, err := download.File(t.Context(), k, urlOf(t, "ftp://h/f"), path, options(3)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != changed {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(changed))
	}
}

// TestListOfDigests checks that a list beside the file verifies it, and that missing lists do not end the search.
func TestListOfDigests(t *testing.T) {
	k := newKit(t, proxytest.Options{}, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.RequestURI, "/f;type=i"):
			serving("contents")(w, r)
		case strings.HasSuffix(r.RequestURI, "/f.md5;type=i"):
			serving("98bf7d8c15784f0a3d63204441e1e2aa  f\n")(w, r)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	o := options(0)
	o.Verify = true
	r, err := download.File(t.Context(), k, urlOf(t, "ftp://h/f"), filepath.Join(t.TempDir(), "f"), o)
	if err != nil || !strings.Contains(r.Verified, "f.md5") {
		t.Errorf("got %+v, %v", r, err)
	}
}
