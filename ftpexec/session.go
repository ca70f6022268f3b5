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

// Session runs URLs one after the other and keeps the control connection from one to the next where that is
// exactly right (RFC 1738 section 3.2.5): the same host, protection and login, and the working directory
// known. It goes on from there where the next URL's CWDs begin with those already sent, else from the
// directory that PWD named after the login; where that fails it dials again.
//
// A Session belongs to one goroutine, and one Response at a time: its Body is read to the end or closed
// before the next URL. Close alone may be called from any goroutine. The zero value is not for use; see
// [Client.Session].
type Session struct {
	client *Client
	once   bool // for one URL only: nothing is asked for the sake of a second

	mu    sync.Mutex // guards the following two, against Close
	open  *wire.Conn // link.conn, unless Close came
	inUse bool       // by a run, or a Body

	url  *urlparse.URL
	plan *Plan
	goal goal
	info Info // what the server has told of the file
	program
	link
}

// link is a connection, and what is known of its other end.
type link struct {
	conn     *wire.Conn // nil: none
	library  *library
	login    *urlparse.URL // the URL that it was made for
	utf8     bool          // FEAT was asked at login
	oneByOne bool          // the server is known to lose what is sent ahead
	features *Reply        // to FEAT, once it was asked
	admitted bool          // PASS is not needed any more
	spent    bool          // not for another URL: not logged in, or an offset of REST may be pending
	home     string        // the directory after the login, by PWD; "" unknown
	dirs     []string      // CWDs sent since the login, all of them done
	lost     bool          // dirs is not where the server is
	typ      string        // of the last TYPE; "" none
	noEPSV   bool          // EPSV was refused here, or its ports are known to be out of reach
	port     int           // of the data connection to come; 0: not known
	listens  int           // active mode: the port that the server is being told
}

