package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// network is two network namespaces, the client's (the one of this process) and the server's, joined by links.
type network struct {
	congestion string // TCP congestion control in both namespaces
	links      []*link
}

// subnet has the addresses of the links (RFC 2544). On link i, the client is 198.18.i.1 and the server 198.18.i.2.
const subnet = "198.18.%d.%d/30"

// newNetwork creates the namespaces and links, and calls serve in the server's namespace.
func newNetwork(links []*link, serve func() error) (*network, error) {
	n := &network{links: links}
	for i, l := range links {
		l.clientAddr = netip.MustParsePrefix(fmt.Sprintf(subnet, i, 1))
		l.serverAddr = netip.MustParsePrefix(fmt.Sprintf(subnet, i, 2))
	}
	if err := n.clientEnds(); err != nil {
		return nil, fmt.Errorf("client's namespace: %w", err)
	}
	if err := inNewNamespace(func() error { return n.serverEnds(serve) }); err != nil {
		return nil, fmt.Errorf("server's namespace: %w", err)
	}
	for _, l := range links {
		l.start()
	}
	return n, nil
}

// inNewNamespace calls serve on a thread in a new network namespace. When it ends, so do the servers.
func inNewNamespace(serve func() error) error {
	failed := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			failed <- fmt.Errorf("unshare: %w", err)
			return
		}
		failed <- serve()
		select {}
	}()
	return <-failed
}

func (n *network) clientEnds() (err error) {
	if n.congestion, err = tuneTCP(); err != nil {
		return err
	}
	for _, l := range n.links {
		if l.client, err = openTUN(l.name, l.clientAddr); err != nil {
			return err
		}
	}
	return nil
}

func (n *network) serverEnds(serve func() error) (err error) {
	if _, err := tuneTCP(); err != nil {
		return err
	}
	for _, l := range n.links {
		if l.server, err = openTUN(l.name, l.serverAddr); err != nil {
			return err
		}
	}
	return serve()
}

const sysctl = "/proc/sys/net/ipv4/"

// tuneTCP makes the runs comparable, in the calling thread's network namespace: TCP keeps no metrics for the next
// connection and does not pace what it sends. A kernel may allow only some congestion controls here, or only its
// default. tuneTCP returns the congestion control in use.
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

// setSpeed gives the loopback interface a speed in Mbit/s, and the packets of an Ethernet. With 0 it stays as it is.
func setSpeed(ctx context.Context, megabits int) error {
	if megabits == 0 {
		return nil
	}
	rate := fmt.Sprintf("%dmbit", megabits)
	return errors.Join(command(ctx, "ip", "link", "set", "lo", "mtu", strconv.Itoa(mtu)),
		command(ctx, "tc", "qdisc", "replace", "dev", "lo", "root", "tbf", "rate", rate, "burst", "32kb", "latency", "50ms"))
}

// rated returns vsftpd's configuration for a rate of each connection, in bytes a second. On a fast
// machine, vsftpd 3.0.3 lets two to three times the rate through with chunks of its own size, and twice with 32 KiB. With
// 16 KiB it holds the rate; its pauses make 100 MB/s slower by a third, and 20 MB/s by a tenth.
func rated(rate int) []string {
	return []string{fmt.Sprintf("anon_max_rate=%d", rate), "trans_chunk_size=16384"}
}
