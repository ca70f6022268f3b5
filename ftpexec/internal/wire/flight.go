package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ask makes sure that line is sent. Replies come in the order of commands, so sending ahead is invisible to
// the library: what was sent already is just waited for. Anything else waits until the line is quiet.
func (c *Control) ask(line string) error {
	c.asked = line
	if c.known(line) {
		return nil
	}
	if c.transfer != "" {
		return c.answer("503 a transfer is under way")
	}
	if err := c.settle(); err != nil {
		return err
	}
	return c.send(c.take(line))
}

// settle receives every reply that is out, and keeps it.
func (c *Control) settle() error {
	for len(c.ahead) > 0 {
		if err := c.receive(); err != nil {
			return err
		}
	}
	return nil
}

// take removes from the script what is to be sent now: what stands before line and was not sent, line, and,
// unless one command goes at a time, what stands behind it in its flight. Commands that the library had no
// need for are passed over. A line that is not in the script goes alone.
func (c *Control) take(line string) []string {
	var now []string
	for k, flight := range c.script {
		i := slices.Index(flight, line)
		if i < 0 {
			now = append(now, needed(flight)...)
			continue
		}
		now = append(append(now, needed(flight[:i])...), line)
		rest := flight[i+1:]
		if !c.sequential {
			now, rest = append(now, rest...), nil
		}
		c.script = slices.Insert(slices.Clone(c.script[k+1:]), 0, rest)
		return now
	}
	return []string{line}
}

// needed returns the commands of a flight that go out although the library has not asked for them (yet).
// Left out are those that it would have asked for: no PASS goes to a server that was content with USER, no
// OPTS to one that does not know UTF8, no EPSV where PASV is used.
func needed(flight []string) []string {
	return slices.DeleteFunc(slices.Clone(flight), func(line string) bool {
		verb, _, _ := strings.Cut(line, " ")
		return verb == "PASS" || verb == "OPTS" || verb == "EPSV" || verb == "PASV"
	})
}

// send sends lines as one flight, or one after the other.
func (c *Control) send(lines []string) error {
	if c.br.Buffered() > 0 {
		return syntaxError("", "a reply that nothing was asked for")
	}
	if !c.sequential {
		c.ahead, c.batch = append(c.ahead, lines...), len(lines)
		return c.lost(c.write(lines))
	}
	for i, line := range lines {
		if err := c.write([]string{line}); err != nil {
			return err
		}
		c.ahead = append(c.ahead, line)
		if i == len(lines)-1 {
			break
		}
		if err := c.receive(); err != nil {
			return err
		}
	}
	return nil
}

// answerTo returns the answer to line, which was sent.
func (c *Control) answerTo(line string) (answer, error) {
	for {
		i := slices.IndexFunc(c.answers, func(a answer) bool { return a.line == line })
		if i >= 0 {
			a := c.answers[i]
			c.answers = slices.Delete(c.answers, i, i+1)
			return a, nil
		}
		if err := c.receive(); err != nil {
			return answer{}, err
		}
	}
}

// receive reads the reply to the oldest command that has none, and keeps it until the library asks.
func (c *Control) receive() error {
	if len(c.ahead) == 0 {
		return errors.New("no reply is due")
	}
	line := c.ahead[0]
	r, err := c.read(c.patience())
	if err != nil {
		return c.lost(err)
	}
	c.ahead = c.ahead[1:]
	if c.stale > 0 {
		c.stale--
	} else if err := c.interpret(line, r); err != nil {
		return c.lost(err)
	}
	if len(c.ahead) == 0 {
		c.batch = 0
	}
	return nil
}

// interpret keeps r as the answer to line, in the words that the library knows.
func (c *Control) interpret(line string, r Reply) (err error) {
	verb, _, _ := strings.Cut(line, " ")
	text := ""
	switch {
	case r.first() == 1 && !transfers(line):
		err = &UnexpectedError{verb, r}
	case (verb == "USER" || verb == "PASS") && r.Code == 332:
		r, err = c.account()
	case verb == "PROT" && !r.ok():
		return fmt.Errorf("%w for data connections: %w", ErrTLSUnavailable, &ReplyError{r})
	case transfers(line):
		text, err = c.begun(verb, r)
	}
	if err == nil && text == "" {
		text, err = normalise(verb, r)
	}
	if err != nil {
		return err
	}
	c.answers = append(c.answers, answer{line, text, r})
	return nil
}

// patience is the bound for the next reply.
func (c *Control) patience() time.Duration {
	if c.batch > 1 && len(c.ahead) < c.batch && (len(c.ahead) == 0 || !transfers(c.ahead[0])) {
		return min(c.cfg.ReplyTimeout, aheadTimeout)
	}
	return c.cfg.ReplyTimeout
}

// lost marks an error that may come from sending ahead: the connection ends, or replies stop or make no
// sense, while a flight of several commands is out. A server that has not answered the first of them just
// does not answer.
func (c *Control) lost(err error) error {
	var syntax *SyntaxError
	var secret *SecretError
	switch {
	case err == nil || c.batch < 2 || errors.Is(err, ErrDataDial) || errors.As(err, &secret):
	case errors.Is(err, ErrTimeout) && len(c.ahead) < c.batch, errors.As(err, &syntax), disconnected(err):
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return err
}

// disconnected reports that the other side ended the connection.
func disconnected(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.As(err, &op) && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, net.ErrClosed)
}
