package ftpexec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/urlparse"
)

// session retrieves URLs one after another. It keeps the control connection for the next URL if RFC 1738 section 3.2.5
// allows that: the host, protection and login are the same, and the working directory is known. If the CWDs of
// the next URL begin with those already sent, it sends the rest. Otherwise it first returns to the directory that PWD
// named after the login. If that fails, it dials again.
//
// A session may be used by one goroutine at a time; only Close may be called from any goroutine. It serves one Response
// at a time: until the caller has read its Body to the end or closed it, the other methods fail with an error. Use
// [Client.Session] to make a Session; the zero value is not valid.
type session struct {
	client *Client
	once   bool    // for one URL only: it sends nothing for the sake of a second one
	host   *server // of the Client's pool, which takes the session back; nil if it was not taken there

	mu    sync.Mutex // guards open and inUse against Close
	open  *wire.Conn // link.conn, or nil after Close
	inUse bool       // by a run or a Body

	url  *urlparse.URL
	plan *Plan
	goal goal
	info Entry // what the server has told about the file
	program
	link
}

// link is a connection and what is known about its server.
type link struct {
	conn     *wire.Conn // nil if there is none
	library  *library
	login    *urlparse.URL // the URL that the connection was made for
	utf8     bool          // FEAT was sent at login
	oneByOne bool          // the greeting is that of a server that loses commands sent ahead
	features *wire.Reply   // to FEAT; nil if it was not sent
	admitted bool          // the login needs no PASS any more
	spent    bool          // not for another URL: not logged in, or an offset of REST may be pending
	place                  // the working directory
	typ      string        // the argument of the last TYPE; "" if none was sent
	noEPSV   bool          // EPSV was refused here, or its ports cannot be reached
	ahead    string        // the EPSV or PASV that was sent at the end of the last transfer and is not answered; "" if none
	port     int           // of the next data connection; 0 if not known
	spurned  int           // the port of one that a refused transfer has left behind; 0 if there is none
	listens  int           // active mode: the port that EPRT or PORT names
}

// Close sends QUIT and closes the connection. A method that is running on another goroutine and an open Body fail with
// [ErrLost]. Close always returns nil. The Session may be used again; it dials a new connection then.
func (s *session) Close() error {
	s.mu.Lock()
	conn, inUse := s.open, s.inUse
	s.open, s.inUse = nil, false
	s.mu.Unlock()
	switch {
	case conn == nil:
	case inUse || conn.Err() != nil:
		conn.Abandon(ErrLost)
	default:
		conn.Quit()
	}
	return nil
}

// begin reserves the session for a run. It returns false while another run or a Body uses it.
func (s *session) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inUse {
		return false
	}
	s.inUse = true
	if s.open == nil {
		s.link = link{}
	}
	return true
}

// end ends the use of conn, unless a Body keeps it. It returns false if Close was called meanwhile.
func (s *session) end(conn *wire.Conn, kept bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.open == conn
	if mine {
		s.inUse = kept
	}
	return mine
}

// dial replaces the connection. If Close was called meanwhile the new one is closed already.
func (s *session) dial(noEPSV bool) {
	if s.conn != nil && s.conn.Err() == nil {
		s.conn.Quit()
	}
	s.leave()
	conn := wire.New(s.client.config(s.plan, s.url))
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.inUse {
		conn.Abandon(ErrLost)
	} else {
		s.open = conn
	}
	s.link = link{conn: conn, login: s.url, utf8: s.plan.needsUTF8(), spent: true, noEPSV: noEPSV}
}

// Do retrieves the file that req names, on the session's connection; see [Client.Do].
func (s *session) Do(ctx context.Context, req *Request) (*Response, error) {
	if req.Offset < 0 || req.Offset > 0 && req.URL.Type == urlparse.TypeASCII {
		return nil, &Error{Op: fmt.Sprintf("REST %d", req.Offset), URL: req.URL.Redacted(), Err: ErrNoRestart}
	}
	var r *Response
	err := s.run(ctx, req.URL, goal{offset: req.Offset, more: req.More}, func(stop func()) (kept bool, err error) {
		r, err = s.retrieve(ctx, stop)
		return r != nil, err
	})
	return r, err
}

