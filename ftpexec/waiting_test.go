package ftpexec_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// capped returns a Client with MaxConns for a script in memory, and the exchange that it dials with.
func capped(t *testing.T, network *ftptest.Network, most int) (*ftpexec.Client, *exchange, *testserver.Server) {
	s := network.NewScript(t, testserver.Honest("contents"))
	c, x := pooled(0, s, network.Dial)
	c.MaxConns, x.most = most, most
	t.Cleanup(func() {
		c.CloseIdleConnections()
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, wrong := range x.wrong {
			if strings.Contains(wrong, "MaxConns") {
				t.Error(wrong)
			}
		}
	})
	return c, x, s
}

// Calls get the only connection in the order in which they came. One that gives up while it waits is left out, and says
// what it waited for.
func TestMaxConnsInTurn(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		c, _, s := capped(t, network, 1)
		u := parse(t, s.URL("/a/f"))
		first := must.Get(c.Do(t.Context(), &ftpexec.Request{URL: u}))(t)
		var all sync.WaitGroup
		impatient, cancel := context.WithCancelCause(t.Context())
		why := errors.New("no time left")
		for i := range 6 {
			all.Go(func() {
				ctx := t.Context()
				if i%3 == 1 {
					ctx = impatient
				}
				got, err := read(ctx, c, parse(t, s.URL(fmt.Sprint("/a/", i))))
				switch {
				case i%3 != 1 && (err != nil || got != "contents"):
					t.Errorf("call %d: got %q, %v", i, got, err)
				case i%3 == 1 && (!errors.Is(err, why) || !strings.Contains(err.Error(), "all 1 connections to the server are in use")):
					t.Errorf("call %d: got %v, want the cause of its context", i, err)
				}
			})
			synctest.Wait()
		}
		cancel(why)
		synctest.Wait()
		must.Get(io.Copy(io.Discard, first.Body))(t)
		all.Wait()
		order := slices.DeleteFunc(s.Commands(), func(line string) bool { return !strings.HasPrefix(line, "RETR ") })
		if want := []string{"RETR f", "RETR 0", "RETR 2", "RETR 3", "RETR 5"}; !slices.Equal(order, want) || s.Connections() != 1 {
			t.Errorf("%q on %d connections, want %q on 1", order, s.Connections(), want)
		}
	})
}

// everyCall has every method of a Client that takes a connection.
func everyCall(c *ftpexec.Client, file, dir *urlparse.URL) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Open":    func(ctx context.Context) error { _, err := read(ctx, c, file); return err },
		"Stat":    func(ctx context.Context) error { _, err := c.Stat(ctx, file); return err },
		"List":    func(ctx context.Context) error { _, err := list(ctx, c, dir); return err },
		"Entries": func(ctx context.Context) error { _, _, err := entriesOf(ctx, c, dir); return err },
		"Hash": func(ctx context.Context) error {
			if _, err := c.Hash(ctx, file, "md5"); !errors.Is(err, errors.ErrUnsupported) {
				return err
			}
			return nil
		},
		"StatAll": func(ctx context.Context) error {
			for _, err := range c.StatAll(ctx, []*urlparse.URL{file, file}) {
				return err
			}
			return nil
		},
	}
}

