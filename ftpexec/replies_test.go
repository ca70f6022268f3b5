package ftpexec_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/table"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// A server that says that a file's URL names a directory does not say that there is no such file.
func TestDirectoryIsNoMissingFile(t *testing.T) {
	for _, row := range table.Rows(t, "replies.txt", "directory") {
		s := testserver.New(t, nil, testserver.Honest("contents").With("RETR", testserver.Reply(row[0])))
		_, err := read(t.Context(), closing(t, new(ftpexec.Client)), parse(t, s.URL("/x/d")))
		if errors.Is(err, fs.ErrNotExist) || !errors.Is(err, ftpexec.ErrIsDirectory) || !errors.Is(err, ftpexec.ErrRefused) || !strings.HasSuffix(err.Error(), `End the URL in "/" to list it`) {
			t.Errorf("%s: got %v, want ErrIsDirectory", row[0], err)
		}
	}
}

// anyDigit is the outcome of each command by the first digit of the reply: the errors for 1yz to 5yz, nil for success.
// An unexpected digit must lead to the error of the command's step.
var anyDigit = []struct {
	name   string
	url    string // path, "user:password@" before it, scheme ftpes with "+"
	step   func(reply string) testserver.Step
	offset int64
	want   [5]error
}{
	{"USER", "/a/f", on("USER"), 0, [5]error{ftpexec.ErrLogin, nil, nil, ftpexec.ErrLogin, ftpexec.ErrLogin}},
	{"USER with a password", "u:password@/a/f", on("USER"), 0, [5]error{ftpexec.ErrLogin, nil, nil, ftpexec.ErrLogin, ftpexec.ErrLogin}},
	{"PASS", "/a/f", on("PASS"), 0, [5]error{ftpexec.ErrLogin, nil, ftpexec.ErrLogin, ftpexec.ErrLogin, ftpexec.ErrLogin}},
	{"PASS with a password", "u:password@/a/f", on("PASS"), 0, [5]error{ftpexec.ErrLogin, nil, ftpexec.ErrLogin, ftpexec.ErrLogin, ftpexec.ErrLogin}},
	{"ACCT", "u:password@/a/f", func(r string) testserver.Step {
		return testserver.On("PASS", testserver.Reply("332 account")).With("ACCT", testserver.Reply(r))
	}, 0, [5]error{ftpexec.ErrLogin, nil, ftpexec.ErrLogin, ftpexec.ErrLogin, ftpexec.ErrLogin}},
	{"FEAT", "/%C3%BC/f", on("FEAT"), 0, [5]error{ftpexec.ErrProtocol}},
	{"OPTS", "/%C3%BC/f", on("OPTS"), 0, [5]error{ftpexec.ErrProtocol}},
	{"PWD", "/a/f", on("PWD"), 0, [5]error{ftpexec.ErrProtocol}},
	{"CWD", "/a/f", on("CWD"), 0, [5]error{ftpexec.ErrDirectory, nil, ftpexec.ErrDirectory, ftpexec.ErrDirectory, ftpexec.ErrDirectory}},
	{"TYPE", "/a/f", on("TYPE"), 0, [5]error{ftpexec.ErrType, nil, ftpexec.ErrType, ftpexec.ErrType, ftpexec.ErrType}},
	{"TYPE A", "/a/", on("TYPE"), 0, [5]error{ftpexec.ErrType, nil, ftpexec.ErrType, ftpexec.ErrType, ftpexec.ErrType}},
	{"SIZE", "/a/f", on("SIZE"), 0, [5]error{ftpexec.ErrProtocol}},
	{"MDTM", "/a/f", on("MDTM"), 0, [5]error{ftpexec.ErrProtocol}},
	{"EPSV", "/a/f", on("EPSV"), 0, [5]error{ftpexec.ErrPassive}},
	{"PASV", "/a/f", after500("EPSV", "PASV"), 0, [5]error{ftpexec.ErrPassive, ftpexec.ErrPassive, ftpexec.ErrPassive, ftpexec.ErrPassive, ftpexec.ErrPassive}},
	{"REST", "/a/f", restarts, 3, [5]error{ftpexec.ErrNoRestart, ftpexec.ErrNoRestart, nil, ftpexec.ErrNoRestart, ftpexec.ErrNoRestart}},
	{"RETR", "/a/f", opens("RETR"), 0, [5]error{nil, ftpexec.ErrTruncated, ftpexec.ErrRefused, ftpexec.ErrRefused, ftpexec.ErrRefused}},
	{"NLST", "/a/", opens("NLST"), 0, [5]error{nil, ftpexec.ErrTruncated, ftpexec.ErrRefused, ftpexec.ErrRefused, ftpexec.ErrRefused}},
	{"end of RETR", "/a/f", closes("RETR"), 0, [5]error{nil, ftpexec.ErrTruncated, ftpexec.ErrTruncated, ftpexec.ErrTruncated, ftpexec.ErrTruncated}},
	{"end of NLST", "/a/", closes("NLST"), 0, [5]error{nil, ftpexec.ErrTruncated, ftpexec.ErrTruncated, ftpexec.ErrTruncated, ftpexec.ErrTruncated}},
	{"MLST", "/a/f", after500("SIZE", "MLST"), 0, [5]error{ftpexec.ErrProtocol, ftpexec.ErrTruncated, ftpexec.ErrTruncated, ftpexec.ErrTruncated}},
	{"AUTH", "+/a/f", on("AUTH"), 0, [5]error{ftpexec.ErrTLSUnavailable, nil, ftpexec.ErrTLSUnavailable, ftpexec.ErrTLSUnavailable, ftpexec.ErrTLSUnavailable}},
	{"PBSZ", "+/a/f", on("PBSZ"), 0, [5]error{ftpexec.ErrTLSUnavailable}},
	{"PROT", "+/a/f", on("PROT"), 0, [5]error{ftpexec.ErrTLSUnavailable, nil, ftpexec.ErrTLSUnavailable, ftpexec.ErrTLSUnavailable, ftpexec.ErrTLSUnavailable}},
}

