package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/cmd/internal/cli/show"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/retry"
	"example.com/ftpfetch/urlparse"
)

const (
	mostBad  = 3               // refused logins of a worker as one user of a host
	comeBack = 5 * time.Minute // time until a host that did not answer is tried again
	mostTold = 256             // number of hosts in a presence
	mostWhys = 32              // number of causes in a presence
)

// doubt is how long a host must be unusable for all workers before its files fail. Tests change it.
var doubt = time.Minute

// agreed is how many workers must fail to fetch a file before it fails without a refusal from the server. If there are
// fewer workers, all must.
const agreed = 3

// loginGate is the login of a user to a host. Until one login has succeeded, only one lane at a time tries.
type loginGate struct {
	open atomic.Bool
	turn chan struct{} // holds the lane that tries
	bad  atomic.Int64
}

// departure is why a worker does not use a host, or does not log in as some user there.
type departure struct {
	cause error
	at    time.Time
}

// gates has what a worker knows about the hosts that it has met.
type gates struct {
	mu         sync.Mutex
	loginGates map[string]*loginGate // by host and user
	left       map[string]departure  // by host and user, or by host if the worker cannot use it as any user
	served     map[string]bool       // hosts that have accepted a login
	peers      recent

	refused map[string]departure // by host: since when it has let this worker in no more

	asking    sync.Mutex // held while reading presences
	presences map[string]presence
	read      time.Time // when presences was read
}

// recent is a number of a while ago, such as that of the workers: a server that was away does not know all of them at
// once.
type recent struct {
	n  int
	at time.Time
}

// others returns the presences of all workers. It reads those of a large fleet rarely, because when a host fails, all
// workers want them.
func (w *worker) others() (_ map[string]presence, err error) {
	g := w.gates
	g.asking.Lock()
	defer g.asking.Unlock()
	if time.Since(g.read) > max(beat/4, time.Duration(len(g.presences))*beat/100) {
		if g.presences, err = w.presences(w.ctx); err == nil {
			g.read = time.Now()
		}
	}
	return g.presences, err
}

// workers returns the largest number of workers in about the last minute. now is the current number.
func (g *gates) workers(now int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now >= g.peers.n || time.Since(g.peers.at) > time.Minute {
		g.peers = recent{now, time.Now()}
	}
	return g.peers.n
}

func newGates() *gates {
	return &gates{
		loginGates: make(map[string]*loginGate), left: make(map[string]departure), served: make(map[string]bool),
		refused: make(map[string]departure),
	}
}

// forgive tries again the logins that were refused or missing, because the netrc file has changed. With tls it also
// tries the hosts that were not trusted.
func (g *gates) forgive(tls bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, d := range g.left {
		if isLogin(d.cause) || tls && errors.Is(d.cause, ftpexec.ErrTLS) {
			delete(g.left, key)
			delete(g.loginGates, key)
		}
	}
}

func loginKey(u *urlparse.URL) string { return hostKey(u.Address()) + " " + u.User.Username() }

func (g *gates) loginGate(u *urlparse.URL) *loginGate {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.loginGates[loginKey(u)]
	if d == nil {
		d = &loginGate{turn: make(chan struct{}, 1)}
		g.loginGates[loginKey(u)] = d
	}
	return d
}

// gone returns why this worker does not request a URL, or nil.
func (g *gates) gone(u *urlparse.URL) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, key := range []string{hostKey(u.Address()), loginKey(u)} {
		if d, ok := g.left[key]; ok {
			return &retry.Judged{Err: d.cause} // no lane tries again
		}
	}
	return nil
}

// away returns why this worker leaves a host to others: the host does not answer, or refuses every login that the
// worker has.
func (g *gates) away(host string) (departure, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d, ok := g.left[host]; ok && time.Since(d.at) > comeBack {
		delete(g.left, host)
	}
	for key, d := range g.left {
		if at, _, user := strings.Cut(key, " "); at == host && !(user && g.served[host]) {
			return d, true
		}
	}
	return departure{}, false
}

func isLogin(err error) bool {
	return errors.Is(err, ftpexec.ErrLogin) || errors.Is(err, ftpexec.ErrNoCredentials)
}

// depart makes all lanes of this worker leave a host, or stop logging in as a user there.
func (w *worker) depart(u *urlparse.URL, cause error) {
	key := hostKey(u.Address())
	if isLogin(cause) {
		key = loginKey(u)
	}
	w.gates.mu.Lock()
	_, before := w.gates.left[key]
	if !before {
		w.gates.left[key] = departure{cause, time.Now()}
	}
	w.gates.mu.Unlock()
	switch {
	case before:
	case w.json:
		w.log.Warn("this worker leaves a host to others", "host", u.Address(),
			"cause", show.OneLine(cause.Error()))
	default:
		w.line("this worker leaves the files of %s to others: %v", u.Address(), cause)
	}
}

