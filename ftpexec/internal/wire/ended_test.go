package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/internal/testkit/must"
)

// TestAdvanceUnanswered has a server that answers no EPSV sent ahead: the wait is short, and the error says that one
// command at a time may work.
func TestAdvanceUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, there := connected(t, Config{Timeout: time.Hour})
		var server sync.WaitGroup
		defer server.Wait()
		defer there.Close()
		server.Go(func() { _, _ = io.Copy(io.Discard, there) })
		c.Advance(Line{Text: "EPSV", Shown: "EPSV"})
		start := time.Now()
		_, err := c.Receive()
		if took := time.Since(start); !errors.As(err, new(*AheadError)) || !errors.Is(err, ErrTimeout) || took != portTimeout {
			t.Errorf("got %v after %v, want an AheadError after %v", err, took, portTimeout)
		}
	})
}

// connected returns a Conn and the server's end of its connection.
func connected(t *testing.T, cfg Config) (c *Conn, there net.Conn) {
	here, there := net.Pipe()
	c = New(cfg)
	must.Do(t, c.adopt(here))
	t.Cleanup(c.Close)
	return c, there
}

// TestLost says which errors commands sent ahead may have caused.
func TestLost(t *testing.T) {
	one, two := []Line{{Text: "A"}}, []Line{{Text: "A"}, {Text: "B"}}
	timeout := timedOut("no reply", time.Minute)
	for _, tt := range []struct {
		err   error
		size  int
		out   []Line
		ahead bool
	}{
		{nil, 2, one, false},
		{io.ErrUnexpectedEOF, 2, one, true},
		{io.ErrUnexpectedEOF, 2, two, true},
		{io.ErrUnexpectedEOF, 1, one, false},
		{ErrStray, 2, one, true},
		{ErrStray, 1, one, false},
		{timeout, 2, one, true},
		{timeout, 2, two, false}, // the server just does not answer
		{timeout, 1, one, false},
		{&DataDialError{ErrConnect}, 2, one, false},
		{ErrTLS, 2, one, false},
	} {
		c := &Conn{out: tt.out, flightSize: tt.size}
		got := c.lost(tt.err)
		if errors.As(got, new(*AheadError)) != tt.ahead || !tt.ahead && got != tt.err {
			t.Errorf("%v, %d of %d not answered: got %v, want that it may be so: %v", tt.err, len(tt.out), tt.size, got, tt.ahead)
		}
	}
}

// TestEnds closes connections: while they connect, while they are used, and by the end of a context.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		c := New(Config{Dial: dial, ConnectTimeout: time.Hour})
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer c.Begin(ctx)()
		time.AfterFunc(time.Minute, func() { cancel(cause) })
		if _, err := c.Connect(); !errors.Is(err, cause) || time.Since(start) != time.Minute {
			t.Errorf("while it connects: got %v after %v, want the cause after a minute", err, time.Since(start))
		}
	})

	c, _ := connected(t, Config{})
	if err := c.Ended(); err != nil {
		t.Errorf("in use: ended by %v", err)
	}
	c.Close()
	if err := c.Ended(); !errors.Is(err, ErrLost) {
		t.Errorf("after Close: ended by %v, want ErrLost", err)
	}
	late, _ := net.Pipe()
	if err := c.adopt(late); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a connection that opens after Close: got %v", err)
	}

	c, there := connected(t, Config{})
	cause := errors.New("senseless data")
	c.Abandon(cause)
	if _, err := there.Read(make([]byte, 1)); err != io.EOF || c.Err() != cause {
		t.Errorf("after Abandon: the server reads %v, the error is %v", err, c.Err())
	}

	c, _ = connected(t, Config{})
	cause = errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := c.Begin(ctx)
	cancel(cause)
	if err := c.Ended(); err != cause {
		t.Errorf("after the end of the context: ended by %v, want %v", err, cause)
	}
	stop()
}

// TestExplain gives errors of the system the causes that callers tell apart.
func TestExplain(t *testing.T) {
	op := func(op string, errno error) error {
		return &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError("connect", errno)}
	}
	other := errors.New("of a Dial function")
	for _, tt := range []struct{ err, want error }{
		{io.EOF, io.EOF},
		{other, other},
		{op("dial", syscall.ECONNREFUSED), ErrConnect},
		{op("dial", syscall.ECONNRESET), ErrLost}, // it was open for a moment
		{op("read", syscall.ECONNRESET), ErrLost},
		{op("read", syscall.ETIMEDOUT), ErrLost},
		{op("write", syscall.EPIPE), ErrLost},
		{net.ErrClosed, ErrLost},
		{io.ErrUnexpectedEOF, ErrLost},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, ErrTLS},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, ErrResolve},
		{&net.DNSError{Err: "server misbehaving"}, ErrResolve},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "i/o timeout", IsTimeout: true}}, ErrConnect},
	} {
		got := explain(tt.err)
		if !errors.Is(got, tt.want) || tt.want == ErrLost && errors.Is(got, ErrConnect) {
			t.Errorf("%v: got %v, want %v", tt.err, got, tt.want)
		}
		if (tt.want == tt.err) != (got == tt.err) {
			t.Errorf("%v became %v", tt.err, got)
		}
	}
}

// TestSenselessIsShown checks that an error about a reply quotes its beginning.
func TestSenselessIsShown(t *testing.T) {
	for in, want := range map[string]string{
		"hello\r\n":                       `: "hello"`,
		strings.Repeat("a", 100) + "\r\n": fmt.Sprintf(": %q", strings.Repeat("a", 80)),
	} {
		if _, err := readReply(reader(in), unmasked); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: got %v, want that it ends in %s", in, err, want)
		}
	}
}

