//go:build interop

package interop

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// control is a control connection that sends what it is told to, one command at
// a time, and judges nothing: it shows what a server does with commands that
// ftpexec would not send.
type control struct {
	*textproto.Conn
	raw  net.Conn
	tls  *tls.Config // for data connections; nil without TLS
	host string
}

// answer is a reply, or what came in its place.
type answer struct {
	code int // 0 if none came
	text string
}

// String returns the reply on one line, without what differs between runs.
func (a answer) String() string {
	if a.code == 0 {
		return a.text
	}
	text := strings.Join(strings.Fields(a.text), " ")
	return strconv.Itoa(a.code) + " " + text
}

func (a answer) ok() bool { return a.code/100 == 2 }

// probeTimeout bounds a connection of the probe, hangTimeout the wait for data.
const (
	probeTimeout = 50 * time.Second
	hangTimeout  = 10 * time.Second
)

// dial connects and reads the greeting.
func (s *Server) dial(ctx context.Context, config *tls.Config) (*control, answer, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return nil, answer{}, err
	}
	if err := raw.SetDeadline(time.Now().Add(probeTimeout)); err != nil {
		return nil, answer{}, err
	}
	c := &control{raw: raw, tls: config}
	c.host, _, _ = net.SplitHostPort(s.Addr)
	if s.implicit {
		c.raw = tls.Client(raw, config)
	}
	c.Conn = textproto.NewConn(c.raw)
	return c, c.read(), nil
}

// enter dials, starts TLS if config is not nil, and logs in as anonymous in image
// type.
func (s *Server) enter(ctx context.Context, config *tls.Config) (*control, error) {
	c, a, err := s.dial(ctx, config)
	if err != nil {
		return nil, err
	}
	commands := []string{"USER anonymous", "PASS ftpfetch@example.com", "TYPE I"}
	if config != nil && !s.implicit {
		if a := c.ask("AUTH TLS"); !a.ok() {
			return nil, fmt.Errorf("AUTH: %s", a)
		}
		c.raw = tls.Client(c.raw, config)
		c.Conn = textproto.NewConn(c.raw)
	}
	if config != nil {
		commands = append([]string{"PBSZ 0", "PROT P"}, commands...)
	}
	for _, command := range commands {
		if strings.HasPrefix(command, "PASS") && a.code == 230 {
			continue // USER was enough
		}
		if a = c.ask(command); a.code/100 > 3 || a.code == 0 {
			return nil, errors.Join(fmt.Errorf("%s: %s", command, a), c.Close())
		}
	}
	return c, nil
}

// ask sends a command and reads a reply.
func (c *control) ask(command string) answer {
	if err := c.PrintfLine("%s", command); err != nil {
		return answer{text: "closed"}
	}
	return c.read()
}

// read reads a reply. A code in a multi-line reply belongs to its text.
func (c *control) read() answer {
	code, text, err := c.ReadResponse(0)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), isReset(err):
		return answer{text: "closed"}
	case err != nil && code == 0:
		return answer{text: fmt.Sprintf("no reply (%v)", err)}
	}
	return answer{code, text}
}

func isReset(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "reset by peer") || strings.Contains(err.Error(), "broken pipe"))
}

// passivePorts are the ports in the replies to EPSV and PASV.
var passivePorts = map[string]*regexp.Regexp{
	"EPSV": regexp.MustCompile(`\|\|\|(\d+)\|`),
	"PASV": regexp.MustCompile(`\d+,\d+,\d+,\d+,(\d+),(\d+)`),
}

// passive opens a data connection by EPSV or PASV.
func (c *control) passive(verb string) (net.Conn, answer) {
	a := c.ask(verb)
	found := passivePorts[verb].FindStringSubmatch(a.text)
	if found == nil {
		return nil, a
	}
	port, _ := strconv.Atoi(found[1])
	if len(found) > 2 {
		low, _ := strconv.Atoi(found[2])
		port = port<<8 + low
	}
	data, err := net.DialTimeout("tcp", net.JoinHostPort(c.host, strconv.Itoa(port)), probeTimeout)
	if err != nil {
		return nil, answer{text: err.Error()}
	}
	return data, a
}

// transfer returns what the server sends in reply to the last command, and its
// last reply. It opens the data connection by EPSV, or PASV if the server refuses
// it, before it sends the first command.
func (c *control) transfer(commands ...string) (string, answer) {
	data, a := c.passive("EPSV")
	if data == nil {
		data, a = c.passive("PASV")
	}
	if data == nil {
		return "", a
	}
	defer data.Close()
	for _, command := range commands {
		if a = c.ask(command); a.code/100 > 3 || a.code == 0 {
			return "", a
		}
	}
	return c.receive(data, a)
}

// receive reads a data connection to its end, under TLS if the control connection
// is, and then the final reply to a transfer that a has opened.
func (c *control) receive(data net.Conn, a answer) (string, answer) {
	if err := data.SetDeadline(time.Now().Add(hangTimeout)); err != nil {
		return "", answer{text: err.Error()}
	}
	if c.tls != nil {
		data = tls.Client(data, c.tls)
	}
	var b bytes.Buffer
	_, err := io.Copy(&b, data)
	data.Close()
	if a.code/100 == 1 && err == nil {
		a = c.read()
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		a = answer{text: "hangs"}
	case err != nil && a.ok():
		a = answer{text: err.Error()}
	}
	return b.String(), a
}

// probeTLS returns a configuration for one version that can resume sessions.
func probeTLS(roots *x509.CertPool, version uint16) *tls.Config {
	return &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: version, MaxVersion: version,
		ClientSessionCache: tls.NewLRUClientSessionCache(1)}
}
