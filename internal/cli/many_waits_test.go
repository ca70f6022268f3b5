package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/ftpfetch/testserver"
)

// TestManyWaits checks that a run which waits for a full server says so, and that
// -q keeps it quiet.
func TestManyWaits(t *testing.T) {
	for flag, want := range map[string]string{"--no-prompt": " refuses the only connection: waiting until it has room\n", "-q": ""} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			var refused atomic.Bool
			srv := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}, Fault: func(p testserver.FaultPoint) testserver.Fault {
				if p.Verb == "USER" && !refused.Swap(true) {
					return testserver.Fault{Reply: "421 Too many connections.", After: testserver.Closed}
				}
				return testserver.Fault{}
			}})
			dir := t.TempDir()
			list := filepath.Join(dir, "list")
			if err := os.WriteFile(list, []byte(srv.URL("/f")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			code, _, stderr := run(t, flag, "-i", list, "-d", dir)
			got, _, _ := strings.Cut(stderr, "1 of 1 complete")
			if got = strings.TrimPrefix(got, strings.TrimPrefix(strings.TrimSuffix(srv.URL(""), "/"), "ftp://")); code != 0 || got != want {
				t.Errorf("exit code %d, got %q, want %q", code, got, want)
			}
		})
	}
}
