package ftpexec_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// leftEarly is what a server may do to a transfer that the client leaves: the first one, of "/a/f", which has 8 MiB. The
// data connection is open until the client closes it.
var leftEarly = []struct {
	name   string
	final  []testserver.Action // after the client has closed the data connection
	next   []testserver.Step   // on that connection
	logins int                 // for two transfers that are left, and a whole one
	took   time.Duration       // of the wait for the reply
}{
	{"426", replied("426 cut"), nil, 1, 0},
	{"451", replied("451 cut"), nil, 1, 0},
	{"426 of several lines", replied("426-cut\r\n226 no\r\n426 cut"), nil, 1, 0},
	{"226", replied("226 all sent"), nil, 1, 0},
	{"550", replied("550 Broken pipe"), nil, 1, 0},
	{"426 and then 226", replied("426 cut", "226 aborted"), nil, 1, 0},
	{"426 and 225", replied("426 cut\r\n225 closed"), nil, 1, 0},
	{"426 twice", replied("426 cut", "426 cut"), nil, 1, 0},
	{"226 twice", replied("226 cut\r\n226 cut"), nil, 1, 0},
	{"markers and 426", replied("110 MARK 1 = 1", "426 cut"), nil, 1, 0},
	{"150, as pure-ftpd", replied("150 0.002 seconds (measured here)"), nil, 1, 0},
	{"150 and then 426", replied("150 0.002 seconds", "426 cut"), nil, 1, 0},
	{"late 426", append([]testserver.Action{after(2*time.Second - 1)}, replied("426 cut")...), nil, 1, 2*time.Second - 1},

	{"too late", append([]testserver.Action{after(3 * time.Second)}, replied("426 cut")...), nil, 3, 2 * time.Second},
	{"no reply", []testserver.Action{testserver.EndControl(testserver.Stalled)}, nil, 3, 2 * time.Second},
	{"421", replied("421 bye"), nil, 3, 0},
	{"connection lost", []testserver.Action{testserver.EndControl(testserver.Closed)}, nil, 3, 0},
	{"connection reset", []testserver.Action{testserver.EndControl(testserver.Reset)}, nil, 3, 0},
	{"another command's reply", replied("200 done"), nil, 3, 0},
	{"no FTP", replied("cut"), nil, 3, 0},
	{"many replies", replied(strings.Repeat("226 x\r\n", 12) + "226 x"), nil, 3, 0},
	{"426 and a refusal", replied("426 cut", "550 cut"), nil, 3, 0},
	{"NOOP is not known", replied("426 cut"), []testserver.Step{testserver.On("NOOP", testserver.Reply("502 What?"))}, 3, 0},
	{"silent at NOOP", replied("426 cut"), []testserver.Step{testserver.On("NOOP", testserver.EndControl(testserver.Stalled))}, 3, 10 * time.Second},
	{"226 after the NOOP", replied("426 cut"), []testserver.Step{testserver.On("NOOP", testserver.Reply("200 x\r\n226 cut"))}, 3, 0},
	{"426 to EPSV", replied("426 cut"), []testserver.Step{testserver.On("#2 EPSV", testserver.Reply("426 cut\r\n500 What?"))}, 3, 0},
	{"226 to RETR", replied("426 cut"), []testserver.Step{testserver.On("#2 RETR", testserver.Reply("226 late"))}, 3, 0},
}

func replied(text ...string) (all []testserver.Action) {
	for _, line := range text {
		all = append(all, testserver.Reply(line))
	}
	return all
}