// goal is the purpose of a run, beyond its plan.
type goal struct {
	offset    int64       // where RETR starts
	more      func() bool // Request.More
	factsOnly bool        // no transfer
	list      bool        // a listing
	entries   bool        // of whole entries
	how       int         // the one of ways that lists them
	batch     []*question // facts about many files, and nothing else
	doubtful  int64       // 1 more than the length of a listing that may have been cut: one of the same length is whole
}

// maxTries bounds the connections of one run. Each but the last may teach one thing: that the kept connection was stale,
// that the host loses commands sent ahead, that its EPSV ports cannot be reached, that it still counts a closed one.
const maxTries = 4

// run runs u's plan with transfer at its end. After a failure that can be avoided it tries again. stop ends the hold of
// ctx on the connection; run calls it unless transfer keeps the connection for a Body.
func (s *session) run(ctx context.Context, u *urlparse.URL, g goal, transfer func(stop func()) (kept bool, err error)) error {
	plan, err := NewPlan(u)
	if err != nil {
		return err
	}
	if !s.client.AllowPort {
		if err := u.BadPort(); err != nil {
			return err
		}
	}
	refuse := func(err error, hint string) error { return &Error{Op: "open", URL: u.Redacted(), Err: err, Hint: hint} }
	if err := s.client.check(); err != nil {
		return refuse(err, "")
	}
	switch {
	case u.IsDir() && !g.list && g.batch == nil:
		return about(u, errIsDirectory)
	case g.list && !u.IsDir():
		return errNotDirectory(u)
	case s.client.Active && s.client.proxy(u.Address()) != nil:
		return refuse(fmt.Errorf("%w: a proxy cannot accept connections", errActive), "")
	case !s.begin():
		return refuse(errBusy, "")
	}
	kept := false
	defer func() { s.end(s.conn, kept) }()
	s.url, s.plan, s.goal = u, plan, g
	s.client.secrets.Add(plan.slip[:max(0, strings.LastIndexByte(plan.slip, '@'))])
	if g.entries {
		s.listBy(s.client.habits(u).how)
	}
	for try := 1; ; try++ {
		reused := s.serves(s.url, s.plan)
		kept, err = s.attempt(ctx, !reused, transfer)
		if err == nil {
			return nil
		}
		e := s.failure(s.plan.final(), err).unless(ctx)
		if try < maxTries && s.outlasts(ctx, e) && s.end(s.conn, true) {
			s.conn.Close()
			continue
		}
		if s.conn.Err() == nil {
			return e
		}
		s.conn.Close()
		if try == maxTries || ctx.Err() != nil || !s.end(s.conn, true) || !s.avoidable(err, reused) {
			return e
		}
	}
}

// avoidable reports whether another try can avoid err, which ended the connection. It remembers how.
func (s *session) avoidable(err error, reused bool) bool {
	var lesson func(*habits)
	dial := errors.As(err, new(*wire.DataDialError))
	switch {
	case s.ahead != "", dial && s.early:
		lesson = isLate
		s.conn.Note("no data connection could be set up before the end of the last transfer: trying again on a new connection")
	case errors.Is(err, errUnexpected), wire.IsLocal(err):
		return false
	case errors.Is(err, errNextWay), errors.Is(err, errSpurned), errors.Is(err, errAbrupt) && s.goal.list, errors.Is(err, errUnended):
		return true
	case reused && !dial && !errors.Is(err, wire.ErrListing):
		s.conn.Note("the connection kept from the last URL is gone: trying again on a new one")
		return true
	case errors.As(err, new(*wire.AheadError)) && !s.sequential: // of this attempt: another session may have learned it meanwhile
		lesson = isSequential
		s.conn.Note("replies to commands sent ahead were lost: trying again, one command at a time")
	case dial && !s.noEPSV && !s.client.Active && s.conn.IPv4():
		lesson = hasNoEPSV
		s.conn.Note("the EPSV port cannot be reached: trying again with PASV")
	default:
		return false
	}
	s.client.learn(s.url, lesson)
	return true
}

