package ftpexec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/internal/guard"
	"example.com/ftpfetch/internal/lazy"
	"example.com/ftpfetch/urlparse"
)

// session is a connection to a server, or permission to open one, that only one call of a Client's methods uses at a
// time. It keeps the connection for the next URL if RFC 1738 section 3.2.5 allows that: the host, protection and login
// are the same, and the working directory is known. If the CWDs of the next URL begin with those already sent, it sends
// the rest. Otherwise it first returns to the directory that PWD named after the login. If that fails, it dials again.
type session struct {
	client *Client
	host   *server     // of the Client's pool, which takes the session back
	once   bool        // for one URL only: it sends nothing that only another URL needs
	end    *time.Timer // closes it while it is idle
	leave  func()      // what Admit returned
	since  time.Time   // when Admit returned it
	link

	// The memory of the last run, for the next one.
	room   program     // its steps
	flight []wire.Line // its last flight
	sent   []step      // the steps of that
}

// link is a connection, and where the session on it stands.
type link struct {
	conn     *wire.Conn // nil if there is none
	library  *library
	number   int           // of the connection, counted by the Client from 1
	traces   *traces       // who gets its events; nil if nobody does
	login    *urlparse.URL // the URL that the connection was made for
	oneByOne bool          // the greeting says that the server loses commands sent ahead
	standing
}

// standing is where a session stands: what the replies on its connection have said so far.
type standing struct {
	utf8     bool        // OPTS UTF8 ON was sent
	octets   bool        // nevertheless it lists names that are not UTF-8
	features *wire.Reply // to FEAT; nil if it was not sent
	admitted bool        // the login needs no PASS any more
	// a PASS was accepted
	authenticated bool
	// not for another URL: not logged in, or an offset of REST may be pending
	spent  bool
	place         // the working directory
	typ    string // the argument of the last TYPE; "" if none was sent
	noEPSV bool   // EPSV was refused here, or its ports cannot be reached
	// the EPSV or PASV that was sent at the end of the last transfer and is not answered; "" if none
	advance  string
	advanced bool // the port was asked for like that
	// of the next data connection; 0 if not known
	port int
	// the address that the reply to PASV names; "" if none
	named string
	// the port that a refused transfer has left behind; 0 if there is none
	stalePort int
	// active mode: the port that EPRT or PORT names
	listens int
	// the largest offset at which the server has begun as REST told it to; 0 if at none
	begins int64
	recent [4]string // the names of the last files that were asked about, the latest first
}

// dial replaces the connection by a new one, which is not open yet.
func (s *session) dial(u *urlparse.URL, h habits) {
	s.close()
	cfg := s.client.config(u, h.failed)
	cfg.Greets = h.greets || s.client.Admit != nil // its caller counts the connections
	s.link = link{
		conn:     wire.New(cfg),
		number:   int(s.client.dialled.Add(1)),
		login:    u,
		standing: standing{octets: h.octets, spent: true, noEPSV: h.noEPSV},
	}
}

// close sends QUIT if the connection is in order, and closes it. A connection that the end of a context is about to
// close is closed before close returns, because another call may then take its place.
func (s *session) close() {
	switch {
	case s.conn == nil:
		return
	case s.conn.Err() == nil && !s.conn.Unsettled():
		s.conn.Quit()
	default:
		s.conn.Close()
	}
	if s.admitted {
		s.learn(func(h *habits) { h.shut = time.Now() })
	}
}

// drop closes the connection and ends the session.
func (s *session) drop() {
	s.close()
	s.leave()
}

// serves reports whether the plan of u can run on the connection. A name that is not UTF-8 may mean another file once
// OPTS UTF8 ON was sent.
func (l *link) serves(u *urlparse.URL) bool {
	return l.usable() && l.login.SameLogin(u) && l.reaches(u.Dirs) &&
		(!l.utf8 || l.octets || needsUTF8(u) || isASCII(u))
}

// dataHost returns the host of the next data connection; "" means that of the control connection.
func (s *session) dataHost() string {
	if s.client.PassiveHost && !s.client.Active {
		return s.named
	}
	return ""
}

