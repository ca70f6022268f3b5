package testserver

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"
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
		c := anonymous(t, s.Addr())
		c.do("TYPE I", "200")
		c.do("CWD files", "250")
		c.do("SIZE "+name, fmt.Sprintf("213 %d\r\n", len(fmt.Sprint("file ", i))))
		c.retrieves("RETR "+name, fmt.Sprint("file ", i))
		c.retrieves("NLST "+name, name+"\r\n")
		c.do("CWD /d", "250")
		c.do("CWD "+name, "250")
		c.retrieves("NLST", "f\r\n")
		c.retrieves("RETR f", fmt.Sprint("in ", i))
		got := s.Commands(i + 1)
		if !slices.Contains(got, "CWD "+name) || !slices.Contains(got, "RETR "+name) {
			t.Errorf("%q is not recorded as sent: %q", name, got)
		}
	}
}

func TestDialogues(t *testing.T) {
	tree := map[string]string{"/etc/motd": "root's", "/home/me/etc/motd": "mine", "/empty/": "", "/text": "a\nb\r\nc"}
	options := Options{
		Tree:    tree,
		ModTime: time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC),
		Users:   map[string]string{"me": "se cret ", "": "null", "open": ""},
		Home:    map[string]string{"me": "/home/me", "open": "/made"},
	}
	tests := []struct {
		name string
		say  []string // command, start of the reply, ...
	}{
		{"password", []string{"USER me", "331", "PASS se cret ", "230", "PWD", `257 "/home/me"`}},
		{"password without its space", []string{"USER me", "331", "PASS se cret", "530", "PASS se cret ", "230"}},
		{"commands before login", []string{"CWD etc", "530", "PASS x", "503", "USER anonymous", "331", "PASS ", "230"}},
		{"unknown user", []string{"USER you", "331", "PASS x", "530", "CWD etc", "530", "NOOP", "200"}},
		{"null user", []string{"USER ", "331", "PASS null", "230"}},
		{"ftp is anonymous", []string{"USER FTP", "331", "PASS", "230"}},
		{"no password", []string{"USER open", "230", "PWD", `257 "/made"`, "PASS x", "230"}},
		{"absolute", []string{"USER me", "331", "PASS se cret ", "230", "CWD /etc", "250", "PWD", `257 "/etc"`}},
		{"relative", []string{"USER me", "331", "PASS se cret ", "230", "CWD etc", "250", "PWD", `257 "/home/me/etc"`}},
		{"null CWD", []string{"USER me", "331", "PASS se cret ", "230", "CWD ", "250", "PWD", `257 "/home/me"`}},
		{"no such directory", []string{"USER open", "230", "CWD nowhere", "550", "CWD /text", "550"}},
		{"time and size", []string{"USER open", "230", "MDTM /text", "213 20010203040506\r\n", "SIZE /text", "550", "TYPE I", "200", "SIZE /text", "213 6"}},
		{"directory as file", []string{"USER open", "230", "EPSV", "229", "RETR /etc", "550", "SIZE /etc", "550"}},
		{"no TLS", []string{"AUTH TLS", "502", "PBSZ 0", "503", "PROT P", "503"}},
		{"long line", []string{"USER open", "230", "CWD " + strings.Repeat("x", 5000), "500", "NOOP", "200"}},
		{"long user", []string{"USER " + strings.Repeat("x", 5000), "500", "USER open", "230"}},
		{"unknown verb", []string{"USER open", "230", "XYZZY", "500"}},
		{"many lines", []string{"FEAT", "211-", "NOOP", "200"}},
	}
	s := New(t, &options)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := dial(t, s.Addr())
			c.says(tt.say)
		})
	}
}

func TestTypes(t *testing.T) {
	s := New(t, &Options{Tree: map[string]string{"/t": "a\nb\r\nc", "/e": ""}})
	c := anonymous(t, s.Addr())
	c.do("TYPE A", "200")
	c.retrieves("RETR t", "a\r\nb\r\nc")
	c.do("TYPE I", "200")
	c.retrieves("RETR t", "a\nb\r\nc")
	c.retrieves("RETR e", "")
	c.do("REST 2", "350")
	c.retrieves("RETR t", "b\r\nc")
}

func TestAbortDuringTransfer(t *testing.T) {
	s := New(t, &Options{
		Tree:  map[string]string{"/f": "contents"},
		Fault: func(p *Conn) Action { return Cut(3, stallFirst(p)) },
	})
	c := anonymous(t, s.Addr())
	data := c.dialData()
	c.do("RETR f", "150")
	if _, err := io.ReadFull(data, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	c.do("ABOR", "426")
	c.want("226")
	c.do("NOOP", "200")
	c.retrieves("RETR f", "contents")
}

func stallFirst(p *Conn) Ending {
	if p.Transfer == 1 {
		return Stalled
	}
	return intact
}

func TestIPv6(t *testing.T) {
	s := New(t, &Options{Listen: func() (net.Listener, error) { return net.Listen("tcp6", "[::1]:0") }, Tree: map[string]string{"/f": "six"}})
	if !strings.HasPrefix(s.URL("/f"), "ftp://[::1]:") {
		t.Errorf("URL %s", s.URL("/f"))
	}
	c := anonymous(t, s.Addr())
	c.retrieves("RETR f", "six")
	c.do("PASV", "425")
	c.retrieves("RETR f", "six")
}

func TestPassiveAndActive(t *testing.T) {
	s := New(t, &Options{Tree: map[string]string{"/f": "data"}})
	c := anonymous(t, s.Addr())
	reply := c.do("PASV", "227 Entering Passive Mode (127,0,0,1,")
	var hi, lo int
	if _, err := fmt.Sscanf(reply[strings.Index(reply, "0,0,1,")+6:], "%d,%d", &hi, &lo); err != nil {
		t.Fatal(reply)
	}
	wantData(t, c, c.dialPort(fmt.Sprint(hi<<8+lo)), "data")
	for _, command := range []string{"PORT 127,0,0,1,%s", "EPRT |1|127.0.0.1|%s|"} {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		arg := fmt.Sprint(port)
		if strings.HasPrefix(command, "PORT") {
			arg = digits(port)
		}
		c.do(fmt.Sprintf(command, arg), "200")
		c.send("RETR f\r\n")
		data, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c.want("150")
		readAll(t, data, "data")
		c.want("226")
		l.Close()
	}
}

func wantData(t *testing.T, c *client, data net.Conn, want string) {
	t.Helper()
	c.do("RETR f", "150")
	readAll(t, data, want)
	c.want("226")
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
	s := New(t, &Options{FS: fs, Tree: map[string]string{"/f": "old"}})
	c := anonymous(t, s.Addr())
	c.retrieves("RETR f", "old")
	if err := afero.WriteFile(fs, "/f", []byte("newer"), 0o644); err != nil {
		t.Fatal(err)
	}
	c.retrieves("RETR f", "newer")
	if err := fs.Remove("/f"); err != nil {
		t.Fatal(err)
	}
	c.do("RETR f", "550")
}
