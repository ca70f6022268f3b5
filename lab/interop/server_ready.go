//go:build linux

package interop

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// portAttempts is how often the harness tries to start a server. It cannot pass a listener to the servers, so it chooses a
// port, closes it and tells them its number: another program may take the port in between.
const portAttempts = 5

// readyInterval is the time between two attempts to reach a server that does not greet yet: there is nothing to wait
// for but its port.
const readyInterval = 20 * time.Millisecond

// The harness chooses ports below those that systems assign to clients and data connections: Linux begins at 32768. So
// only a program that asks for a port by its number can take it in between.
const (
	firstPort = 10000
	lastPort  = 32000
)

// ports remembers the ports that freePort has returned, so that it returns none twice.
var ports sync.Map

// freePort returns an even port without a listener: the ftpds connect from the port below their own, which must be free.
func freePort(host string) (int, error) {
	for range lastPort - firstPort {
		port := firstPort + 2*rand.IntN((lastPort-firstPort)/2)
		if _, taken := ports.LoadOrStore(port, true); taken {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no port is free from %d to %d", firstPort, lastPort)
}

// awaitGreeting dials until the server greets, ctx ends or the server exits.
func (s *Server) awaitGreeting(ctx context.Context) error {
	return s.procs.await(ctx, func(ctx context.Context) error {
		line, err := s.greeting(ctx)
		if err == nil && !strings.Contains(line, s.flavour.banner) {
			err = fmt.Errorf("another server's greeting: %q", line)
		}
		return err
	})
}

// await calls look repeatedly until it returns nil. It gives up with an error when ctx ends, or when the process that
// listens does: what look finds then belongs to another program.
func (g *group) await(ctx context.Context, look func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-g.exited:
			cancel(errors.New("the server has ended"))
		case <-ctx.Done():
		}
	}()
	tick := time.NewTicker(readyInterval)
	defer tick.Stop()
	for {
		err := look(ctx)
		if err == nil && ctx.Err() == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// greeting returns the first line that the server sends.
func (s *Server) greeting(ctx context.Context) (string, error) {
	dial := new(net.Dialer).DialContext
	if s.implicit {
		dial = (&tls.Dialer{Config: &tls.Config{RootCAs: s.RootCAs}}).DialContext
	}
	c, err := dial(ctx, "tcp", s.Addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if s.flavour.banner == "" {
		return "", nil
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	return bufio.NewReader(c).ReadString('\n')
}
