package cli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ftpfetch/internal/timing"
	"example.com/ftpfetch/testserver"
)

// backEnd is one of the servers behind a name. It cuts each transfer that begins before its end after some bytes, unless
// the transfer is one byte, and may ignore REST.
func backEnd(contents string, ignores bool, cut int) testserver.Step {
	return func(d *testserver.Dialogue) {
		asked := 0
		testserver.Honest(contents).With("REST", func(c *testserver.Conn) error {
			asked, _ = strconv.Atoi(c.Arg)
			return testserver.Reply("350 Go on.")(c)
		}).With("RETR", func(c *testserver.Conn) error {
			rest := contents[asked:]
			if ignores {
				rest = contents
			}
			asked = 0
			if cut == 0 || len(rest) < 2 {
				return testserver.Transfer(rest)(c)
			}
			return testserver.Sequence(testserver.Reply("150 Go on."), testserver.Data(rest[:min(cut, len(rest))], testserver.Closed), testserver.EndControl(testserver.Closed))(c)
		})(d)
	}
}

// TestRangeBehindOneName fetches ranges from a name with several servers, of which some ignore REST and some lose the
// connection. What is saved with exit code 0 is the range.
func TestRangeBehindOneName(t *testing.T) {
	pauses := timing.Wait
	timing.Wait = func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }
	t.Cleanup(func() { timing.Wait = pauses })
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "%04d ", i)
	}
	contents := b.String()
	var all sync.WaitGroup
	var n, saved atomic.Int64
	for _, cut := range []int{0, 1, 100, 600} {
		for ignoring := range 8 { // a bit for each of the first three connections
			script := []testserver.Step{backEnd(contents, ignoring&4 > 0, 0)}
			for conn := range 3 {
				script = append(script, testserver.OnConn(conn+1, backEnd(contents, ignoring>>conn&1 > 0, cut)))
			}
			for _, x := range []struct{ first, last int }{{1, 20}, {700, 900}, {600, 1999}, {1500, 1500}, {0, 1200}} {
				for _, how := range []string{"part", "-"} {
					s := testserver.New(t, nil, script...)
					name := filepath.Join(t.TempDir(), how)
					if how == "-" {
						name = how
					}
					all.Go(func() {
						n.Add(1)
						code, out, said := run(t, "--retries", "3", "--range", fmt.Sprintf("%d-%d", x.first, x.last), "-o", name, s.URL("/f"))
						got, _ := os.ReadFile(name)
						want := contents[x.first : x.last+1]
						switch {
						case code != 0 && ignoring == 0:
							t.Errorf("%v to %s, connections cut at %d: exit %d\n%s", x, how, cut, code, said)
						case code == 0 && string(got)+out != want:
							t.Errorf("%v to %s, connections cut at %d, ignoring %03b: got %.30q and %.30q, want %.30q\n%s", x, how, cut, ignoring, got, out, want, said)
						case code == 0:
							saved.Add(1)
						}
					})
				}
			}
		}
	}
	all.Wait()
	t.Logf("%d ranges, %d saved", n.Load(), saved.Load())
}