// elsewhere adds to a failure to open a data connection that the server has named another host for it.
func (s *session) elsewhere(e *Error) {
	if s.named != "" && s.dataHost() == "" && errors.As(e.Err, new(*wire.DataDialError)) && !s.conn.At(s.named) {
		e.Err = fmt.Errorf("%w: %w, %s", e.Err, ErrDataHost, s.named)
		e.final = true
	}
}

func (l *link) usable() bool { return l.conn != nil && l.conn.Err() == nil && !l.spent }

var passive, active = []string{"EPSV", "PASV"}, []string{"EPRT", "PORT"}

// setUp returns the commands that set up a data connection. The second is for servers that refuse the first.
func (s *session) setUp() []string {
	verbs := passive
	if s.client.Active {
		verbs = active
	}
	switch {
	case s.client.Active && !s.conn.IPv4():
		return verbs[:1] // PORT has room for an IPv4 address only
	case s.noEPSV && !s.client.Active:
		return verbs[1:]
	}
	return verbs
}

// announce opens a port for the server to connect to, and returns the argument of EPRT or PORT.
func (l *link) announce(verb string) (string, error) {
	here, err := l.conn.Listen()
	if err != nil {
		return "", err
	}
	l.listens = here.Port
	if verb == "PORT" {
		address := strings.ReplaceAll(here.IP.String(), ".", ",")
		return fmt.Sprintf("%s,%d,%d", address, here.Port>>8, here.Port&0xff), nil
	}
	family := 2
	if here.IP.To4() != nil {
		family = 1
	}
	return fmt.Sprintf("|%d|%s|%d|", family, here.IP, here.Port), nil
}

// loses matches the greetings of servers that lose commands sent ahead.
var loses = lazy.Regexp("icrosoft FTP Service|MadGoat|MikroTik|nodeftpd")

// connect opens the connection, and makes the library for its transfers.
func (r *run) connect(sequential bool) error {
	done := r.host.makeWay()
	greeting, err := r.conn.Connect()
	done()
	// Over IPv6, PASV is only for servers that know no EPSV, such as one behind NAT64: its address cannot be right.
	r.noEPSV = r.noEPSV && (r.conn.IPv4() || !r.client.NoEPSV)
	if err == nil {
		r.oneByOne = loses().MatchString(greeting.Raw)
		if r.oneByOne && !sequential {
			r.conn.Note("this kind of server needs one command at a time")
		}
		r.host.connected()
		r.library, err = newLibrary(r.conn.RemoteAddr())
	}
	if err != nil {
		return r.unconnected(err)
	}
	return nil
}

// unconnected returns the error for a connection that could not be opened.
func (r *run) unconnected(err error) *Error {
	e := r.failure(step{Command: Command{Verb: "connect"}}, err)
	if errors.Is(err, wire.ErrTLSFirst) {
		e.Err = fmt.Errorf("%w%.0w", err, ErrTLSRequired)
		u := *r.url
		u.Port = cmp.Or(u.Port, 21) // the port of ftps URLs is another one
		u.Scheme = "ftps"
		e.Hint = "write " + u.Redacted()
	}
	return e
}

func (c *Client) maxIdle() int  { return max(0, cmp.Or(c.MaxIdle, defaultMaxIdle)) }
func (c *Client) maxConns() int { return cmp.Or(max(0, c.MaxConns), math.MaxInt) }

// server returns what the Client knows about the server of u.
func (c *Client) server(u *urlparse.URL) *server { return c.pool.server(u, c.maxConns()) }

// known returns what is known about the server, with the Client's settings.
func (s *session) known() habits {
	h := s.host.known()
	h.sequential = h.sequential || s.client.NoPipelining
	h.noEPSV = h.noEPSV || s.client.NoEPSV || s.client.PassiveHost
	return h
}

// learn changes what is known about the server.
func (s *session) learn(change func(*habits)) { s.host.learn(change) }

