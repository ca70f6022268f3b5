package wire

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// connect opens the control connection up to the greeting, and protects it.
func (c *Control) connect() error {
	conn, err := c.dial(c.cfg.Address)
	if err != nil {
		return err
	}
	c.trace(EventNote, c.connected(conn))
	if c.cfg.ImplicitTLS {
		if conn, err = c.handshake(conn); err != nil {
			return err
		}
	}
	if err := c.adopt(conn); err != nil {
		return err
	}
	if err := c.greeting(); err != nil || !c.cfg.ExplicitTLS {
		return err
	}
	return c.authTLS()
}

func (c *Control) connected(conn net.Conn) string {
	if c.cfg.Proxied {
		return "connected to " + c.cfg.Address + " through the proxy at " + conn.RemoteAddr().String()
	}
	return "connected to " + conn.RemoteAddr().String()
}

// maxDelays bounds how often a server may say "ready in nnn minutes" (RFC 959 section 5.4).
const maxDelays = 8

// greeting waits for the 220, past any 120.
func (c *Control) greeting() error {
	for range maxDelays {
		r, err := c.read(c.cfg.ReplyTimeout)
		var closing *ReplyError
		switch {
		case errors.As(err, &closing):
			return fmt.Errorf("%w: %w", ErrGreeting, err)
		case err != nil:
			return err
		}
		switch r.first() {
		case 1:
			continue
		case 2:
			c.knownServer(r.Text)
			return c.answer("220 " + oneLine(r.last()))
		case 3: // seen from servers that mistake their own input; what they answer to a flight cannot be trusted
			return fmt.Errorf("%w: %w", ErrLost, syntaxError(r.String(), "no greeting"))
		}
		return fmt.Errorf("%w: %w", ErrGreeting, &ReplyError{r})
	}
	return syntaxError("", "no greeting but delays")
}

// oneAtATime names servers, by their greeting, that lose commands sent ahead.
var oneAtATime = []string{"icrosoft FTP Service", "MadGoat", "MikroTik"}

func (c *Control) knownServer(greeting string) {
	for _, name := range oneAtATime {
		if strings.Contains(greeting, name) && !c.sequential {
			c.sequential, c.oneByOne = true, true
			c.trace(EventNote, "this server takes one command at a time")
		}
	}
}

// exchange sends a command of our own and waits for its reply. Nothing else is out.
func (c *Control) exchange(line string) (Reply, error) {
	return c.exchangeWithin(line, c.cfg.ReplyTimeout)
}

func (c *Control) exchangeWithin(line string, limit time.Duration) (Reply, error) {
	if c.br.Buffered() > 0 {
		return Reply{}, syntaxError("", "a reply that nothing was asked for")
	}
	if err := c.write([]string{line}); err != nil {
		return Reply{}, err
	}
	r, err := c.read(limit)
	if err == nil && r.first() == 1 {
		verb, _, _ := strings.Cut(line, " ")
		err = &UnexpectedError{verb, r}
	}
	return r, err
}

// account answers 332 with ACCT (RFC 959 section 4.1.1) and returns the reply to it. What was sent ahead
// was sent without being logged in: its replies are thrown away, and the library's questions go out anew.
func (c *Control) account() (Reply, error) {
	for range c.ahead {
		if _, err := c.read(c.patience()); err != nil {
			return Reply{}, err
		}
	}
	c.script = slices.Insert(c.script, 0, c.ahead) // what is asked only later (SIZE, MDTM) must go out again too
	c.ahead, c.stale = nil, 0
	account, err := c.cfg.Account(c.ctx)
	if err == nil {
		err = c.keep(account)
	}
	if err != nil {
		return Reply{}, &SecretError{err}
	}
	return c.exchange("ACCT " + account)
}

// secret returns line with the password in place of the placeholder. What follows a colon in the argument of USER
// may be a password too, by a slip.
func (c *Control) secret(line string) (string, error) {
	if name, ok := strings.CutPrefix(line, "USER "); ok {
		_, slip, _ := strings.Cut(name, ":")
		return line, c.keep(slip)
	}
	if line != "PASS "+Placeholder {
		return line, nil
	}
	password, err := c.cfg.Password(c.ctx)
	switch {
	case err != nil:
	case c.cfg.Anonymous:
		err = sendable(password)
	default:
		err = c.keep(password)
	}
	if err != nil {
		return "", &SecretError{err}
	}
	return "PASS " + password, nil
}

// SecretError is why there is no password or account to send: the error of who was asked, or [ErrSecret]. The
// connection has nothing to do with it.
type SecretError struct{ Err error }

func (e *SecretError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *SecretError) Unwrap() error { return e.Err }

// keep remembers a secret that no text may show, and refuses one that would end its command.
func (c *Control) keep(secret string) error {
	c.cfg.Secrets.add(secret)
	return sendable(secret)
}

func sendable(secret string) error {
	if strings.ContainsAny(secret, "\r\n\x00") {
		return ErrSecret
	}
	return nil
}

// features is a reply to the library's FEAT. MDTM is listed so that it may be asked; what else the server
// offers stays unsaid, for the library would use it unasked.
func features(utf8 bool) string {
	if utf8 {
		return "211-Features:\r\n MDTM\r\n UTF8\r\n211 End"
	}
	return "211-Features:\r\n MDTM\r\n211 End"
}
