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
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

func TestSilentHandshake(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		l := must.Get(network.Listen())(t)
		defer l.Close()
		start := time.Now()
		_, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1, Dial: network.Dial}, parse(t, "ftps://"+l.Addr().String()+"/a/f"))
		var e *ftpexec.Error
		if !errors.Is(err, ftpexec.ErrTimeout) || !errors.As(err, &e) || !e.Temporary() {
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
// field, and counts the connections: a login, TLS settings and proxies are never another's. A new field must be classified
// here.
func TestReuseNeedsTheSame(t *testing.T) {
	other := testserver.New(t, nil, testserver.Honest("contents"))
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
		"Credentials": fixed("other"), "Trace": func(ftpexec.Event) {}, "ConnectTimeout": time.Minute,
		"Timeout": time.Minute, "MinRate": ftpexec.Rate{Bytes: 1},
		"MaxIdle": 1, "MaxConns": 1, "AllowPort": true, "NoPipelining": true, "NoEPSV": true, "Active": true, "TLSConfig": new(tls.Config), "TryTLS": true, "Dial": dial,
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

// TestPlaces lists directories that are deep in a tree one after another. PWD shows that the server names directories by
// the CWDs that lead there, and then one CWD leads back to what two of them have in common. A name that differs does not.
func TestPlaces(t *testing.T) {
	const deep = "/1/2/3/4/5/6/7/8/9"
	for _, tt := range []struct{ pwd, want string }{
		{deep + "/a", "CWD " + deep + ",CWD b|CWD " + deep + ",CWD c,CWD d|CWD /1/2,CWD x"},
		{"/elsewhere", "CWD /,CWD 1,CWD 2,CWD 3,CWD 4,CWD 5,CWD 6,CWD 7,CWD 8,CWD 9,CWD b|CWD /,CWD 1,CWD 2,CWD 3,CWD 4,CWD 5,CWD 6,CWD 7,CWD 8,CWD 9,CWD c,CWD d|CWD /,CWD 1,CWD 2,CWD x"},
	} {
		s := testserver.New(t, nil, testserver.Honest(""), testserver.On("#2 PWD", testserver.Reply(`257 "`+tt.pwd+`"`)))
		var c ftpexec.Client
		var got []string
		for _, path := range []string{deep + "/a/", deep + "/b/", deep + "/c/d/", "/1/2/x/"} {
			before := len(s.Commands())
			for _, err := range c.Entries(t.Context(), parse(t, s.URL(path))) {
				must.Do(t, err)
			}
			if before > 0 {
				ways := slices.DeleteFunc(s.Commands()[before:], func(line string) bool { return !strings.HasPrefix(line, "CWD") })
				got = append(got, strings.Join(ways, ","))
			}
		}
		if strings.Join(got, "|") != tt.want {
			t.Errorf("%s: %s, want %s", tt.pwd, strings.Join(got, "|"), tt.want)
		}
		c.CloseIdleConnections()
	}
}
