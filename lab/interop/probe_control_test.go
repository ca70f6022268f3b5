//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
)

// control is a control connection that sends given commands one at a time, and judges nothing: it shows how a server
// handles commands that ftpexec would not send.
type control struct {
	*textproto.Conn
	raw net.Conn
}

// answer is a reply, or the error in its place.
type answer struct {
	code int // 0 without a reply
	text string
}

// String returns the reply on one line, without the parts that differ between runs.
func (a answer) String() string {
	if a.code == 0 {
		return a.text
	}
	text := strings.Join(strings.Fields(a.text), " ")
	return strconv.Itoa(a.code) + " " + text
}

func (a answer) ok() bool { return a.code/100 == 2 }

// probeTimeout bounds a connection of the probe, hangTimeout the wait for data.
const probeTimeout = 50 * time.Second
const hangTimeout = 10 * time.Second

// dial connects and reads the greeting.
func (s *Server) dial(ctx context.Context) (*control, answer, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return nil, answer{}, err
	}
	if err := raw.SetDeadline(time.Now().Add(probeTimeout)); err != nil {
		return nil, answer{}, err
	}
	c := &control{Conn: textproto.NewConn(raw), raw: raw}
	return c, c.read(), nil
}

// enter dials, and logs in as anonymous in image type.
func (s *Server) enter(ctx context.Context) (*control, error) {
	c, a, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	for _, command := range []string{"USER " + s.anonymous(), "PASS " + anonymousPassword, "TYPE I"} {
		if strings.HasPrefix(command, "PASS") && a.code == 230 {
			continue // USER alone completed the login
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

// read reads a reply. A code in a multi-line reply is part of its text.
func (c *control) read() answer {
	code, text, err := c.ReadResponse(0)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), isReset(err):
		return answer{text: "closed"}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return answer{text: "no reply"}
	case err != nil && code == 0:
		return answer{text: fmt.Sprintf("no reply (%v)", err)}
	}
	return answer{code, text}
}

func isReset(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "reset by peer") || strings.Contains(err.Error(), "broken pipe"))
}

// passivePort is the port in the reply to PASV, which every server has.
var passivePort = regexp.MustCompile(`\d+,\d+,\d+,\d+,(\d+),(\d+)`)

// transfer returns the data that the server sends for the last command, and its last reply. It opens the data
// connection before it sends the first command.
func (c *control) transfer(commands ...string) (string, answer) {
	a := c.ask("PASV")
	found := passivePort.FindStringSubmatch(a.text)
	if found == nil {
		return "", a
	}
	high, _ := strconv.Atoi(found[1])
	low, _ := strconv.Atoi(found[2])
	data, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(high<<8+low)), probeTimeout)
	if err != nil {
		return "", answer{text: err.Error()}
	}
	defer data.Close()
	for _, command := range commands {
		if a = c.ask(command); a.code/100 > 3 || a.code == 0 {
			return "", a
		}
	}
	if err := data.SetDeadline(time.Now().Add(hangTimeout)); err != nil {
		return "", answer{text: err.Error()}
	}
	text, err := io.ReadAll(data)
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
	return string(text), a
}

// probe measures one server.
type probe struct {
	testing.TB
	kind    Kind
	flavour flavour
	tree    *Tree
	plain   *Server
	secure  *Server // with TLS; nil until a feature needs it
	ends    *string // endsFile in ASCII type, or why it did not arrive; nil until a feature needs it
}

// start returns another server of the same kind, which ends with the test.
func (p *probe) start(o Options) *Server {
	o.Upstream = p.plain.upstream
	return New(p, p.kind, p.tree, o)
}

func (p *probe) context() context.Context {
	ctx, cancel := context.WithTimeout(p.Context(), testTimeout)
	p.Cleanup(cancel)
	return ctx
}

// session returns a raw session that is logged in.
func (p *probe) session(s *Server) *control {
	p.Helper()
	c := must.Get(s.enter(p.context()))(p)
	p.Cleanup(func() { c.Close() })
	return c
}

// fetches returns "yes" if ftpfetch retrieves pub/text.txt whole, and otherwise the error.
func (p *probe) fetches(c *ftpexec.Client, base string) string {
	_, got, err := fetch(p.context(), c, base+"/pub/text.txt")
	switch e := (*ftpexec.Error)(nil); {
	case err == nil && got == p.tree.Files["pub/text.txt"]:
		return "yes"
	case errors.As(err, &e) && e.Code != 0:
		return fmt.Sprint("no: ", e.Code)
	case err != nil:
		return "no"
	}
	return "wrong bytes"
}

// The files that only the probe needs, below the public directory.
const (
	endsFile = "probe/ends.txt"
	endsText = "1\n2\r\n3\r4" // line feed, carriage return and line feed, carriage return
	deepFile = "pub/a/b/c/file.txt"
)

// octets returns the octets that can be a name by themselves: all but NUL, LF and CR, which no command can contain,
// "/", and ".", which is a directory.
func octets() (names []string) {
	for o := 1; o <= 0xff; o++ {
		if !strings.ContainsRune("\r\n/.", rune(o)) {
			names = append(names, string([]byte{byte(o)}))
		}
	}
	return names
}

// plantProbe returns the tree that the probed servers serve.
func plantProbe(t *testing.T) *Tree {
	t.Helper()
	files := map[string]string{"probe/ends.txt": endsText, "probe/denied.txt": "x", "probe/listing/plain": "plain", "probe/listing/.hidden": "x",
		"probe/listing/dir/inside": "x"}
	for _, name := range octets() {
		files["probe/octets/"+name] = name
	}
	tree := plantTree(t, files)
	below := func(path string) string { return filepath.Join(tree.Public, "probe") + "/" + path }
	must.Do(t, errors.Join(os.Chmod(below("denied.txt"), 0o600), os.Symlink("plain", below("listing/link")), makePublicDir(below("empty"))))
	return tree
}
