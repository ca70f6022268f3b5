package ftpexec

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"example.com/ftpfetch/urlparse"
)

// pool holds the sessions of a Client's own methods. A session is in use by one caller, or idle.
type pool struct {
	mu      sync.Mutex
	servers map[string]*server // by address
}

// server is what a pool knows about a server. A call takes a slot first, so that with the idle connections there are never
// more than Client.MaxConns: a call that opens a connection closes idle ones that are too many with it.
type server struct {
	slots *semaphore.Weighted // calls that wait for one get theirs in the order in which they came
	busy  int                 // slots taken
	idle  []*idle             // the one that has been idle longest comes first
	shut  time.Time           // when a connection that the server had admitted was last closed
}

// idle is a session without work, until end closes it.
type idle struct {
	*session
	end *time.Timer
}

// maxIdle returns what MaxIdle means.
func (c *Client) maxIdle() int { return max(0, cmp.Or(c.MaxIdle, defaultMaxIdle)) }

// maxConns returns what MaxConns means.
func (c *Client) maxConns() int { return cmp.Or(max(0, c.MaxConns), math.MaxInt) }

// server returns the server at address. The caller holds pool.mu.
func (c *Client) server(address string) *server {
	if c.pool.servers == nil {
		c.pool.servers = map[string]*server{}
	}
	host := c.pool.servers[address]
	if host == nil {
		host = &server{slots: semaphore.NewWeighted(int64(c.maxConns()))}
		c.pool.servers[address] = host
	}
	return host
}

// take returns a session for u that nobody else uses: the idle one from which the fewest CWDs lead to u's directory, or a
// new one. If there may be no further one it waits. The caller must put it back.
func (c *Client) take(ctx context.Context, u *urlparse.URL) (*session, error) {
	plan, _ := NewPlan(u) // if u is not valid, the session's methods return the error
	c.pool.mu.Lock()
	host := c.server(u.Address())
	c.pool.mu.Unlock()
	if !host.slots.TryAcquire(1) {
		if c.Trace != nil {
			c.Trace(Event{Mark: '*', Text: "all connections that the server may have are in use: waiting for one", Server: u.Address()})
		}
		if host.slots.Acquire(ctx, 1) != nil {
			return nil, &Error{Stage: "connect", Op: "connect", URL: u.Redacted(),
				Err: fmt.Errorf("waiting while all %d connections to the server are in use: %w", c.MaxConns, context.Cause(ctx))}
		}
	}
	c.pool.mu.Lock()
	host.busy++
	best := host.nearest(u, plan)
	var old []*idle
	if best != nil {
		host.remove(best)
	} else {
		keep := min(c.maxIdle(), c.maxConns())
		old = slices.Clone(host.idle[:min(len(host.idle), max(0, len(host.idle)+host.busy-keep))])
		for _, i := range old {
			host.remove(i)
		}
	}
	c.pool.mu.Unlock()
	for _, i := range old {
		c.shut(i.session)
	}
	if best != nil {
		return best.session, nil
	}
	return &session{client: c, host: host, once: c.maxIdle() == 0}, nil
}

// put takes back a session of take. It keeps the connection if it can serve another URL and there is room.
func (c *Client) put(s *session) {
	host := s.host
	if host == nil {
		return
	}
	c.pool.mu.Lock()
	if s.usable() && (!s.lost || s.home != "") && len(host.idle)+host.busy <= c.maxIdle() {
		i := &idle{session: s}
		i.end = time.AfterFunc(cmp.Or(c.IdleTimeout, defaultIdleTimeout), func() { c.expire(host, i) })
		host.idle = append(host.idle, i)
	} else {
		c.pool.mu.Unlock()
		c.shut(s)
		c.pool.mu.Lock()
	}
	host.busy--
	c.pool.mu.Unlock()
	host.slots.Release(1)
}

// CloseIdleConnections closes the connections that the Client keeps for further URLs (see MaxIdle). It does not touch
// those in use. The Client may be used further.
func (c *Client) CloseIdleConnections() {
	c.pool.mu.Lock()
	all := map[*idle]*server{}
	for _, host := range c.pool.servers {
		for _, i := range host.idle {
			all[i] = host
		}
	}
	c.pool.mu.Unlock()
	for i, host := range all {
		c.expire(host, i)
	}
}

// expire closes i, unless it is in use again. Meanwhile it takes a slot. If there is none, a call is about to use i or to
// close it, and expire looks again later.
func (c *Client) expire(host *server, i *idle) {
	slot := host.slots.TryAcquire(1)
	c.pool.mu.Lock()
	mine := slot && host.remove(i)
	if !slot {
		i.end.Reset(time.Second)
	}
	c.pool.mu.Unlock()
	if mine {
		c.shut(i.session)
	}
	if slot {
		host.slots.Release(1)
	}
}

// shut closes a session of the pool.
func (c *Client) shut(s *session) {
	s.Close()
	s.leave()
}

// nearest returns the idle session from which the fewest CWDs lead to u's directory, or nil if none can serve u.
func (host *server) nearest(u *urlparse.URL, plan *Plan) (best *idle) {
	for _, i := range host.idle {
		if plan != nil && i.serves(u, plan) && (best == nil || len(i.way(u.Dirs)) <= len(best.way(u.Dirs))) {
			best = i
		}
	}
	return best
}

// remove takes i out of the idle ones. It returns false if i is not among them.
func (host *server) remove(i *idle) bool {
	at := slices.Index(host.idle, i)
	if at < 0 {
		return false
	}
	i.end.Stop()
	host.idle = slices.Delete(host.idle, at, at+1)
	return true
}

// settling is how long a server may still count a connection that has been closed.
const settling = time.Second

// leave notes that the session's connection has been closed, or is about to be.
func (s *session) leave() {
	if s.conn == nil || !s.admitted {
		return
	}
	s.client.pool.mu.Lock()
	defer s.client.pool.mu.Unlock()
	s.client.server(s.login.Address()).shut = time.Now()
}

// outlasts waits, and returns true, if the server has refused the session's connection while it may still count one that
// the Client has closed.
func (s *session) outlasts(ctx context.Context, e *Error) bool {
	if !e.Crowded() || e.Stage == "directory" || e.Stage == "transfer" || ctx.Err() != nil {
		return false
	}
	s.client.pool.mu.Lock()
	shut := s.client.server(s.url.Address()).shut
	s.client.pool.mu.Unlock()
	if time.Since(shut) >= settling {
		return false
	}
	s.conn.Note("the server may still count a connection that has been closed: trying again")
	pause, cancel := context.WithTimeout(ctx, settling/(maxTries-1))
	defer cancel()
	<-pause.Done()
	return ctx.Err() == nil
}
