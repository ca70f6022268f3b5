package ftpexec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

type goal struct {
	offset   int64       // where RETR starts
	more     func() bool // Request.More
	listing  bool        // the plan ends in a listing
	entries  bool        // of whole entries
	op       Command     // what lists them
	how      int         // which of ways that is
	doubtful int64       // 1 more than the length of a listing that may have been cut: one of the same length is whole
	asks     []*question // the files to ask about, in place of a transfer
}

// run is a plan at work on a session. It sends its steps in flights and judges their replies in order.
type run struct {
	*session
	ctx  context.Context // the library's methods take no context
	url  *urlparse.URL
	goal goal
	file question // what the server tells about the file
	mask func(Command) Command

	stop       func() // ends the hold of ctx on the connection
	kept       bool   // a Body goes on with the connection
	sequential bool   // one command a flight
	queue, out []step // not yet sent; sent and not answered
	advanced   bool   // the port was asked for at the end of the last transfer
}

// maxTries bounds the connections of one run. Each but the last may teach one thing: that the kept connection was stale,
// that the host loses commands sent ahead, that its EPSV ports cannot be reached, that it still counts a closed one.
const maxTries = 4

// run runs u's plan, or asks what g asks, with work at the end. After a failure that can be avoided it tries again.
func (s *session) run(ctx context.Context, u *urlparse.URL, g goal, work func(*run) error) error {
	err := s.client.admit(u)
	switch {
	case err != nil:
		return err
	case u.IsDir() && !g.listing && g.asks == nil:
		return about(u, errIsDirectory)
	case g.listing && !u.IsDir():
		return about(u, errNotDirectory)
	}
	r := &run{session: s, ctx: ctx, url: u, goal: g, file: question{url: u}}
	r.mask = masking(u, s.client.secrets.Add)
	r.goal.op = r.mask(final(u))
	if g.entries {
		r.listBy(s.known().how)
	}
	for try := 1; ; try++ {
		reused := s.serves(u)
		if err = r.attempt(!reused, work); err == nil {
			return nil
		}
		e := r.failure(step{Command: r.goal.op}, err).unless(ctx)
		again := try < maxTries && r.outlasts(e)
		if !again && s.conn.Err() == nil {
			return e
		}
		s.conn.Close()
		if !again && (try == maxTries || ctx.Err() != nil || !r.avoidable(err, reused)) {
			return e
		}
	}
}

// admit returns why the Client does not run the plan of u, or nil.
func (c *Client) admit(u *urlparse.URL) error {
	err := u.Check()
	if err == nil && !c.AllowPort {
		err = u.BadPort()
	}
	switch {
	case err != nil:
		return err
	case c.MaxConns < 0:
		err = errors.New("MaxConns is negative: write a number of connections, or 0 for no limit")
	case c.Active && c.Proxy != nil && c.Proxy(u.Address()) != nil:
		err = fmt.Errorf("%w: a proxy cannot accept connections", errActive)
	default:
		return nil
	}
	return &Error{Op: "open", URL: u.Redacted(), Err: err}
}

// avoidable reports whether another try can avoid err, which ended the connection. It remembers how.
func (r *run) avoidable(err error, reused bool) bool {
	var lesson func(*habits)
	dial := errors.As(err, new(*wire.DataDialError))
	switch {
	case r.advance != "", dial && r.advanced && !localfile.Failed(err):
		lesson = isLate
		r.conn.Note("no data connection could be set up before the end of the last transfer: trying again on a new connection")
	case errors.Is(err, errUnexpected), localfile.Failed(err):
		return false
	case wire.IsOneOf(err, errNextWay, errSpurned, errUnended), errors.Is(err, errAbrupt) && r.goal.listing:
		return true
	case reused && !dial && !errors.Is(err, wire.ErrListing):
		r.conn.Note("the connection kept from the last URL is gone: trying again on a new one")
		return true
	case errors.As(err, new(*wire.AheadError)) && !r.sequential: // of this attempt: another session may have learned it meanwhile
		lesson = func(h *habits) { h.sequential = true }
		r.conn.Note("replies to commands sent ahead were lost: trying again, one command at a time")
	case dial && !r.noEPSV && !r.client.Active && r.conn.IPv4():
		lesson = func(h *habits) { h.noEPSV = true }
		r.conn.Note("the EPSV port cannot be reached: trying again with PASV")
	default:
		return false
	}
	r.learn(lesson)
	return true
}

