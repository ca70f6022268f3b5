package ftpexec

import (
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"example.com/ftpfetch/urlparse"
)

// pool has the servers of a Client, with the sessions that no call uses. The zero pool is ready to use.
type pool struct {
	mu      sync.Mutex
	servers map[string]*server  // by address
	byURL   map[written]*server // the same servers, which saves making an address
}

// written is what a URL says about its server.
type written struct {
	scheme, host string
	port         int
}

// server returns the server of u, which may have a number of connections.
func (p *pool) server(u *urlparse.URL, most int) *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	written := written{u.Scheme, u.Host, u.Port}
	if host := p.byURL[written]; host != nil {
		return host
	}
	address := u.Address()
	host := p.servers[address]
	if host == nil {
		host = &server{slots: semaphore.NewWeighted(int64(most))}
		p.servers = added(p.servers, address, host)
	}
	p.byURL = added(p.byURL, written, host)
	return host
}

// added adds an element to a map, which may be nil.
func added[K comparable, V any](m map[K]V, key K, value V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[key] = value
	return m
}

// all returns the servers.
func (p *pool) all() (list []*server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, host := range p.servers {
		list = append(list, host)
	}
	return list
}

// stats returns the counts for each server, in the order of the addresses.
func (p *pool) stats() (list []ServerStats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, address := range slices.Sorted(maps.Keys(p.servers)) {
		host := p.servers[address]
		host.mu.Lock()
		list = append(list, ServerStats{address, host.connections, host.logins, host.busy, len(host.idle)})
		host.mu.Unlock()
	}
	return list
}

// server is what a Client knows about a server. A call first takes a slot. A call that opens a connection closes the
// idle ones that would be too many with it, so there are never more than Client.MaxConns connections, idle ones
// included.
type server struct {
	slots *semaphore.Weighted // waiting calls get one in the order in which they came

	mu   sync.Mutex
	busy int        // slots taken
	idle []*session // the longest idle comes first
	// calls whose greeting is late
	overdue int
	habits
	connections, logins int // so far
}

// known returns what is known about the server.
func (host *server) known() habits {
	host.mu.Lock()
	defer host.mu.Unlock()
	return host.habits
}

// learn changes what is known about the server.
func (host *server) learn(change func(*habits)) {
	host.mu.Lock()
	defer host.mu.Unlock()
	change(&host.habits)
}

func isLate(h *habits)       { h.late = true }
func isUnsettled(h *habits)  { h.unsettled = true }
func isSequential(h *habits) { h.sequential = true }
func hasNoEPSV(h *habits)    { h.noEPSV = true }
func hasOnePort(h *habits)   { h.onePort = true }
func wantsPASS(h *habits)    { h.wantsPASS = true }

// take removes the idle session from which the fewest CWDs lead to u's directory. If none can serve u, a session is to
// be made, and the caller must first drop tooMany: with them there would be more than most.
func (host *server) take(u *urlparse.URL, most int) (s *session, tooMany []*session) {
	host.mu.Lock()
	defer host.mu.Unlock()
	host.busy++
	if s = host.nearest(u); s != nil {
		host.remove(s)
		return s, nil
	}
	tooMany = slices.Clone(host.idle[:min(len(host.idle), max(0, len(host.idle)+host.busy-most))])
	for _, s := range tooMany {
		host.remove(s)
	}
	return nil, tooMany
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

// keep keeps a session, which no call uses any more, for some time. It returns false if so many are idle that there is
// no room, or a call waits for the greeting of a connection that this one may keep waiting.
func (host *server) keep(s *session, most int, long time.Duration) bool {
	host.mu.Lock()
	defer host.mu.Unlock()
	if len(host.idle) >= most || host.overdue > 0 {
		return false
	}
	if s.end == nil {
		s.end = time.AfterFunc(long, func() { host.expire(s) })
	} else {
		s.end.Reset(long)
	}
	host.idle = append(host.idle, s)
	host.busy--
	return true
}

// connected counts a connection.
func (host *server) connected() {
	host.mu.Lock()
	defer host.mu.Unlock()
	host.connections++
	host.greets = true
}

// loggedIn counts a login.
func (host *server) loggedIn() {
	host.mu.Lock()
	defer host.mu.Unlock()
	host.logins++
}

// left counts the end of a session that a call has used.
func (host *server) left() {
	host.mu.Lock()
	defer host.mu.Unlock()
	host.busy--
}

// remove removes s from the idle sessions. It returns false if s is not among them.
func (host *server) remove(s *session) bool {
	at := slices.Index(host.idle, s)
	if at < 0 {
		return false
	}
	s.end.Stop()
	host.idle = slices.Delete(host.idle, at, at+1)
	return true
}

// closeIdle closes the idle connections.
func (host *server) closeIdle() {
	host.mu.Lock()
	idle := slices.Clone(host.idle)
	host.mu.Unlock()
	for _, s := range idle {
		host.expire(s)
	}
}

// expire closes s, unless it is in use again. It holds a slot while it does so. If no slot is free, a call may be about
// to use or close s, and expire looks again later.
func (host *server) expire(s *session) {
	slot := host.slots.TryAcquire(1)
	host.mu.Lock()
	mine := slot && host.remove(s)
	if !slot && slices.Contains(host.idle, s) {
		s.end.Reset(time.Second)
	}
	host.mu.Unlock()
	if mine {
		s.drop()
	}
	if slot {
		host.slots.Release(1)
	}
}

// lateGreeting is how long a call waits for a greeting until it may be the server's other connections that keep it
// waiting. Devices that serve one client at a time accept the second connection, and greet it after the end of the
// first.
const lateGreeting = 2 * time.Second

// makeWay closes the idle connections to the server, and those that become idle, if the greeting of a new connection is
// late. The caller calls done when the greeting has come or the wait is over.
func (host *server) makeWay() (done func()) {
	late, over := false, false
	timer := time.AfterFunc(lateGreeting, func() {
		host.mu.Lock()
		late = !over
		if late {
			host.overdue++
		}
		host.mu.Unlock()
		if late {
			host.closeIdle()
		}
	})
	return func() {
		timer.Stop()
		host.mu.Lock()
		defer host.mu.Unlock()
		over = true
		if late {
			host.overdue--
		}
	}
}
