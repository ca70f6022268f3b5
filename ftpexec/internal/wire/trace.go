package wire

import (
	"errors"
	"strings"
)

// shown returns a command as it may be shown. The anonymous password is no secret; it reads as in a plan.
func (c *Control) shown(line string) string {
	verb, _, _ := strings.Cut(line, " ")
	switch {
	case verb == "PASS" && c.cfg.Anonymous:
		return "PASS <anonymous>"
	case verb == "PASS", verb == "ACCT":
		return verb + " " + stars
	}
	return HideSlip(line)
}

// HideSlip hides what follows a colon in a USER command: a password, where the colon of a URL was encoded.
func HideSlip(line string) string {
	name, slip, found := strings.Cut(line, ":")
	if !found || slip == "" || !strings.HasPrefix(name, "USER ") {
		return line
	}
	return name + ":" + stars
}

// mask hides a secret that a server repeats.
func (c *Control) mask(text string) string { return c.cfg.Secrets.mask(text) }

// masked does the same for an error that quotes the server.
func (c *Control) masked(err error) error {
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		syntax.Line = c.mask(syntax.Line)
	}
	return err
}

func (c *Control) trace(kind EventKind, text string) {
	if c.cfg.Trace != nil {
		c.cfg.Trace(Event{Kind: kind, Text: text, Flight: c.flight})
	}
}

// traceReply shows a reply line by line, as it was sent.
func (c *Control) traceReply(r Reply) {
	if c.cfg.Trace == nil {
		return
	}
	lines := strings.Split(r.Text, "\n")
	last := len(lines) - 1
	if last > 0 {
		lines[0] = r.code() + "-" + lines[0]
	}
	lines[last] = r.code() + " " + lines[last]
	for _, line := range lines {
		c.trace(EventReply, line)
	}
}
