package ftpexec_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// exchange dials for a Client and counts its control connections to one server, or all connections if address is "".
type exchange struct {
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	address string
	max     int // MaxIdle of the Client
	most    int // its MaxConns
	total   int // what its Admit lets in together; 0 if it has none
	free    int // of them

	mu    sync.Mutex
	users int // calls that may hold a connection
	open  int
	dials int
	wrong []string
}

func (x *exchange) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := x.dial(ctx, network, address)
	if err != nil || x.address != "" && address != x.address {
		return conn, err
	}
	x.count(0, 1)
	return &counter{Conn: conn, x: x}, nil
}

// count adds to the users and to the open connections.
func (x *exchange) count(users, open int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.users += users
	x.open += open
	x.dials += max(open, 0)
	if open > 0 && x.most > 0 && x.open > x.most {
		x.wrong = append(x.wrong, fmt.Sprintf("%d connections, with MaxConns %d", x.open, x.most))
	}
	if open > 0 && x.total > 0 && x.open > x.total-x.free {
		x.wrong = append(x.wrong, fmt.Sprintf("%d connections, and only %d were admitted", x.open, x.total-x.free))
	}
	if open > 0 && x.open > x.max+x.users {
		x.wrong = append(x.wrong, fmt.Sprintf("%d connections for %d users, with MaxIdle %d", x.open, x.users, x.max))
	}
}

// now returns how many connections were dialled and how many are open.
func (x *exchange) now() (dials, open int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.dials, x.open
}

// admit is an Admit that waits until a connection is free.
func (x *exchange) admit(ctx context.Context, _ string) (release func(), err error) {
	for {
		x.mu.Lock()
		if x.free > 0 {
			x.free--
			x.mu.Unlock()
			return x.release, nil
		}
		x.mu.Unlock()
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (x *exchange) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.free++
}

func (x *exchange) fault(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.wrong = append(x.wrong, err.Error())
}

type counter struct {
	net.Conn
	x    *exchange
	once sync.Once
}

func (c *counter) Close() error {
	c.once.Do(func() { c.x.count(0, -1) })
	return c.Conn.Close()
}

// pooled returns a Client that keeps up to n connections to s, and the exchange that it dials with.
func pooled(n int, s interface{ Addr() string }, dial func(context.Context, string, string) (net.Conn, error)) (*ftpexec.Client, *exchange) {
	x := &exchange{dial: dial, address: s.Addr(), max: max(0, cmp.Or(n, ftpexec.DefaultMaxIdle))}
	return &ftpexec.Client{MaxIdle: n, Dial: x.Dial, Credentials: fixed("pass")}, x
}

func TestPool(t *testing.T) {
	for _, tt := range []struct {
		name  string
		idle  int
		steps []string // "user@/path"; a directory is listed; "?" before it asks for facts
		dials int
		open  int // in the end
	}{
		{"none", -1, []string{"/a/f", "/a/g"}, 2, 0},
		{"by default", 0, []string{"/a/f", "/a/g", "user@/a/f", "user:pass@/a/f", "/a/f"}, 3, 3},
		{"files", 1, []string{"/a/f", "/a/g", "/c/i"}, 1, 1},
		{"everything", 2, []string{"/a/f", "/a/", "?/a/g", "/a/missing", "/missing/f", "/k"}, 1, 1},
		{"logins", 1, []string{"/a/f", "user@/a/f", "/a/f"}, 3, 1},
		{"room for both logins", 2, []string{"/a/f", "user@/a/f", "/a/f", "user@/a/f"}, 2, 2},
		{"the oldest makes room", 2, []string{"/a/f", "user@/a/f", "user:pass@/a/f", "user@/a/f", "/a/f"}, 4, 2},
		{"refused login", 1, []string{"user:wrong@/a/f"}, 1, 0},
		{"another login after a refused one", 1, []string{"user:wrong@/a/f", "user@/a/f"}, 2, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := sessionServer(t)
			c, x := pooled(tt.idle, s, new(net.Dialer).DialContext)
			defer c.CloseIdleConnections()
			for _, step := range tt.steps {
				path, stat := strings.CutPrefix(step, "?")
				u, err := parse(t, s.URL(path)), error(nil)
				x.count(1, 0)
				if stat {
					_, err = c.Stat(t.Context(), u)
				} else {
					_, err = do(t.Context(), c, u)
				}
				x.count(-1, 0)
				if bad := strings.Contains(step, "missing") || strings.Contains(step, "wrong"); bad != (err != nil) {
					t.Errorf("%s: %v", step, err)
				}
			}
			if dials, open := x.now(); dials != tt.dials || open != tt.open || x.wrong != nil {
				t.Errorf("%d dials, %d open in the end, %q; want %d, %d", dials, open, x.wrong, tt.dials, tt.open)
			}
			c.CloseIdleConnections()
			if _, open := x.now(); open != 0 {
				t.Errorf("%d connections after CloseIdleConnections", open)
			}
		})
	}
}