// attempt runs the plan once, on a fresh connection or the kept one.
func (r *run) attempt(fresh bool, work func(*run) error) error {
	h := r.known()
	if fresh {
		r.dial(r.url, h.noEPSV)
	}
	r.queue, r.out, r.advanced = nil, nil, false
	r.stop = r.conn.Begin(r.ctx)
	defer func() {
		if !r.kept {
			r.stop()
			r.conn.Unlisten()
		}
	}()
	if fresh {
		if err := r.connect(h.sequential); err != nil {
			return err
		}
	}
	r.port, r.file = 0, question{url: r.url, info: untold(r.url)}
	for _, q := range r.goal.asks {
		*q = question{url: q.url, typ: q.typ, asks: q.asks, info: untold(q.url)}
	}
	r.sequential, r.queue = h.sequential || r.oneByOne, steps(r.url, r.course(fresh))
	if r.advance != "" {
		r.out, r.queue = r.queue[:1:1], r.queue[1:]
	}
	if r.goal.asks != nil {
		if err := r.runTo(""); err != nil || work == nil {
			return err
		}
	}
	return work(r)
}

func (r *run) course(fresh bool) course {
	return course{goal: r.goal, fresh: fresh, auth: r.client.tries(r.url), once: r.once, place: r.place, typ: r.typ, advance: r.advance, setUp: r.setUp(),
		inClear: r.client.Active || r.url.Scheme == urlparse.FTP} // under TLS no firewall can read it
}

// runTo sends the steps of the run up to and including the last step with this verb that is due, or all if verb is "". It
// does nothing if no such step is due.
func (r *run) runTo(verb string) error {
	for verb == "" || r.due(verb) {
		if len(r.out) == 0 {
			if st, err := r.send(); err != nil {
				return r.failure(st, err)
			}
		}
		if len(r.out) == 0 {
			return nil
		}
		st := r.out[0]
		reply, err := r.conn.Receive()
		if err == nil {
			r.out = r.out[1:]
			err = r.judge(st, reply)
		}
		if err != nil {
			return r.failure(st, err)
		}
	}
	return nil
}

// due reports whether a step with this verb is not yet answered.
func (r *run) due(verb string) bool {
	due := func(st step) bool { return st.Verb == verb && !r.needless(st) }
	return slices.ContainsFunc(r.out, due) || slices.ContainsFunc(r.queue, due)
}

// send sends the next flight. With an error it returns the step that failed: the first one if the connection failed.
func (r *run) send() (step, error) {
	flight := make([]wire.Line, 0, len(r.queue))
	r.out = slices.Grow(r.out, len(r.queue))
	for len(r.queue) > 0 && (len(flight) == 0 || !r.sequential && r.queue[0].waits == "") {
		st := r.queue[0]
		r.queue = r.queue[1:]
		st.Command = r.mask(st.Command)
		if r.needless(st) {
			continue
		}
		line, err := r.line(st)
		if err != nil {
			return st, err
		}
		r.out, flight = append(r.out, st), append(flight, line)
	}
	if len(flight) == 0 {
		return step{}, nil
	}
	return r.out[0], r.conn.Send(flight...)
}

// line returns a step as it is sent. Passwords, accounts and ports are not asked for earlier.
func (r *run) line(st step) (_ wire.Line, err error) {
	arg := st.Arg
	if find := verbs[st.Verb].argument; find != nil {
		arg, err = find(r, st)
	}
	text := Command{Verb: st.Verb, Arg: arg}.line()
	shown := text
	switch {
	case st.secret:
		shown = st.Verb + " " + stars
	case st.shows != "":
		shown = st.display()
	}
	return wire.Line{Text: text, Shown: shown, Transfer: st.Verb == "RETR" || verbs[st.Verb].lists}, err
}

// insert puts st before the other steps. Steps that are sent already were sent too early: insert discards their replies,
// and they are sent again.
func (r *run) insert(st step) error {
	for range r.out {
		if _, err := r.conn.Receive(); err != nil {
			return err
		}
	}
	r.queue, r.out = slices.Concat([]step{st}, r.out, r.queue), nil
	if len(r.queue) > 1 {
		r.queue[1].waits = forLogin
	}
	return nil
}

func (r *run) user(st step) (string, error) {
	_, slip, _ := strings.Cut(st.Arg, ":")
	r.client.secrets.Add(slip)
	return st.Arg, nil
}

// password returns the argument of PASS. From now on nothing shows it.
func (r *run) password(step) (text string, err error) {
	if r.url.User == nil {
		return email, nil
	}
	text, ok := r.url.User.Password()
	if !ok {
		return r.supplied("password")
	}
	r.client.secrets.Add(text)
	return text, nil
}

func (r *run) account(step) (string, error) { return r.supplied("account") }

// supplied returns what Credentials supplies. From now on nothing shows it.
func (r *run) supplied(what string) (string, error) {
	if r.client.Credentials == nil {
		return "", ErrNoCredentials
	}
	text, err := r.client.Credentials(r.ctx, r.url.Host, r.url.User.Username(), what)
	r.client.secrets.Add(text)
	return text, err
}
