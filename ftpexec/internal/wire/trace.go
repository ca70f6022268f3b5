package wire

import (
	"errors"
	"strings"
)

const stars = "********"

// minSecret is the length from which a secret is searched for in what the server says. Shorter ones occur by
// chance, and hiding them would tell them.
const minSecret = 3

// shown returns a command as it may be shown. The anonymous password is no secret; it reads as in a plan.
func (c *Control) shown(line string) string {
	verb, _, _ := strings.Cut(line, " ")
	switch {
	case verb == "PASS" && c.cfg.Anonymous:
		return "PASS <anonymous>"
	case verb == "PASS", verb == "ACCT":
		return verb + " " + stars
	}
	return line
}

// mask hides a secret that a server repeats.
func (c *Control) mask(text string) string {
	for _, s := range c.secrets { // the longest first: one may hold another
		if len(s) >= minSecret {
			text = strings.ReplaceAll(text, s, stars)
		}
	}
	return text
}

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
