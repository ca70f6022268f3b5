package gateway_test

import (
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/proxy/proxytest"
)

// TestDownload saves a file whose first transfer is cut off: by one connection and by several, in one run and in two. A
// list beside the file verifies it; lists that are missing do not end the search.
func TestDownload(t *testing.T) {
	// longer than the buffers between a proxy and a file, so that the start of a cut file arrives
	large := strings.Repeat("01234567", 1<<18)
	sum := fmt.Sprintf("%x  f\n", md5.Sum([]byte(large)))
	for _, segments := range []int{1, 4} {
		for runs := 1; runs == 1 || runs == 2 && segments == 1; runs++ { // segments take over from one that was cut off
			cut := false
			k := newKit(t, proxytest.Options{}, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.RequestURI, "/f.md5;type=i"):
					serving(sum)(w, r)
				case !strings.HasSuffix(r.RequestURI, "/f;type=i"):
					w.WriteHeader(http.StatusNotFound)
				case r.Method == http.MethodGet && !cut:
					cut = true
					w.Header().Set("Content-Length", "2097152")
					_, _ = w.Write([]byte(large[:1<<20]))
				default:
					serving(large)(w, r)
				}
			})
			path := filepath.Join(t.TempDir(), "f")
			o := &download.Options{Retries: 3 - 2*runs, Wait: func(context.Context, time.Duration) error { return nil }}
			o.Verify, o.Segments = true, segments
			if runs == 2 {
				if _, err := download.File(t.Context(), k, urlOf(t, "ftp://h/f"), path, o); !errors.Is(err, ftpexec.ErrTruncated) {
					t.Fatalf("got %v, want ErrTruncated", err)
				}
			}
			r, err := download.File(t.Context(), k, urlOf(t, "ftp://h/f"), path, o)
			got, rerr := os.ReadFile(path)
			if err != nil || rerr != nil || string(got) != large || !strings.Contains(r.Verified, "f.md5") {
				t.Errorf("%d segments, %d runs: got %+v, %v, %v, %d bytes", segments, runs, r, err, rerr, len(got))
			}
		}
	}
}
