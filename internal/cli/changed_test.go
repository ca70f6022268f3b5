package cli_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

// TestChanged has files here that no ledger has, from a tree and from a list. One with the server's size and time counts
// as there; what is said of any other is true, and what it advises works.
func TestChanged(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	served := testserver.Options{Tree: map[string]string{"/d/a": "server's"}, ModTime: at}
	timeless := served
	timeless.Fault = func(c *testserver.Conn) testserver.Action {
		if c.Verb == "MDTM" || c.Verb == "MLSD" {
			return testserver.Reply("502 No")
		}
		return nil
	}
	for _, tt := range []struct {
		name, here string
		time       time.Time
		o          testserver.Options
		code       int
		want       string
		advice     string // a flag that replaces it; with "=", one that leaves it
	}{
		{"another size", "mine", at, served, 23, "a: differs from the server's (8 bytes there, 4 here): -N updates it\n", "-N"},
		{"the same", "the same", at, served, 0, "1 of 1 complete", ""},
		{"older", "the same", at.Add(-time.Hour), served, 23, "a: is older than the server's, and of the same size: -N updates it\n", "-N"},
		{"newer", "the same", at.Add(time.Hour), served, 23, "a: is newer than the server's, and of the same size: -N leaves it, --overwrite replaces it\n", "-N="},
		{"newer, replaced", "the same", at.Add(time.Hour), served, 23, "--overwrite replaces it\n", "--overwrite"},
		{"no time", "the same", at, timeless, 23, "a: has the size of the server's, which tells no time: --overwrite replaces it\n", "--overwrite"},
		{"no time, another size", "mine", at, timeless, 23, "a: differs from the server's (8 bytes there, 4 here): -N updates it\n", "-N"},
	} {
		s := testserver.New(t, &tt.o)
		for _, args := range []string{"-r -d . " + s.URL("/d/"), "-i " + written(t, s.URL("/d/a")+"\n")} {
			for _, flag := range []string{"", tt.advice} {
				t.Chdir(t.TempDir())
				must.Do(t, os.WriteFile("a", []byte(tt.here), 0o666))
				must.Do(t, os.Chtimes("a", tt.time, tt.time))
				flag, leaves := strings.CutSuffix(flag, "=")
				want := tt.here
				if flag != "" && !leaves {
					want = "server's"
				}
				code, _, said := run(t, strings.Fields(args+" "+flag)...)
				if flag == "" && (code != tt.code || !strings.Contains(said, tt.want)) || flag != "" && code != 0 {
					t.Errorf("%s, %s %s: exit %d, %s", tt.name, args, flag, code, said)
				}
				if text := string(must.Get(os.ReadFile("a"))(t)); text != want {
					t.Errorf("%s, %s %s: the file is %q", tt.name, args, flag, text)
				}
			}
		}
	}
}
