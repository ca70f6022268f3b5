package ftpexec_test

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// openConn is a connection that counts as open until Close has ended, which takes a while.
type openConn struct {
	net.Conn
	end func()
}

func (c *openConn) Close() error {
	<-time.After(time.Millisecond)
	defer c.end()
	return c.Conn.Close()
}

// TestAdmittedUntilClosed ends the context of each kind of call at each command. The Client must call the function that
// Admit has returned, and only after the connection is closed.
func TestAdmittedUntilClosed(t *testing.T) {
	calls := map[string]func(context.Context, *ftpexec.Client, *urlparse.URL){
		"Do": func(ctx context.Context, c *ftpexec.Client, u *urlparse.URL) {
			if r, err := c.Do(ctx, &ftpexec.Request{URL: u}); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
		},
		"Stat": func(ctx context.Context, c *ftpexec.Client, u *urlparse.URL) { _, _ = c.Stat(ctx, u) },
		"Hash": func(ctx context.Context, c *ftpexec.Client, u *urlparse.URL) { _, _ = c.Hash(ctx, u, "md5") },
		"List": func(ctx context.Context, c *ftpexec.Client, u *urlparse.URL) {
			for range c.List(ctx, u.Child("", "")) {
			}
		},
	}
	for name, call := range calls {
		for _, verb := range []string{"", "USER", "TYPE", "SIZE", "EPSV", "RETR", "NLST", "FEAT", "QUIT"} {
			for range night.Or(5, 50) {
				ctx, cancel := context.WithCancel(t.Context())
				srv := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/f": "contents"}, Fault: func(c *testserver.Conn) testserver.Action {
					if c.Verb == verb {
						cancel()
					}
					return nil
				}})
				var open, early, admitted atomic.Int64
				var c ftpexec.Client
				c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := new(net.Dialer).DialContext(ctx, network, address)
					if err != nil || address != srv.Addr() {
						return conn, err
					}
					open.Add(1)
					return &openConn{conn, sync.OnceFunc(func() { open.Add(-1) })}, nil
				}
				c.Admit = func(context.Context, string) (func(), error) {
					admitted.Add(1)
					return func() {
						early.Add(open.Load())
						admitted.Add(-1)
					}, nil
				}
				call(ctx, &c, must.Get(urlparse.Parse(srv.URL("/d/f")))(t))
				c.CloseIdleConnections()
				if early.Load() > 0 || admitted.Load() > 0 || open.Load() > 0 {
					t.Fatalf("%s, ended at %q: %d connections outlive what Admit returned, of which %d are not called", name, verb, early.Load(), admitted.Load())
				}
				cancel()
				srv.Close()
			}
		}
	}
}
