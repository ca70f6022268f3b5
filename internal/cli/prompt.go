package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/printable"
)

// prompter asks the person at the terminal for a password or account when a
// server asks for it. It keeps the answers for the other URLs of the run.
type prompter struct {
	forbidden bool // --no-prompt
	open      func() (*show.Console, error)
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
		s, err = c.ReadSecret(ctx, fmt.Sprintf("%s for %s at %s: ", l.what, printable.Line(hideSlip(l.user)), printable.Line(l.host)))
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
