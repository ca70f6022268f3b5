//go:build linux

package main

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

// network is two network namespaces, the client's (that of this process) and
// the server's, joined by a link without delay and one with delay.
type network struct {
	near, far  *link
	congestion string // TCP congestion control in both namespaces
}

// Addresses: client and server end of each link.
var (
	nearClient = netip.MustParsePrefix("198.18.0.1/30")
	nearServer = netip.MustParsePrefix("198.18.0.2/30")
	farClient  = netip.MustParsePrefix("198.18.1.1/30")
	farServer  = netip.MustParsePrefix("198.18.1.2/30")
)

// host returns the server's address on the link.
func (l *link) host() string {
	if l.name == "near" {
		return nearServer.Addr().String()
	}
	return farServer.Addr().String()
}

// makeNetwork makes the namespaces and links, and starts srv in its own.
func makeNetwork(rtt time.Duration, srv *server) (*network, error) {
	n := &network{near: &link{name: "near"}, far: &link{name: "far", oneWay: rtt / 2}}
	if err := n.clientEnds(); err != nil {
		return nil, fmt.Errorf("client's namespace: %w", err)
	}
	failed := make(chan error)
	go func() {
		// Never unlocked: the thread is in other namespaces and must not
		// serve other goroutines.
		runtime.LockOSThread()
		failed <- n.serverSide(srv)
	}()
	if err := <-failed; err != nil {
		return nil, fmt.Errorf("server's namespace: %w", err)
	}
	n.near.start()
	n.far.start()
	return n, nil
}

func (n *network) clientEnds() (err error) {
	if n.congestion, err = tuneTCP(); err != nil {
		return err
	}
	if n.near.client, err = openTUN("near", nearClient); err != nil {
		return err
	}
	n.far.client, err = openTUN("far", farClient)
	return err
}

// serverSide moves the calling thread into new namespaces and starts srv there.
func (n *network) serverSide(srv *server) (err error) {
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := srv.mount(); err != nil {
		return err
	}
	if _, err := tuneTCP(); err != nil {
		return err
	}
	if n.near.server, err = openTUN("near", nearServer); err != nil {
		return err
	}
	if n.far.server, err = openTUN("far", farServer); err != nil {
		return err
	}
	return srv.start()
}

func (n *network) close() {
	n.near.close()
	n.far.close()
}

// tuneTCP makes the runs alike in the calling thread's network namespace: TCP
// keeps no metrics for the next connection and does not pace what it sends (a
// kernel may allow only some congestion controls here, or only its own default).
// It returns the congestion control in use.
func tuneTCP() (string, error) {
	if err := bringUp("lo"); err != nil {
		return "", fmt.Errorf("lo: %w", err)
	}
	const dir = "/proc/sys/net/ipv4/"
	if err := os.WriteFile(dir+"tcp_no_metrics_save", []byte("1"), 0); err != nil {
		return "", err
	}
	for _, name := range []string{"cubic", "reno"} {
		if err := os.WriteFile(dir+"tcp_congestion_control", []byte(name), 0); err == nil {
			break
		}
	}
	used, err := os.ReadFile(dir + "tcp_congestion_control")
	return strings.TrimSpace(string(used)), err
}

// privateMounts keeps this process's mounts private. It mounts /proc again for
// the new process namespace, unless a container forbids it.
func privateMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	return nil
}

// handshake measures how long a TCP connection to host takes.
func handshake(ctx context.Context, host string, port int) (time.Duration, error) {
	start := time.Now()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp4", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return time.Since(start), nil
}
