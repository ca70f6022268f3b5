//go:build linux

package lab

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Network is two network namespaces, the client's (that of this process) and the
// server's, joined by links.
type Network struct {
	Congestion string // TCP congestion control in both namespaces
	links      []*Link
}

// subnet has the addresses of the links (RFC 2544, benchmarks). Link i has the
// network i*256 in it, with the client at .1 and the server at .2.
const subnet = "198.18.%d.%d/30"

// NewNetwork makes the namespaces and links, and calls serve in the server's.
func NewNetwork(links []*Link, serve func() error) (*Network, error) {
	n := &Network{links: links}
	for i, l := range links {
		l.clientAddr = netip.MustParsePrefix(fmt.Sprintf(subnet, i, 1))
		l.serverAddr = netip.MustParsePrefix(fmt.Sprintf(subnet, i, 2))
	}
	if err := n.clientEnds(); err != nil {
		return nil, fmt.Errorf("client's namespace: %w", err)
	}
	if err := inNewNamespaces(unix.CLONE_NEWNET|unix.CLONE_NEWNS, func() error { return n.serverEnds(serve) }); err != nil {
		return nil, fmt.Errorf("server's namespace: %w", err)
	}
	for _, l := range links {
		l.start()
	}
	return n, nil
}

// BesideClient calls serve in the client's network namespace, where a server is
// on loopback, but in a mount namespace of its own.
func BesideClient(serve func() error) error { return inNewNamespaces(unix.CLONE_NEWNS, serve) }

// inNewNamespaces calls serve on a thread in new namespaces of the given kinds.
func inNewNamespaces(kinds int, serve func() error) error {
	failed := make(chan error)
	go func() {
		// Never unlocked: the thread is in other namespaces and must not
		// serve other goroutines.
		runtime.LockOSThread()
		if err := unix.Unshare(kinds); err != nil {
			failed <- fmt.Errorf("unshare: %w", err)
			return
		}
		failed <- serve()
	}()
	return <-failed
}

func (n *Network) clientEnds() (err error) {
	if n.Congestion, err = tuneTCP(); err != nil {
		return err
	}
	for _, l := range n.links {
		if l.client, err = openTUN(l.Name, l.clientAddr); err != nil {
			return err
		}
	}
	return nil
}

func (n *Network) serverEnds(serve func() error) (err error) {
	if _, err := tuneTCP(); err != nil {
		return err
	}
	for _, l := range n.links {
		if l.server, err = openTUN(l.Name, l.serverAddr); err != nil {
			return err
		}
	}
	return serve()
}

// Close takes the links down.
func (n *Network) Close() {
	for _, l := range n.links {
		l.close()
	}
}

const sysctl = "/proc/sys/net/ipv4/"

// tuneTCP makes the runs alike in the calling thread's network namespace: TCP
// keeps no metrics for the next connection and does not pace what it sends (a
// kernel may allow only some congestion controls here, or only its own default).
// It returns the congestion control in use.
func tuneTCP() (string, error) {
	if err := bringUp("lo"); err != nil {
		return "", fmt.Errorf("lo: %w", err)
	}
	if err := os.WriteFile(sysctl+"tcp_no_metrics_save", []byte("1"), 0); err != nil {
		return "", err
	}
	for _, name := range []string{"cubic", "reno"} {
		if err := os.WriteFile(sysctl+"tcp_congestion_control", []byte(name), 0); err == nil {
			break
		}
	}
	used, err := os.ReadFile(sysctl + "tcp_congestion_control")
	return strings.TrimSpace(string(used)), err
}

// LimitReceiveBuffer sets the size in bytes of the receive buffers of the client's
// new TCP connections; restore undoes that. A client that asks for a size of its
// own (SO_RCVBUF) gets that.
func LimitReceiveBuffer(size int) (restore func() error, err error) {
	before, err := os.ReadFile(sysctl + "tcp_rmem")
	if err != nil {
		return nil, err
	}
	set := func(value string) error { return os.WriteFile(sysctl+"tcp_rmem", []byte(value), 0) }
	return func() error { return set(string(before)) }, set(fmt.Sprintf("4096 %d %d", size, size))
}

// Handshake measures how long a TCP connection to host takes.
func Handshake(ctx context.Context, host string, port int) (time.Duration, error) {
	start := time.Now()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp4", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return time.Since(start), nil
}
