package ftpexec_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

var errNone = errors.New("no error")

// hostile is what a server may do to a download of "/a/f" that holds "contents", or to the listing of "/a/".
var hostile = []struct {
	name string
	step testserver.Step
	want error // errNone: it must work
	list bool
}{
	// Endless replies.
	{"endless delays", testserver.On("", ftptest.Endless(func(i int) string { return "120 soon\r\n" })), ftpexec.ErrProtocol, false},
	{"endless marks", testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("contents", testserver.Closed),
		ftptest.Endless(func(int) string { return "110 MARK 1 = 1\r\n" })), ftpexec.ErrProtocol, false},
	{"endless data", testserver.On("RETR", testserver.Reply("150 x"), ftptest.EndlessData(func(int) string { return "more" })), ftpexec.ErrTruncated, false},
	{"endless name", testserver.On("NLST", testserver.Reply("150 x"), ftptest.EndlessData(func(int) string { return "more" })), ftpexec.ErrProtocol, true},

	// Nonsense.
	{"no code", testserver.On("", testserver.Reply("hello")), ftpexec.ErrProtocol, false},
	{"NUL and other bytes", testserver.On("CWD", testserver.Reply("250 \x00\xff\x1b[2J\xe9")), errNone, false},

	// RFC 1123 section 4.1.2.11: the first digit decides.
	{"120 before 220", testserver.On("", testserver.Reply("120 soon\r\n220 now")), errNone, false},
	{"greeting of many lines", testserver.On("", testserver.Reply("220-one\r\n 220 not yet\r\n220 now")), errNone, false},
	{"greeting 230", testserver.On("", testserver.Reply("230 ready")), errNone, false},
	{"125 to RETR", testserver.On("RETR", testserver.Reply("125 x"), testserver.Data("contents", testserver.Closed), testserver.Reply("226 x")), errNone, false},
	{"226 of many lines", testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("contents", testserver.Closed), testserver.Reply("226-a\r\nb\r\n226 c")), errNone, false},
	{"226 in place of 150", testserver.On("RETR", testserver.Data("contents", testserver.Closed), testserver.Reply("226 x")), errNone, false},
	{"550 No files found", testserver.On("NLST", testserver.Reply("550 No files found.")), errNone, true},
	{"450 No such file of an empty directory", testserver.On("NLST", testserver.Reply("450 No such file or directory")).With("LIST", testserver.Transfer("total 0\r\n")), errNone, true},
	{"450 No such file, and nothing tells more", testserver.On("NLST", testserver.Reply("450 No such file or directory")), ftpexec.ErrNotFound, true},
	{"450 of a directory with a name", testserver.On("NLST", testserver.Reply("450 /srv/no files found: Busy")), ftpexec.ErrNotFound, true},
	{"EPSV with a port out of range", testserver.On("EPSV", testserver.Reply("229 (|||99999|)")), errNone, false},
	{"replies a byte at a time", testserver.On("CWD", ftptest.Trickle("250 x")), errNone, false},

	// Damaged files.
	{"data cut, no SIZE, size in the 150", testserver.On("RETR", testserver.Reply("150 Opening f (8 bytes)."), testserver.Data("con", testserver.Closed),
		testserver.Reply("226 fine")).With("SIZE", testserver.Reply("500 x")), ftpexec.ErrTruncated, false},
	{"too much data", testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("contents and more", testserver.Closed), testserver.Reply("226 fine")), ftpexec.ErrTruncated, false},
	{"all data, connection closed", testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("contents", testserver.Closed), testserver.EndControl(testserver.Closed)), ftpexec.ErrLost, false},
	{"data reset", testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("con", testserver.Reset), testserver.Reply("426 x")), errors.Join(ftpexec.ErrLost, ftpexec.ErrConnect), false}, // the reset may come before the connect returns
	{"refused although its size is known", testserver.On("RETR", testserver.Reply("550 no")), ftpexec.ErrRefused, false},

	// 421 and reset at each stage.
	{"421 greeting", testserver.On("", testserver.Reply("421 too many users"), testserver.EndControl(testserver.Closed)), ftpexec.ErrConnect, false},
	{"530 greeting", testserver.On("", testserver.Reply("530 not you"), testserver.EndControl(testserver.Closed)), ftpexec.ErrConnect, false},
	{"421 at CWD", testserver.On("CWD", testserver.Reply("421 x"), testserver.EndControl(testserver.Closed)), ftpexec.ErrLost, false},
	{"421 at RETR", testserver.On("RETR", testserver.Reply("421 x"), testserver.EndControl(testserver.Closed)), ftpexec.ErrLost, false},
	{"closed before the greeting", testserver.On("", testserver.EndControl(testserver.Closed)), ftpexec.ErrLost, false},
	{"reset before the greeting", testserver.On("", testserver.EndControl(testserver.Reset)), errors.Join(ftpexec.ErrLost, ftpexec.ErrConnect), false},
	{"reset at USER", testserver.On("USER", testserver.EndControl(testserver.Reset)), ftpexec.ErrLost, false},
	{"reset at RETR", testserver.On("RETR", testserver.EndControl(testserver.Reset)), ftpexec.ErrLost, false},
	{"reset during data", testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("con", testserver.Closed), testserver.EndControl(testserver.Reset)), ftpexec.ErrLost, false},
}