// All methods of a Client wait, and an idle connection of another login makes room.
func TestMaxConnsEveryMethod(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		c, _, s := capped(t, network, 1)
		file := parse(t, s.URL("/a/f"))
		for name, call := range everyCall(c, file, parse(t, s.URL("/a/"))) {
			other := must.Get(c.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("user:pass@/a/f"))}))(t)
			soon, cancel := context.WithTimeout(t.Context(), time.Minute)
			if err := call(soon); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s while the connection is in use: got %v, want DeadlineExceeded", name, err)
			}
			cancel()
			must.Get(io.Copy(io.Discard, other.Body))(t)
			if err := call(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A server may count a connection for a while after it has been closed. If MaxConns is the number of connections that
// the server accepts, every call tries again until the server no longer counts the closed one.
func TestMaxConnsServerIsSlowToForget(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		c, s := forgetful(t, network, 1, tooMany, slow)
		var d diary
		c.Trace = d.trace()
		c.MaxConns = 1
		file := parse(t, s.URL("/a/f"))
		full, other := forgetful(t, network, 0, tooMany, 0)
		if _, err := full.Stat(t.Context(), parse(t, other.URL("/a/f"))); !errors.Is(err, ftpexec.ErrTooMany) || other.Connections() != 1 {
			t.Errorf("a server that is full with others: got %v after %d connections, want ErrTooMany after 1", err, other.Connections())
		}
		for name, call := range everyCall(c, file, parse(t, s.URL("/a/"))) {
			ctx, cancel := context.WithCancel(t.Context())
			given := must.Get(c.Do(ctx, &ftpexec.Request{URL: file}))(t)
			cancel() // which closes the connection
			given.Body.Close()
			if err := call(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !strings.Contains(d.text(), "the server may still count a connection that has been closed: trying again\n") {
			t.Errorf("the trace does not say why: %s", d.text())
		}
	})
}

// If a context ends while the client waits before it tries again, the error says what it waited for.
func TestEndOfAWait(t *testing.T) {
	why := errors.New("no time left")
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		c, s := forgetful(t, network, 1, tooMany, time.Minute)
		c.MaxConns = 1
		u := parse(t, s.URL("/a/f"))
		given, hangUp := context.WithCancel(t.Context())
		r := must.Get(c.Do(given, &ftpexec.Request{URL: u}))(t)
		hangUp()
		r.Body.Close()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, why)
		defer cancel()
		_, err := read(ctx, c, u)
		e, ok := errors.AsType[*ftpexec.Error](err)
		if !ok || !errors.Is(err, why) || !errors.Is(err, context.DeadlineExceeded) || !e.Timeout() || ftpexec.Retryable(e) {
			t.Fatalf("got %v, want the end of the context and its cause", err)
		}
		if want := u.Redacted() + ": no time left (" + tooMany + ")"; err.Error() != want || e.Op != "connect" || e.Stage != "connect" || e.Code != 421 {
			t.Errorf("got %q at %q, want %q", err, e.Op, want)
		}
		<-time.After(time.Minute) // the server forgets the connection
	})
}

const tooMany = "421 Too many connections"
const slow = 600 * time.Millisecond // in which a server counts a connection that has been closed

// forgetful returns a server that accepts most connections at a time and counts each for a while after it has been
// closed, and a Client for it. It refuses others instead of greeting, or after PASS if refusal is a 530.
func forgetful(t *testing.T, network *ftptest.Network, most int64, refusal string, memory time.Duration) (*ftpexec.Client, *testserver.Server) {
	var admitted atomic.Int64
	admit := func(welcome string) testserver.Action {
		return func(c *testserver.Conn) error {
			if admitted.Add(1) <= most {
				return testserver.Reply(welcome)(c)
			}
			admitted.Add(-1)
			return errors.Join(testserver.Reply(refusal)(c), testserver.EndControl(testserver.Closed)(c))
		}
	}
	welcome, door := "220 Welcome.", testserver.On("", admit("220 Welcome."))
	if strings.HasPrefix(refusal, "530") {
		welcome, door = "230 Welcome.", testserver.On("PASS", admit("230 Welcome."))
	}
	s := network.NewScript(t, testserver.Honest("contents"), door)
	forget := func() { time.AfterFunc(memory, func() { admitted.Add(-1) }) }
	c := &ftpexec.Client{Dial: func(ctx context.Context, kind, address string) (net.Conn, error) {
		conn, err := network.Dial(ctx, kind, address)
		if err != nil {
			return nil, err
		}
		return &leaving{Conn: conn, welcome: welcome, forget: forget}, nil
	}}
	t.Cleanup(func() {
		c.CloseIdleConnections()
		<-time.After(time.Second)
	})
	return c, s
}

// leaving is a connection. If the server has welcomed it, it calls forget when it is closed.
type leaving struct {
	net.Conn
	welcome  string
	admitted atomic.Bool
	once     sync.Once
	forget   func()
}

func (c *leaving) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if strings.Contains(string(b[:n]), c.welcome) {
		c.admitted.Store(true)
	}
	return n, err
}

func (c *leaving) Close() error {
	c.once.Do(func() {
		if c.admitted.Load() {
			c.forget()
		}
	})
	return c.Conn.Close()
}