// restarts sends the last byte, which proves that it honors REST, and then the rest.
func restarts(reply string) testserver.Step {
	return testserver.On("REST", testserver.Reply(reply)).With("RETR", testserver.Transfer("tents")).With("#1 RETR", testserver.Transfer("s"))
}

func on(verb string) func(string) testserver.Step {
	return func(reply string) testserver.Step { return testserver.On(verb, testserver.Reply(reply)) }
}

// after500 sends the reply to the verb that follows one that the server does not know.
func after500(unknown, verb string) func(string) testserver.Step {
	return func(reply string) testserver.Step {
		return testserver.On(unknown, testserver.Reply("500 what")).With(verb, testserver.Reply(reply))
	}
}

// text is the data that opens and closes send: for a listing, one whole line.
func text(verb string) testserver.Action {
	if verb == "NLST" {
		return testserver.Data("contents\r\n")
	}
	return testserver.Data("contents")
}

// opens sends the reply in place of the 150, closes in place of the 226.
func opens(verb string) func(string) testserver.Step {
	return func(reply string) testserver.Step {
		return testserver.On(verb, testserver.Reply(reply), text(verb), testserver.Data("", testserver.Closed), testserver.Reply("226 x"))
	}
}

func closes(verb string) func(string) testserver.Step {
	return func(reply string) testserver.Step {
		return testserver.On(verb, testserver.Reply("150 x"), text(verb), testserver.Data("", testserver.Closed), testserver.Reply(reply), testserver.Reply("226 x"))
	}
}

// An unexpected code ends the run on the first connection. It does not count as a lost reply.
func TestAnyFirstDigit(t *testing.T) {
	for _, tt := range anyDigit {
		for i, want := range tt.want {
			for _, sequential := range []bool{false, true} {
				reply := fmt.Sprintf("%d14 x", i+1)
				t.Run(fmt.Sprintf("%s to %s, sequential %v", reply, tt.name, sequential), func(t *testing.T) {
					t.Parallel()
					s := testserver.New(t, nil, testserver.Honest("contents"), tt.step(reply))
					c := within(ample)
					c.MaxIdle = 0
					c.NoPipelining, c.Credentials, c.TLSConfig = sequential, fixed("word"), &tls.Config{RootCAs: s.RootCAs()}
					err := whole(t, c, s, tt.url, tt.offset)
					if !errors.Is(err, want) {
						t.Errorf("error %v, want %v", err, want)
					}
					var e *ftpexec.Error
					if errors.As(err, &e) && (e.Reply != reply || ftpexec.Retryable(e) != (i == 3 || errors.Is(err, ftpexec.ErrTruncated))) {
						t.Errorf("%v: reply %s, temporary %v; want the reply %s", err, e.Reply, ftpexec.Retryable(e), reply)
					}
					stage, known := map[error]string{ftpexec.ErrTLSUnavailable: "connect", ftpexec.ErrLogin: "login", ftpexec.ErrDirectory: "directory", ftpexec.ErrProtocol: ""}[want]
					if err != nil && string(e.Stage) != stage && (known && stage != "" || e.Stage != "transfer") {
						t.Errorf("%v: stage %q, want %q", err, e.Stage, stage)
					}
					if n := s.Connections(); n != 1 {
						t.Errorf("%d connections, want 1; commands %q", n, s.Commands())
					}
				})
			}
		}
	}
}

