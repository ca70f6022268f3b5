package ftpexec

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"example.com/ftpfetch/urlparse"
)

// server is what a Client knows about a server. A call takes a slot first, so that with the idle connections there are never
// more than Client.MaxConns: a call that opens a connection closes idle ones that are too many with it. Client.mu guards
// all but slots.
type server struct {
	slots *semaphore.Weighted // calls that wait for one get theirs in the order in which they came
	busy  int                 // slots taken
	idle  []*session          // the one that has been idle longest comes first
	shut  time.Time           // when a connection that the server had admitted was last closed
	habits
}

// habits are what the Client has learned about a server.
type habits struct {
	sequential bool // it loses commands sent ahead of replies
	noEPSV     bool // its EPSV ports cannot be reached
	late       bool // it accepts EPSV or PASV only after the final reply of a transfer
	how        int  // the first of ways to list a directory that it may give
	listed     bool // that way has listed something
	noMLST     bool // it does not know MLST
	abrupt     bool // it ends data under TLS without close_notify
}

// maxIdle returns what MaxIdle means.
func (c *Client) maxIdle() int { return max(0, cmp.Or(c.MaxIdle, defaultMaxIdle)) }

// maxConns returns what MaxConns means.
func (c *Client) maxConns() int { return cmp.Or(max(0, c.MaxConns), math.MaxInt) }

// server returns the server of u.
func (c *Client) server(u *urlparse.URL) *server {
	c.mu.Lock()
	defer c.mu.Unlock()
	host := c.servers[u.Address()]
	if host == nil {
		if c.servers == nil {
			c.servers = map[string]*server{}
		}
		host = &server{slots: semaphore.NewWeighted(int64(c.maxConns()))}
		c.servers[u.Address()] = host
	}
	return host
}

// known returns what is known about the server, and what the Client is set to.
func (s *session) known() habits {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	h := s.host.habits
	h.sequential, h.noEPSV = h.sequential || s.client.NoPipelining, h.noEPSV || s.client.NoEPSV
	return h
}

// learn changes what is known about the server.
func (s *session) learn(change func(*habits)) {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	change(&s.host.habits)
}

func isLate(h *habits) { h.late = true }

// take returns a session for u that nobody else uses: the idle one from which the fewest CWDs lead to u's directory, or a
// new one. If there may be no further one it waits. The caller must put it back.
func (c *Client) take(ctx context.Context, u *urlparse.URL) (*session, error) {
	host := c.server(u)
	if !host.slots.TryAcquire(1) {
		if c.Trace != nil {
			c.Trace(Event{Mark: '*', Text: "all connections that the server may have are in use: waiting for one", Server: u.Address()})
		}
		if host.slots.Acquire(ctx, 1) != nil {
			return nil, newError(Command{Verb: "connect"}, u,
				fmt.Errorf("waiting while all %d connections to the server are in use: %w", c.MaxConns, context.Cause(ctx)))
		}
	}
	c.mu.Lock()
	host.busy++
	if s := host.nearest(u); s != nil {
		host.remove(s)
		c.mu.Unlock()
		return s, nil
	}
	keep := min(c.maxIdle(), c.maxConns())
	old := slices.Clone(host.idle[:min(len(host.idle), max(0, len(host.idle)+host.busy-keep))])
	for _, s := range old {
		host.remove(s)
	}
	c.mu.Unlock()
	for _, s := range old {
		s.close()
	}
	return &session{client: c, host: host, once: c.maxIdle() == 0}, nil
}

// put takes back a session of take. It keeps the connection if it can serve another URL and there is room.
func (c *Client) put(s *session) {
	c.mu.Lock()
	if s.usable() && (!s.lost || s.home != "") && len(s.host.idle)+s.host.busy <= c.maxIdle() {
		s.end = time.AfterFunc(idleTimeout, func() { c.expire(s) })
		s.host.idle = append(s.host.idle, s)
	} else {
		c.mu.Unlock()
		s.close()
		c.mu.Lock()
	}
	s.host.busy--
	c.mu.Unlock()
	s.host.slots.Release(1)
}

// CloseIdleConnections closes the connections that the Client keeps for further URLs (see MaxIdle). It does not touch
// those in use. The Client may be used further.
func (c *Client) CloseIdleConnections() {
	c.mu.Lock()
	var all []*session
	for _, host := range c.servers {
		all = append(all, host.idle...)
	}
	c.mu.Unlock()
	for _, s := range all {
		c.expire(s)
	}
}

// expire closes s, unless it is in use again. Meanwhile it takes a slot. If there is none, a call is about to use s or to
// close it, and expire looks again later.
func (c *Client) expire(s *session) {
	slot := s.host.slots.TryAcquire(1)
	c.mu.Lock()
	mine := slot && s.host.remove(s)
	if !slot && slices.Contains(s.host.idle, s) {
		s.end.Reset(time.Second)
	}
	c.mu.Unlock()
	if mine {
		s.close()
	}
	if slot {
		s.host.slots.Release(1)
	}
}

// nearest returns the idle session from which the fewest CWDs lead to u's directory, or nil if none can serve u.
func (host *server) nearest(u *urlparse.URL) (best *session) {
	for _, s := range host.idle {
		if s.serves(u) && (best == nil || len(s.way(u.Dirs)) <= len(best.way(u.Dirs))) {
			best = s
		}
	}
	return best
}

// remove takes s out of the idle ones. It returns false if s is not among them.
func (host *server) remove(s *session) bool {
	at := slices.Index(host.idle, s)
	if at < 0 {
		return false
	}
	s.end.Stop()
	host.idle = slices.Delete(host.idle, at, at+1)
	return true
}

// settling is how long a server may still count a connection that has been closed.
const settling = time.Second

// outlasts waits, and returns true, if the server has refused the connection while it may still count one that the Client
// has closed.
func (r *run) outlasts(e *Error) bool {
	r.client.mu.Lock()
	shut := r.host.shut
	r.client.mu.Unlock()
	if !e.Crowded() || e.Stage == "directory" || e.Stage == "transfer" || r.ctx.Err() != nil || time.Since(shut) >= settling {
		return false
	}
	r.conn.Note("the server may still count a connection that has been closed: trying again")
	pause, cancel := context.WithTimeout(r.ctx, settling/(maxTries-1))
	defer cancel()
	<-pause.Done()
	return r.ctx.Err() == nil
}