// transfers are the ways to transfer something. without matches commands that the server does not know.
var transfers = []struct{ verb, path, data, without string }{
	{"RETR", "/d/f", "contents", ""},
	{"RETR", "/d/f", "contents", "^(SIZE|MLST)"},
	{"RETR", "/d/f", "contents", "^SIZE"}, // MLST gives it
	{"RETR", "/d/f;type=a", "contents", "^(SIZE|MLST)"},
	{"MLSD", "/d/", "type=file;size=7; one\r\n", ""},
	{"LIST", "/d/", line("one"), "^(MLSD|NLST)"},
	{"NLST", "/d/", "one\r\n", "^(MLSD|LIST)"},
	{"NLST", "/d;type=d", "one\r\n", ""},
}

// ending retrieves transfers[i] from a server that ends it with the actions, and then a file in the same session. It
// returns how many connections there were, and the error of each.
func ending(t *testing.T, i int, secure bool, actions ...testserver.Action) (connections int, err, next error) {
	tr := transfers[i]
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		steps := []testserver.Step{testserver.Honest("contents"), testserver.On("MLST", testserver.Reply("250-x\r\n size=8; f\r\n250 End"))}
		if tr.without != "" {
			steps = append(steps, testserver.OnConn(1, testserver.On(tr.without, testserver.Reply("502 No."))))
		}
		match := "^" + tr.verb + "( d| -a| f)?$"
		s := network.NewScript(t, append(steps, testserver.On(match, append([]testserver.Action{testserver.Reply("150 x"), testserver.Data(tr.data)}, actions...)...))...)
		c := closing(t, &ftpexec.Client{Dial: network.Dial, TLSConfig: &tls.Config{RootCAs: s.RootCAs()}})
		url := func(path string) string {
			if secure {
				return strings.Replace(s.URL(path), "ftp:", "ftpes:", 1)
			}
			return s.URL(path)
		}
		var got string
		var names []string
		switch u := parse(t, url(tr.path)); {
		case tr.verb == "RETR":
			got, err = read(t.Context(), c, u)
		case u.Type != "" || tr.verb == "NLST":
			for e, lerr := range c.List(t.Context(), u) {
				names, err = append(names, e.Name), lerr
			}
		default:
			for e, lerr := range c.Entries(t.Context(), u) {
				names, err = append(names, e.Name), lerr
			}
		}
		if err == nil && got != "contents" && !slices.Equal(names, []string{"one"}) {
			t.Errorf("%+v: got %q, %q and no error", tr, got, names)
		}
		if got, next = read(t.Context(), c, parse(t, url("/d/next"))); next == nil && got != "contents" {
			t.Errorf("%+v: then got %q and no error", tr, got)
		}
		connections = s.Connections()
	})
	return connections, err, next
}

// TestEveryEnd tries the final replies of a transfer, and replies that follow them. 226, 250 and a code 2yz that
// answers no other command end the transfer. If nothing gives the size, no reply that contradicts the end may follow.
// The next file comes in any case.
func TestEveryEnd(t *testing.T) {
	ends, cases := []int{226, 250, 251, 299}, 0
	codes := append(slices.Clone(ends), 200, 202, 211, 212, 213, 214, 215, 220, 221, 225, 227, 228, 229, 230, 232, 234, 257, 300, 331, 350, 421, 425, 426, 450, 451, 503, 550, 552)
	behind := map[string]bool{"": true, "226 again": true, "250 again": true, "150 mark\r\n226 x": true, "426 x": false, "451 x": false, "421 x": false, "550 x": false, "229 (|||9|)": false, "noise": false, "226 x\r\n426 y": false}
	for i, tr := range transfers {
		for _, code := range codes {
			for more, harmless := range behind {
				if !slices.Contains(ends, code) && more != "" && more != "226 again" {
					continue
				}
				for _, secure := range []bool{false, true} {
					if cases++; cases%night.Or(23, 1) != 0 {
						continue
					}
					n, err, next := ending(t, i, secure, testserver.Data("", testserver.Closed), testserver.Reply(strings.TrimSuffix(fmt.Sprintf("%d x\r\n%s", code, more), "\r\n")))
					want := slices.Contains(ends, code) && (harmless || tr.verb == "RETR" && tr.without == "")
					if (err == nil) != want || next != nil || n > 2 {
						t.Errorf("%+v, TLS %v: %d, then %q: got %v, want success %v; next %v on connection %d", tr, secure, code, more, err, want, next, n)
					}
				}
			}
		}
	}
	t.Logf("%d cases", cases)
	if _, err, _ := ending(t, 4, false, testserver.Data("", testserver.Closed), testserver.Reply("200 mlsd transfer done")); err != nil {
		t.Errorf("the end of a listing by aioftp: %v", err)
	}
}

