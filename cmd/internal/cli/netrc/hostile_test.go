package netrc

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/night"
)

// TestHostileFiles reads files of the greatest allowed length with all kinds of contents. Of a longer file, at most one
// byte more may be read.
func TestHostileFiles(t *testing.T) {
	nth := 0
	for _, piece := range []string{"machine a ", "default ", "machine a default ", "machine a login b password c account d\n", "default login a\n", "macdef a\nb\n\n", "macdef a\n", "#\n", "\n", " ", "x", "x ",
		"machine ", `machine "a" `, `machine "a\`, `machine "`, `"`, "\x00", "\x00\n", "machine a\x00\n", "machine a password ", "login a ", "\xff"} {
		for _, head := range []string{"", "machine h login me password hunter2 ", "machine h " + strings.Repeat("machine a ", 40_000)} {
			for _, over := range []int{0, 1} {
				if nth++; nth%night.Or(5, 1) != 0 {
					continue
				}
				text := (head + strings.Repeat(piece, maxSize/len(piece)+1))[:maxSize+over]
				in := &io.LimitedReader{R: io.MultiReader(strings.NewReader(text), strings.NewReader(text)), N: 2 * maxSize}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := Parse(in, "netrc")
				runtime.ReadMemStats(&after)
				switch took := (after.TotalAlloc - before.TotalAlloc) >> 20; {
				case err == nil, strings.Contains(err.Error(), "hunter2"), 2*maxSize-in.N > maxSize+1, took > 90:
					t.Errorf("%.20q and %q: %v, %d bytes are read, %d MiB", head, piece, err, 2*maxSize-in.N, took)
				}
				f, err := Parse(strings.NewReader(text), "netrc")
				if (over == 1) != (err != nil && strings.Contains(err.Error(), "too long")) || err == nil && len(f.Warnings) > 2 {
					t.Errorf("%.20q and %q: %v", head, piece, err)
				}
			}
		}
	}
}