// Of several idle connections, the one that is nearest to the file is used.
func TestPoolPrefersTheShortWay(t *testing.T) {
	s := sessionServer(t)
	c, x := pooled(3, s, new(net.Dialer).DialContext)
	defer c.CloseIdleConnections()
	var open []*ftpexec.Response
	for _, path := range []string{"/a/b/h", "/a/f", "/c/i"} {
		open = append(open, must.Get(c.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL(path))}))(t))
	}
	for _, r := range open {
		must.Get(io.Copy(io.Discard, r.Body))(t)
	}
	s.ResetCommands()
	for _, path := range []string{"/a/g", "/a/b/h", "/c/i"} {
		must.Get(read(t.Context(), c, parse(t, s.URL(path))))(t)
	}
	for _, line := range s.Commands() {
		if strings.HasPrefix(line, "CWD") {
			t.Errorf("%q although a connection is in the file's directory", line)
		}
	}
	if dials, open := x.now(); dials != 3 || open != 3 {
		t.Errorf("%d dials, %d open, want 3", dials, open)
	}
}

// An idle connection is closed with QUIT after IdleTimeout, but not if it was used meanwhile.
func TestIdleTimeout(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		s := network.NewScript(t, testserver.Honest("contents"))
		c, x := pooled(1, s, network.Dial)
		for range 3 {
			must.Get(read(t.Context(), c, parse(t, s.URL("/a/f"))))(t)
			<-time.After(ftpexec.IdleTimeout - 1)
			if dials, open := x.now(); dials != 1 || open != 1 {
				t.Errorf("before the timeout: %d dials, %d open, want 1", dials, open)
			}
		}
		<-time.After(1)
		synctest.Wait()
		if _, open := x.now(); open != 0 || count(s.Commands(), "QUIT") != 1 {
			t.Errorf("after the timeout: %d open, commands %q", open, s.Commands())
		}
	})
}

// With Admit, an idle connection is closed after IdleAdmitted, and after AdmittedTime it takes no further work.
// ConnectTimeout does not include the time in Admit. If Admit fails, the Client does not call release.
func TestAdmit(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		s := network.NewScript(t, testserver.Honest("contents"))
		c, x := pooled(2, s, network.Dial)
		c.Admit, x.free, c.ConnectTimeout = x.admit, 0, time.Second
		time.AfterFunc(10*c.ConnectTimeout, x.release)
		for range ftpexec.AdmittedTime/ftpexec.IdleAdmitted + 1 {
			must.Get(read(t.Context(), c, parse(t, s.URL("/a/f"))))(t)
			if dials, _ := x.now(); dials != 1 {
				t.Fatalf("%d dials, want 1", dials)
			}
			<-time.After(ftpexec.IdleAdmitted - 1)
		}
		must.Get(read(t.Context(), c, parse(t, s.URL("/a/f"))))(t)
		<-time.After(ftpexec.IdleAdmitted)
		synctest.Wait()
		if x.dials != 2 || x.open != 0 || x.free != 1 {
			t.Errorf("%d dials, %d open, %d free; want 2, 0, 1", x.dials, x.open, x.free)
		}
		why := errors.New("no")
		c.Admit = func(context.Context, string) (func(), error) { return func() { t.Error("released") }, why }
		c = &ftpexec.Client{MaxConns: 1, Dial: network.Dial, Admit: c.Admit}
		for range c.MaxConns + 1 { // the first call leaves nothing taken
			var e *ftpexec.Error
			if _, err := read(t.Context(), c, parse(t, s.URL("/a/f"))); !errors.As(err, &e) || e.Stage != "connect" || !errors.Is(err, why) {
				t.Errorf("got %v, want the error of Admit", err)
			}
		}
	})
}

