//go:build interop

package interop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// portAttempts is how often a server is started before the harness gives up.
// The servers cannot be handed a listener, so their port is chosen, closed and
// named to them: somebody else may take it in between.
const portAttempts = 3

// readyInterval is the time between two looks at a server that does not greet
// yet: there is nothing to wait on but its port.
const readyInterval = 20 * time.Millisecond

// ports remembers the ports given out, so that none is given out twice: the
// system may offer a port again before the server that it is for listens.
var ports sync.Map

func freePort(host string) (int, error) {
	for {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			return 0, err
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if _, taken := ports.LoadOrStore(port, true); !taken {
			return port, nil
		}
	}
}

// awaitGreeting dials until the server greets, ctx ends or the server exits.
func (s *Server) awaitGreeting(ctx context.Context) error {
	tick := time.NewTicker(readyInterval)
	defer tick.Stop()
	for {
		line, err := greeting(ctx, s.Addr)
		if err == nil && strings.Contains(line, s.flavour.banner) {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.procs.exited:
			return errors.New("the server ended before its greeting")
		case <-ctx.Done():
			return fmt.Errorf("no greeting (but %q): %w", line, errors.Join(context.Cause(ctx), err))
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
