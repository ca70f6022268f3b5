package wire

import (
	"errors"
	"fmt"
	"strings"
)

// masked masks secrets in an error that quotes the server.
func (c *Conn) masked(err error) error {
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		syntax.Line = c.cfg.Secrets.Mask(syntax.Line)
	}
	return err
}

func (c *Conn) trace(mark byte, text string) {
	if c.cfg.Trace != nil {
		c.cfg.Trace(mark, text, c.flight)
	}
}

// traceReply traces a reply line by line, with the codes that readReply cut off.
func (c *Conn) traceReply(r Reply) {
	lines := strings.Split(r.Text, "\n")
	last := len(lines) - 1
	if last > 0 {
		lines[0] = fmt.Sprintf("%03d-%s", r.Code, lines[0])
	}
	lines[last] = fmt.Sprintf("%03d %s", r.Code, lines[last])
	for _, line := range lines {
		c.trace(Received, line)
	}
}