// No server makes the client panic, hang, leak a goroutine (see TestMain) or accept a damaged file.
func TestHostileServers(t *testing.T) {
	for _, tt := range hostile {
		for _, sequential := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/sequential=%v", tt.name, sequential), func(t *testing.T) {
				t.Parallel()
				s := testserver.New(t, nil, testserver.Honest("contents"), tt.step)
				c := within(ample)
				c.NoPipelining = sequential
				got, err := do(t.Context(), c, parse(t, s.URL(pathOf(tt.list))))
				checkHostile(t, got, err, tt.want, tt.list)
			})
		}
	}
}

func pathOf(listing bool) string {
	if listing {
		return "/a/"
	}
	return "/a/f"
}

// waits is what a server may send late or not at all, and how long the client waits for it: no longer than for one
// reply or one byte.
var waits = []struct {
	name string
	step testserver.Step
	want error // errNone: it must work
	list bool
	took time.Duration
}{
	{"no greeting", testserver.On("", testserver.EndControl(testserver.Stalled)), ftpexec.ErrTimeout, false, limit},
	{"silent at USER", testserver.On("USER", testserver.EndControl(testserver.Stalled)), ftpexec.ErrTimeout, false, limit},
	{"silent at EPSV", testserver.On("EPSV", testserver.EndControl(testserver.Stalled)), ftpexec.ErrTimeout, false, limit},
	{"silent at RETR", testserver.On("RETR", testserver.EndControl(testserver.Stalled)), ftpexec.ErrTimeout, false, limit},
	{"no data", testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("", testserver.Stalled)).With("^CWD f$", testserver.Reply("550 x")), ftpexec.ErrTimeout, false, limit},
	{"some data and no more", testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("con", testserver.Stalled)), ftpexec.ErrTimeout, false, limit},
	{"no final reply", testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("contents", testserver.Closed), testserver.EndControl(testserver.Stalled)), ftpexec.ErrTimeout, false, limit},
	{"no data of a listing", testserver.On("NLST", testserver.Reply("150 x"), testserver.Data("", testserver.Stalled)), ftpexec.ErrTimeout, true, limit},

	{"slow 226", testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("contents", testserver.Closed),
		after(limit-1), testserver.Reply("226 x")), errNone, false, limit - 1},
	{"slow data", testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("con"), after(limit-1), testserver.Data("ten"),
		after(limit-1), testserver.Data("ts", testserver.Closed), testserver.Reply("226 x")), errNone, false, 2 * (limit - 1)},

	// If the data port cannot be reached, the server has a second to say why.
	{"data port refuses, silent at RETR", testserver.On("EPSV", testserver.Reply("500 no")).With("PASV", testserver.Reply("227 (127,0,0,1,0,1)")).
		With("RETR", testserver.EndControl(testserver.Stalled)), ftpexec.ErrConnect, false, time.Second},
	{"data port refuses, slow refusal", testserver.On("EPSV", testserver.Reply("500 no")).With("PASV", testserver.Reply("227 (127,0,0,1,0,1)")).
		With("RETR", after(time.Second-1), testserver.Reply("550 Permission denied")), ftpexec.ErrRefused, false, time.Second - 1},

	// The wait is short once the server has said that it sent everything.
	{"226 before the data", testserver.On("RETR", testserver.Reply("226 x"), testserver.Data("contents", testserver.Closed)), errNone, false, 0},
	{"226 with 150 before the data", testserver.On("RETR", testserver.Reply("150 x\r\n226 x"), testserver.Data("contents", testserver.Closed)), errNone, false, 0},
	{"226 before slow data", testserver.On("RETR", testserver.Reply("226 x"), after(finalGrace-1), testserver.Data("contents", testserver.Closed)), errNone, false, finalGrace - 1},
	{"226 and no data", testserver.On("RETR", testserver.Reply("226 x"), testserver.Data("", testserver.Stalled)).With("^CWD f$", testserver.Reply("550 x")), ftpexec.ErrTimeout, false, finalGrace},
	{"226 and a data connection that says nothing", testserver.On("NLST", testserver.Reply("226 nothing")), ftpexec.ErrTimeout, true, finalGrace},
	{"226 and a data connection that ends", testserver.On("NLST", testserver.Reply("226 nothing"), testserver.Data("", testserver.Closed)), errNone, true, 0},
	{"226 and a data connection that is refused", testserver.On("EPSV", testserver.Reply("229 (|||1|)")).With("NLST", testserver.Reply("226 nothing")), errNone, true, 0},
}

