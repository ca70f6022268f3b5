package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/printable"
)

// prompter asks the person at the terminal for a password or account when a
// server asks for it. It keeps the answers for the other URLs of the run.
type prompter struct {
	forbidden bool // --no-prompt
	open      func() (*console, error)
	alone     func(f func()) // calls f while nothing else is drawn on the terminal

	mu    sync.Mutex
	known map[login]string
}

// login says which secret an answer is.
type login struct{ what, host, user string }

// Password implements [ftpexec.Credentials].
func (p *prompter) Password(ctx context.Context, host, user string) (string, error) {
	return p.answer(ctx, login{"Password", host, user})
}

// Account implements [ftpexec.Credentials]; RFC 959 section 4.1.1, ACCT.
func (p *prompter) Account(ctx context.Context, host, user string) (string, error) {
	return p.answer(ctx, login{"Account", host, user})
}

// answer returns the earlier answer, or asks.
func (p *prompter) answer(ctx context.Context, l login) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.known[l]; ok {
		return s, nil
	}
	s, err := p.ask(ctx, l)
	if err == nil {
		p.known[l] = s
	}
	return s, err
}

// forget drops all answers, after a refused login.
func (p *prompter) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.known)
}

func (p *prompter) ask(ctx context.Context, l login) (string, error) {
	if p.forbidden {
		return "", missing("--no-prompt forbids asking")
	}
	c, err := p.open()
	if err != nil {
		return "", missing("there is no terminal to ask on")
	}
	var s string
	p.alone(func() {
		s, err = c.readSecret(ctx, fmt.Sprintf("%s for %s at %s: ", l.what, printable.Line(hideSlip(l.user)), printable.Line(l.host)))
	})
	switch {
	case err == nil || ctx.Err() != nil:
		return s, err
	case errors.Is(err, io.EOF):
		return "", missing("no " + strings.ToLower(l.what) + " was typed")
	}
	return "", missing("the terminal failed: " + err.Error())
}

// hideSlip hides what follows a colon in a user name: it may be a password whose
// colon was encoded in the URL by mistake.
func hideSlip(user string) string {
	name, slip, _ := strings.Cut(user, ":")
	if slip == "" {
		return user
	}
	return name + ":***"
}

// missing returns the error for a secret that the server wants and ftpfetch does
// not have.
func missing(why string) error {
	return fmt.Errorf("%w: %s", ftpexec.ErrNoCredentials, why)
}

// console is the terminal that the process belongs to, whatever its standard
// input and output are.
type console struct{ in, out *os.File }

// openConsole opens the console by its names on this system.
func openConsole() (*console, error) {
	in, err := os.OpenFile(consoleIn, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if consoleOut == consoleIn {
		return &console{in, in}, nil
	}
	out, err := os.OpenFile(consoleOut, os.O_RDWR, 0)
	if err != nil {
		in.Close()
		return nil, err
	}
	return &console{in, out}, nil
}

func (c *console) close() {
	c.in.Close()
	if c.out != c.in {
		c.out.Close()
	}
}

// readSecret shows prompt, reads a line without echo and closes the console. If
// ctx ends first, it turns the echo back on and leaves the read to end with the
// process: not every system can cancel a read of a terminal.
func (c *console) readSecret(ctx context.Context, prompt string) (string, error) {
	fd := int(c.in.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		c.close()
		return "", err
	}
	line, err := await(ctx, func() (string, error) {
		ask := func() { fmt.Fprint(c.out, prompt) }
		ask()
		if ctx.Err() != nil { // a stopped terminal has resumed too late
			return "", context.Cause(ctx)
		}
		line, err := readHidden(c.in, ask)
		fmt.Fprintln(c.out) // the terminal did not echo the line end
		return line, err
	})
	if ctx.Err() == nil {
		c.close()
		return line, err
	}
	_ = term.Restore(fd, before)
	_, _ = during(ctx, &stream{}, func() (int, error) { return fmt.Fprintln(c.out) })
	return line, err
}
