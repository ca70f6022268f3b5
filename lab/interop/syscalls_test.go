//go:build interop && linux

package interop

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// callsEvery selects the combinations: 1 selects all, and a larger value a sample.
var callsEvery = flag.Int("calls.every", night.Or(120, 5), "TestSystemCalls injects into every `n`th combination of a command, a system call and an injection")

// fileCalls are the system calls with which the command works on files.
var fileCalls = []string{
	"openat", "newfstatat", "fstat", "flock", "read", "pread64", "write", "lseek", "splice",
	"ftruncate", "close", "linkat", "renameat", "renameat2", "unlinkat", "fchmodat", "utimensat", "fsync",
}

// injections are a kill before the call returns, and errors of the call.
var injections = []string{"signal=SIGKILL", "error=EIO", "error=ENOSPC", "error=EACCES"}

// maxCalls bounds how many times one thread makes one call.
const maxCalls = 60

// TestSystemCalls kills the command at each system call, or makes the call fail. Run again, the command must succeed
// and leave nothing behind.
func TestSystemCalls(t *testing.T) {
	t.Parallel()
	whole := bytes.Repeat([]byte("0123456789abcdef"), 200_000)
	s := testserver.New(t, &testserver.Options{
		Tree: map[string]string{"/f": string(whole)}, ModTime: time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC),
	})
	c := &callTest{T: t, binary: build(t), url: s.URL("/f"), whole: whole}
	c.scenes = map[string]callScene{
		"new":       {},
		"segments":  {flags: []string{"-s", "3"}},
		"continue":  {flags: []string{"-c"}, before: func() { c.write("f", whole[:1_000_000]) }},
		"newer":     {flags: []string{"-N"}, before: func() { c.write("f", []byte("old")) }},
		"overwrite": {flags: []string{"--overwrite"}, before: func() { c.write("f", []byte("old")) }},
		"resume":    {before: c.leave},
	}
	runs, pair := 0, 0
	for _, name := range slices.Sorted(maps.Keys(c.scenes)) {
		for _, call := range fileCalls {
			for _, injection := range injections {
				// Without a lock, a run uses nothing from an earlier one.
				if pair++; pair%*callsEvery != 0 || name == "resume" && call == "flock" && injection != injections[0] {
					continue
				}
				for n := 1; n < maxCalls; n++ {
					if !c.inject(c.scenes[name], fmt.Sprintf("%s:%s:when=%d", call, injection, n)) {
						break
					}
					runs++
				}
			}
		}
	}
	t.Logf("%d runs with an injected failure", runs)
	if runs == 0 {
		t.Error("strace injected nothing")
	}
}

// callTest has what the runs share; dir belongs to one run.
type callTest struct {
	*testing.T
	binary, url, dir string
	whole            []byte
	scenes           map[string]callScene
}

// callScene is a command on a directory in some state.
type callScene struct {
	flags  []string
	before func()
}

func (c *callTest) path(name string) string { return filepath.Join(c.dir, name) }

// write creates a file. A short file is older than the server's.
func (c *callTest) write(name string, text []byte) {
	must.Do(c, os.WriteFile(c.path(name), text, 0o644))
	if len(text) > 3 {
		return
	}
	must.Do(c, os.Chtimes(c.path(name), time.Time{}, time.Unix(1000, 0)))
}

// leave interrupts a run once its journal has entries.
func (c *callTest) leave() {
	cmd := c.command(nil, []string{"--limit-rate", "2M"})
	must.Do(c, cmd.Start())
	for {
		text, _ := os.ReadFile(c.path("f.ftpfetch.json"))
		if bytes.Contains(text, []byte(`"done":[[`)) || c.exists("f") {
			break
		}
	}
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
}

func (c *callTest) exists(name string) bool {
	_, err := os.Lstat(c.path(name))
	return err == nil
}

// command returns the command with flags; the words in lead come before it.
func (c *callTest) command(lead, flags []string) *exec.Cmd {
	words := append(append(slices.Clone(lead), c.binary, "-q", "-o", c.path("f")), flags...)
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	c.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], c.url)...)
	cmd.Stderr = new(bytes.Buffer)
	return cmd
}

// inject runs the command with one injection, and then without. It reports whether the injection took place.
func (c *callTest) inject(s callScene, injection string) bool {
	c.dir = c.TempDir()
	if s.before != nil {
		s.before()
	}
	before, _ := os.ReadFile(c.path("f"))
	log := filepath.Join(c.TempDir(), "strace")
	lead := []string{"strace", "-f", "-qq", "-o", log, "-e", "inject=" + injection}
	for _, name := range []string{"", "f", "f.ftpfetch.part", "f.ftpfetch.json", "f.ftpfetch.next"} {
		lead = append(lead, "-P", c.path(name))
	}
	first := c.run(c.command(lead, s.flags))
	if text, err := os.ReadFile(log); err != nil || !bytes.Contains(text, []byte("INJECTED")) && first.code != -1 {
		return false
	}
	if got, err := os.ReadFile(c.path("f")); err == nil && !bytes.Equal(got, c.whole) && !bytes.Equal(got, before) {
		c.Errorf("%s: f has wrong contents, %d bytes", injection, len(got))
	}
	done := c.finished()
	again := c.run(c.command(nil, s.flags))
	if !c.finished() || again.code != 0 && !(done && again.code == 23) {
		c.Errorf("%v with %s: %+v; the same command again: %+v; files: %q", s.flags, injection, first, again, c.names())
	}
	return true
}

// ending is how a command ended; code is -1 if a signal killed it.
type ending struct {
	code int
	said string
}

func (c *callTest) run(cmd *exec.Cmd) ending {
	c.Helper()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.Fatal(err)
	}
	return ending{cmd.ProcessState.ExitCode(), strings.TrimSpace(fmt.Sprint(cmd.Stderr))}
}

// finished reports whether the whole file is there, and nothing else.
func (c *callTest) finished() bool {
	got, err := os.ReadFile(c.path("f"))
	return err == nil && bytes.Equal(got, c.whole) && slices.Equal(c.names(), []string{"f"})
}

func (c *callTest) names() []string {
	entries := must.Get(os.ReadDir(c.dir))(c)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// exitCase is a failure, and the arguments that cause it with curl and ftpfetch. SERVER stands for the server's
// address, CLOSED for an address where no server listens.
type exitCase struct {
	what string
	o    testserver.Options
	curl string // curl's arguments; ftpfetch's if empty
	args string
	code int
}

// at returns options with which the server does something at a command.
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
	{what: "transfer incomplete", o: at("RETR", testserver.EndDataAfter(3, testserver.Closed)), args: "ftp://SERVER/f", code: 18},
	{what: "timed out", o: at("TYPE", testserver.EndControl(testserver.Stalled)), args: "--max-time 1 ftp://SERVER/f", code: 28},
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
	taken, err := net.Dial("tcp", testserver.New(t, nil).Addr()) // nobody listens on its port, or can get it
	must.Do(t, err)
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

// TestListingLimit asks pure-ftpd for a directory with more names than it lists.
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