// after delays a server's replies.
func after(d time.Duration) testserver.Action {
	return ftptest.Call(func() { <-time.After(d) })
}

const limit = 20 * time.Second
const finalGrace = 5 * time.Second // for data after the final reply

// The client waits as long as its timeouts say, wherever the server falls silent, and no longer.
func TestWaits(t *testing.T) {
	for _, tt := range waits {
		for _, sequential := range []bool{false, true} {
			runInMemory(t, fmt.Sprintf("%s/sequential=%v", tt.name, sequential), func(t *testing.T, network *ftptest.Network) {
				s := network.NewScript(t, testserver.Honest("contents"), tt.step)
				c := &ftpexec.Client{Dial: network.Dial, Timeout: limit, NoPipelining: sequential}
				start := time.Now()
				got, err := do(t.Context(), c, parse(t, s.URL(pathOf(tt.list))))
				checkHostile(t, got, err, tt.want, tt.list)
				if took := time.Since(start); took != tt.took {
					t.Errorf("gave up after %v, want %v", took, tt.took)
				}
			})
		}
	}
}

func checkHostile(t *testing.T, got string, err, want error, listing bool) {
	t.Helper()
	if want != errNone {
		if !isAny(err, want) {
			t.Errorf("got %d bytes and error %v, want %v", len(got), err, want)
		}
		return
	}
	if err != nil || !listing && got != "contents" {
		t.Errorf("got %q and error %v, want it to work", got, err)
	}
}

// isAny reports whether err is want or one of the errors that want joins.
func isAny(err, want error) bool {
	if joined, ok := want.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(joined.Unwrap(), func(w error) bool { return errors.Is(err, w) })
	}
	return errors.Is(err, want)
}

// Wherever a cancellation strikes, the call returns at once, both connections close, and no goroutine is left (see
// TestMain).
func TestCancelAtEachStage(t *testing.T) {
	stages := map[string]func(cancel func()) testserver.Step{
		"data": func(f func()) testserver.Step {
			return testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("con"), ftptest.Call(f), testserver.Data("", testserver.Stalled))
		},
		"final reply": func(f func()) testserver.Step {
			return testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("contents", testserver.Closed), ftptest.Call(f), testserver.EndControl(testserver.Stalled))
		},
	}
	for _, verb := range []string{"", "USER", "CWD", "EPSV", "RETR"} {
		stages[verb] = func(f func()) testserver.Step {
			return testserver.On(verb, ftptest.Call(f), testserver.EndControl(testserver.Stalled))
		}
	}
	for name, step := range stages {
		runInMemory(t, name, func(t *testing.T, network *ftptest.Network) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			start := time.Now()
			s := network.NewScript(t, testserver.Honest("contents"), step(cancel))
			x := &exchange{dial: network.Dial}
			_, err := do(ctx, &ftpexec.Client{Dial: x.Dial}, parse(t, s.URL("/a/f")))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want context.Canceled", err)
			}
			if dials, open := x.now(); open != 0 {
				t.Errorf("%d of %d connections are still open", open, dials)
			}
			if took := time.Since(start); took != 0 {
				t.Errorf("waited for %v", took)
			}
		})
	}
}
