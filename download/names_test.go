package download

import (
	"errors"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/testserver"
)

// TestNamesOfEveryLength downloads a part, resumes and cleans up under names of
// every length that the system allows, and keeps a file with a wrong digest.
func TestNamesOfEveryLength(t *testing.T) {
	text := noise(2000, 1)
	k := newKit(t, map[string]string{"/f": text})
	wrong := Options{Sum: sum(t, "crc32:00000000")}
	for n := night.Or(200, 1); n <= 255; n++ { // the longest names are shortened
		k.dir = t.TempDir()
		name := strings.Repeat("n", n)
		get := func(o Options) (Result, error) {
			return File(t.Context(), k.c, k.url("/f"), k.path(name), &o)
		}
		k.faulty(always("RETR", testserver.Fault{Data: testserver.Closed, Octets: 1000}))
		if r, err := get(Options{Retries: -1}); err == nil || r.Kept != 1000 {
			t.Fatalf("%d bytes: cut: got %+v, %v", n, r, err)
		}
		k.faulty(nil)
		if r, err := get(Options{}); err != nil || r.Resumed != 1000 {
			t.Fatalf("%d bytes: got %+v, %v", n, r, err)
		}
		k.want(map[string]string{name: text})
		k.remove(name)
		for range 2 {
			if _, err := get(wrong); !errors.Is(err, ErrDigest) {
				t.Fatalf("%d bytes: got %v, want ErrDigest", n, err)
			}
		}
		if all := namesIn(t, k.dir); len(all) != 1 || !strings.HasSuffix(all[0], ".bad") {
			t.Fatalf("%d bytes: there is %q", n, all)
		}
	}
}
