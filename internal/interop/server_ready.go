//go:build interop

package interop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// portAttempts is how often a server is started before the harness gives up.
// The servers cannot be handed a listener, so their port is chosen, closed and
// named to them: somebody else may take it in between.
const portAttempts = 5

// readyInterval is the time between two looks at a server that does not greet
// yet: there is nothing to wait on but its port.
const readyInterval = 20 * time.Millisecond

// Ports are chosen below those that systems give out by themselves, to clients
// and for data: Linux begins at 32768. So nobody takes one in between but who
// asks for it by its number.
const (
	firstPort = 10000
	lastPort  = 32000
)

// ports remembers the ports given out, so that none is given out twice.
var ports sync.Map

// freePort returns a port that nobody listens on.
func freePort(host string) (int, error) {
	for range lastPort - firstPort {
		port := firstPort + rand.IntN(lastPort-firstPort)
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
		line, err := greeting(ctx, s.Addr)
		if err == nil && !strings.Contains(line, s.flavour.banner) {
			err = fmt.Errorf("it greets by %q", line)
		}
		return err
	})
}

// await calls look, again and again, until it returns nil; else it returns why
// there is no more sense in it: ctx has ended, or the first process has, and
// what look finds is somebody else's.
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

// greeting returns the first line that comes from addr.
func greeting(ctx context.Context, addr string) (string, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	return bufio.NewReader(c).ReadString('\n')
}
