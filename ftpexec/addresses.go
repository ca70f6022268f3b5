package ftpexec

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"
)

// A name may have several addresses, each of another machine. A machine that cannot be reached makes the dialer try the
// next address. One that accepts the connection and then says 421, closes or stays silent makes the run try the next
// address, until it has tried them all. The Client tries an address that has failed last from then on.

// mostFailed bounds how many addresses of a server are remembered as failed.
const mostFailed = 64

// dialAround returns a DialFunc that dials the addresses of a host, those in failed last and the longest ago first of
// them.
func dialAround(failed []string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		var dialer net.Dialer
		host, port, err := net.SplitHostPort(address)
		if err != nil || len(failed) == 0 {
			return dialer.DialContext(ctx, network, address)
		}
		all := addressesOf(ctx, host)
		if len(all) < 2 {
			return dialer.DialContext(ctx, network, address)
		}
		slices.SortStableFunc(all, func(a, b string) int {
			return slices.Index(failed, a) - slices.Index(failed, b) // -1 for one that has not failed
		})
		var conn net.Conn
		for i, one := range all {
			part, cancel := share(ctx, len(all)-i)
			conn, err = dialer.DialContext(part, network, net.JoinHostPort(one, port))
			cancel()
			if err == nil || ctx.Err() != nil {
				break
			}
		}
		return conn, err
	}
}

// share returns a context for one of n attempts that have the time of ctx between them.
func share(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(n))
}

// addressesOf returns the addresses of a host, or nil if it is an address itself or cannot be resolved.
func addressesOf(ctx context.Context, host string) (all []string) {
	if net.ParseIP(host) != nil {
		return nil
	}
	found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return nil
	}
	for _, a := range found {
		all = append(all, a.String())
	}
	return all
}

// nextAddress reports whether the run should dial again because the server's machine with this address did not serve
// it, and the name has an address that the run has not tried.
func (r *run) nextAddress(e *Error) bool {
	peer := r.conn.Peer()
	unserved := e.entering() && (e.Code == 421 || errors.Is(e, ErrTooMany) || errors.Is(e, ErrLost) ||
		errors.Is(e, ErrTimeout) || errors.Is(e, ErrConnect))
	if !unserved || peer == "" || r.client.Dial != nil || r.ctx.Err() != nil {
		return false
	}
	r.tried = append(r.tried, peer)
	untried := func(a string) bool { return !slices.Contains(r.tried, a) }
	if !slices.ContainsFunc(addressesOf(r.ctx, r.url.Host), untried) {
		return false
	}
	r.learn(func(h *habits) {
		h.failed = append(slices.DeleteFunc(slices.Clone(h.failed), func(a string) bool { return a == peer }), peer)
		h.failed = h.failed[max(0, len(h.failed)-mostFailed):]
	})
	r.conn.Note(peer + " does not serve: trying another address of " + r.url.Host)
	return true
}
