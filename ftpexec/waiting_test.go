package ftpexec_test

import (
	"context"
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
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/internal/rules/must"
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

// A server may count a connection for a while after it has been closed. Every call of a Client whose MaxConns is what the
// server bears tries again until it does not.
func TestMaxConnsServerIsSlowToForget(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		c, s := forgetful(t, network, 1, tooMany, slow)
		c.MaxConns = 1
		file := parse(t, s.URL("/a/f"))
		full, other := forgetful(t, network, 0, tooMany, 0)
		if _, err := full.Stat(t.Context(), parse(t, other.URL("/a/f"))); !errors.Is(err, ftpexec.ErrTooMany) || other.Connections() != 1 {
			t.Errorf("a server that is full with others: got %v after %d connections, want ErrTooMany after 1", err, other.Connections())
		}
		for name, call := range everyCall(c, file, parse(t, s.URL("/a/"))) {
			given := must.Get(c.Do(t.Context(), &ftpexec.Request{URL: file}))(t)
			given.Body.Close() // and with it the connection
			if err := call(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

const (
	tooMany = "421 Too many connections"
	slow    = 600 * time.Millisecond // in which a server counts a connection that has been closed
)

// forgetful returns a server that bears most connections and counts each for a while after it has been closed, and a
// Client for it. It refuses others instead of greeting, or after PASS if refusal is a 530.
func forgetful(t *testing.T, network *ftptest.Network, most int64, refusal string, memory time.Duration) (*ftpexec.Client, *testserver.Server) {
	var admitted atomic.Int64
	admit := func(welcome string) testserver.Action {
		return func(c *testserver.Conn) error {
			if admitted.Add(1) <= most {
				return testserver.Reply(welcome)(c)
			}
			admitted.Add(-1)
			return errors.Join(testserver.Reply(refusal)(c), testserver.End(testserver.Closed)(c))
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