// After Close in the middle of a transfer the connection serves the next one, if the server's replies are clear. If they
// are not, the call after Close takes another connection, and later ones do not try again. No call takes a reply or a
// byte of the transfer that was left for its own.
func TestCloseEarly(t *testing.T) {
	for _, tt := range leftEarly {
		for _, sequential := range []bool{false, true} {
			if strings.Contains(tt.name, "NOOP") && !sequential { // the reply to EPSV does as well
				continue
			}
			runInMemory(t, fmt.Sprintf("%s/sequential=%v", tt.name, sequential), func(t *testing.T, network *ftptest.Network) {
				cut := append([]testserver.Action{testserver.Reply("150 x"), testserver.Data("some"), awaitClose}, tt.final...)
				steps := append([]testserver.Step{testserver.Honest("contents"), testserver.On("SIZE big", testserver.Reply("213 8388608")),
					testserver.On("RETR big", cut...)}, testserver.OnConn(1, tt.next...))
				s := network.NewScript(t, steps...)
				c, x := pooled(1, s, network.Dial)
				defer c.CloseIdleConnections()
				c.Timeout, c.NoPipelining = limit, sequential
				start := time.Now()
				for range 2 {
					r := must.Get(c.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/a/big"))}))(t)
					must.Get(io.ReadFull(r.Body, make([]byte, 4)))(t)
					before := time.Now()
					must.Do(t, r.Body.Close())
					if n, err := r.Body.Read(make([]byte, 1)); n != 0 || !errors.Is(err, fs.ErrClosed) || time.Since(before) != 0 {
						t.Errorf("Close took %v, then Read: %d, %v", time.Since(before), n, err)
					}
				}
				wantContents(t, c, parse(t, s.URL("/a/f")))
				wantContents(t, c, parse(t, s.URL("/a/f")))
				if dials, _ := x.now(); dials != tt.logins {
					t.Errorf("%d logins, want %d", dials, tt.logins)
				}
				waits := time.Duration(2)
				if tt.logins > 1 { // the server is remembered
					waits = 1
				}
				if took := time.Since(start); took != waits*tt.took {
					t.Errorf("took %v, want %d times %v", took, waits, tt.took)
				}
			})
		}
	}
}

// awaitClose waits until the client closes the data connection.
func awaitClose(c *testserver.Conn) error {
	data := c.Data()
	if data == nil {
		return errors.New("no data connection")
	}
	_, _ = data.Read(make([]byte, 1))
	return data.Close()
}

// The idle connections that the Client keeps do not include those in use: six goroutines that retrieve file after file
// log in six times, without a MaxIdle.
func TestPoolKeepsWhatManyUse(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		s := network.NewScript(t, testserver.Honest("contents"))
		c, x := pooled(0, s, network.Dial)
		defer c.CloseIdleConnections()
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				for range 50 {
					wantContents(t, c, parse(t, s.URL("/a/f")))
				}
			})
		}
		all.Wait()
		if dials, open := x.now(); dials != 6 || open != 6 {
			t.Errorf("%d logins, %d connections in the end; want 6", dials, open)
		}
	})
}

// A Close while another goroutine reads ends that Read, and the connection. So does the end of the context.
func TestCloseDuringRead(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		s := network.NewScript(t, testserver.Honest("contents"), testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("con", testserver.Stalled)))
		c, x := pooled(1, s, network.Dial)
		r := must.Get(c.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/a/f"))}))(t)
		must.Get(io.ReadFull(r.Body, make([]byte, 3)))(t)
		done := make(chan error)
		go func() {
			_, err := r.Body.Read(make([]byte, 1))
			done <- err
		}()
		synctest.Wait()
		must.Do(t, r.Body.Close())
		if err := <-done; !errors.Is(err, fs.ErrClosed) {
			t.Errorf("Read returns %v", err)
		}
		if _, open := x.now(); open != 0 {
			t.Errorf("%d connections are open", open)
		}
	})
}

// A request beyond the end of a file fails in the same way on every server, and one at the end brings nothing.
func TestOffsetBeyondTheEnd(t *testing.T) {
	for name, step := range map[string]testserver.Step{
		"sends nothing":      testserver.On("RETR", testserver.Transfer("")),
		"refuses RETR":       testserver.On("RETR", testserver.Reply("554 Restart offset is beyond the end")),
		"refuses REST":       testserver.On("REST", testserver.Reply("554 beyond the end")),
		"starts from byte 0": testserver.On("RETR", testserver.Transfer("contents")),
	} {
		for _, offset := range []int64{9, 10, 1 << 40} {
			s := testserver.New(t, nil, testserver.Honest("contents"), step)
			c := closing(t, new(ftpexec.Client))
			r, err := c.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/f")), Offset: offset})
			if r != nil || !errors.Is(err, ftpexec.ErrNoRestart) || !strings.Contains(err.Error(), "the file has 8 bytes") || ftpexec.Retryable(err) {
				t.Errorf("%s, offset %d: %v", name, offset, err)
			}
			if got := count(s.Commands(), "REST 9"); got > 0 {
				t.Errorf("%s, offset %d: sent REST", name, offset)
			}
			if err == nil {
				continue
			}
			if _, err := c.Stat(t.Context(), parse(t, s.URL("/f"))); err != nil || s.Connections() != 1 { // the connection is kept
				t.Errorf("%s, offset %d: then %v, %d connections", name, offset, err, s.Connections())
			}
		}
	}
}

