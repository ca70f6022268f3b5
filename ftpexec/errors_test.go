package ftpexec_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

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

// TestLocalBeforeRefusal checks that a server is neither blamed nor waited for if this machine could not open the data
// connection.
func TestLocalBeforeRefusal(t *testing.T) {
	for name, does := range map[string]testserver.Action{"425": testserver.Reply("425 No data connection."), "silence": testserver.End(testserver.Stalled)} {
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
			if !errors.As(err, &e) || e.Temporary() || e.Code != 0 || !errors.Is(err, syscall.EMFILE) {
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
		"MinRate": {MinRate: ftpexec.Rate{Bytes: -1}}, "MaxConns": {MaxConns: -1},
	} {
		if _, err := c.Get(t.Context(), "ftp://h/f"); err == nil || !strings.Contains(err.Error(), want+" is negative: write ") {
			t.Errorf("%s: error %v", want, err)
		}
	}
}
