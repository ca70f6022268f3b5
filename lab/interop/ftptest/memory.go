package ftptest

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"example.com/ftpfetch/testserver"
)

// Network is a network in memory, for testing a client's timing. A client that dials with [Network.Dial] reaches the
// network's listeners without opening a socket. In a testing/synctest bubble the clock advances only when every goroutine
// waits: a timeout of a minute takes no real time and expires at its exact moment, however busy the machine is.
//
//	synctest.Test(t, func(t *testing.T) {
//		network := ftptest.NewNetwork()
//		srv := network.NewScript(t, testserver.On("", testserver.EndControl(testserver.Stalled)))
//		start := time.Now()
//		_, err := download(t, srv.URL("/f"), network.Dial)
//		// time.Since(start) is the client's timeout, to the nanosecond.
//	})
//
// Connections behave like TCP connections on the loopback interface, with a buffer of 64 KiB each way. All methods may be
// used concurrently.
type Network struct {
	mu        sync.Mutex
	changed   *sync.Cond // any change of the network, its listeners and connections
	listeners map[int]*memoryListener
	ports     int // the last port that was used
}

// NewNetwork returns a network without listeners.
func NewNetwork() *Network {
	n := &Network{listeners: map[int]*memoryListener{}, ports: 1023}
	n.changed = sync.NewCond(&n.mu)
	return n
}

// NewScript is like [testserver.New], for a script on n.
func (n *Network) NewScript(tb testing.TB, steps ...testserver.Step) *testserver.Server {
	tb.Helper()
	return testserver.New(tb, &testserver.Options{Listen: n.Listen}, steps...)
}

// Listen returns a listener with a port of its own on 127.0.0.1.
func (n *Network) Listen() (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &memoryListener{network: n, addr: n.newAddr()}
	n.listeners[l.addr.Port] = l
	return l, nil
}

// newAddr returns an address that was never used before.
func (n *Network) newAddr() *net.TCPAddr {
	n.ports++
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: n.ports}
}

// Dial connects to the listener on the port of address, whatever the host. It has the signature of
// [net.Dialer.DialContext].
func (n *Network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("port %q: %w", text, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l, ok := n.listeners[port]
	if !ok {
		to := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
		return nil, &net.OpError{Op: "dial", Net: network, Addr: to, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	near := &memoryConn{network: n, local: n.newAddr(), remote: l.addr}
	far := &memoryConn{network: n, local: l.addr, remote: near.local, peer: near}
	near.peer = far
	l.backlog = append(l.backlog, far)
	n.changed.Broadcast()
	return near, nil
}

// memoryListener is a listener on a port of a Network.
type memoryListener struct {
	network *Network
	addr    *net.TCPAddr

	// Guarded by network.mu.
	backlog []*memoryConn
	closed  bool
}

func (l *memoryListener) Addr() net.Addr { return l.addr }

func (l *memoryListener) Accept() (net.Conn, error) {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	for !l.closed && len(l.backlog) == 0 {
		l.network.changed.Wait()
	}
	if l.closed {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
	}
	c := l.backlog[0]
	l.backlog = l.backlog[1:]
	return c, nil
}

// Close resets the connections that were not accepted.
func (l *memoryListener) Close() error {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	l.closed = true
	delete(l.network.listeners, l.addr.Port)
	for _, c := range l.backlog {
		c.close(true)
	}
	l.backlog = nil
	l.network.changed.Broadcast()
	return nil
}