// TestDataFailure says why the data connection of a transfer could not be opened, if there is one.
func TestDataFailure(t *testing.T) {
	c, there := connected(t, Config{ConnectTimeout: time.Hour})
	if err := c.DataFailure(); err != nil {
		t.Errorf("without a data connection: %v", err)
	}
	c.data = c.openData(t.Context(), nil, func(context.Context) (net.Conn, error) { return nil, syscall.ECONNREFUSED })
	<-c.data.ready
	if err := c.DataFailure(); !errors.As(err, new(*DataDialError)) || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("refused: %v", err)
	}
	c.data = c.openData(t.Context(), nil, func(context.Context) (net.Conn, error) { return there, nil })
	if err := c.DataFailure(); err != nil {
		t.Errorf("open: %v", err)
	}
	if _, err := there.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("it is still open: %v", err)
	}
}

// TestImplicitTLSLost ends the connection in place of the first TLS handshake: another try may succeed, as before a
// greeting.
func TestImplicitTLSLost(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			_, _ = there.Read(make([]byte, 1<<16)) // all of the ClientHello
			there.Close()
		}()
		return here, nil
	}
	c := New(Config{Dial: dial, ConnectTimeout: time.Hour, ImplicitTLS: true, TLSConfig: &tls.Config{ServerName: "h"}})
	if _, err := c.Connect(); !errors.Is(err, ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
}

// TestCommandNotAccepted sends to a server that reads nothing.
func TestCommandNotAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, there := connected(t, Config{Timeout: time.Minute})
		defer there.Close()
		start := time.Now()
		err := c.Send(Line{Text: "NOOP", Shown: "NOOP"})
		if took := time.Since(start); !errors.Is(err, ErrTimeout) || !strings.Contains(err.Error(), "command not accepted for 1m") || took != time.Minute {
			t.Errorf("got %v after %v", err, took)
		}
	})
}

// TestLines compares the lines of replies with those that came.
func TestLines(t *testing.T) {
	for in, want := range map[string][]string{
		"200 ok\r\n":                            {"200 ok"},
		"211-Features:\r\n MDTM\r\n211 End\r\n": {"211-Features:", " MDTM", "211 End"},
		"230-a\r\n230-b\r\n230 c\r\n":           {"230-a", "230-b", "230 c"},
	} {
		got := must.Get(readReply(reader(in), unmasked))(t).Lines()
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestAskUnanswered waits less long for a reply that the caller can do without.
func TestAskUnanswered(t *testing.T) {
	for informs, want := range map[bool]time.Duration{false: time.Minute, true: aheadTimeout} {
		synctest.Test(t, func(t *testing.T) {
			c, there := connected(t, Config{Timeout: time.Minute})
			var server sync.WaitGroup
			defer server.Wait()
			defer there.Close()
			server.Go(func() { _, _ = io.Copy(io.Discard, there) })
			start := time.Now()
			_, err := c.Ask("FEAT", informs)
			if took := time.Since(start); !errors.Is(err, ErrTimeout) || took != want {
				t.Errorf("informs %v: got %v after %v, want ErrTimeout after %v", informs, err, took, want)
			}
		})
	}
}

// TestReplyOnALine shows replies on one line, by the last line that says something.
func TestReplyOnALine(t *testing.T) {
	for text, want := range map[string]string{
		"ok": "211 ok", "Features:\n SIZE\nEnd": "211  SIZE", "\nlast": "211 last", "\nEnd": "211 End", "a\n211-b\nEnd.": "211 b", "": "211 ",
	} {
		if got := (Reply{211, text, text}).String(); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestRefusedAhead has a server refuse the EPSV sent ahead before its final reply, which then does not come, or comes
// late. The refusal is the final reply then, after a short wait; else it is the reply to EPSV.
func TestRefusedAhead(t *testing.T) {
	for _, late := range []time.Duration{0, aheadTimeout - time.Second, aheadTimeout + time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c, there := connected(t, Config{Timeout: time.Hour})
			var server sync.WaitGroup
			defer server.Wait()
			defer there.Close()
			server.Go(func() {
				_, _ = there.Read(make([]byte, 1<<10))
				_, _ = io.WriteString(there, "425 Not now\r\n")
				<-time.After(late)
				_, _ = io.WriteString(there, "226 Done\r\n")
			})
			c.Advance(Line{Text: "EPSV", Shown: "EPSV"})
			start := time.Now()
			r, err := c.finalReply()
			want, code := late, 226
			if late > aheadTimeout {
				want = aheadTimeout
				code = 425
			}
			if took := time.Since(start); err != nil || r.Code != code || took != want {
				t.Errorf("226 after %v: got %v, %v after %v, want %d after %v", late, r, err, took, code, want)
			}
			if ahead := c.advanceReply; (ahead != nil) != (code == 226) {
				t.Errorf("226 after %v: the reply to EPSV is %v", late, ahead)
			}
		})
	}
}

// TestAcceptEnds waits for a connection of a server that does not come.
func TestAcceptEnds(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	c, there := connected(t, Config{})
	defer there.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if conn, err := c.accept(ctx, l); conn != nil || !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, %v, want the error of a closed listener", conn, err)
	}
}

// TestRefusedAtTheEnd has a final reply that is no success: another may follow it, so the connection serves no second
// URL.
func TestRefusedAtTheEnd(t *testing.T) {
	c, there := connected(t, Config{Timeout: time.Minute})
	var server sync.WaitGroup
	defer server.Wait()
	defer there.Close()
	c.data = new(Data)
	defer func() { c.data = nil }()
	server.Go(func() { _, _ = io.WriteString(there, "426 broken\r\n") })
	if r, _ := c.Finish(false); r.Code != 426 || !errors.Is(c.Err(), ErrTruncated) {
		t.Errorf("got %v, the connection's error is %v", r, c.Err())
	}
}
