package ftpexec_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

func TestTypeAfterARefusedCWD(t *testing.T) {
	for _, second := range []string{"/missing/", "/missing/g;type=a"} {
		s := testserver.NewScript(t, testserver.Honest("contents"),
			testserver.On("CWD missing", testserver.Reply("550 no")))
		session := &ftpexec.Client{}
		defer session.CloseIdleConnections()
		if _, err := read(t.Context(), session, parse(t, s.URL("/a/f"))); err != nil {
			t.Fatal(err)
		}
		u := parse(t, s.URL(second))
		if u.IsDir() {
			for range session.List(t.Context(), u) {
			}
		} else if _, err := read(t.Context(), session, u); !errors.Is(err, ftpexec.ErrDirectory) {
			t.Fatal(err)
		}
		if _, err := read(t.Context(), session, parse(t, s.URL("/a/f"))); err != nil {
			t.Fatal(err)
		}
		typ := ""
		for _, l := range s.CommandsFor(s.Connections()) {
			if strings.HasPrefix(l, "TYPE ") {
				typ = l
			}
		}
		if typ != "TYPE I" {
			t.Errorf("%s: the last file came in %q: %q", second, typ, s.Commands())
		}
	}
}

func TestNoWayHome(t *testing.T) {
	s := testserver.NewScript(t, testserver.Honest("contents"), testserver.On("PWD", testserver.Reply(`257 "/home/u"`)),
		testserver.On("CWD /home/u", testserver.Reply("550 no")))
	session := &ftpexec.Client{}
	defer session.CloseIdleConnections()
	for _, p := range []string{"/a/f", "/b/f", "/c/f"} {
		if got, err := read(t.Context(), session, parse(t, s.URL(p))); err != nil {
			t.Errorf("%s: got %q, %v", p, got, err)
		}
	}
	if s.Connections() != 3 {
		t.Errorf("%d connections, want 3", s.Connections())
	}
}

func TestIdleHangUpIsNoHabit(t *testing.T) {
	s := testserver.NewScript(t, testserver.Honest("contents"), testserver.OnConn(1, testserver.On("CWD /", testserver.CloseConn())))
	var d diary
	c := &ftpexec.Client{Trace: d.add}
	session := c
	defer session.CloseIdleConnections()
	for _, p := range []string{"/a/f", "/b/f"} {
		if _, err := read(t.Context(), session, parse(t, s.URL(p))); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(d.text(), "one command at a time") {
		t.Errorf("a kept connection that was closed made the host sequential for good:\n%s", d.text())
	}
}

func TestPASVUnreachable(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		s := network.NewScript(t, testserver.Honest("contents"), testserver.On("EPSV", testserver.Reply("500 no")),
			testserver.On("PASV", testserver.Reply("227 (127,0,0,1,0,1)")))
		_, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1, Dial: network.Dial}, parse(t, s.URLAs("u:word", "/a/f")))
		if !errors.Is(err, ftpexec.ErrConnect) {
			t.Errorf("error %v", err)
		}
		if n := count(s.Commands(), "PASS word"); n != 1 {
			t.Errorf("the password was sent %d times", n)
		}
	})
}

func TestNoEPSVOnIPv6(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/a/f": "contents"}, Network: "tcp6"})
	if got, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1, NoEPSV: true}, parse(t, s.URL("/a/f"))); err != nil || got != "contents" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestUTF8StaysOn(t *testing.T) {
	s := testserver.NewScript(t, testserver.Honest("contents"))
	session := &ftpexec.Client{}
	defer session.CloseIdleConnections()
	for _, p := range []string{"/a/%C3%A9", "/a/%E9"} {
		if _, err := read(t.Context(), session, parse(t, s.URL(p))); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.CommandsFor(1); slices.Contains(got, "OPTS UTF8 ON") && slices.Contains(got, "RETR \xe9") {
		t.Errorf("RETR \\xe9 went out under OPTS UTF8 ON, which a new connection would not have: %q", got)
	}
}

func TestSilentHandshake(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		l, err := network.Listen()
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		start := time.Now()
		_, err = read(t.Context(), &ftpexec.Client{MaxIdle: -1, Dial: network.Dial}, parse(t, "ftps://"+l.Addr().String()+"/a/f"))
		var e *ftpexec.Error
		if !errors.Is(err, ftpexec.ErrTimeout) || !errors.As(err, &e) || !e.Temporary() {
			t.Errorf("error %v, want ErrTimeout and temporary", err)
		}
		if took := time.Since(start); took != ftpexec.DefaultConnectTimeout {
			t.Errorf("gave up after %v, want %v", took, ftpexec.DefaultConnectTimeout)
		}
	})
}

