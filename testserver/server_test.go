package testserver

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"
	"go.uber.org/goleak"
)

// oddNames are names that clients and servers tend to garble.
var oddNames = []string{
	" leading", "trailing ", "  both  ", "-l", "-la x", "-", "a b", `quo"te`, `back\slash`,
	"semi;type=i", "que?stion", "hash#", "per%20cent", "br[ack]et*", "\xe9\xff latin", "é", "\x01\x7f", "~", "...", "CON",
}

func TestNamesAreServedByteForByte(t *testing.T) {
	tree := map[string]string{}
	for i, name := range oddNames {
		tree["/d/"+name+"/f"] = fmt.Sprint("in ", i)
		tree["/files/"+name] = fmt.Sprint("file ", i)
	}
	s := New(t, &Options{Tree: tree})
	for i, name := range oddNames {
		in, file := fmt.Sprint("in ", i), fmt.Sprint("file ", i)
		anonymous(t, s.Addr()).says([]string{"TYPE I", "200", "CWD files", "250", "SIZE " + name, fmt.Sprintf("213 %d\r\n", len(file)), "RETR " + name, "=" + file,
			"NLST " + name, "=" + name + "\r\n", "CWD /d", "250", "CWD " + name, "250", "NLST", "=f\r\n", "RETR f", "=" + in})
		got := s.Commands(i + 1)
		if !slices.Contains(got, "CWD "+name) || !slices.Contains(got, "RETR "+name) {
			t.Errorf("%q is not recorded as sent: %q", name, got)
		}
	}
}

// talk is what a client says to a server, and what the replies begin with; see [client.says].
type talk struct {
	name  string
	o     Options
	steps []Step
	hello []string
	say   []string
}

func TestDialogues(t *testing.T) {
	tree := map[string]string{"/etc/motd": "root's", "/home/me/etc/motd": "mine", "/empty/": "", "/text": "a\nb\r\nc", "/none": "", "/f": "x", "/d/": ""}
	honest := Options{
		Tree:    tree,
		ModTime: time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC),
		Users:   map[string]string{"me": "se cret ", "": "null", "open": ""},
		Home:    map[string]string{"me": "/home/me", "open": "/made"},
	}
	open := []string{"", "220", "USER open", "230"}
	me := []string{"", "220", "USER me", "331", "PASS se cret ", "230"}
	six := honest
	six.Listen = func() (net.Listener, error) { return net.Listen("tcp6", "[::1]:0") }
	talks(t, tree, honest.Users, []talk{
		{"password", honest, nil, me, []string{"PWD", `257 "/home/me"`}},
		{"password without its space", honest, nil, nil, []string{"", "220", "USER me", "331", "PASS se cret", "530", "PASS se cret ", "230"}},
		{"commands before login", honest, nil, nil, []string{"", "220", "CWD etc", "530", "PASS x", "503", "USER anonymous", "331", "PASS ", "230"}},
		{"unknown user", honest, nil, nil, []string{"", "220", "USER you", "331", "PASS x", "530", "CWD etc", "530", "NOOP", "200"}},
		{"null user", honest, nil, nil, []string{"", "220", "USER ", "331", "PASS null", "230"}},
		{"ftp is anonymous", honest, nil, nil, []string{"", "220", "USER FTP", "331", "PASS", "230"}},
		{"no password", honest, nil, open, []string{"PWD", `257 "/made"`, "PASS x", "230"}},
		{"absolute", honest, nil, me, []string{"CWD /etc", "250", "PWD", `257 "/etc"`}},
		{"relative", honest, nil, me, []string{"CWD etc", "250", "PWD", `257 "/home/me/etc"`}},
		{"null CWD", honest, nil, me, []string{"CWD ", "250", "PWD", `257 "/home/me"`}},
		{"no such directory", honest, nil, open, []string{"CWD nowhere", "550", "CWD /text", "550"}},
		{"time and size", honest, nil, open, []string{"MDTM /text", "213 20010203040506\r\n", "SIZE /text", "550", "TYPE I", "200", "SIZE /text", "213 6"}},
		{"directory as file", honest, nil, open, []string{"EPSV", "229", "RETR /etc", "550", "SIZE /etc", "550"}},
		{"types", honest, nil, open, []string{"TYPE A", "200", "RETR /text", "=a\r\nb\r\nc", "TYPE I", "200", "RETR /text", "=a\nb\r\nc", "RETR /none", "=",
			"REST 2", "350", "RETR /text", "=b\r\nc"}},
		{"IPv6", six, nil, open, []string{"TYPE I", "200", "RETR /f", "=x", "PASV", "425", "RETR /f", "=x"}},
		{"no TLS", honest, nil, nil, []string{"", "220", "AUTH TLS", "502", "PBSZ 0", "503", "PROT P", "503"}},
		{"unknown verb", honest, nil, open, []string{"XYZZY", "500"}},
		{"many lines", honest, nil, nil, []string{"", "220", "FEAT", "211-", "NOOP", "200"}},

		{"busy greeting", upon("", Reply("421 Too many users")), nil, nil, []string{"", "421 Too many users\r\n"}},
		{"greeting and end", upon("", Sequence(Reply("421 Too many users"), EndControl(Closed))), nil, nil, []string{"", "421", "", "end"}},
		{"no greeting", upon("", EndControl(Closed)), nil, nil, []string{"", "end"}},
		{"refused", upon("EPSV", Reply("500 What?")), nil, open, []string{"EPSV", "500 What?", "PASV", "227"}},
		{"wrong size", upon("SIZE", ReplaceReply(Reply("213 7\r\n"))), nil, open, []string{"TYPE I", "200", "SIZE /f", "213 7\r\n"}},
		{"two replies", upon("NOOP", Reply("426 x\r\n226 y")), nil, open, []string{"NOOP", "426 x\r\n", "", "226 y\r\n"}},
		{"dropped", upon("CWD", EndControl(Closed)), nil, open, []string{"CWD /d", "end"}},
		{"reset", upon("CWD", EndControl(Reset)), nil, open, []string{"CWD /d", "end"}},
		{"dropped in place of the reply", upon("CWD", ReplaceReply(EndControl(Closed))), nil, open, []string{"CWD /d", "end"}},
		{"refused and dropped", upon("CWD", Sequence(Reply("421 Bye"), EndControl(Closed))), nil, open, []string{"CWD /d", "421", "", "end"}},

		{"TLS required", Options{Scheme: "ftpes"}, nil, nil, []string{"", "220", "USER anonymous", "530", "PASS x", "503", "AUTH KERBEROS", "504", "AUTH TLS", "234", "TLS", "",
			"AUTH TLS", "503", "USER anonymous", "331", "PASS x", "230", "NLST", "521", "PROT P", "200", "PROT C", "200", "RETR f", "521"}},
		{"TLS implicit", Options{Scheme: "ftps", Tree: tree, Users: honest.Users}, nil, nil, []string{"TLS", "", "", "220", "USER open", "230", "TYPE I", "200", "RETR /f", "=x",
			"QUIT", "221", "", "EOF"}},
		{"commands before AUTH in one write", Options{TLSConfig: &tls.Config{}}, nil, nil, []string{"", "220", "NOOP\r\nNOOP\r\nAUTH TLS", "200", "", "200", "", "234",
			"TLS", "", "NOOP", "200"}},
		{"script under TLS", Options{}, []Step{Honest("secret")}, nil, []string{"", "220", "AUTH TLS", "234", "TLS", "", "PROT P", "200", "RETR f", "=secret", "QUIT", "221", "", "EOF"}},
	})
}

