package ftpexec

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"example.com/ftpfetch/ftpexec/internal/wire"
)

// program is a run on a connection. It sends its steps in flights and judges their replies in order.
type program struct {
	ctx        context.Context // of the run; the library's methods take no context
	sequential bool            // one command a flight
	queue, out []step          // not yet sent; sent and not answered
	early      bool            // the port was asked for at the end of the last transfer
}

// runTo runs the program up to and including the last step with this verb that is due, or to its end if verb is "". It
// does nothing if no such step is due.
func (s *session) runTo(verb string) error {
	for verb == "" || s.due(verb) {
		if len(s.out) == 0 {
			if st, err := s.send(); err != nil {
				return s.failure(st.Command, err)
			}
		}
		if len(s.out) == 0 {
			return nil
		}
		st := s.out[0]
		r, err := s.conn.Receive()
		if err == nil {
			s.out = s.out[1:]
			err = s.judge(st, r)
		}
		if err != nil {
			return s.failure(st.Command, err)
		}
	}
	return nil
}

// due reports whether a step with this verb is not yet answered.
func (s *session) due(verb string) bool {
	due := func(st step) bool { return st.Verb == verb && !s.needless(st) }
	return slices.ContainsFunc(s.out, due) || slices.ContainsFunc(s.queue, due)
}

// send sends the next flight. With an error it returns the step that failed, which is the first one of the flight if the
// connection failed.
func (s *session) send() (step, error) {
	var flight []wire.Line
	for len(s.queue) > 0 && (len(flight) == 0 || !s.sequential && s.queue[0].waits == "") {
		st := s.queue[0]
		s.queue = s.queue[1:]
		st.Command = s.plan.mask(st.Command)
		if s.needless(st) {
			continue
		}
		line, err := s.line(st)
		if err != nil {
			return st, err
		}
		s.out, flight = append(s.out, st), append(flight, line)
	}
	if len(flight) == 0 {
		return step{}, nil
	}
	return s.out[0], s.conn.Send(flight...)
}

// line returns a step as it is sent. Passwords, accounts and ports are not asked for earlier.
func (s *session) line(st step) (line wire.Line, err error) {
	arg := st.Arg
	if find := verbs[st.Verb].argument; find != nil {
		arg, err = find(s, st)
	}
	if st.HasArg = st.HasArg || arg != ""; !st.Secret && st.stands == "" {
		st.Arg = arg
	}
	line = wire.Line{Text: st.Verb, Shown: st.traced(), Transfer: st.transfers()}
	if st.HasArg {
		line.Text += " " + arg
	}
	return line, err
}

// insert puts st before the other steps. Steps that are sent already were sent too early: insert discards their replies,
// and they are sent again.
func (s *session) insert(st step) error {
	for range s.out {
		if _, err := s.conn.Receive(); err != nil {
			return err
		}
	}
	s.queue, s.out = slices.Concat([]step{st}, s.out, s.queue), nil
	if len(s.queue) > 1 {
		s.queue[1].waits = forLogin
	}
	return nil
}

// user returns the argument of USER, which may hold a password.
func (s *session) user(st step) (string, error) {
	_, slip, _ := strings.Cut(st.Arg, ":")
	s.client.secrets.Add(slip)
	return st.Arg, nil
}

// password returns the argument of PASS.
func (s *session) password(step) (string, error) {
	given, ok := s.url.User.Password()
	switch c := s.client.Credentials; {
	case s.url.User == nil:
		return cmp.Or(s.client.Email, defaultEmail), nil
	case ok:
		return s.secret(given, nil)
	case c == nil:
		return "", ErrNoCredentials
	default:
		return s.secret(c.Password(s.ctx, s.url.Host, s.url.User.Username()))
	}
}

// account returns the argument of ACCT.
func (s *session) account(step) (string, error) {
	if s.client.Credentials == nil {
		return "", ErrNoCredentials
	}
	return s.secret(s.client.Credentials.Account(s.ctx, s.url.Host, s.url.User.Username()))
}

// secret returns text and err. It remembers text, so that nothing shows it from now on.
func (s *session) secret(text string, err error) (string, error) {
	s.client.secrets.Add(text)
	return text, err
}