// visit is a request to a host.
type visit struct {
	w         *worker
	url       *urlparse.URL
	loginGate *loginGate
	leave     func() // lets the next lane try
}

// enter waits until a request may be made.
func (w *worker) enter(ctx context.Context, u *urlparse.URL) (*visit, error) {
	v := &visit{w: w, url: u, loginGate: w.gates.loginGate(u), leave: func() {}}
	if !v.loginGate.open.Load() {
		select {
		case v.loginGate.turn <- struct{}{}:
			v.leave = sync.OnceFunc(func() { <-v.loginGate.turn })
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if err := w.gates.gone(u); err != nil {
		v.leave()
		return nil, err
	}
	return v, nil
}

// in records that the login is complete. The transfer may begin much later.
func (v *visit) in() {
	v.loginGate.open.Store(true)
	v.w.gates.admitted(v.url)
	v.leave()
}

func (v *visit) ended(err error) {
	defer v.leave()
	server, _ := errors.AsType[*ftpexec.Error](err)
	switch {
	case errors.Is(err, ftpexec.ErrNoCredentials),
		errors.Is(err, ftpexec.ErrLogin) && v.loginGate.bad.Add(1) >= mostBad:
		v.w.depart(v.url, err)
	case errors.Is(err, ftpexec.ErrLogin):
		v.loginGate.open.Store(false)
	case err == nil, server != nil && (server.Stage == ftpexec.StageDirectory || server.Stage == ftpexec.StageTransfer):
		v.in()
	}
}

// aboutHost reports whether an error says that this worker cannot use a host at all, whatever the file.
func aboutHost(err error) bool {
	e, ok := errors.AsType[*ftpexec.Error](err)
	return isLogin(err) || ok && (e.Stage == ftpexec.StageConnect || e.Stage == ftpexec.StageLogin || e.Code == 425 ||
		errors.Is(err, ftpexec.ErrConnect) || errors.Is(err, ftpexec.ErrTLS))
}

// urlOf returns the URL that an error is about, which may be another one of the same file, or u.
func urlOf(err error, u *urlparse.URL) *urlparse.URL {
	if e, ok := errors.AsType[*ftpexec.Error](err); ok {
		if other, uerr := urlparse.Parse(e.URL); uerr == nil {
			return other
		}
	}
	return u
}

// presences returns the presences of all workers, by their keys.
func (f *fleet) presences(ctx context.Context) (map[string]presence, error) {
	return values[presence](ctx, f, f.workers)
}

// agrees reports whether a file fails: enough workers could not fetch it, including this one, or all that use its host.
// A worker that has just begun waits, because others may be about to join.
func (w *worker) agrees(c *chunk) bool {
	host := hostKey(c.Host)
	presences, err := w.others()
	if err != nil || len(presences) == 0 {
		return false
	}
	could := w.gates.workers(len(presences))
	for name, p := range presences {
		if p.leaves(host) && name != keyOf(w.name) {
			could--
		}
	}
	not := len(c.Not)
	if !slices.Contains(c.Not, w.name) {
		not++
	}
	if not < agreed && time.Since(w.born) < w.doubt {
		return false
	}
	return not >= min(agreed, max(1, could))
}

// hopeless reports whether no worker can use a host that this one left a while ago: all workers have left it, or enough
// have and it has accepted no login.
func (w *worker) hopeless(host string) bool {
	d, ok := w.gates.away(host)
	if !ok || time.Since(d.at) < w.doubt {
		return false
	}
	presences, err := w.others()
	if err != nil {
		return false
	}
	left := 0
	served := false
	for _, p := range presences {
		if p.leaves(host) {
			left++
		}
		served = served || slices.Contains(p.Served, host)
	}
	all := w.gates.workers(len(presences))
	return left > 0 && (left >= all || left >= agreed && !served)
}

// says adds to a presence what this worker knows about hosts.
func (g *gates) says(p *presence) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, d := range g.left {
		host, _, user := strings.Cut(key, " ")
		switch {
		case user && g.served[host]: // as somebody else
			p.tell(host, "login", d)
		case !p.leaves(host):
			p.tell(host, "left", d)
		}
	}
	for host, d := range g.refused {
		p.tell(host, "refuses", d)
	}
	for host := range g.served {
		if len(p.Served) < mostTold && !p.leaves(host) {
			p.Served = append(p.Served, host)
		}
	}
}

func (p *presence) tell(host, state string, d departure) {
	t := trouble{host, state, show.OneLine(d.cause.Error()), d.at.UTC()}
	if len(p.Troubles) >= mostWhys {
		t.Why = ""
	}
	if len(p.Troubles) < mostTold {
		p.Troubles = append(p.Troubles, t)
	}
}
