package testserver

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// Network is a network in memory, for tests of what a client does in time. A
// client whose connections come from [Network.Dial] reaches what listens on
// it, and no socket is opened. In a bubble of testing/synctest the clock goes
// on only when everybody waits: a timeout of a minute costs no time, strikes at
// its exact moment, and no load of the machine changes that.
//
//	synctest.Test(t, func(t *testing.T) {
//		network := testserver.NewNetwork()
//		srv := network.NewScript(t, testserver.Greet(testserver.Silence()))
//		begun := time.Now()
//		_, err := download(t, srv.URL("/f"), network.Dial)
//		// time.Since(begun) is the client's timeout, to the nanosecond.
//	})
//
// Connections behave as those of TCP on the loopback interface do, with a
// buffer of 64 KiB each way. All methods may be used concurrently.
type Network struct {
	mu        sync.Mutex
	changed   *sync.Cond // any change of the network, its listeners and connections
	listeners map[int]*memoryListener
	ports     int // the last one that was given out
}

// NewNetwork returns a network that nobody listens on.
func NewNetwork() *Network {
	n := &Network{listeners: map[int]*memoryListener{}, ports: 1023}
	n.changed = sync.NewCond(&n.mu)
	return n
}

// NewScript is [NewScript] for a server on n.
func (n *Network) NewScript(tb testing.TB, steps ...Step) *Script {
	tb.Helper()
	return scriptFor(tb, n.Listen, steps)
}

// Listen returns a listener with a port of its own on 127.0.0.1.
func (n *Network) Listen() (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &memoryListener{network: n, addr: n.newAddr()}
	n.listeners[l.addr.Port] = l
	return l, nil
}

// newAddr returns an address that no other end has had.
func (n *Network) newAddr() *net.TCPAddr {
	n.ports++
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: n.ports}
}

// Dial connects to who listens on address's port, whatever its host. It has the
// form of [net.Dialer.DialContext].
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

// memoryListener is a port of a Network.
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

// Close resets what was not accepted.
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