// attempt runs the plan once, on a fresh connection or the kept one.
func (s *session) attempt(ctx context.Context, fresh bool, transfer func(stop func()) (bool, error)) (kept bool, err error) {
	h := s.client.habits(s.url)
	if fresh {
		s.dial(h.noEPSV)
	}
	s.program = program{ctx: ctx, sequential: h.sequential}
	stop := s.conn.Begin(ctx)
	defer func() {
		if !kept {
			stop()
			s.conn.Unlisten()
		}
	}()
	if fresh {
		if err := s.connect(h); err != nil {
			return false, err
		}
	}
	s.info, s.port = untold(s.url), 0
	for _, q := range s.goal.batch {
		*q = question{Plan: q.Plan, asks: q.asks, url: q.url, info: untold(q.url)}
	}
	s.sequential, s.queue = s.sequential || s.oneByOne, s.plan.steps(s.course(fresh))
	if s.ahead != "" {
		s.out, s.queue = s.queue[:1:1], s.queue[1:]
	}
	return transfer(stop)
}

// oneAtATime are parts of the greetings of servers that lose commands sent ahead.
var oneAtATime = []string{"icrosoft FTP Service", "MadGoat", "MikroTik"}

// connect opens the connection and gives it to jlaffaye/ftp.
func (s *session) connect(h habits) error {
	greeting, err := s.conn.Connect()
	if err != nil {
		return s.failure(Command{Verb: "connect"}, err)
	}
	s.oneByOne = slices.ContainsFunc(oneAtATime, func(name string) bool { return strings.Contains(greeting.Raw(), name) })
	if s.oneByOne && !h.sequential {
		s.conn.Note("this kind of server needs one command at a time")
	}
	if s.library, err = newLibrary(s); err != nil {
		return s.failure(Command{Verb: "connect"}, err)
	}
	return nil
}

// serves reports whether u's plan can run on the connection.
func (l *link) serves(u *urlparse.URL, p *Plan) bool {
	if !l.usable() {
		return false
	}
	return l.login.SameLogin(u) && (l.utf8 == p.needsUTF8() || l.utf8 && p.ascii()) && l.reaches(u.Dirs)
}

// usable reports whether the connection may serve another URL.
func (l *link) usable() bool { return l.conn != nil && l.conn.Err() == nil && !l.spent }

// course returns what the steps of this run depend on.
func (s *session) course(fresh bool) course {
	c := course{goal: s.goal, fresh: fresh, auth: s.client.tries(s.plan), once: s.once, place: s.place, typ: s.typ, ahead: s.ahead, setUp: s.setUp()}
	c.inClear = s.client.Active || s.plan.Scheme == urlparse.FTP // under TLS no firewall can read it
	return c
}

// setUp returns the commands that set up a data connection. The second is for servers that refuse the first.
func (s *session) setUp() []string {
	verbs := []string{"EPSV", "PASV"}
	if s.client.Active {
		verbs = []string{"EPRT", "PORT"}
	}
	switch {
	case !s.conn.IPv4():
		return verbs[:1] // the others do not support IPv6
	case s.noEPSV && !s.client.Active:
		return verbs[1:]
	}
	return verbs
}

// sentAhead records the EPSV or PASV that was sent at the end of a transfer on conn.
func (s *session) sentAhead(conn *wire.Conn, verb string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == conn { // otherwise Close was called, and another run may have begun
		s.ahead = verb
	}
}
