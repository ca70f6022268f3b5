package ftpexec_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

func sessionServer(t *testing.T) *testserver.Server {
	return testserver.New(t, &testserver.Options{
		Tree: map[string]string{"/a/f": "f", "/a/g": "g", "/a/b/h": "h", "/c/i": "i", "/home/a/f": "home", "/k": "k"},
		Home: map[string]string{"user": "/home"}, Users: map[string]string{"user": "pass"},
	})
}

// RFC 1738 section 3.2.5: a kept connection must lead to the same file as a new one would.
func TestSessionReuse(t *testing.T) {
	for _, tt := range []struct {
		name  string
		paths []string // "user@/path" for another login
		want  string   // contents
		cmds  string   // commands after the first file's RETR, facts and data set-up left out
		conns int
	}{
		{"same directory", []string{"/a/f", "/a/g"}, "fg", "RETR g", 1},
		{"deeper", []string{"/a/f", "/a/b/h"}, "fh", "CWD b,RETR h", 1},
		{"elsewhere", []string{"/a/b/h", "/c/i"}, "hi", "CWD /,CWD c,RETR i", 1},
		{"up", []string{"/a/f", "/k"}, "fk", "CWD /,RETR k", 1},
		{"by an absolute segment", []string{"/a/f", "/%2Fc/i"}, "fi", "CWD /,CWD /c,RETR i", 1},
		{"elsewhere from a home", []string{"user@/a/f", "user@/%2Fc/i", "user@/a/f"}, "homeihome", "CWD /home,CWD /c,RETR i,CWD /home,CWD a,RETR f", 1},
		{"other type", []string{"/a/f", "/a/g;type=a"}, "fg", "TYPE A,RETR g", 1},
		{"other login", []string{"/a/f", "user@/a/f"}, "fhome", "", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := sessionServer(t)
			session := closing(t, &ftpexec.Client{Credentials: fixed("pass")})
			var got strings.Builder
			for i, path := range tt.paths {
				got.WriteString(must.Get(read(t.Context(), session, parse(t, s.URL(path))))(t))
				if i == 0 {
					s.ResetCommands()
				}
			}
			if got.String() != tt.want {
				t.Errorf("contents %q, want %q", got.String(), tt.want)
			}
			cmds := slices.DeleteFunc(s.Commands(), setUp)
			if got := strings.Join(cmds, ","); tt.cmds != "" && got != tt.cmds {
				t.Errorf("commands %s, want %s", got, tt.cmds)
			}
			if got := 1 + s.Connections(); got != tt.conns {
				t.Errorf("%d connections, want %d", got, tt.conns)
			}
		})
	}
}

func setUp(line string) bool {
	verb, _, _ := strings.Cut(line, " ")
	return slices.Contains([]string{"EPSV", "SIZE", "MDTM", "QUIT"}, verb)
}

// A visit is a URL's path, after "user:password@" perhaps, and the error that it leads to. "?" asks for facts, "3+"
// begins at an offset, and a directory is listed.
type visit struct {
	path string
	err  error
}

