//go:build interop && linux

package interop

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"example.com/ftpfetch/testserver"
)

// exitCase is a failure, and how curl and ftpfetch are asked for it. SERVER is the
// server's address, CLOSED one where none listens.
type exitCase struct {
	what string
	o    testserver.Options
	curl string // its arguments; those of ftpfetch if empty
	args string
	code int
}

// at makes the server do something about a command.
func at(verb string, action testserver.Action) testserver.Options {
	return testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
		if c.Verb == verb {
			return action
		}
		return nil
	}}
}

var exitCases = []exitCase{
	{what: "unsupported scheme", args: "gopherx://SERVER/f", code: 1},
	{what: "bad usage", args: "--no-such-flag ftp://SERVER/f", code: 2},
	{what: "malformed URL", args: "ftp://[::1/f", code: 3},
	{what: "proxy not resolved", args: "--proxy http://proxy.invalid:1 ftp://SERVER/f", code: 5},
	{what: "host not resolved", args: "ftp://host.invalid/f", code: 6},
	{what: "no connection", args: "ftp://CLOSED/f", code: 7},
	{what: "no such directory", args: "ftp://SERVER/none/f", code: 9},
	{what: "unusable answer to PASV", o: at("PASV", testserver.Reply("500 What?")), curl: "--disable-epsv ftp://SERVER/f", args: "--mode pasv ftp://SERVER/f", code: 13},
	{what: "TYPE refused", o: at("TYPE", testserver.Reply("504 no")), args: "ftp://SERVER/f", code: 17},
	{what: "transfer incomplete", o: at("RETR", testserver.Cut(3, testserver.Closed)), args: "ftp://SERVER/f", code: 18},
	{what: "timed out", o: at("TYPE", testserver.End(testserver.Stalled)), args: "--max-time 1 ftp://SERVER/f", code: 28},
	{what: "TLS not offered", curl: "--ssl-reqd ftp://SERVER/f", args: "--tls explicit ftp://SERVER/f", code: 64},
	{what: "certificate not trusted", o: testserver.Options{Scheme: "ftpes"}, curl: "--ssl-reqd ftp://SERVER/f", args: "--tls explicit ftp://SERVER/f", code: 60},
	{what: "login refused", o: testserver.Options{Users: map[string]string{"anonymous": "none"}}, args: "ftp://SERVER/f", code: 67},
	{what: "no such file", args: "ftp://SERVER/none", code: 78},
	{what: "the file exists", args: "-o /no/such/place ftp://SERVER/f", code: 23},
}

// TestExitCodesOfCurl checks that curl ends with the same exit code as ftpfetch.
func TestExitCodesOfCurl(t *testing.T) {
	t.Parallel()
	binary := build(t)
	taken, err := net.Dial("tcp", testserver.New(t, nil).Addr()) // nobody listens on its port, and nobody else gets it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	for _, c := range exitCases {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			c.o.Tree = map[string]string{"/f": "contents"}
			s := testserver.New(t, &c.o)
			if c.curl == "" {
				c.curl = c.args
			}
			if !strings.Contains(c.args, "-o ") {
				c.curl += " -o curl"
			}
			commands := map[string][]string{
				"curl":     append([]string{"curl", "-q", "-sS"}, strings.Fields(c.curl)...),
				"ftpfetch": append([]string{binary, "-q", "--retries", "0"}, strings.Fields(c.args)...),
			}
			for name, args := range commands {
				for i := range args {
					args[i] = strings.NewReplacer("SERVER", s.Addr(), "CLOSED", taken.LocalAddr().String()).Replace(args[i])
				}
				cmd := exec.CommandContext(testContext(t), args[0], args[1:]...)
				cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
				out, _ := cmd.CombinedOutput()
				if got := cmd.ProcessState.ExitCode(); got != c.code {
					t.Errorf("%s: exit %d, want %d\n%s", name, got, c.code, out)
				}
			}
		})
	}
}

// TestListingLimit asks a pure-ftpd for a directory with more names than it lists.
func TestListingLimit(t *testing.T) {
	t.Parallel()
	s := New(t, PureFTPd, tree, Options{MaxListing: 4})
	binary := build(t)
	for _, args := range [][]string{{"-r", s.URL("/pub/")}, {"-l", s.URL("/pub/")}, {s.URL("/pub/")}, {s.URL("/pub;type=d")}} {
		cmd := exec.Command(binary, args...)
		cmd.Dir = t.TempDir()
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 18 || !strings.Contains(string(out), "226 Output truncated to 4 matches") {
			t.Errorf("%q: exit code %d, %s", args, code, out)
		}
	}
}