// Hash takes the usual spellings of an algorithm, and fails with errors.ErrUnsupported for any other text.
func TestHashSpellings(t *testing.T) {
	sum := sha256.Sum256([]byte("contents"))
	s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("FEAT", testserver.Reply("211-x\r\n XSHA256\r\n211 y")),
		testserver.On("XSHA256", testserver.Reply(fmt.Sprintf("250 %x", sum))))
	c := closing(t, new(ftpexec.Client))
	for _, algorithm := range []string{"sha256", "SHA256", "SHA-256", "sha-256", "sha_256", "SHA2-256"} {
		if got, err := c.Hash(t.Context(), parse(t, s.URL("/f")), algorithm); err != nil || string(got) != string(sum[:]) {
			t.Errorf("%s: %x, %v", algorithm, got, err)
		}
	}
	for _, algorithm := range []string{"", " ", "blake2b", "bsdsum", "sha", "sha2", "sha2-", "sha3-256", "64", "SHA-512 x", "sha256\r\nDELE f", "\x00", "\xff", strings.Repeat("x", 1000)} {
		before := len(s.Commands())
		_, err := c.Hash(t.Context(), parse(t, s.URL("/f")), algorithm)
		if e := (*ftpexec.Error)(nil); !errors.Is(err, errors.ErrUnsupported) || !errors.As(err, &e) || strings.ContainsAny(err.Error(), "\r\n\x00") || len(err.Error()) > 500 {
			t.Errorf("%q: %v", algorithm, err)
		}
		if len(s.Commands()) != before {
			t.Errorf("%q: sent %q", algorithm, s.Commands()[before:])
		}
	}
}

// What the caller forgot is an *Error that says so, and nothing is sent.
func TestForgotten(t *testing.T) {
	u := parse(t, "ftp://127.0.0.1:4/f")
	var none context.Context
	for want, c := range map[string]*ftpexec.Client{
		"no context": {}, "no URL": {}, "a time is negative": {Timeout: -1}, "time is negative": {ConnectTimeout: -1}, "is negative": {MinRateTime: -1}, "MaxConns is negative": {MaxConns: -1},
	} {
		c.Dial = func(context.Context, string, string) (net.Conn, error) {
			t.Errorf("%s: a connection", want)
			return nil, errors.New("no")
		}
		ctx, file := t.Context(), u
		switch want {
		case "no context":
			ctx = none
		case "no URL":
			file = nil
		}
		_, do := c.Do(ctx, &ftpexec.Request{URL: file})
		_, stat := c.Stat(ctx, file)
		_, hash := c.Hash(ctx, file, "md5")
		all := []error{do, stat, hash}
		for _, err := range c.StatAll(ctx, []*urlparse.URL{file}) {
			all = append(all, err)
		}
		for i, err := range all {
			if e := (*ftpexec.Error)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), want) || strings.HasPrefix(err.Error(), ":") {
				t.Errorf("%s, call %d: %v", want, i, err)
			}
		}
	}
}

// StatAll yields a result for each URL, also for those that are nil.
func TestStatAllNil(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("contents"))
	c := closing(t, new(ftpexec.Client))
	f := parse(t, s.URL("/f"))
	for _, urls := range [][]*urlparse.URL{{nil}, {nil, nil}, {nil, f}, {f, nil}, {nil, f, nil, f}, {f, nil, nil, f, nil}} {
		n := 0
		for e, err := range c.StatAll(t.Context(), urls) {
			if n >= len(urls) || (urls[n] == nil) != (err != nil) || err == nil && e.Size != 8 {
				t.Errorf("%v, %d: %v, %v", urls, n, e, err)
			}
			n++
		}
		if n != len(urls) {
			t.Errorf("%v: %d results", urls, n)
		}
	}
}