func TestScripts(t *testing.T) {
	talks(t, nil, nil, []talk{
		{"nothing", Options{}, []Step{func(*Dialogue) {}}, nil, []string{"NOOP", "502"}},
		{"331 for 220", Options{}, []Step{Honest("").With("NOOP", Reply("331 x"))}, nil, []string{"", "220", "NOOP", "331 x\r\n"}},
		{"script of two replies", Options{}, []Step{Honest("").With("retr", Reply("426 x\r\n226 y\r\n"))}, nil, []string{"", "220", "RETR f", "426", "", "226 y"}},
		{"prefix", Options{}, []Step{Honest("").With("CWD b", Reply("550 x"))}, nil, []string{"", "220", "CWD a", "250", "CWD bc", "550"}},
		{"expression", Options{}, []Step{Honest("").With("^CWD b$", Reply("550 x"))}, nil, []string{"", "220", "CWD bc", "250", "CWD b", "550"}},
		{"by the count", Options{}, []Step{Honest(""), On("#2 CWD", Reply("450 later"))}, nil, []string{"", "220", "CWD a", "250", "CWD b", "450", "CWD a", "250"}},
		{"every command", Options{}, []Step{Honest("").With("*", Reply("421 x"), EndControl(Closed))}, nil, []string{"", "220", "USER x", "421", "", "end"}},
		{"script resets", Options{}, []Step{Honest("").With("CWD", EndControl(Reset))}, nil, []string{"", "220", "CWD a", "end"}},
		{"unanswered", Options{}, []Step{Honest("").With("CWD")}, nil, []string{"", "220", "CWD a\r\nNOOP", "200"}},
		{"fake port", Options{}, []Step{Honest("").With("EPSV", Reply("229 (|||99999|)"))}, nil, []string{"", "220", "EPSV", "229 (|||99999|)"}},
		{"first connection", Options{}, []Step{Honest(""), OnConn(1, On("", Reply("120 wait\r\n220 ready")), On("NOOP", Reply("500 x"))), OnConn(2, On("NOOP", Reply("501 x")))},
			nil, []string{"", "120", "", "220", "NOOP", "500"}},
		{"no port for data", Options{}, []Step{Honest("x").With("NLST", Data("x", Stalled), Data("", Reset), Data("", Closed), Reply("226 y"))},
			nil, []string{"", "220", "RETR f", "150", "", "226", "NLST", "226"}},
	})
}

