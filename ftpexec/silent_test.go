package ftpexec_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// silences are transfers that a server begins and for which it sends nothing, with what it says to SIZE, the error if
// that may pass, and how long it takes to notice.
var silences = []struct {
	name string
	size string
	retr []testserver.Action
	want error
	took time.Duration
}{
	{"npm's ftpd", "213 4096", []testserver.Action{testserver.Reply("150 x"), testserver.Data("", testserver.Stalled)}, ftpexec.ErrTimeout, limit},
	{"no SIZE", "500 x", []testserver.Action{testserver.Reply("150 x"), testserver.Data("", testserver.Stalled)}, ftpexec.ErrTimeout, limit},
	{"SIZE 0", "213 0", []testserver.Action{testserver.Reply("150 x"), testserver.Data("", testserver.Stalled)}, ftpexec.ErrTimeout, limit + 2*time.Second},
	{"226 and an open data connection", "213 4096", []testserver.Action{testserver.Reply("226 x"), testserver.Data("", testserver.Stalled)}, ftpexec.ErrTimeout, finalGrace},
	{"226", "213 4096", []testserver.Action{testserver.Reply("150 x"), testserver.Data("", testserver.Closed), testserver.Reply("226 x")}, ftpexec.ErrTruncated, 0},
	{"426", "213 4096", []testserver.Action{testserver.Reply("150 x"), testserver.Data("", testserver.Closed), testserver.Reply("426 x")}, ftpexec.ErrTruncated, 0},
}

// answers are what the second connection says to the question whether the name is a directory, and whether it is one.
var answers = []struct {
	name  string
	steps testserver.Step
	is    bool
	most  time.Duration // how long it may take
}{
	{"a directory", testserver.On("^CWD f.none$", testserver.Reply("550 x")), true, 0},
	{"a file", testserver.On("^CWD f$", testserver.Reply("550 x")), false, 0},
	{"every name is entered", nil, false, 0},
	{"closed at the second CWD", testserver.On("^CWD f.none$", testserver.EndControl(testserver.Closed)), false, 0},
	{"421", testserver.On("", testserver.Reply("421 x"), testserver.EndControl(testserver.Closed)), false, time.Second},
	{"no reply", testserver.On("^CWD f$", testserver.EndControl(testserver.Stalled)), false, limit * 3 / 2},
}

// A transfer that brings nothing may be one of a directory. CWD tells, in one more connection, which the next try uses
// if it was none.
func TestSilentDirectories(t *testing.T) {
	n := 0
	for _, way := range silences {
		for _, answer := range answers {
			for _, sequential := range []bool{false, true} {
				n++
				runInMemory(t, way.name+"/"+answer.name, func(t *testing.T, network *ftptest.Network) {
					first, connections := true, 0
					s := network.NewScript(t, testserver.Honest("contents").With("SIZE", testserver.Reply(way.size)), func(d *testserver.Dialogue) {
						if connections++; first {
							testserver.On("RETR", way.retr...)(d)
							first = false
						} else if answer.steps != nil {
							answer.steps(d)
						}
					})
					c := closing(t, &ftpexec.Client{Dial: network.Dial, Timeout: limit, NoPipelining: sequential})
					start := time.Now()
					_, err := read(t.Context(), c, parse(t, s.URL("/a/f")))
					if took := time.Since(start); took < way.took || took > way.took+answer.most {
						t.Errorf("took %v, want %v and at most %v more", took, way.took, answer.most)
					}
					if is := errors.Is(err, ftpexec.ErrIsDirectory); is != answer.is || ftpexec.Retryable(err) == is || !is && !errors.Is(err, way.want) {
						t.Errorf("got %v, want a directory: %v", err, answer.is)
					}
					if answer.is && !strings.Contains(err.Error(), `End the URL in "/"`) {
						t.Errorf("%v does not say what to write", err)
					}
					if connections > 5 || answer.name == "a file" && connections != 2 {
						t.Errorf("%d connections: %q", connections, s.Commands())
					}
				})
			}
		}
	}
	t.Logf("%d cases", n)
}

// Close ends the question whether a transfer that brought nothing was one of a directory.
func TestCloseWhileAsking(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		asked := make(chan struct{})
		s := network.NewScript(t, testserver.Honest("contents"), testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("", testserver.Stalled)),
			testserver.On("^CWD f$", ftptest.Call(func() { close(asked) }), testserver.EndControl(testserver.Stalled)))
		c := closing(t, &ftpexec.Client{Dial: network.Dial, Timeout: limit})
		r := must.Get(c.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/a/f"))}))(t)
		failed := make(chan error)
		go func() {
			_, err := io.Copy(io.Discard, r.Body)
			failed <- err
		}()
		<-asked
		start := time.Now()
		_ = r.Body.Close()
		if err := <-failed; time.Since(start) != 0 || !errors.Is(err, ftpexec.ErrTimeout) || errors.Is(err, context.Canceled) {
			t.Errorf("after %v, got %v", time.Since(start), err)
		}
	})
}
