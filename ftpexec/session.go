package ftpexec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/jlaffaye/ftp"

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

	// Against Close. Whoever runs changes control and conn under mu, and reads them without.
	mu      sync.Mutex
	running bool
	cut     bool // Close was called meanwhile
	busy    bool // a Body is open

	// The run under way.
	url  *urlparse.URL
	plan *Plan
	goal goal

	// The connection; nil control: none.
	control  *wire.Control
	conn     *ftp.ServerConn
	login    *urlparse.URL // the URL that the connection was made for
	utf8     bool          // FEAT was asked at login
	features *Reply        // to FEAT, once it was asked for its own sake
	home     string        // the directory after the login, by PWD; "" unknown
	dirs     []string      // CWDs sent since the login, all of them done
	lost     bool          // dirs is not where the server is
	spent    bool          // not for another URL: not logged in, or an offset of REST may be pending
	typ      string        // of the last TYPE; "" none
}

// Close ends the connection with QUIT. What is under way on another goroutine, and a Body still open, fail with
// [ErrLost].
func (s *Session) Close() error {
	s.mu.Lock()
	running, control := s.running, s.control
	s.cut = running
	s.mu.Unlock()
	switch {
	case !running:
		s.hangUp()
	case control != nil:
		control.Abandon(net.ErrClosed)
	}
	return nil
}

// hangUp leaves the connection.
func (s *Session) hangUp() {
	s.mu.Lock()
	control, conn, busy := s.control, s.conn, s.busy
	s.control, s.conn, s.busy = nil, nil, false
	s.mu.Unlock()
	switch {
	case control == nil:
	case conn == nil || busy || control.Err() != nil:
		control.Abandon(net.ErrClosed)
	default:
		conn.Quit() // the goodbye may fail; the connection is closed in any case
	}
}

// begin reserves the session for a run; it fails while another one, or a Body, has it.
func (s *Session) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy || s.running {
		return false
	}
	s.running, s.cut = true, false
	return true
}

// interrupted reports whether Close was called during the run.
func (s *Session) interrupted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

func (s *Session) finished() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
}

// connected gives a run its connection, which is of no use where Close came first.
func (s *Session) connected(control *wire.Control) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.control, s.conn = control, nil
	if s.cut {
		control.Abandon(net.ErrClosed)
	}
}

// hold reserves the session for a Body.
func (s *Session) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = true
}

// release ends what hold began, unless Close has taken control away meanwhile.
func (s *Session) release(control *wire.Control) {
	s.mu.Lock()
	mine := s.control == control
	s.busy = s.busy && !mine
	s.mu.Unlock()
	if mine && s.once {
		s.hangUp()
	}
}

// OpenURL retrieves the file that u names; see [Client.Open].
func (s *Session) OpenURL(ctx context.Context, u *urlparse.URL) (*Response, error) {
	return s.OpenFrom(ctx, u, 0)
}

// OpenFrom retrieves the file that u names, in image type, from the octet offset on (REST, RFC 3659 section
// 5). Where that cannot be, in ASCII type or because the server refuses it, the error is [ErrNoRestart] and
// the file can be retrieved from its beginning. Whether it is still the same file is for the caller to see,
// by the Response's Size and ModTime, before Body is read.
func (s *Session) OpenFrom(ctx context.Context, u *urlparse.URL, offset int64) (*Response, error) {
	if u.IsDir() {
		return nil, isDirectory(u)
	}
	if offset < 0 || offset > 0 && u.Type == urlparse.TypeASCII {
		return nil, &Error{Op: fmt.Sprintf("REST %d", offset), URL: u.Redacted(), Err: ErrNoRestart}
	}
	var r *Response
	err := s.run(ctx, u, goal{offset: offset}, func(end func()) (err error) {
		r, err = s.retrieve(ctx, end)
		return err
	})
	return r, err
}

// isDirectory is the error for a URL that names no file where one is wanted.
func isDirectory(u *urlparse.URL) *Error {
	return &Error{Op: "open", URL: u.Redacted(), Err: ErrIsDirectory, Hint: "List retrieves it"}
}

// goal is what a run is for, beyond its plan.
type goal struct {
	offset    int64 // of the RETR
	factsOnly bool  // no transfer
}

// maxTries bounds what is learned about a host in one run: that it loses what is sent ahead, that its EPSV
// ports are out of reach, that a kept connection was stale.
const maxTries = 4

// run does u's plan with transfer at its end, anew where what went wrong can be avoided.
func (s *Session) run(ctx context.Context, u *urlparse.URL, g goal, transfer func(end func()) error) error {
	plan, err := NewPlan(u)
	if err != nil {
		return err
	}
	if err := s.client.Check(); err != nil {
		return &Error{Op: "open", URL: u.Redacted(), Err: err}
	}
	if !s.begin() {
		return &Error{Op: "open", URL: u.Redacted(), Err: ErrBusy}
	}
	defer s.finished()
	if s.client.Active && s.client.Proxy != nil && s.client.Proxy(u.Address()) != nil {
		return &Error{Op: "open", URL: u.Redacted(), Err: fmt.Errorf("%w: a proxy takes no connections", ErrActive)}
	}
	s.url, s.plan, s.goal = u, plan, g
	for try := 1; ; try++ {
		reused := s.reusable()
		err := s.attempt(ctx, transfer)
		if err == nil {
			return nil
		}
		if s.control.Err() == nil {
			return err
		}
		again := try < maxTries && ctx.Err() == nil && !s.interrupted() && s.avoidable(reused)
		s.hangUp()
		if !again {
			return err
		}
	}
}