// A late reply arrives where the next command expects its own reply. That costs one connection.
func TestLateSecondEnd(t *testing.T) {
	for _, second := range []string{"226 again", "426 x", "226 a\r\n226 b"} {
		for _, at := range []string{"SIZE", "MDTM", "EPSV", "TYPE", "CWD"} {
			s := testserver.New(t, nil, testserver.Honest("contents"), testserver.OnConn(1,
				testserver.On("#2 "+at, testserver.Reply(second), testserver.Reply("213 8"))))
			session := &ftpexec.Client{}
			for _, name := range []string{"/f", "/d/next;type=a", "/last"} {
				if got, err := read(t.Context(), session, parse(t, s.URL(name))); err != nil || got != "contents" || s.Connections() > 2 {
					t.Errorf("%s before the reply to %s: %s: %q, %v on %d connections", second, at, name, got, err, s.Connections())
				}
			}
			session.CloseIdleConnections()
		}
	}
}

// TestDenials sweeps the wordings with which a positive reply says that something is missing, in all ways to list.
func TestDenials(t *testing.T) {
	for i, tr := range transfers {
		for kind, replies := range map[string][]string{"partial": repliesOf(t, "partial"), "aborted": repliesOf(t, "aborted"),
			"unopened": {"226 Transfer done (but failed to open directory).", "226-Sorry, we were unable to read [.]\r\n226 0 matches total"}} {
			for _, reply := range replies {
				for _, code := range []string{"226", "250"} {
					_, err, next := ending(t, i, false, testserver.Data("", testserver.Closed), testserver.Reply(strings.ReplaceAll(reply, "226", code)))
					var e *ftpexec.Error
					known := errors.As(err, &e)
					switch {
					case tr.verb == "RETR" && kind != "aborted":
						if err != nil {
							t.Errorf("%+v: %q: %v", tr, reply, err)
						}
					case next != nil, !known, kind == "partial" && (!errors.Is(err, ftpexec.ErrTruncated) || ftpexec.Retryable(e) || e.Hint == ""),
						kind == "unopened" && !isAny(err, errors.Join(ftpexec.ErrNotFound, ftpexec.ErrRefused)),
						kind == "aborted" && (!errors.Is(err, ftpexec.ErrTruncated) || !ftpexec.Retryable(e)):
						t.Errorf("%+v: %q: got %v, then %v", tr, reply, err, next)
					}
				}
			}
		}
	}
}

// TestAbruptEnd ends data under TLS without close_notify. A file without a size is then not whole, unless a file with a
// size has ended in the same way. A listing counts if it comes a second time.
func TestAbruptEnd(t *testing.T) {
	for i, tr := range transfers {
		for _, cut := range []bool{false, true} {
			data := []testserver.Action{ftptest.CutData(), testserver.Reply("226 x")}
			if !cut {
				data[0] = testserver.Data("", testserver.Closed)
			}
			n, err, _ := ending(t, i, true, data...)
			unsized := strings.Contains(tr.without, "MLST")
			switch {
			case !cut && (err != nil || n != 1), cut && unsized && !errors.Is(err, ftpexec.ErrTruncated), cut && !unsized && err != nil:
				t.Errorf("%+v, cut %v: %v on %d connections", tr, cut, err, n)
			case cut && tr.verb != "RETR" && n != 2:
				t.Errorf("%+v: %d connections, want 2", tr, n)
			}
		}
	}
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		s := network.NewScript(t, testserver.Honest("contents"), testserver.On("^(SIZE|MLST) (first|third)", testserver.Reply("502 No.")),
			testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("contents"), ftptest.CutData(), testserver.Reply("226 x")))
		notes := 0
		c := &ftpexec.Client{MaxIdle: -1, Dial: network.Dial, TLSConfig: &tls.Config{RootCAs: s.RootCAs()}, Trace: &ftpexec.Trace{Note: func(n ftpexec.NoteInfo) { notes += strings.Count(n.Text, "close_notify") }}}
		for _, name := range []string{"first", "second", "third", "second"} {
			_, err := read(t.Context(), c, parse(t, strings.Replace(s.URL("/"+name), "ftp:", "ftpes:", 1)))
			if (err != nil) != (name == "first") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if notes != 1 {
			t.Errorf("said %d times that close_notify is missing, want once", notes)
		}
	})
}
