package ftpexec_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// tunnel is a connection as golang.org/x/crypto/ssh has it: it supports neither deadlines nor addresses.
type tunnel struct{ net.Conn }

var errNoDeadline = errors.New("deadline not supported")

func (tunnel) SetDeadline(time.Time) error      { return errNoDeadline }
func (tunnel) SetReadDeadline(time.Time) error  { return errNoDeadline }
func (tunnel) SetWriteDeadline(time.Time) error { return errNoDeadline }
func (tunnel) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4zero} }

// tunnelled returns a Dial function for connections through a tunnel to this host.
func tunnelled(t *testing.T, network *ftptest.Network, host string) dialFunc {
	return func(ctx context.Context, kind, address string) (net.Conn, error) {
		if got, _, _ := net.SplitHostPort(address); got != host {
			t.Errorf("dials %s, not on %s", address, host)
		}
		conn, err := network.Dial(ctx, kind, address)
		return tunnel{conn}, err
	}
}

// Connections without deadlines work, and every wait is as long as it should be.
func TestTunnels(t *testing.T) {
	for _, tt := range waits {
		runInMemory(t, tt.name, func(t *testing.T, network *ftptest.Network) {
			s := network.NewScript(t, testserver.Honest("contents"), tt.step)
			u := parse(t, s.URL(pathOf(tt.list)))
			c := &ftpexec.Client{Dial: tunnelled(t, network, u.Host), Timeout: limit, MaxIdle: -1}
			start := time.Now()
			got, err := do(t.Context(), c, u)
			checkHostile(t, got, err, tt.want, tt.list)
			if took := time.Since(start); took != tt.took {
				t.Errorf("gave up after %v, want %v", took, tt.took)
			}
		})
	}
}

// A timeout counts only while the Client waits, not while the caller does something else.
func TestTunnelOfASlowReader(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		s := network.NewScript(t, testserver.Honest("contents"))
		c := &ftpexec.Client{Dial: tunnelled(t, network, "127.0.0.1"), Timeout: limit, MaxIdle: 1}
		for range 2 {
			r, err := c.Get(t.Context(), s.URL("/a/f"))
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(2 * limit)
			got := make([]byte, 100)
			if n, err := r.Body.Read(got); string(got[:n]) != "contents" {
				t.Errorf("got %q, %v", got[:n], err)
			}
			<-time.After(2 * limit)
			if n, err := r.Body.Read(got); n != 0 || err == nil || err.Error() != "EOF" {
				t.Errorf("got %d bytes, %v, want the end", n, err)
			}
		}
		c.CloseIdleConnections()
		if s.Connections() != 1 {
			t.Errorf("%d connections, want 1", s.Connections())
		}
	})
}

// A server behind an IPv6 address, such as one of NAT64, may know only PASV: its port is used, at the address of the
// control connection.
func TestTunnelToIPv6(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		s := network.NewScript(t, testserver.Honest("contents"), testserver.On("EPSV", testserver.Reply("500 no")))
		u := parse(t, s.URL("/a/f"))
		u.Host = "::1"
		c := &ftpexec.Client{Dial: tunnelled(t, network, u.Host), MaxIdle: -1}
		wantContents(t, c, u)
		if count(s.Commands(), "EPSV") != 1 || count(s.Commands(), "PASV") != 1 {
			t.Errorf("commands %q, want EPSV and PASV", s.Commands())
		}
	})
}

// pipes is a network of net.Pipe, whose ends have no buffer and no address.
type pipes struct {
	mu    sync.Mutex
	ports []*pipe
}

// firstPipe is the port of the first listener.
const firstPipe = 10000

// pipe is a listener of pipes.
type pipe struct {
	port   int
	conns  chan net.Conn
	closed context.Context
	close  context.CancelFunc
}

func (p *pipes) Listen() (net.Listener, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &pipe{port: firstPipe + len(p.ports), conns: make(chan net.Conn)}
	l.closed, l.close = context.WithCancel(context.Background())
	p.ports = append(p.ports, l)
	return l, nil
}

func (p *pipes) Dial(_ context.Context, _, address string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(address)
	n, _ := strconv.Atoi(port)
	n -= firstPipe
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || n < 0 || n >= len(p.ports) {
		return nil, fmt.Errorf("nobody listens on %q", address)
	}
	here, there := net.Pipe()
	go func() {
		select {
		case p.ports[n].conns <- there:
		case <-p.ports[n].closed.Done():
			there.Close()
		}
	}()
	return here, nil
}

func (l *pipe) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed.Done():
		return nil, net.ErrClosed
	}
}

func (l *pipe) Close() error {
	l.close()
	return nil
}

func (l *pipe) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: l.port} }

// The end of a pipe after its last byte is the end of the data.
func TestPipes(t *testing.T) {
	for _, size := range []string{"", "213 8"} {
		p := new(pipes)
		script := testserver.Honest("contents")
		if size != "" {
			script = script.With("SIZE", testserver.Reply(size))
		}
		s := testserver.New(t, &testserver.Options{Listen: p.Listen}, script)
		c := closing(t, &ftpexec.Client{Dial: p.Dial})
		for range 2 {
			wantContents(t, c, parse(t, s.URL("/a/f")))
			if got, err := list(t.Context(), c, parse(t, s.URL("/a/"))); err != nil || len(got) == 0 {
				t.Errorf("got %q, %v", got, err)
			}
		}
	}
}

// A pipe that ends where a reply is due is a lost connection.
func TestPipeBreaks(t *testing.T) {
	for _, verb := range []string{"", "USER", "RETR"} {
		p := new(pipes)
		s := testserver.New(t, &testserver.Options{Listen: p.Listen}, testserver.Honest("contents").With(verb, testserver.EndControl(testserver.Reset)))
		c := closing(t, &ftpexec.Client{Dial: p.Dial})
		if _, err := read(t.Context(), c, parse(t, s.URL("/a/f"))); !errors.Is(err, ftpexec.ErrLost) {
			t.Errorf("at %q: got %v, want ErrLost", verb, err)
		}
	}
}

// A data connection that does not open within the connect timeout does not count as a cancelled context.
func TestDataConnectTimeout(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		s := network.NewScript(t, testserver.Honest("contents"))
		c := within(limit)
		c.NoEPSV = true
		c.Timeout = 2 * limit
		c.Dial = func(ctx context.Context, kind, address string) (net.Conn, error) {
			if address != s.Addr() {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return network.Dial(ctx, kind, address)
		}
		_, err := read(t.Context(), c, parse(t, s.URL("/a/f")))
		if !errors.Is(err, ftpexec.ErrTimeout) || errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want a timeout", err)
		}
	})
}