// What happens on a kept connection does not change what the next URLs bring. bad, if not "", must not be in the
// dialogue of the last connection.
func TestVisits(t *testing.T) {
	reply, on, first := testserver.Reply, testserver.On, func(step testserver.Step) testserver.Step { return testserver.OnConn(1, step) }
	file := visit{"/a/f", nil}
	for _, tt := range []struct {
		name   string
		steps  []testserver.Step
		visits []visit
		conns  int
		bad    string
	}{
		{"no way home", []testserver.Step{on("PWD", reply(`257 "/home/u"`)), on("CWD /home/u", reply("550 no"))}, []visit{file, {"/b/f", nil}, {"/c/f", nil}}, 3, ""},
		{"a password in PWD", []testserver.Step{on("PWD", reply(`257 "/home/demo"`)), on("^CWD .*[*]", reply("550 no"))}, []visit{{"demo:demo@/a/f", nil}, {"demo:demo@/b/f", nil}}, 1, ""},
		{"an idle hang-up is no habit", []testserver.Step{first(on("CWD /", testserver.EndControl(testserver.Closed)))}, []visit{file, {"/b/f", nil}}, 2, "one command at a time"},
		{"UTF-8 stays on", nil, []visit{{"/a/%C3%A9", nil}, {"/a/%E9", nil}}, 2, "OPTS UTF8 ON"},
		{"TYPE after a refused CWD", []testserver.Step{on("CWD missing", reply("550 no"))}, []visit{file, {"/missing/g;type=a", ftpexec.ErrDirectory}, file}, 1, "ends in TYPE A"},
		{"TYPE after a refused listing", []testserver.Step{on("CWD missing", reply("550 no"))}, []visit{file, {"/missing/", ftpexec.ErrDirectory}, file}, 1, "ends in TYPE A"},
		{"an offset may be pending", []testserver.Step{on("REST", reply("350 go on")), first(on("RETR", reply("450 busy")))}, []visit{{"3+/a/f", ftpexec.ErrRefused}, file}, 2, ""},
		{"two replies", []testserver.Step{first(on("RETR", reply("550 no\r\n226 aborted")))}, []visit{{"/a/f", ftpexec.ErrRefused}, {"?/a/g", nil}, {"?/a/h", nil}}, 2, ""},
		{"the second reply hides no refusal", []testserver.Step{first(on("RETR", reply("550 no\r\n226 aborted"))), on("CWD missing", reply("550 no"))},
			[]visit{{"/a/f", ftpexec.ErrRefused}, {"?/missing/f", ftpexec.ErrDirectory}}, 2, ""},
		{"a reply that makes no sense", []testserver.Step{first(on("CWD x", reply("114 wait\r\n250 done")))}, []visit{file, {"/a/x/f", ftpexec.ErrDirectory}, {"/a/x/f", nil}}, 2, ""},
		{"refused logins", []testserver.Step{on("PASS wrong", reply("530 no"))}, []visit{{"u:wrong@/a/f", ftpexec.ErrLogin}, {"u:wrong@/a/f", ftpexec.ErrLogin}, {"u:right@/a/f", nil}}, 3, ""},
	} {
		var d diary
		s := testserver.New(t, nil, append([]testserver.Step{testserver.Honest("contents")}, tt.steps...)...)
		c := &ftpexec.Client{Trace: d.trace()}
		for _, v := range tt.visits {
			err := v.pay(t, c, s)
			if !errors.Is(err, v.err) || (err == nil) != (v.err == nil) {
				t.Errorf("%s: %s: got %v, want %v", tt.name, v.path, err, v.err)
			}
		}
		last := strings.Join(s.Commands(tt.conns), "\n")
		if i := strings.LastIndex(last, "TYPE "); i >= 0 {
			last += "ends in " + last[i:i+len("TYPE A")]
		}
		if s.Connections() != tt.conns || tt.bad != "" && (strings.Contains(last, tt.bad) || strings.Contains(d.text(), tt.bad) && tt.bad[0] == 'o') {
			t.Errorf("%s: %d connections, want %d; the last: %q", tt.name, s.Connections(), tt.conns, last)
		}
		c.CloseIdleConnections()
	}
}

func (v visit) pay(t *testing.T, c *ftpexec.Client, s *testserver.Server) error {
	stat, offset := strings.HasPrefix(v.path, "?"), int64(0)
	path := strings.TrimPrefix(v.path, "?")
	if rest, ok := strings.CutPrefix(path, "3+"); ok {
		path, offset = rest, 3
	}
	u := parse(t, s.URL(path))
	switch {
	case stat:
		_, err := c.Stat(t.Context(), u)
		return err
	case offset > 0:
		_, err := c.Do(t.Context(), &ftpexec.Request{URL: u, Offset: offset})
		return err
	}
	_, err := do(t.Context(), c, u)
	return err
}

// Replies to commands sent ahead after a refused CWD are about another directory. They do not count for the next file,
// even one of the same name.
func TestAnswersAfterARefusalAreForgotten(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/a/f": "short", "/b/f": "much longer"}})
	session := closing(t, &ftpexec.Client{})
	if _, err := read(t.Context(), session, parse(t, s.URL("/a/missing/f"))); !errors.Is(err, ftpexec.ErrDirectory) {
		t.Fatalf("error %v, want ErrDirectory", err)
	}
	r := must.Get(session.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/b/f"))}))(t)
	defer r.Body.Close()
	if got, err := io.ReadAll(r.Body); err != nil || string(got) != "much longer" || r.Size != 11 {
		t.Errorf("got %q, %v, size %d", got, err, r.Size)
	}
	if s.Connections() != 1 {
		t.Errorf("%d connections, want 1", s.Connections())
	}
}

// Do and Hash refuse a directory and List refuses a file, before anything is sent.
func TestFilesAndDirectories(t *testing.T) {
	s := sessionServer(t)
	c := &ftpexec.Client{MaxIdle: -1}
	dir, file := parse(t, s.URL("/a/")), parse(t, s.URL("/a/f"))
	_, open := c.Do(t.Context(), &ftpexec.Request{URL: dir})
	_, hash := c.Hash(t.Context(), dir, "md5")
	for _, err := range []error{open, hash} {
		if !errors.Is(err, ftpexec.ErrIsDirectory) {
			t.Errorf("error %v, want ErrIsDirectory", err)
		}
	}
	if _, err := list(t.Context(), c, file); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("error %v, want ENOTDIR", err)
	}
	var bad *urlparse.Error
	if _, err := c.Get(t.Context(), "ftp://127.0.0.1:25/f"); !errors.As(err, &bad) || !strings.Contains(bad.Error(), "smtp") {
		t.Errorf("error %v, want that the port belongs to another protocol", err)
	}
	allowed := &ftpexec.Client{AllowPort: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, io.ErrClosedPipe }}
	if _, err := allowed.Get(t.Context(), "ftp://127.0.0.1:25/f"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("with AllowPort: error %v, want that of Dial", err)
	}
	if s.Connections() != 0 {
		t.Errorf("%d connections, want none", s.Connections())
	}
}

