package download

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// TestSilentDirectory downloads a directory from a server that begins to transfer it and then sends nothing. One time-out
// and one more connection must be enough, in every mode, and no file may be left. A file of which nothing comes at first
// arrives by the second try, on that connection.
func TestSilentDirectory(t *testing.T) {
	for _, mode := range modes {
		for _, dir := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				network := ftptest.NewNetwork()
				silent := true
				s := testserver.New(t, &testserver.Options{Listen: network.Listen, ModTime: kitTime, Tree: map[string]string{"/d/x": "x", "/f": "contents"},
					Fault: func(c *testserver.Conn) testserver.Action {
						switch {
						case dir && c.Verb == "SIZE":
							return testserver.Reply("213 4096")
						case dir && c.Verb == "MDTM":
							return testserver.Reply("213 20200102030405")
						case c.Verb == "RETR" && silent:
							silent = dir
							return testserver.Sequence(testserver.Reply("150 x"), testserver.Data("", testserver.Stalled))
						}
						return nil
					}})
				c := &ftpexec.Client{Dial: network.Dial}
				defer c.CloseIdleConnections()
				path, target := "/f", t.TempDir()+"/f"
				if dir {
					path = "/d"
				}
				if mode.have != "" {
					must.Do(t, os.WriteFile(target, []byte(mode.have), 0o666))
					if mode.o.Existing != Continue { // which refuses a file that is older than the server's
						must.Do(t, os.Chtimes(target, time.Time{}, kitTime.AddDate(-10, 0, 0)))
					}
				}
				began := time.Now()
				_, err := File(t.Context(), c, urlOf(t, s.URL(path)), target, &mode.o)
				took := time.Since(began)
				got, rerr := os.ReadFile(target)
				switch {
				case mode.o.Verify: // it ends earlier, because no list has a digest
				case !dir && (err != nil || string(got) != "contents"):
					t.Errorf("%s, a file: got %q, %v", mode.name, got, err)
				case dir && !errors.Is(err, ftpexec.ErrIsDirectory):
					t.Errorf("%s, a directory: %v", mode.name, err)
				case dir && (string(got) != mode.have || (rerr != nil) != (mode.have == "")):
					t.Errorf("%s, a directory: it left %q, %v", mode.name, got, rerr)
				}
				if n := s.Connections(); n > 2 || took > time.Minute+time.Second {
					t.Errorf("%s, directory %v: %d connections, %v: %s", mode.name, dir, n, took, strings.Join(s.Commands(), ", "))
				}
			})
		}
	}
}