// Close ends the connection with QUIT. What is under way on another goroutine, and a Body still open, fail with
// [ErrLost].
func (s *Session) Close() error {
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

// begin reserves the session for a run; it fails while another one, or a Body, has it.
func (s *Session) begin() bool {
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

// end ends the use of conn, unless a Body keeps it. It reports whether Close has not come meanwhile.
func (s *Session) end(conn *wire.Conn, kept bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.open == conn
	if mine {
		s.inUse = kept
	}
	return mine
}

// dial gives a run a new connection, which is of no use where Close has come.
func (s *Session) dial(noEPSV bool) {
	if s.conn != nil && s.conn.Err() == nil {
		s.conn.Quit()
	}
	conn := wire.New(s.client.config(s.plan, s.url))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != s.conn {
		conn.Abandon(ErrLost)
	} else {
		s.open = conn
	}
	s.link = link{conn: conn, login: s.url, utf8: s.plan.needsUTF8(), spent: true, noEPSV: noEPSV}
}

// Open retrieves the file that u names; see [Client.Open].
func (s *Session) Open(ctx context.Context, u *urlparse.URL) (*Response, error) {
	return s.OpenFrom(ctx, u, 0)
}

// OpenFrom retrieves the file that u names, in image type, from the octet offset on (REST, RFC 3659 section
// 5). Where that cannot be, in ASCII type or because the server refuses it, the error is [ErrNoRestart] and
// the file can be retrieved from its beginning. Whether it is still the same file is for the caller to see,
// by the Response's Size and ModTime, before Body is read.
func (s *Session) OpenFrom(ctx context.Context, u *urlparse.URL, offset int64) (*Response, error) {
	if offset < 0 || offset > 0 && u.Type == urlparse.TypeASCII {
		return nil, &Error{Op: fmt.Sprintf("REST %d", offset), URL: u.Redacted(), Err: ErrNoRestart}
	}
	var r *Response
	err := s.run(ctx, u, goal{offset: offset}, func(stop func()) (kept bool, err error) {
		r, err = s.retrieve(ctx, stop)
		return r != nil, err
	})
	return r, err
}

// goal is what a run is for, beyond its plan.
type goal struct {
	offset    int64 // of the RETR
	factsOnly bool  // no transfer
	list      bool  // of a directory
}

// maxTries bounds what is learned about a host in one run: that it loses what is sent ahead, that its EPSV
// ports are out of reach, that a kept connection was stale.
const maxTries = 4

// run does u's plan with transfer at its end, anew where what went wrong can be avoided. stop ends the hold of ctx on
// the connection; run calls it, unless transfer has kept it for a Body.
func (s *Session) run(ctx context.Context, u *urlparse.URL, g goal, transfer func(stop func()) (kept bool, err error)) error {
	plan, err := NewPlan(u)
	if err != nil {
		return err
	}
	refuse := func(err error, hint string) error { return &Error{Op: "open", URL: u.Redacted(), Err: err, Hint: hint} }
	if err := s.client.Check(); err != nil {
		return refuse(err, "")
	}
	switch {
	case u.IsDir() && !g.list:
		return refuse(ErrIsDirectory, "List retrieves it")
	case g.list && !u.IsDir():
		return refuse(ErrNotDirectory, `end the URL in "/" or ";type=d"`)
	case s.client.Active && s.client.proxy(u.Address()) != nil:
		return refuse(fmt.Errorf("%w: a proxy takes no connections", ErrActive), "")
	case !s.begin():
		return refuse(ErrBusy, "")
	}
	kept := false
	defer func() { s.end(s.conn, kept) }()
	s.url, s.plan, s.goal = u, plan, g
	for try := 1; ; try++ {
		reused := s.reusable()
		kept, err = s.attempt(ctx, !reused, transfer)
		if err == nil {
			return nil
		}
		e := s.failure(s.plan.final(), err).unless(ctx)
		if s.conn.Err() == nil {
			return e
		}
		s.conn.Close()
		if try == maxTries || ctx.Err() != nil || !s.end(s.conn, true) || !s.avoidable(err, reused) {
			return e
		}
	}
}

// avoidable reports whether another try can avoid err, which broke the connection, and remembers how.
func (s *Session) avoidable(err error, reused bool) bool {
	h := s.client.habits(s.url)
	dial := errors.As(err, new(*wire.DataDialError))
	switch {
	case errors.Is(err, errUnexpected):
		return false
	case reused && !dial && !errors.Is(err, wire.ErrListing):
		s.conn.Note("the connection kept from the last URL is gone: once more, on a new one")
		return true
	case errors.As(err, new(*wire.AheadError)) && !h.sequential:
		h.sequential = true
		s.conn.Note("replies to commands sent ahead were lost: once more, one command at a time")
	case dial && !s.noEPSV && !s.client.Active && s.conn.IPv4():
		h.noEPSV = true
		s.conn.Note("the EPSV port cannot be reached: once more, with PASV")
	default:
		return false
	}
	s.client.learn(s.url, h)
	return true
}

// attempt does the plan once, on the connection kept or a new one.
func (s *Session) attempt(ctx context.Context, fresh bool, transfer func(stop func()) (bool, error)) (kept bool, err error) {
	h := s.client.habits(s.url)
	if fresh {
		s.dial(h.noEPSV)
	}
	stop := s.conn.Begin(ctx)
	defer func() {
		if !kept {
			stop()
		}
	}()
	if fresh {
		if err := s.connect(h); err != nil {
			return false, err
		}
	}
	s.info, s.port = Info{Size: -1}, 0
	s.program = program{ctx: ctx, sequential: h.sequential || s.oneByOne, queue: s.plan.steps(s.course(fresh))}
	return transfer(stop)
}

// oneAtATime names servers, by their greeting, that lose commands sent ahead.
var oneAtATime = []string{"icrosoft FTP Service", "MadGoat", "MikroTik"}

// connect opens the connection, and has jlaffaye/ftp take it for a server.
func (s *Session) connect(h habits) error {
	greeting, err := s.conn.Connect()
	if err != nil {
		return s.failure(Command{Verb: "connect"}, err)
	}
	s.oneByOne = slices.ContainsFunc(oneAtATime, func(name string) bool { return strings.Contains(greeting.Raw(), name) })
	if s.oneByOne && !h.sequential {
		s.conn.Note("this server takes one command at a time")
	}
	if s.library, err = newLibrary(s); err != nil {
		return s.failure(Command{Verb: "connect"}, err)
	}
	return nil
}

// reusable reports whether the connection kept is the one that the plan wants.
func (s *Session) reusable() bool {
	if s.conn == nil || s.conn.Err() != nil || s.spent {
		return false
	}
	a, b := s.login, s.url
	return a.Scheme == b.Scheme && a.Address() == b.Address() && a.User == b.User && a.Password == b.Password &&
		(s.utf8 == s.plan.needsUTF8() || s.utf8 && s.plan.ascii()) && (s.onTheWay() || s.home != "")
}

// onTheWay reports whether the plan's CWDs begin with those that were sent.
func (s *Session) onTheWay() bool {
	want := s.plan.dirs()
	return !s.lost && len(s.dirs) <= len(want) && slices.Equal(s.dirs, want[:len(s.dirs)])
}

// course says what the steps of this run depend on.
func (s *Session) course(fresh bool) course {
	c := course{goal: s.goal, fresh: fresh, auth: s.client.tries(s.plan), once: s.once, way: s.plan.dirs(), typ: s.typ}
	if s.onTheWay() {
		c.way = c.way[len(s.dirs):]
	} else {
		c.home = s.home
	}
	c.setUp, c.inClear = []string{"EPSV", "PASV"}, s.client.Active || s.plan.Scheme == urlparse.FTP // under TLS nobody can read along
	if s.client.Active {
		c.setUp = []string{"EPRT", "PORT"}
	}
	switch {
	case !s.conn.IPv4():
		c.setUp = c.setUp[:1] // only these know IPv6
	case s.noEPSV && !s.client.Active:
		c.setUp = c.setUp[1:]
	}
	return c
}