func TestSilentHandshake(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		l := must.Get(network.Listen())(t)
		defer l.Close()
		start := time.Now()
		_, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1, Dial: network.Dial}, parse(t, "ftps://"+l.Addr().String()+"/a/f"))
		var e *ftpexec.Error
		if !errors.Is(err, ftpexec.ErrTimeout) || !errors.As(err, &e) || !ftpexec.Retryable(e) {
			t.Errorf("error %v, want ErrTimeout and temporary", err)
		}
		if took := time.Since(start); took != ftpexec.DefaultConnectTimeout {
			t.Errorf("gave up after %v, want %v", took, ftpexec.DefaultConnectTimeout)
		}
	})
}

func TestCredentialsError(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("contents"))
	asked := 0
	vault := func(context.Context, string, string, string) (string, error) {
		asked++
		return "", &net.OpError{Op: "read", Net: "unix", Err: errors.New("vault is closed")}
	}
	_, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1, Credentials: vault}, parse(t, s.URL("u@/a/f")))
	if errors.Is(err, ftpexec.ErrLost) || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

// TestReuseNeedsTheSame retrieves two files that differ in one field of the URL, or with two Clients that differ in one
// field, and counts the connections. A new field must be classified here.
func TestReuseNeedsTheSame(t *testing.T) {
	other := testserver.New(t, nil, testserver.Honest("contents"))
	urls := map[string]struct {
		change func(*urlparse.URL)
		conns  int
	}{
		"Scheme": {func(u *urlparse.URL) { u.Scheme = "ftpes" }, 2},
		"User":   {func(u *urlparse.URL) { u.User = url.UserPassword("you", "secret") }, 2},
		"Host":   {func(u *urlparse.URL) { u.Host = "other.example" }, 2},
		"Port":   {func(u *urlparse.URL) { u.Port = parse(t, other.URL("/")).Port }, 2},
		"Dirs":   {func(u *urlparse.URL) { u.Dirs = []string{"d"} }, 1},
		"Name":   {func(u *urlparse.URL) { u.Name = "g" }, 1},
		"Type":   {func(u *urlparse.URL) { u.Type = urlparse.TypeASCII }, 1},
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) { // every name leads to this machine
		_, port, _ := net.SplitHostPort(address)
		return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+port)
	}
	clients := map[string]any{
		"Credentials": fixed("other"), "Trace": new(ftpexec.Trace), "ConnectTimeout": time.Minute,
		"Timeout": time.Minute, "MinRate": int64(1), "MinRateTime": time.Minute,
		"MaxIdle": 1, "MaxConns": 1, "AllowPort": true, "NoPipelining": true, "Octets": true, "NoEPSV": true, "PassiveHost": true, "Active": true, "TLSConfig": new(tls.Config), "TryTLS": true, "Pinned": []*x509.Certificate{new(x509.Certificate)}, "Dial": dial,
		"Admit": func(context.Context, string) (func(), error) { return func() {}, nil },
		"Proxy": func(string) func(context.Context, string, string) (net.Conn, error) {
			return new(net.Dialer).DialContext
		},
	}
	count := func(name string, want int, second *ftpexec.Client, change func(*urlparse.URL)) {
		s := testserver.New(t, nil, testserver.Honest("contents"))
		first := &ftpexec.Client{Dial: dial}
		before := other.Connections()
		u := parse(t, s.URL("me:secret@/f"))
		must.Get(read(t.Context(), first, u))(t)
		v := *u
		if change(&v); second == nil {
			second = first
		}
		_, _ = read(t.Context(), second, &v) // the certificate may not be valid
		first.CloseIdleConnections()
		second.CloseIdleConnections()
		if got := s.Connections() + other.Connections() - before; got != want {
			t.Errorf("another %s: %d connections, want %d", name, got, want)
		}
	}
	count("password", 2, nil, func(u *urlparse.URL) { u.User = url.UserPassword("me", "wrong") })
	for f := range reflect.TypeFor[urlparse.URL]().Fields() {
		if tt, ok := urls[f.Name]; !ok {
			t.Errorf("does another URL.%s need another connection?", f.Name)
		} else {
			count("URL."+f.Name, tt.conns, nil, tt.change)
		}
	}
	for f := range reflect.TypeFor[ftpexec.Client]().Fields() {
		if value, ok := clients[f.Name]; ok {
			c := &ftpexec.Client{Dial: dial}
			reflect.ValueOf(c).Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(value))
			count("Client."+f.Name, 2, c, func(*urlparse.URL) {})
		} else if f.IsExported() {
			t.Errorf("Client.%s needs a row", f.Name)
		}
	}
}
