package gateway_test

import (
	"cmp"
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

// large is longer than the buffers between a proxy and a file, so that the start of a cut file arrives.
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
		if r.Method != http.MethodGet || times == 0 {
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
	return &download.Options{Retries: cmp.Or(retries, -1), Wait: func(context.Context, time.Duration) error { return nil }}
}

// TestDownload saves a file whose first transfer is cut off: by one connection and by several, in one run and in two.
func TestDownload(t *testing.T) {
	whole := sha256.Sum256([]byte(large))
	for _, segments := range []int{1, 4} {
		for runs := 1; runs == 1 || runs == 2 && segments == 1; runs++ { // segments take over from one that was cut off
			k := newKit(t, proxytest.Options{}, cutting(1, serving(large)))
			path := filepath.Join(t.TempDir(), "f")
			o := options(2 - runs)
			o.Sum, o.Segments = digest.Sum{Algorithm: digest.SHA256, Digest: whole[:]}, segments
			if runs == 2 {
				if _, err := download.File(t.Context(), k, urlOf(t, "ftp://h/f"), path, o); !errors.Is(err, ftpexec.ErrTruncated) {
					t.Fatalf("got %v, want ErrTruncated", err)
				}
			}
			r, err := download.File(t.Context(), k, urlOf(t, "ftp://h/f"), path, o)
			got, rerr := os.ReadFile(path)
			if err != nil || rerr != nil || string(got) != large || r.Verified == "" {
				t.Errorf("%d segments, %d runs: got %+v, %v, %v, %d bytes", segments, runs, r, err, rerr, len(got))
			}
		}
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