// whole retrieves what url names with a session, as for more than one URL.
func whole(t *testing.T, c *ftpexec.Client, s *testserver.Server, url string, offset int64) error {
	defer c.CloseIdleConnections()
	url, ftpes := strings.CutPrefix(url, "+")
	u := parse(t, s.URL(url))
	if ftpes {
		u.Scheme = "ftpes"
	}
	if u.IsDir() {
		_, err := list(t.Context(), c, u)
		return err
	}
	r, err := c.Do(t.Context(), &ftpexec.Request{URL: u, Offset: offset})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if offset == 0 {
		_, err = io.ReadAll(r.Body)
	}
	return err
}

// In active mode a script has no data to send, so only EPRT and PORT are tried.
func TestAnyFirstDigitInActiveMode(t *testing.T) {
	for _, code := range []string{"114", "314", "414", "514"} {
		for _, step := range []testserver.Step{
			testserver.On("EPRT", testserver.Reply(code+" x")),
			testserver.On("EPRT", testserver.Reply("500 what")).With("PORT", testserver.Reply(code+" x")),
		} {
			s := testserver.New(t, nil, testserver.Honest("contents"), step)
			c := within(ample)
			c.Active = true
			if _, err := read(t.Context(), c, parse(t, s.URL("/a/f"))); !errors.Is(err, ftpexec.ErrActive) || s.Connections() != 1 || slices.Contains(s.Commands(), "PASV") {
				t.Errorf("%s: error %v on %d connections, want ErrActive on 1", code, err, s.Connections())
			}
		}
	}
}

// A reply line of 64 KiB is read, but shown cut.
func TestLongReplyLine(t *testing.T) {
	for _, size := range []int{4096, 8 << 10, 64<<10 - 1, 64 << 10} {
		long := strings.Repeat("x", size-len("250 "))
		steps := map[string]testserver.Step{
			"greeting":  testserver.On("", testserver.Reply("220 "+long)),
			"PASS":      testserver.On("PASS", testserver.Reply("230 "+long)),
			"CWD":       testserver.On("CWD", testserver.Reply("250 "+long)),
			"lines":     testserver.On("CWD", testserver.Reply("250-"+long+"\r\n"+long+"\r\n250 "+long)),
			"RETR":      testserver.On("RETR", testserver.Reply("150 "+long), testserver.Data("contents", testserver.Closed), testserver.Reply("226 "+long)),
			"MDTM":      testserver.On("MDTM", testserver.Reply("550 "+long)),
			"refused":   testserver.On("CWD", testserver.Reply("550 "+long)),
			"too long":  testserver.On("CWD", testserver.Reply("250 "+long+strings.Repeat("x", 64<<10-size+1))),
			"too large": testserver.On("CWD", testserver.Reply("250-x\r\n"+strings.Repeat(long+"\r\n", 256<<10/size+1)+"250 x")),
		}
		for name, step := range steps {
			s := testserver.New(t, nil, testserver.Honest("contents"), step)
			c := within(ample)
			c.NoPipelining = true
			got, err := read(t.Context(), c, parse(t, s.URL("/a/f")))
			want := map[string]error{"refused": ftpexec.ErrDirectory, "too long": ftpexec.ErrProtocol, "too large": ftpexec.ErrProtocol}[name]
			if !errors.Is(err, want) || err == nil && got != "contents" {
				t.Errorf("%d bytes, %s: got %q, %.100v, want %v", size, name, got, err, want)
			}
			if err != nil && len(err.Error()) > 500 {
				t.Errorf("%d bytes, %s: the error has %d bytes", size, name, len(err.Error()))
			}
			s.Close()
		}
	}
}

