package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// TestEmptyFilesOverTLS fetches a tree from a server that closes the data connection of an empty file before TLS is up.
// Where the server says that they are empty, they are saved; where it does not, only they fail, and not the host.
func TestEmptyFilesOverTLS(t *testing.T) {
	tree := map[string]string{}
	for i := range 4 {
		tree[fmt.Sprintf("/d/a%d.done", i)] = ""
	}
	for i := range 12 {
		tree[fmt.Sprintf("/d/f%02d.txt", i)] = "hello\n"
	}
	for _, sized := range []bool{true, false} {
		s := testserver.New(t, &testserver.Options{Tree: tree, Scheme: "ftpes", Fault: func(c *testserver.Conn) testserver.Action {
			switch {
			case c.Verb == "RETR" && strings.HasSuffix(c.Arg, ".done"):
				return testserver.Do(testserver.Reply("150 Go on."), ftptest.CutData(), testserver.Reply("226 Done."))
			case !sized && (c.Verb == "SIZE" || c.Verb == "MLST" || c.Verb == "MLSD"):
				return testserver.Reply("502 Unknown.")
			}
			return nil
		}})
		dir := t.TempDir()
		ca := filepath.Join(dir, "ca.pem")
		writeFile(t, ca, authority())
		code, _, said := run(t, "-r", "-j", "1", "--retries", "0", "--cacert", ca, "-d", filepath.Join(dir, "out"), s.URL("/d/"))
		done, _ := filepath.Glob(filepath.Join(dir, "out", "*.done"))
		rest, _ := filepath.Glob(filepath.Join(dir, "out", "*.txt"))
		want := map[bool]int{true: 4, false: 0}[sized]
		if len(done) != want || len(rest) != 12 || (code == 0) != sized {
			t.Errorf("sizes given: %v: exit %d with %d empty files and %d others, want %d and 12\n%s", sized, code, len(done), len(rest), want, said)
		}
		for _, name := range rest {
			if b, err := os.ReadFile(name); string(b) != "hello\n" {
				t.Errorf("%s: %q, %v", name, b, err)
			}
		}
	}
}
