package ftpexec

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/urlparse"
)

// located keeps the working directory that PWD tells.
func (s *session) located(_ step, r wire.Reply) {
	switch name := directoryIn(r); {
	case len(s.dirs) == 0:
		s.home = name
	case name == s.below(s.dirs):
		s.sure = slices.Clone(s.dirs)
	}
}

func (s *session) secured(st step, r wire.Reply) error {
	op := st.Command
	switch {
	case r.OK():
		return s.conn.StartTLS()
	case r.First() == 5 && s.client.tries(s.plan):
		s.conn.Note("TLS is not available (" + r.String() + "): continuing unencrypted")
		return nil
	}
	return s.refused(op, r)
}

// entered judges the login: 332 asks for an account (RFC 959 section 4.1.1). A PASS that was sent with USER does not
// count if the server admitted the user without it.
func (s *session) entered(st step, r wire.Reply) error {
	op := st.Command
	switch {
	case op.Verb == "PASS" && s.admitted, op.Verb == "USER" && r.First() == 3 && r.Code != 332:
		return nil
	case r.Code == 332 && op.Verb != "ACCT":
		s.admitted = true
		return s.insert(step{Command: Command{Verb: "ACCT", HasArg: true, Secret: true}})
	case r.OK():
		s.admitted, s.spent = true, false
		return nil
	}
	return s.refused(op, r)
}

// moved records the directory that a CWD leads to. If the way back is refused, the connection is abandoned, and the plan
// runs on a new one.
func (s *session) moved(st step, r wire.Reply) error {
	if st.probe {
		return s.probed(st, r)
	}
	switch {
	case r.OK() && st.back:
		s.dirs, s.lost = slices.Clone(st.to), false
		return nil
	case r.OK():
		s.dirs = append(s.dirs, st.Arg)
		return nil
	}
	e, u := s.refused(st.Command, r), s.url
	if s.goal.batch != nil {
		u = s.goal.batch[st.file].url
		e.URL = u.Redacted()
	}
	if e.Hint == "" && e.Err == errDirectory && !st.back {
		e.Hint = inOneStep(u, len(s.dirs), e.Reply)
	}
	if st.back {
		s.conn.Abandon(e)
	}
	s.lost = true
	if s.goal.batch != nil && s.conn.Err() == nil {
		s.lose(st, e)
		return nil
	}
	s.typ = "" // what was sent with it is not judged
	return e
}

// errSpurned means that the server gives a port again to which a data connection has gone that it did not use. It may use
// that one for the next transfer, so that no byte of it would arrive.
var errSpurned = fmt.Errorf("%w: the port of a refused transfer again", ErrProtocol)

// ported takes the port of the data connection. If the reply to EPSV or EPRT (RFC 2428) is not usable, PASV or PORT (RFC
// 959) follows, but only over IPv4. The address in a reply is not used.
func (s *session) ported(st step, r wire.Reply) error {
	op := st.Command
	switch ok := r.OK(); {
	case op.Verb == "EPSV" && ok:
		s.port = extendedPort(r.LastLine())
	case op.Verb == "PASV" && ok:
		s.port = passivePort(r.Raw())
	case ok:
		s.port = s.listens
	}
	if s.port != 0 && s.port == s.spurned && !s.client.Active {
		s.conn.Note("the server may still have the data connection of the transfer that it has refused: trying again on a new connection")
		s.conn.Abandon(errSpurned)
		return s.failure(op, errSpurned)
	}
	if st.ahead && r.First() != 1 {
		s.ahead, s.early = "", s.port != 0
		if !s.early { // it follows again at its usual place
			s.client.learn(s.url, isLate)
		}
		return nil
	}
	last := op.Verb == "PASV" || op.Verb == "PORT" || !s.conn.IPv4()
	if s.port == 0 && last || r.First() == 1 {
		return s.refused(op, r)
	}
	s.noEPSV = s.noEPSV || op.Verb == "EPSV" && s.port == 0
	return nil
}

// announce opens a port for the server to connect to, and returns the argument of EPRT or PORT.
func (s *session) announce(st step) (string, error) {
	here, err := s.conn.Listen()
	if err != nil {
		return "", err
	}
	s.listens = here.Port
	four := here.IP.To4()
	switch {
	case st.Verb == "PORT":
		return fmt.Sprintf("%s,%d,%d", strings.ReplaceAll(four.String(), ".", ","), here.Port>>8, here.Port&0xff), nil
	case four != nil:
		return fmt.Sprintf("|1|%s|%d|", four, here.Port), nil
	}
	return fmt.Sprintf("|2|%s|%d|", here.IP, here.Port), nil
}