func TestNoEPSVLearnedOnIPv4(t *testing.T) {
	six := testserver.New(t, &testserver.Options{Tree: map[string]string{"/a/f": "contents"}, Network: "tcp6"})
	four := testserver.NewScript(t, testserver.Honest("contents"), testserver.On("EPSV", testserver.Reply("229 (|||1|)")))
	first := true
	c := within(ample)
	c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, _ := net.SplitHostPort(address)
		if host == "localhost" {
			address = six.Addr()
			if first {
				address = four.Addr()
			}
		} else {
			address = net.JoinHostPort(host, port)
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	u := parse(t, "ftp://localhost:2121/a/f")
	if _, err := read(t.Context(), c, u); err != nil {
		t.Fatal(err)
	}
	first = false
	if got, err := read(t.Context(), c, u); err != nil {
		t.Errorf("over IPv6: %q, %v", got, err)
	}
}

type vault struct{ asked int }

func (v *vault) Password(context.Context, string, string) (string, error) {
	v.asked++
	return "", &net.OpError{Op: "read", Net: "unix", Err: errors.New("vault is closed")}
}

func (v *vault) Account(context.Context, string, string) (string, error) { return "", nil }

func TestCredentialsError(t *testing.T) {
	s := testserver.NewScript(t, testserver.Honest("contents"))
	v := &vault{}
	_, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1, Credentials: v}, parse(t, s.URLAs("u", "/a/f")))
	if errors.Is(err, ftpexec.ErrLost) || v.asked != 1 {
		t.Errorf("asked %d times, %v", v.asked, err)
	}
}

// TestReuseNeedsTheSame retrieves two files that differ in one field of the URL, or with two Clients that differ in one
// field, and counts the connections: a login, TLS settings and proxies are never another's. A new field must be classified
// here.
func TestReuseNeedsTheSame(t *testing.T) {
	other := testserver.NewScript(t, testserver.Honest("contents"))
	urls := map[string]struct {
		change func(*urlparse.URL)
		conns  int
	}{
		"Scheme": {func(u *urlparse.URL) { u.Scheme = urlparse.FTPES }, 2},
		"User":   {func(u *urlparse.URL) { u.User = url.UserPassword("you", "secret") }, 2},
		"Host":   {func(u *urlparse.URL) { u.Host = "other.example" }, 2},
		"Port":   {func(u *urlparse.URL) { u.Port = parse(t, other.URL("/")).Port }, 2},
		"Dirs":   {func(u *urlparse.URL) { u.Dirs = []string{"d"} }, 1},
		"Name":   {func(u *urlparse.URL) { u.Name = "g" }, 1},
		"Type":   {func(u *urlparse.URL) { u.Type = urlparse.TypeASCII }, 1},
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) { // every name is that of this machine
		_, port, _ := net.SplitHostPort(address)
		return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+port)
	}
	clients := map[string]any{
		"Credentials": fixed("other"), "Email": "x@example.com", "Trace": func(ftpexec.Event) {}, "ConnectTimeout": time.Minute,
		"Timeout": time.Minute, "MinRate": ftpexec.Rate{Bytes: 1}, "MaxListing": int64(99),
		"MaxIdle": 1, "MaxConns": 1, "AllowPort": true, "NoPipelining": true, "NoEPSV": true, "Active": true, "TLSConfig": new(tls.Config), "TryTLS": true, "Dial": dial,
		"Proxy": func(string) func(context.Context, string, string) (net.Conn, error) {
			return new(net.Dialer).DialContext
		},
	}
	count := func(name string, want int, second *ftpexec.Client, change func(*urlparse.URL)) {
		s := testserver.NewScript(t, testserver.Honest("contents"))
		first := &ftpexec.Client{Dial: dial}
		before := other.Connections()
		u := parse(t, s.URLAs("me:secret", "/f"))
		if _, err := read(t.Context(), first, u); err != nil {
			t.Fatal(err)
		}
		v := *u
		if change(&v); second == nil {
			second = first
		}
		_, _ = read(t.Context(), second, &v) // the certificate is no good
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