// take returns a session for u that no other call uses: an idle one, or a new one. If the server may have no further
// connection, take waits. The caller must put the session back.
func (c *Client) take(ctx context.Context, u *urlparse.URL) (*session, error) {
	switch {
	case ctx == nil:
		return nil, errNoContext
	case u == nil:
		return nil, errNoURL
	}
	host := c.server(u)
	if !host.slots.TryAcquire(1) {
		tell(c.traces(ctx), func(to *Trace) func(WaitInfo) { return to.Wait }, WaitInfo{u.Address()})
		if host.slots.Acquire(ctx, 1) != nil {
			return nil, newError(Command{Verb: "connect"}, u,
				fmt.Errorf("waiting while all %d connections to the server are in use: %w",
					c.MaxConns, guard.Stop(ctx)))
		}
	}
	s, tooMany := host.take(u, min(c.maxIdle(), c.maxConns()))
	if s != nil {
		s.again(c.traces(ctx))
		return s, nil
	}
	for _, s := range tooMany {
		s.drop()
	}
	s = &session{client: c, host: host, once: c.maxIdle() == 0, leave: func() {}}
	if c.Admit == nil {
		return s, nil
	}
	leave, err := c.Admit(ctx, u.Address())
	if err != nil {
		c.put(s)
		return nil, newError(Command{Verb: "connect"}, u, err)
	}
	if leave != nil {
		s.leave = leave
	}
	s.since = time.Now()
	return s, nil
}

// put takes back a session of take. It keeps the connection if it can serve another URL and fewer than MaxIdle are
// idle.
func (c *Client) put(s *session) {
	keep := idleTimeout
	if c.Admit != nil {
		keep = min(idleAdmitted, admittedTime-time.Since(s.since))
	}
	if !s.usable() || s.lost && s.home == "" {
		keep = 0
	}
	if s.traces != nil && keep > 0 { // what happens from now on belongs to no call
		s.trace(c.traces(context.Background()))
	}
	if keep <= 0 || !s.host.keep(s, c.maxIdle(), keep) {
		s.drop()
		s.host.left()
	}
	s.host.slots.Release(1)
}

// CloseIdleConnections closes the connections that the Client keeps for further URLs (see MaxIdle). It does not touch
// connections in use. The Client remains usable.
func (c *Client) CloseIdleConnections() {
	for _, host := range c.pool.all() {
		host.closeIdle()
	}
}

// abrupt returns the error for data that ended under TLS without close_notify, or nil if the server always ends data
// like that. known means that the data is known to be whole, which shows that the server does.
func (s *session) abrupt(known bool) error {
	switch {
	case s.known().abrupt:
		return nil
	case !known:
		return errAbrupt
	}
	s.learn(func(h *habits) { h.abrupt = true })
	s.conn.Note("the server ends data under TLS without close_notify: " +
		"without a size only its reply shows whether a file is whole")
	return nil
}

// loseOrder records that the server's replies have come in another order than the commands. next says what follows.
func (s *session) loseOrder(next string) {
	s.learn(isSequential)
	s.conn.Note("a reply belongs to another command: " + next)
}

// toAsk returns what is left to do to get names in UTF-8.
func (s *session) toAsk(fresh bool) offer {
	if s.client.Octets || s.utf8 && !fresh {
		return settled
	}
	return s.known().utf8
}

// settling is how long a server may still count a connection that has been closed.
const settling = time.Second

// waitForRoom waits, and returns true, if the server has refused the connection while it may still count a closed one.
// If the context ends meanwhile, that becomes the reason for e.
func (r *run) waitForRoom(e *Error) bool {
	refused := errors.Is(e, ErrTooMany) && e.Stage != StageDirectory && e.Stage != StageTransfer
	if !refused || r.ctx.Err() != nil || time.Since(r.known().shut) >= settling {
		return false
	}
	r.conn.Note("the server may still count a connection that has been closed: trying again")
	pause, cancel := context.WithTimeout(r.ctx, settling/(maxTries-1))
	defer cancel()
	<-pause.Done()
	e.unless(r.ctx)
	return r.ctx.Err() == nil
}