// Some servers say what is wrong in the lines before an "End".
func TestRefusalBeforeEnd(t *testing.T) {
	for reply, want := range map[string]struct {
		err  error
		says string
	}{
		"500-Command failed.\r\n500-open: No such file or directory\r\n500 End.": {ftpexec.ErrNotFound, "500 open: No such file or directory"},
		"500-Command failed.\r\n500-open: Permission denied\r\n500 End.":         {ftpexec.ErrRefused, "500 open: Permission denied"},
		"500-No such file\r\n500 Go away.":                                       {ftpexec.ErrNotFound, "500 Go away."},
		"500 End.":                                                               {ftpexec.ErrRefused, "500 End."},
	} {
		s := testserver.New(t, nil, testserver.Honest(""), testserver.On("^(SIZE|RETR)", testserver.Reply(reply)))
		_, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("/f")))
		if !errors.Is(err, want.err) || !strings.Contains(err.Error(), want.says) {
			t.Errorf("%q: got %v, want %v with %q", reply, err, want.err, want.says)
		}
	}
}

// Numbers in replies are read unmasked, even if they are also a password.
func TestSecretInReplies(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("EPSV", testserver.Reply("500 no")), testserver.On("SIZE", testserver.Reply("213 12345")))
	got, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("u:123@/a/f")))
	if !errors.Is(err, ftpexec.ErrTruncated) || got != "contents" {
		t.Errorf("got %q, %v; want ErrTruncated (8 of 12345 bytes)", got, err)
	}
	for _, password := range []string{"127", "2020"} { // in the replies to PASV and MDTM
		r, err := (&ftpexec.Client{MaxIdle: -1}).Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("u:"+password+"@/a/f"))})
		if err != nil || r.ModTime.IsZero() {
			t.Fatalf("%s: got %+v, %v", password, r, err)
		}
		r.Body.Close()
	}
}

func TestSizeAfterAccount(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("PASS", testserver.Reply("332 account")),
		testserver.On("RETR", testserver.Transfer("cont")))
	c := &ftpexec.Client{MaxIdle: -1, Credentials: fixed("word")}
	got, err := read(t.Context(), c, parse(t, s.URL("u@/a/f")))
	if !errors.Is(err, ftpexec.ErrTruncated) {
		t.Errorf("got %q, %v, want ErrTruncated; commands %q", got, err, s.Commands())
	}
}

func TestPasswordCutInSyntaxError(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest(""),
		testserver.On("PASS", testserver.Reply(strings.Repeat("x", 70)+"verysecretword")))
	c := &ftpexec.Client{MaxIdle: -1, NoPipelining: true}
	_, err := read(t.Context(), c, parse(t, s.URL("u:verysecretword@/a/f")))
	if err == nil || strings.Contains(err.Error(), "verysecret") {
		t.Errorf("error %v", err)
	}
}

// Read returns the text before half a line end, even if the other half has not come.
func TestTextDoesNotHoldBack(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		release := make(chan struct{})
		s := network.NewScript(t, testserver.Honest(""), testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("line\r"),
			ftptest.Call(func() { <-release }), testserver.Data("\nmore", testserver.Closed), testserver.Reply("226 x")))
		r := must.Get((&ftpexec.Client{MaxIdle: -1, Dial: network.Dial}).Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/a/f;type=a"))}))(t)
		defer r.Body.Close()
		var got []byte
		go func() {
			b := make([]byte, 100)
			n, _ := r.Body.Read(b)
			got = b[:n]
		}()
		synctest.Wait()
		if string(got) != "line" {
			t.Errorf("got %q while the server waits, want %q", got, "line")
		}
		close(release)
		synctest.Wait()
	})
}