// talks holds each talk with a new server. A server with a Fault serves tree to users.
func talks(t *testing.T, tree, users map[string]string, tests []talk) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.o.Fault != nil {
				tt.o.Tree, tt.o.Users = tree, users
			}
			s := New(t, &tt.o, tt.steps...)
			c := connect(t, s.Addr())
			c.next = clientTLS(s.RootCAs())
			c.says(append(slices.Clone(tt.hello), tt.say...))
		})
	}
}

// upon returns Options that run action on every command with this verb.
func upon(verb string, action Action) Options {
	return Options{Fault: func(c *Conn) Action {
		if c.Verb == verb {
			return action
		}
		return nil
	}}
}

func TestURL(t *testing.T) {
	for scheme, want := range map[string]string{"": "ftp", "ftp": "ftp", "ftpes": "ftpes", "ftps": "ftps"} {
		s := New(t, &Options{Scheme: scheme})
		for path, rest := range map[string]string{"/f": s.Addr() + "/f", "a:b@/f@/": "a:b@" + s.Addr() + "/f@/", "": s.Addr()} {
			if got := s.URL(path); got != want+"://"+rest {
				t.Errorf("%q, %q: %s", scheme, path, got)
			}
		}
	}
	if _, err := Start(&Options{Scheme: "sftp"}); err == nil {
		t.Error("sftp: no error")
	}
}

func TestPassiveAndActive(t *testing.T) {
	s := New(t, &Options{Tree: map[string]string{"/f": "data"}})
	c := anonymous(t, s.Addr())
	reply := c.do("PASV", "227 Entering Passive Mode (127,0,0,1,")
	var hi, lo int
	if _, err := fmt.Sscanf(reply[strings.Index(reply, "0,0,1,")+6:], "%d,%d", &hi, &lo); err != nil {
		t.Fatal(reply)
	}
	data := c.dialPort(fmt.Sprint(hi<<8 + lo))
	c.do("RETR f", "150")
	readAll(t, data, "data")
	c.want("226")
	l := value(net.Listen("tcp4", "127.0.0.1:0"))(t)
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	for _, command := range []string{"PORT 127,0,0,1," + digits(port), fmt.Sprintf("EPRT |1|127.0.0.1|%d|", port)} {
		c.do(command, "200")
		c.send("RETR f\r\n")
		data := value(l.Accept())(t)
		c.want("150")
		readAll(t, data, "data")
		c.want("226")
	}
}

func readAll(t *testing.T, data net.Conn, want string) {
	t.Helper()
	b, err := io.ReadAll(data)
	data.Close()
	if err != nil || string(b) != want {
		t.Fatalf("data %q, %v, want %q", b, err, want)
	}
}

func TestFSMayChange(t *testing.T) {
	fs := afero.NewMemMapFs()
	s := New(t, &Options{FS: afero.NewIOFS(fs), Tree: map[string]string{"/f": "old"}})
	c := anonymous(t, s.Addr())
	c.retrieves("RETR f", "old")
	check(t, afero.WriteFile(fs, "/f", []byte("newer"), 0o644))
	c.retrieves("RETR f", "newer")
	check(t, fs.Remove("/f"))
	c.do("RETR f", "550")
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit bounds every read and write of the tests' client. It only has to tell a hang from a busy machine.
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
	conn := value(net.DialTimeout("tcp", addr, limit))(t)
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

// reply reads all lines of a reply, or returns the error that ended the connection.
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

// says holds a dialogue. say alternates commands ("" sends none) with what the reply begins with, "end", "EOF", or "="
// and the data of a transfer. The command "TLS" is a handshake, which has no reply.
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
	data := value(net.DialTimeout("tcp", net.JoinHostPort(host, port), limit))(c.t)
	c.t.Cleanup(func() { data.Close() })
	_ = data.SetDeadline(time.Now().Add(limit))
	if c.tls != nil {
		return tls.Client(data, c.tls)
	}
	return data
}

// transfer sends EPSV and command, and returns the data and the final reply.
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

// retrieves does a transfer that must succeed.
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
	check(c.t, conn.Handshake())
	c.conn, c.r, c.tls = conn, bufio.NewReader(conn), config
}

// digits turns a port into PORT's two numbers.
func digits(port int) string { return fmt.Sprintf("%d,%d", port>>8, port&0xff) }

// check ends the test if err is not nil. It is for errors that the test does not expect.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// value returns v, or ends the test if err is not nil.
func value[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return v
	}
}
