package testserver

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/ftpfetch/internal/rules/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit bounds every read and write of the tests' client. It tells a hang from a busy machine, and nothing else.
const limit = time.Minute

// client is a small FTP client that sends exactly what it is told.
type client struct {
	t    *testing.T
	raw  net.Conn
	conn net.Conn // raw or TLS on it
	r    *bufio.Reader
	tls  *tls.Config // for data, once set
	next *tls.Config // for TLS to come
}

// connect dials and leaves the greeting unread.
func connect(t *testing.T, addr string) *client {
	t.Helper()
	conn := must.Get(net.DialTimeout("tcp", addr, limit))(t)
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(limit))
	return &client{t: t, raw: conn, conn: conn, r: bufio.NewReader(conn)}
}

// dial dials and reads the greeting.
func dial(t *testing.T, addr string) *client {
	t.Helper()
	c := connect(t, addr)
	c.want("220")
	return c
}

// anonymous dials and logs in.
func anonymous(t *testing.T, addr string) *client {
	t.Helper()
	c := dial(t, addr)
	c.says([]string{"USER anonymous", "331", "PASS x@", "230"})
	return c
}

func (c *client) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, s); err != nil {
		c.t.Fatalf("send %q: %v", s, err)
	}
}

// reply reads a reply, all its lines, or returns what ended the connection.
func (c *client) reply() (string, error) {
	line, err := c.r.ReadString('\n')
	reply := line
	for err == nil && len(reply) > 3 && reply[3] == '-' && !strings.HasPrefix(line, reply[:3]+" ") {
		line, err = c.r.ReadString('\n')
		reply += line
	}
	return reply, err
}

// want reads a reply that starts with prefix.
func (c *client) want(prefix string) string {
	c.t.Helper()
	got, err := c.reply()
	if err != nil || !strings.HasPrefix(got, prefix) {
		c.t.Fatalf("reply %q, %v, want %q", got, err, prefix)
	}
	return got
}

// do sends a command and reads its reply.
func (c *client) do(line, prefix string) string {
	c.t.Helper()
	c.send(line + "\r\n")
	return c.want(prefix)
}

// says holds a dialogue: a command, or "" for none, and what the reply to it begins with, or "end" or "EOF", or "=" and
// the data of a transfer. "TLS" is a handshake, after which no reply comes.
func (c *client) says(say []string) {
	c.t.Helper()
	for i := 0; i < len(say); i += 2 {
		if data, ok := strings.CutPrefix(say[i+1], "="); ok {
			c.retrieves(say[i], data)
			continue
		}
		if say[i] == "TLS" {
			c.startTLS(c.next)
			continue
		}
		if say[i] != "" {
			c.send(say[i] + "\r\n")
		}
		switch say[i+1] {
		case "end":
			c.ends()
		case "EOF": // under TLS after close_notify
			if got, err := c.reply(); err != io.EOF {
				c.t.Fatalf("reply %q, %v, want the end", got, err)
			}
		default:
			c.want(say[i+1])
		}
	}
}

// ends reads the end of the control connection.
func (c *client) ends() {
	c.t.Helper()
	got, err := c.reply()
	if ne, ok := err.(net.Error); err == nil || ok && ne.Timeout() {
		c.t.Fatalf("reply %q, %v, want the end of the connection", got, err)
	}
}

var epsvPort = regexp.MustCompile(`\|\|\|(\d+)\|`)

// dialData sends EPSV and connects.
func (c *client) dialData() net.Conn {
	c.t.Helper()
	return c.dialPort(epsvPort.FindStringSubmatch(c.do("EPSV", "229"))[1])
}

func (c *client) dialPort(port string) net.Conn {
	c.t.Helper()
	host, _, _ := net.SplitHostPort(c.raw.RemoteAddr().String())
	data := must.Get(net.DialTimeout("tcp", net.JoinHostPort(host, port), limit))(c.t)
	c.t.Cleanup(func() { data.Close() })
	_ = data.SetDeadline(time.Now().Add(limit))
	if c.tls != nil {
		return tls.Client(data, c.tls)
	}
	return data
}

// transfer does EPSV, command, and returns the data and the final reply.
func (c *client) transfer(command string) (data, final string, err error) {
	c.t.Helper()
	conn := c.dialData()
	c.do(command, "150")
	b, err := io.ReadAll(conn)
	conn.Close()
	final, replyErr := c.reply()
	if replyErr != nil {
		c.t.Fatal(replyErr)
	}
	return string(b), final, err
}

// retrieves does a transfer that must work.
func (c *client) retrieves(command, want string) {
	c.t.Helper()
	got, final, err := c.transfer(command)
	if got != want || err != nil || !strings.HasPrefix(final, "226") {
		c.t.Fatalf("%s: %q, %v, final reply %q, want %q", command, got, err, final, want)
	}
}

// startTLS does the handshake on the control connection.
func (c *client) startTLS(config *tls.Config) {
	c.t.Helper()
	conn := tls.Client(c.raw, config)
	must.Do(c.t, conn.Handshake())
	c.conn, c.r, c.tls = conn, bufio.NewReader(conn), config
}

// digits turns a port into PORT's two numbers.
func digits(port int) string { return fmt.Sprintf("%d,%d", port>>8, port&0xff) }