// avoidable reports whether another try can avoid what broke the connection, and remembers how.
func (s *Session) avoidable(reused bool) bool {
	h := s.client.habits(s.url)
	err := s.control.Err()
	switch {
	case errors.As(err, new(*wire.UnexpectedError)):
		return false
	case reused && !errors.Is(err, wire.ErrDataDial) && !errors.Is(err, wire.ErrListing):
		s.client.note("the connection kept from the last URL is gone: once more, on a new one")
		return true
	case errors.Is(err, wire.ErrLost) && !h.sequential:
		h.sequential = true
		s.client.note("replies to commands sent ahead were lost: once more, one command at a time")
	case errors.Is(err, wire.ErrDataDial) && !h.noEPSV && !s.client.Active && s.control.PASVMayHelp():
		h.noEPSV = true
		s.client.note("the EPSV port cannot be reached: once more, with PASV")
	default:
		return false
	}
	s.client.learn(s.url, h)
	return true
}

// attempt does the plan once, on the connection kept or a new one.
func (s *Session) attempt(ctx context.Context, transfer func(end func()) error) error {
	h := s.client.habits(s.url)
	fresh := !s.reusable()
	if fresh {
		s.hangUp()
		s.connected(wire.New(s.client.config(s.plan, s.url, h)))
		s.login, s.utf8, s.home, s.dirs, s.lost, s.typ = s.url, s.plan.needsUTF8(), "", nil, false, ""
		s.features, s.spent = nil, true
	}
	way := s.way()
	end := s.control.Begin(ctx, s.flights(fresh, way, h), h.sequential)
	err := s.enter(ctx, fresh, way)
	if err == nil {
		err = transfer(end)
	}
	if err != nil {
		end()
	}
	return err
}

// enter does everything before the transfer: login, directories, type.
func (s *Session) enter(ctx context.Context, fresh bool, way []string) error {
	if fresh {
		if err := s.logIn(ctx); err != nil {
			return err
		}
		s.spent = false
	}
	back := !s.onTheWay() // way begins with the directory after the login
	for i, dir := range way {
		if err := s.conn.ChangeDir(dir); err != nil {
			s.lost, s.typ = true, "" // a TYPE may have gone ahead behind it
			e := s.failure(ctx, withArg("CWD", dir), err)
			if e.Hint == "" && e.Err == ErrDirectory {
				e.Hint = inOneStep(s.url, len(s.url.Dirs)-len(way)+i, e.Reply)
			}
			if back && i == 0 {
				s.control.Abandon(e) // no way back: the plan is done on a new connection
			}
			return e
		}
	}
	s.dirs, s.lost = s.plan.dirs(), false
	if t := s.plan.find("TYPE"); t.Arg != s.typ {
		if err := s.conn.Type(ftp.TransferType(t.Arg)); err != nil {
			return s.failure(ctx, t, err)
		}
		s.typ = t.Arg
	}
	return nil
}

func (s *Session) logIn(ctx context.Context) error {
	conn, err := ftp.Dial(s.url.Address(), ftp.DialWithDialFunc(s.control.DialFunc))
	if err != nil {
		return s.failure(ctx, Command{Verb: "connect"}, err)
	}
	s.mu.Lock()
	s.conn = conn
	s.mu.Unlock()
	if err := conn.Login(s.plan.find("USER").Arg, wire.Placeholder); err != nil {
		e := s.failure(ctx, Command{Verb: "login"}, err)
		e.Op = cmp.Or(s.control.Last().Verb, e.Op)
		return e
	}
	if !s.once {
		s.home, _ = conn.CurrentDir() // without it the next URL may need a new connection
	}
	return nil
}

// reusable reports whether the connection kept is the one that the plan wants.
func (s *Session) reusable() bool {
	if s.control == nil || s.control.Err() != nil || s.spent {
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

// way returns the CWD arguments still to be sent.
func (s *Session) way() []string {
	if s.onTheWay() {
		return s.plan.dirs()[len(s.dirs):]
	}
	return append([]string{s.home}, s.plan.dirs()...)
}

// ascii reports whether no name holds an octet beyond ASCII.
func (p *Plan) ascii() bool {
	return !slices.ContainsFunc(p.Commands, func(c Command) bool {
		return slices.ContainsFunc([]byte(c.Arg), func(b byte) bool { return b >= 0x80 })
	})
}

// needsUTF8 reports whether a name is UTF-8 beyond ASCII: then the server is asked whether it wants to be
// told (OPTS UTF8 ON).
func (p *Plan) needsUTF8() bool {
	return slices.ContainsFunc(p.Commands, func(c Command) bool {
		return utf8.ValidString(c.Arg) && slices.ContainsFunc([]byte(c.Arg), func(b byte) bool { return b >= 0x80 })
	})
}