// A refusal says in its text alone whether something is missing or access to it is denied.
func TestErrorMeans(t *testing.T) {
	for _, tt := range []struct {
		path, step, reply string
		is                error
		missing, denied   bool
	}{
		{"/a/f", "CWD", "550 a: No such file or directory", ftpexec.ErrDirectory, true, false},
		{"/a/f", "CWD", "550 The system cannot find the file specified. ", ftpexec.ErrDirectory, true, false},
		{"/a/f", "CWD", "550 Access is denied. ", ftpexec.ErrDirectory, false, true},
		{"/a/f", "CWD", "550 a: Permission denied", ftpexec.ErrDirectory, false, true},
		{"/a/f", "CWD", "550 Failed to change directory.", ftpexec.ErrDirectory, false, false},
		{"/denied/f", "CWD", "550 denied: No such directory", ftpexec.ErrDirectory, true, false},
		{"/a/f", "RETR", "550 f: No such file", ftpexec.ErrNotFound, true, false},
		{"/a/f", "RETR", "550 Failed to open file.", ftpexec.ErrNotFound, true, false},
		{"/a/f", "RETR", "550 f: Permission denied", ftpexec.ErrRefused, false, true},
		{"/a/f", "RETR", "550 f: Operation not permitted", ftpexec.ErrRefused, false, true},
		{"/a/f", "RETR", "553 f: Permission denied", ftpexec.ErrRefused, false, true},
		{"/a/f", "RETR", "451 f: Input/output error", ftpexec.ErrRefused, false, false},
		{"/a/", "NLST", "550 Permission denied", ftpexec.ErrRefused, false, true},
		{"/a/", "NLST", "550 No", ftpexec.ErrNotFound, true, false},
		{"/a/f", "USER", "530 Permission denied.", ftpexec.ErrLogin, false, false},
		{"/a/f", "PASS", "530 Permission denied, no such user", ftpexec.ErrLogin, false, false},
		{"/a/f", "RETR", "421 Permission denied", ftpexec.ErrLost, false, false},
	} {
		s := testserver.New(t, nil, testserver.Honest("").With("SIZE", testserver.Reply("500 what")), testserver.On(tt.step, testserver.Reply(tt.reply)))
		_, err := do(t.Context(), &ftpexec.Client{MaxIdle: -1, NoPipelining: true}, parse(t, s.URL(tt.path)))
		missing, denied := errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission)
		if !errors.Is(err, tt.is) || missing != tt.missing || denied != tt.denied {
			t.Errorf("%v: missing %v, denied %v; want %v, %v, %v", err, missing, denied, tt.is, tt.missing, tt.denied)
		}
	}
}

// early is a context whose deadline passes an instant before it ends.
type early struct {
	context.Context
	deadline time.Time
}

func (e early) Deadline() (time.Time, bool) { return e.deadline, true }

// A dialer watches its context's deadline itself. If it is first to notice, the error is still the context's.
func TestDeadlineOfADialer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Microsecond, func() { cancel(context.DeadlineExceeded) })
		c := &ftpexec.Client{MaxIdle: -1, Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
		}}
		_, err := c.Do(early{ctx, time.Now()}, &ftpexec.Request{URL: parse(t, "ftp://h/f")})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
	})
}

// TestLocalBeforeRefusal checks that the client neither blames the server nor waits for it if this machine could not
// open the data connection.
func TestLocalBeforeRefusal(t *testing.T) {
	for name, does := range map[string]testserver.Action{"425": testserver.Reply("425 No data connection."), "silence": testserver.EndControl(testserver.Stalled)} {
		runInMemory(t, name, func(t *testing.T, network *ftptest.Network) {
			s := network.NewScript(t, testserver.Honest("contents"), testserver.On("RETR", does))
			c := &ftpexec.Client{MaxIdle: -1, Dial: func(ctx context.Context, kind, address string) (net.Conn, error) {
				if address == s.Addr() {
					return network.Dial(ctx, kind, address)
				}
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}
			}}
			start := time.Now()
			_, err := read(t.Context(), c, parse(t, s.URL("/f")))
			var e *ftpexec.Error
			if !errors.As(err, &e) || ftpexec.Retryable(e) || e.Code != 0 || !errors.Is(err, syscall.EMFILE) {
				t.Errorf("got %v", err)
			}
			if waited := time.Since(start); waited > 0 {
				t.Errorf("waited %v", waited)
			}
		})
	}
}

// Do refuses bad fields before it sends anything.
func TestClientCheck(t *testing.T) {
	for want, c := range map[string]*ftpexec.Client{
		"MaxConns": {MaxConns: -1},
	} {
		if _, err := c.Get(t.Context(), "ftp://h/f"); err == nil || !strings.Contains(err.Error(), want+" is negative: write ") {
			t.Errorf("%s: error %v", want, err)
		}
	}
}