// errNoEntries means a refusal that stands for an empty directory.
var errNoEntries = errors.New("no entries")

func (s *session) began(st step, r wire.Reply) error {
	op := st.Command
	reply := s.reply(op, r)
	if s.spurned = 0; r.First() <= 2 {
		s.conn.Began(r, op.lists())
		s.info.opened(reply, s.goal.offset)
		return nil
	}
	s.spurned = s.port
	if op.lists() && reply.means(empty) {
		return errNoEntries
	}
	s.spent = s.goal.offset > 0 // a server may keep the offset of REST for the RETR after the one it refused
	if err := s.conn.DataFailure(); wire.IsLocal(err) {
		return s.failure(op, err) // the refusal is its consequence
	}
	e := s.refused(op, r)
	if e.Err == ErrNotFound && op.Verb == "RETR" && s.info.Size >= 0 { // SIZE has found it: there is another reason
		e.Err, e.Hint = errTransfer, ""
	}
	return e
}

// finish judges the final reply to a transfer of n bytes. The reply is nil if none came. alone means that nothing else
// tells whether the data is whole.
func finish(conn *wire.Conn, u *urlparse.URL, op Command, n int64, alone bool) (*Reply, *Error) {
	r, err := conn.Finish(alone)
	if err != nil {
		return nil, failure(u, op, conn.Secure(), err)
	}
	e := &Error{Stage: "transfer", Op: op.shown(), URL: u.Redacted(), Reply: newReply(r, op, u)}
	switch {
	case r.First() == 5 && n == 0: // refused, although 150 came first
		e.Hint, e.Err = refusal(op, e.Reply)
	case !r.Ends() && !e.Reply.means(done), e.Reply.means(aborted):
		e.Err = ErrTruncated
	case op.Verb == "NLST" && e.Reply.means(unopened):
		e.Err = ErrNotFound
	case op.lists() && e.Reply.means(unopened):
		e.Err = errTransfer
	case op.lists() && e.Reply.means(partial):
		e.Err, e.Hint = errPartial, "the others can be fetched by a list of their URLs"
	default:
		return e.Reply, nil
	}
	e.readLimits(op, conn.Secure())
	return e.Reply, e
}

var (
	errPartial = fmt.Errorf("%w: the server does not list all names", ErrTruncated) // nor will it next time
	errAbrupt  = fmt.Errorf("%w: TLS ended without close_notify, and no size is known", ErrTruncated)
	errUnended = fmt.Errorf("%w: its last line has no end", ErrTruncated)
)

// abrupt judges the data that ended under TLS without close_notify. known means that it was whole: then its server does that.
func (c *Client) abrupt(conn *wire.Conn, u *urlparse.URL, known bool) error {
	switch {
	case c.habits(u).abrupt:
		return nil
	case !known:
		return errAbrupt
	}
	c.learn(u, func(h *habits) { h.abrupt = true })
	conn.Note("the server ends data under TLS without close_notify: without a size only its reply tells whether a file is whole")
	return nil
}

// unlisted reports whether err is a refusal of the listing op that leaves the next way to list: of MLSD if the server does
// not know it or says that there is no such directory, of LIST -a if it may take "-a" for a name (450 too), of LIST and
// NLST for any reason but what another command meets too, such as TLS (52z, 53z).
func unlisted(op Command, err error) bool {
	e := (*Error)(nil)
	if !errors.As(err, &e) || e.Reply == nil || e.Op != op.shown() || errors.Is(e.Err, ErrTooMany) || errors.Is(e.Err, ErrTLSRequired) || errors.Is(e.Err, ErrTruncated) {
		return false
	}
	code := e.Reply.Code
	if op.Verb == "MLSD" {
		return unknownCommand(e) || errors.Is(e, fs.ErrNotExist)
	}
	return code/10 == 50 || code == 530 || code/10 == 55 || code == 450 && op.HasArg
}

// unknownCommand reports whether err is a refusal because the server does not know the command.
func unknownCommand(err error) bool {
	e := (*Error)(nil)
	return errors.As(err, &e) && e.Reply != nil && slices.Contains([]int{500, 501, 502, 504}, e.Reply.Code)
}
