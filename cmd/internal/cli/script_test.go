package cli_test

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/afero"

	"example.com/ftpfetch/cmd/internal/cli"
	"example.com/ftpfetch/internal/testkit/memory"
	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) {
	memory.Use()
	os.Setenv("TERM", "xterm")               // for the tests with terminals, wherever they run
	os.Setenv("NO_COLOR", "1")               // the tests search for escape sequences of servers
	os.Setenv("GORACE", "atexit_sleep_ms=0") // every process would wait a second
	if strings.HasSuffix(os.Args[0], ".test") {
		for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
			if signal.Ignored(s) { // by nohup or "&" in a script; the commands must not inherit it
				signal.Notify(make(chan os.Signal, 1), s)
			}
		}
		for _, name := range proxyVariables {
			os.Unsetenv(name)
		}
	}
	flag.Set("test.parallel", "16") // parallel tests mostly wait; the flag -parallel overrides this
	testscript.Main(apart{m}, map[string]func(){"ftpfetch": runCommand, "stubborn": runStubborn, "peek": runPeek})
}

// apart runs the tests with a runtime directory of their own, so that commands with --shared do not share connections with
// those of the user.
type apart struct{ *testing.M }

func (a apart) Run() int {
	dir, err := os.MkdirTemp("", "ftpfetch-test")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_RUNTIME_DIR", dir)
	return a.M.Run()
}

// runPeek runs the command, and then tries to read the file $PEEK and to open it for writing or create it, because the
// fence outlasts the run. TestFenceReads runs it.
func runPeek() {
	cli.Run(context.Background(), os.Args[1:], cli.Standard())
	_, rerr := os.ReadFile(os.Getenv("PEEK"))
	f, werr := os.OpenFile(os.Getenv("PEEK"), os.O_WRONLY|os.O_CREATE, 0o600)
	fmt.Print(rerr == nil, werr == nil)
	f.Close()
	os.Exit(0)
}

// ample is more time than a command needs, even on a busy machine.
const ample = time.Minute

// runCommand is main, so that scripts run the command in its own process.
func runCommand() {
	ctx, stop := cli.NotifyContext(context.Background())
	code := cli.Run(ctx, os.Args[1:], cli.Standard())
	stop()
	os.Exit(code)
}

// runStubborn is a command that reports when it is told to end, but does not end.
func runStubborn() {
	ctx, _ := cli.NotifyContext(context.Background())
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println(context.Cause(ctx))
	select {}
}

// TestScript runs one script for each behaviour of the command. Beside the commands of testscript there are
//
//	server [flags] DIR       serve $WORK/DIR, set $FTP (ftp://host:port), $ADDR,
//	                         write ca.pem; the flags are in serverOptions
//	received [LINE...]       the server received exactly these commands; the last
//	                         one is waited for
//	! received PATTERN...    it received none that matches
//	exits N PROGRAM [ARG...] like exec, with this exit code
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		WorkdirRoot:         t.TempDir(), // testscript's own stays when only some scripts run
		Condition:           condition,
		Setup: func(e *testscript.Env) error {
			e.Values[serverKey{}] = new(*testserver.Server)
			e.Setenv("GORACE", "atexit_sleep_ms=0") // every process of a script would wait a second
			docs, err := filepath.Abs("../../../docs")
			e.Setenv("DOCS", docs)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"server":   startServer,
			"received": compareReceived,
			"exits":    runForCode,
		},
	})
}

func condition(name string) (bool, error) {
	if name == "root" {
		return os.Geteuid() == 0, nil
	}
	return false, errors.New("unknown condition " + name)
}

// serverKey is the key under which a script stores its server.
type serverKey struct{}

func serverOf(ts *testscript.TestScript) **testserver.Server {
	return ts.Value(serverKey{}).(**testserver.Server)
}

func startServer(ts *testscript.TestScript, neg bool, args []string) {
	var o testserver.Options
	dir, err := serverOptions(&o, args)
	if neg || err != nil {
		ts.Fatalf("usage: server [flags] DIR: %v", err)
	}
	o.FS = afero.NewIOFS(afero.NewBasePathFs(afero.NewOsFs(), ts.MkAbs(dir)))
	s, err := testserver.Start(&o)
	ts.Check(err)
	ts.Defer(func() { ts.Check(s.Close()) })
	*serverOf(ts) = s
	ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), []byte(authority()), 0o666))
	ts.Setenv("FTP", s.URL(""))
	ts.Setenv("ADDR", s.Addr())
}