// If the server has closed an idle connection, the Client makes a new one.
func TestPoolAfterTheServerHungUp(t *testing.T) {
	for _, end := range []testserver.Action{testserver.EndControl(testserver.Closed), testserver.EndControl(testserver.Reset), testserver.Reply("421 too long idle")} {
		s := testserver.New(t, nil, testserver.Honest("contents"), testserver.OnConn(1, testserver.On("#2 EPSV", end)))
		c, x := pooled(1, s, new(net.Dialer).DialContext)
		for range 3 {
			wantContents(t, c, parse(t, s.URL("/a/f")))
		}
		if dials, open := x.now(); dials != 2 || open != 1 || x.wrong != nil {
			t.Errorf("%d dials, %d open, %q; want 2, 1", dials, open, x.wrong)
		}
		c.CloseIdleConnections()
	}
}

// call is one thing that a goroutine does with the Client.
type call struct {
	login, path string
	how         string // "read", "follow", "close early", "stat", "give up", "impatient"
}

func (call call) run(ctx context.Context, c *ftpexec.Client, u *urlparse.URL) error {
	if call.how == "stat" {
		_, err := c.Stat(ctx, u)
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if call.how == "impatient" {
		ctx, cancel = context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
	}
	r, err := c.Do(ctx, &ftpexec.Request{URL: u, More: func() bool { return call.how == "follow" }})
	if call.how == "impatient" && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Body.Close()
	switch call.how {
	case "close early":
		return nil
	case "give up":
		cancel()
		return nil
	}
	got, err := io.ReadAll(r.Body)
	if err == nil && string(got) != "contents" {
		err = fmt.Errorf("got %q", got)
	}
	return err
}

// Whatever many goroutines do, every call succeeds, which it would not if two calls shared a session. There are never
// more connections than the bounds allow, no call waits for ever, and in the end no connection is left.
func TestPoolModel(t *testing.T) {
	one := rapid.Custom(func(t *rapid.T) call {
		return call{
			rapid.SampledFrom([]string{"u:p", "v:p"}).Draw(t, "login"),
			rapid.SampledFrom([]string{"/f", "/a/f", "/a/b/f", "/c/f"}).Draw(t, "path"),
			rapid.SampledFrom([]string{"read", "follow", "stat", "close early", "give up", "impatient"}).Draw(t, "how"),
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		idle := rapid.IntRange(-1, 4).Draw(rt, "MaxIdle")
		most := rapid.IntRange(0, 3).Draw(rt, "MaxConns")
		free := rapid.IntRange(0, 3).Draw(rt, "admitted")
		hangUp := rapid.IntRange(2, 6).Draw(rt, "the server hangs up at this EPSV")
		users := rapid.SliceOfN(rapid.SliceOfN(one, 0, 6), 1, 6).Draw(rt, "users")
		var wrong []string
		inMemory(t, func(t *testing.T, network *ftptest.Network) {
			s := network.NewScript(t, testserver.Honest("contents"), testserver.On(fmt.Sprintf("#%d EPSV", hangUp), testserver.EndControl(testserver.Closed)))
			c, x := pooled(idle, s, network.Dial)
			c.MaxConns, x.most, x.total, x.free = most, most, free, free
			if free > 0 {
				c.Admit = x.admit
			}
			var all sync.WaitGroup
			for _, calls := range users {
				all.Go(func() {
					for _, call := range calls {
						x.count(1, 0)
						err := call.run(t.Context(), c, parse(t, s.URL(call.login+"@"+call.path)))
						x.count(-1, 0)
						if err != nil {
							x.fault(err)
						}
					}
				})
			}
			all.Wait()
			if _, open := x.now(); open > x.max {
				x.fault(fmt.Errorf("%d idle connections", open))
			}
			<-time.After(ftpexec.IdleTimeout)
			synctest.Wait()
			if _, open := x.now(); open != 0 {
				x.fault(fmt.Errorf("%d connections left", open))
			}
			if x.free != free {
				x.fault(fmt.Errorf("%d are free in the end, want %d", x.free, free))
			}
			wrong = x.wrong
		})
		if wrong != nil {
			rt.Fatal(wrong)
		}
	})
}
