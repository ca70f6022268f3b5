package ftpexec

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"example.com/ftpfetch/urlparse"
)

// pool holds the sessions of a Client's own methods. A session is in use by one caller, or idle.
type pool struct {
	mu      sync.Mutex
	closed  sync.Cond          // a connection has been closed
	servers map[string]*server // by address
}

// maxIdle returns what MaxIdle means.
func (c *Client) maxIdle() int { return max(0, cmp.Or(c.MaxIdle, defaultMaxIdle)) }

// server is what a pool knows about a server. The connections to it are never more than Client.maxIdle, or those in use
// if they are more, and never more than Client.MaxConns.
type server struct {
	busy    int       // sessions in use
	closing int       // connections that are being closed, which the server still counts
	idle    []*idle   // the one that has been idle longest comes first
	waiting []*waiter // calls that wait for a session, in the order in which they came

	kept  int                     // calls that need what follows
	most  int                     // connections that the server bears, as far as it has told; 0 if it has not
	shut  time.Time               // when a connection that the server had admitted was last closed
	files map[*openFile]time.Time // those that hold a session of busy, and when they were last read
}

// idle is a session without work, until end closes it.
type idle struct {
	*session
	end *time.Timer
}

// CloseIdleConnections closes the connections that the Client keeps for further URLs (see MaxIdle). It does not touch
// those in use. The Client may be used further.
func (c *Client) CloseIdleConnections() {
	c.pool.mu.Lock()
	var all []*session
	for _, host := range c.pool.servers {
		for len(host.idle) > 0 {
			all = append(all, host.retire(host.idle[0]))
		}
	}
	c.pool.mu.Unlock()
	c.shut(all...)
}

// shut closes sessions that count as closing, and those that have to make room for waiting calls.
func (c *Client) shut(sessions ...*session) {
	for len(sessions) > 0 {
		s := sessions[0]
		s.Close()
		c.pool.mu.Lock()
		host := c.pool.server(s.address)
		host.closing--
		if s.admitted {
			host.shut = time.Now()
			time.AfterFunc(settling, func() { c.pool.settled(s.address) })
		}
		sessions = append(sessions[1:], c.grant(host)...)
		c.pool.forget(s.address)
		c.pool.closed.Broadcast()
		c.pool.mu.Unlock()
	}
}

// lend returns a session for u that nobody else uses: the idle one from which the fewest CWDs lead to u's directory, or
// a new one if there may be one more. Otherwise it returns nil. The caller holds mu.
func (c *Client) lend(host *server, u *urlparse.URL, plan *Plan) *session {
	var best *idle
	for _, i := range host.idle {
		if plan != nil && i.serves(u, plan) && (best == nil || len(i.way(u.Dirs)) <= len(best.way(u.Dirs))) {
			best = i
		}
	}
	switch {
	case best != nil:
		host.remove(best)
		host.busy++
		return best.session
	case host.count() < c.maxConns(host):
		host.busy++
		return &session{client: c, lent: true, once: c.maxIdle() == 0, address: u.Address()}
	}
	return nil
}

// put takes back a session of take. It keeps the connection if it can serve another URL and there is room.
func (c *Client) put(s *session) {
	if !s.lent {
		return
	}
	c.pool.mu.Lock()
	host := c.pool.server(s.address)
	host.busy--
	var old []*session
	if s.usable() && (!s.lost || s.home != "") && len(host.idle)+host.busy < c.maxIdle() {
		i := &idle{session: s}
		i.end = time.AfterFunc(cmp.Or(c.IdleTimeout, defaultIdleTimeout), func() { c.expire(i) })
		host.idle = append(host.idle, i)
		old = c.grant(host)
	} else {
		host.closing++
		old = append(old, s)
	}
	c.pool.mu.Unlock()
	c.shut(old...)
}

// expire closes i, unless it is in use again.
func (c *Client) expire(i *idle) {
	c.pool.mu.Lock()
	host := c.pool.server(i.address)
	mine := slices.Contains(host.idle, i)
	if mine {
		host.retire(i)
	}
	c.pool.mu.Unlock()
	if mine {
		c.shut(i.session)
	}
}

// makeRoom closes idle connections so that a session in use may open one. It waits until those that are being closed
// make room too.
func (c *Client) makeRoom(address string) {
	if c.maxIdle() == 0 {
		return
	}
	c.pool.mu.Lock()
	host := c.pool.server(address)
	var old []*session
	for len(host.idle) > 0 && len(host.idle)+host.busy > c.maxIdle() {
		old = append(old, host.retire(host.idle[0]))
	}
	c.pool.mu.Unlock()
	c.shut(old...)
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	for c.pool.closed.L = &c.pool.mu; host.closing > 0 && len(host.idle)+host.busy+host.closing > c.maxIdle(); {
		c.pool.closed.Wait()
	}
}

// server returns the server at address. The caller holds mu.
func (p *pool) server(address string) *server {
	if p.servers == nil {
		p.servers = map[string]*server{}
	}
	if p.servers[address] == nil {
		p.servers[address] = &server{files: map[*openFile]time.Time{}}
	}
	return p.servers[address]
}

// settled drops the server at address if nothing has happened there since a connection was closed.
func (p *pool) settled(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(address)
}

// forget drops the server at address if there are no sessions and it has settled. The caller holds mu.
func (p *pool) forget(address string) {
	if host := p.servers[address]; host != nil && host.count() == 0 && len(host.waiting) == 0 && host.kept == 0 && time.Since(host.shut) >= settling {
		delete(p.servers, address)
	}
}

// count returns how many connections the server has, or soon will have.
func (host *server) count() int { return host.busy + host.closing + len(host.idle) }

// retire takes i out of the idle ones. It counts as closing from now on.
func (host *server) retire(i *idle) *session {
	host.remove(i)
	host.closing++
	return i.session
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