func serverOptions(o *testserver.Options, args []string) (dir string, err error) {
	fs := flag.NewFlagSet("server", flag.ContinueOnError)
	o.Users = map[string]string{}
	fs.Func("user", "NAME:PASSWORD: a user, who needs no password if it is empty", func(s string) error {
		name, password, _ := strings.Cut(s, ":")
		o.Users[name] = password
		return nil
	})
	fs.Func("tls", "offered, required or implicit", func(s string) error {
		if o.Scheme = map[string]string{"required": "ftpes", "implicit": "ftps"}[s]; o.TLSConfig == nil {
			o.TLSConfig = &tls.Config{}
		}
		return nil
	})
	fs.BoolFunc("tls11", "no TLS after 1.1", func(string) error { o.TLSConfig = &tls.Config{MaxVersion: tls.VersionTLS11}; return nil })
	fs.Func("reply", "VERB=REPLY: the answer to a command, in place of the server's", func(s string) error {
		verb, reply, _ := strings.Cut(s, "=")
		return addFault(o, on(verb), testserver.Reply(strings.ReplaceAll(reply, `\e`, "\x1b")))
	})
	fs.Func("stall", "VERB: a command that is never answered", func(verb string) error {
		return addFault(o, on(verb), testserver.EndControl(testserver.Stalled))
	})
	fs.Func("cut", "N:OCTETS: the data of the Nth transfer end after so many bytes; N 0: of each", func(s string) error {
		return addCut(o, s, testserver.Closed, testserver.ReplaceReply(testserver.Reply("426 Broken")))
	})
	fs.Func("hold", "N:OCTETS: the data of the Nth transfer stop after so many bytes; N 0: of each", func(s string) error {
		return addCut(o, s, testserver.Stalled, nil)
	})
	if err := fs.Parse(args); err != nil {
		return "", err
	}
	if fs.NArg() != 1 {
		return "", errors.New("one DIR is needed")
	}
	return fs.Arg(0), nil
}

// addCut makes the data of a transfer end early.
func addCut(o *testserver.Options, s string, e testserver.Ending, more testserver.Action) error {
	var n int
	var octets int64
	if _, err := fmt.Sscanf(s, "%d:%d", &n, &octets); err != nil {
		return err
	}
	return addFault(o, func(c *testserver.Conn) bool { return c.Verb == "RETR" && (n == 0 || c.Transfer == n) },
		testserver.Sequence(testserver.EndDataAfter(octets, e), more))
}

// on returns a condition that is true for verb.
func on(verb string) func(*testserver.Conn) bool {
	return func(c *testserver.Conn) bool { return c.Verb == verb }
}

// addFault makes the server do something when at returns true.
func addFault(o *testserver.Options, at func(*testserver.Conn) bool, fault testserver.Action) error {
	before := o.Fault
	o.Fault = func(c *testserver.Conn) testserver.Action {
		if at(c) {
			return fault
		}
		if before != nil {
			return before(c)
		}
		return nil
	}
	return nil
}

func compareReceived(ts *testscript.TestScript, neg bool, args []string) {
	s := *serverOf(ts)
	if !neg && len(args) > 0 { // the client may not wait for the reply to the last command, such as QUIT
		ctx, cancel := context.WithTimeout(context.Background(), ample)
		defer cancel()
		_ = s.WaitCommand(ctx, args[len(args)-1])
	}
	got := s.Commands()
	if !neg {
		if got = beyondLogin(got, args); !slices.Equal(got, args) {
			ts.Fatalf("the server received\n%q\nwant\n%q", got, args)
		}
		return
	}
	for _, pattern := range args {
		if i := slices.IndexFunc(got, regexp.MustCompile(pattern).MatchString); i >= 0 {
			ts.Fatalf("the server received %q, which matches %s", got[i], pattern)
		}
	}
}

// beyondLogin removes the commands that follow a login, up to the first whose verb want names. TestSteps of ftpexec
// says what a Client sends once per login.
func beyondLogin(got, want []string) []string {
	verb := func(line string) string { return strings.Split(line, " ")[0] }
	login := false
	return slices.DeleteFunc(got, func(line string) bool {
		named := slices.ContainsFunc(want, func(w string) bool { return verb(w) == verb(line) })
		login = verb(line) == "PASS" || verb(line) == "ACCT" || login && !named
		return login && !named
	})
}

func runForCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}
