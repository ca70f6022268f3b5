package ftpexec_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/network/proxy"
	"example.com/ftpfetch/internal/network/proxy/proxytest"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

var tree = map[string]string{"/a/f": "contents", "/a/g": "g"}

// TestSessions retrieves files and lists a directory in one session, by every kind of connection.
func TestSessions(t *testing.T) {
	type session struct {
		name  string
		o     testserver.Options
		c     *ftpexec.Client
		setup string // the verb that sets up the data connections
	}
	sessions := []session{
		{"PASV", testserver.Options{}, &ftpexec.Client{NoEPSV: true}, "PASV"},
		{"active", testserver.Options{}, &ftpexec.Client{Active: true}, "EPRT"},
		{"IPv6 without EPSV", testserver.Options{Listen: ftptest.Listen6}, &ftpexec.Client{NoEPSV: true}, "EPSV"},
		{"IPv6 active", testserver.Options{Listen: ftptest.Listen6}, &ftpexec.Client{Active: true}, "EPRT"},
	}
	for _, sequential := range []bool{false, true} {
		sessions = append(sessions, session{"EPSV", testserver.Options{}, &ftpexec.Client{NoPipelining: sequential}, "EPSV"},
			session{"IPv6", testserver.Options{Listen: ftptest.Listen6}, &ftpexec.Client{NoPipelining: sequential}, "EPSV"})
		for _, scheme := range []string{"ftpes", "ftps"} {
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				config := &tls.Config{MaxVersion: version, VerifyConnection: ftptest.Resumed}
				sessions = append(sessions, session{scheme + " " + tls.VersionName(version), testserver.Options{Scheme: scheme, TLSConfig: config}, &ftpexec.Client{NoPipelining: sequential}, "EPSV"})
			}
		}
	}
	for _, tt := range sessions {
		t.Run(fmt.Sprintf("%s/sequential=%v", tt.name, tt.c.NoPipelining), func(t *testing.T) {
			tt.o.Tree = tree
			s := testserver.New(t, &tt.o)
			c := closing(t, tt.c)
			c.TLSConfig = &tls.Config{RootCAs: s.RootCAs()}
			for range 8 {
				wantContents(t, c, parse(t, s.URL("/a/f")))
			}
			if got, err := list(t.Context(), c, parse(t, s.URL("/a/"))); err != nil || len(got) != 2 || s.Connections() != 1 {
				t.Errorf("listing %q, %v on %d connections, want 1", got, err, s.Connections())
			}
			for _, verb := range []string{"EPSV", "PASV", "EPRT", "PORT"} {
				has := slices.ContainsFunc(s.Commands(), func(l string) bool { return strings.HasPrefix(l, verb) })
				if has != (verb == tt.setup) {
					t.Errorf("%s sent: %v; commands %q", verb, has, s.Commands())
				}
			}
		})
	}
}

// PORT follows a refused EPRT.
func TestActiveFallsBackToPORT(t *testing.T) {
	dial := func(s **testserver.Server) testserver.Action {
		return ftptest.Call(func() {
			cmds := (*s).Commands()
			send(portOf(cmds[slices.IndexFunc(cmds, func(l string) bool { return strings.HasPrefix(l, "PORT ") })]), "contents")
		})
	}
	var s *testserver.Server
	s = testserver.New(t, nil, testserver.Honest("contents"), testserver.On("EPRT", testserver.Reply("500 what")),
		testserver.On("PORT", testserver.Reply("200 ok")), testserver.On("RETR", testserver.Reply("150 x"), dial(&s), testserver.Reply("226 y")))
	wantContents(t, &ftpexec.Client{MaxIdle: -1, Active: true}, parse(t, s.URL("/a/f")))
}

// portOf reads "PORT h1,h2,h3,h4,p1,p2".
func portOf(line string) string {
	var h [4]int
	var hi, lo int
	fmt.Sscanf(line, "PORT %d,%d,%d,%d,%d,%d", &h[0], &h[1], &h[2], &h[3], &hi, &lo)
	return fmt.Sprintf("%d.%d.%d.%d:%d", h[0], h[1], h[2], h[3], hi<<8|lo)
}

func send(address, contents string) {
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Write([]byte(contents))
		conn.Close()
	}
}

// The address in a reply to PASV is not trusted: data comes from the host of the control connection.
func TestPASVAddressIsNotTrusted(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("contents"),
		testserver.On("PASV", testserver.Reply("227 Entering Passive Mode (203,0,113,7,{hi},{lo})")))
	var dialled []string
	c := &ftpexec.Client{MaxIdle: -1, NoEPSV: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	wantContents(t, c, parse(t, s.URL("/a/f")))
	for _, address := range dialled {
		if !strings.HasPrefix(address, "127.0.0.1:") {
			t.Errorf("dialled %s", address)
		}
	}
}

// If an EPSV port cannot be reached, PASV follows on a new connection, and from then on is used at once.
func TestUnreachableEPSVIsRemembered(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		s := network.NewScript(t, testserver.Honest("contents"), testserver.On("EPSV", testserver.Reply("229 (|||1|)")))
		c := &ftpexec.Client{MaxIdle: -1, Dial: network.Dial}
		for range 2 {
			wantContents(t, c, parse(t, s.URL("/a/f")))
		}
		if n := count(s.Commands(), "EPSV"); n != 1 || s.Connections() != 3 {
			t.Errorf("EPSV sent %d times on %d connections, want once on 3", n, s.Connections())
		}
	})
}

func TestConnectErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		dial dialFunc // nil means a network without listeners
		want error
		took time.Duration
	}{
		{"refused", nil, ftpexec.ErrConnect, 0},
		{"no such host", noSuchHost, ftpexec.ErrNoHost, 0},
		{"no answer", noAnswer, ftpexec.ErrTimeout, ftpexec.DefaultConnectTimeout},
	} {
		runInMemory(t, tt.name, func(t *testing.T, network *ftptest.Network) {
			c := &ftpexec.Client{MaxIdle: -1, Dial: tt.dial}
			if tt.dial == nil {
				c.Dial = network.Dial
			}
			start := time.Now()
			_, err := read(t.Context(), c, parse(t, "ftp://nosuch.invalid/f"))
			var e *ftpexec.Error
			if !errors.As(err, &e) || !errors.Is(err, tt.want) || e.Op != "connect" || e.Stage != "connect" {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if took := time.Since(start); took != tt.took {
				t.Errorf("gave up after %v, want %v", took, tt.took)
			}
		})
	}
}

func noSuchHost(_ context.Context, _, address string) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}}
}

func noAnswer(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TLS on the data connection starts after RETR, not after the reply to it, which would cost a round trip.
func TestDataTLSDoesNotWaitForTheReply(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("RETR",
		testserver.Data("contents"), // it waits for the handshake first
		testserver.Reply("150 x"), testserver.Data("", testserver.Closed), testserver.Reply("226 y")))
	u := parse(t, strings.Replace(s.URL("/a/f"), "ftp:", "ftpes:", 1))
	c := within(ample)
	c.TLSConfig = &tls.Config{RootCAs: s.RootCAs()}
	wantContents(t, c, u)
}

// A server may take long before the 150: ConnectTimeout does not bound TLS on the data connection.
func TestDataTLSWaitsForASlowReply(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		c := within(ample)
		c.ConnectTimeout = ample / 10
		c.Dial = network.Dial
		s := network.NewScript(t, testserver.Honest("contents"), testserver.On("RETR", ftptest.AcceptData(),
			ftptest.Call(func() { <-time.After(2 * c.ConnectTimeout) }),
			testserver.Reply("150 x"), testserver.Data("contents", testserver.Closed), testserver.Reply("226 y")))
		c.TLSConfig = &tls.Config{RootCAs: s.RootCAs()}
		u := parse(t, strings.Replace(s.URL("/a/f"), "ftp:", "ftpes:", 1))
		wantContents(t, c, u)
	})
}

// TestTwoLearnAtOnce has two connections of a client lose what was sent ahead: both try again, although only one of
// them is the first to learn it.
func TestTwoLearnAtOnce(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		loses := testserver.On("USER", ftptest.CloseIfMore(), testserver.Reply("331 Password, please."))
		s := network.NewScript(t, testserver.Honest("contents"), testserver.OnConn(1, loses), testserver.OnConn(2, loses))
		var both sync.WaitGroup
		both.Add(2)
		var mu sync.Mutex
		dials := 0
		c := &ftpexec.Client{MaxIdle: -1, Dial: func(ctx context.Context, kind, address string) (net.Conn, error) {
			mu.Lock()
			dials++
			first := dials <= 2
			mu.Unlock()
			if first {
				both.Done()
				both.Wait()
			}
			return network.Dial(ctx, kind, address)
		}}
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				wantContents(t, c, parse(t, s.URL("/a/f")))
			})
		}
		group.Wait()
	})
}

// TestRefusedActiveModeClosesItsPort checks that nothing listens any more on a port that the server refused to connect
// to. The port is on an address that no other test uses, because another test may open the same port meanwhile.
func TestRefusedActiveModeClosesItsPort(t *testing.T) {
	for _, reply := range []string{"500 What?", "421 Gone", "120 Later"} {
		s := testserver.New(t, nil, testserver.Honest("contents"),
			testserver.On("EPRT", testserver.Reply(reply)), testserver.On("PORT", testserver.Reply(reply)))
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
		session := &ftpexec.Client{Active: true, Dial: dialer.DialContext}
		if _, err := session.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/a/f"))}); err == nil {
			t.Errorf("%s: no error", reply)
		}
		session.CloseIdleConnections()
		for _, line := range s.Commands() {
			fields := strings.Split(line, "|")
			if !strings.HasPrefix(line, "EPRT") || len(fields) != 5 {
				continue
			}
			if conn, err := net.Dial("tcp", net.JoinHostPort(fields[2], fields[3])); err == nil {
				conn.Close()
				t.Errorf("%s: port %s is open", reply, fields[3])
			}
		}
	}
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// through makes c use p for every host.
func through(t *testing.T, c *ftpexec.Client, p *proxytest.Proxy) {
	t.Helper()
	via := must.Get(proxy.Parse(p.URL()))(t)
	c.Proxy = func(string) func(context.Context, string, string) (net.Conn, error) { return via.Dialer(nil) }
	c.Dial = func(context.Context, string, string) (net.Conn, error) {
		t.Error("dialled past the proxy")
		return nil, errors.New("no")
	}
}

// TestProxy checks that the proxy is asked for the URL's host by name, for both connections.
func TestProxy(t *testing.T) {
	proxies := map[string]func(testing.TB, *proxytest.Options) *proxytest.Proxy{"socks5": proxytest.NewSOCKS5, "http": proxytest.NewHTTP}
	for name, start := range proxies {
		for _, mode := range []string{"ftp", "ftpes"} {
			for _, noEPSV := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					s := testserver.New(t, &testserver.Options{Tree: tree, Scheme: mode, TLSConfig: &tls.Config{VerifyConnection: ftptest.Resumed}})
					p := start(t, &proxytest.Options{Hosts: map[string]string{"localhost": "127.0.0.1"}})
					c := &ftpexec.Client{MaxIdle: -1, NoEPSV: noEPSV, TLSConfig: &tls.Config{RootCAs: s.RootCAs()}}
					through(t, c, p)
					u := parse(t, strings.Replace(s.URL("/a/f"), "127.0.0.1", "localhost", 1))
					wantContents(t, c, u)
					targets := p.Targets()
					if len(targets) != 2 || targets[0] != u.Address() || !strings.HasPrefix(targets[1], "localhost:") {
						t.Errorf("the proxy was asked for %q, want localhost twice", targets)
					}
					if got, want := slices.Contains(s.Commands(), "PASV"), noEPSV; got != want {
						t.Errorf("PASV was sent: %v, want %v", got, want)
					}
				})
			}
		}
	}
}

// TestProxyRefusesData checks that the error tells why a proxy refuses the data connection.
func TestProxyRefusesData(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		s := network.NewScript(t, testserver.Honest("contents"))
		c := &ftpexec.Client{MaxIdle: -1}
		c.Proxy = func(address string) func(context.Context, string, string) (net.Conn, error) {
			return proxy.DialFunc(func(ctx context.Context, name, to string) (net.Conn, error) {
				if to != address {
					return nil, &proxy.Error{Proxy: "http://p:80", Reason: "not this port", Err: proxy.ErrRefused}
				}
				return network.Dial(ctx, name, to)
			})
		}
		_, err := read(t.Context(), c, parse(t, s.URL("/a/f")))
		if !errors.Is(err, proxy.ErrRefused) || !errors.Is(err, ftpexec.ErrConnect) || !strings.Contains(err.Error(), "not this port") {
			t.Errorf("got %v, want the proxy's own error", err)
		}
	})
}

// TestProxyForSomeHosts checks that a nil Dialer means no proxy.
func TestProxyForSomeHosts(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: tree})
	asked := ""
	c := &ftpexec.Client{MaxIdle: -1, Proxy: func(address string) func(context.Context, string, string) (net.Conn, error) {
		asked = address
		return nil
	}}
	wantContents(t, c, parse(t, s.URL("/a/f")))
	if asked != s.Addr() {
		t.Errorf("asked for %q, want %q", asked, s.Addr())
	}
}

// A Dial that panics while the data connection opens, in a goroutine of the Client, fails the transfer.
func TestDialPanics(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("contents"))
	for _, verb := range []string{"/f", "/"} {
		dials := 0
		c := within(ample)
		c.MaxIdle, c.NoEPSV = -1, true
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if dials++; dials%2 == 0 {
				panic("broken")
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		var err error
		if u := parse(t, s.URL(verb)); u.IsDir() {
			_, err = list(t.Context(), c, u)
		} else {
			_, err = c.Do(t.Context(), &ftpexec.Request{URL: u})
		}
		if !errors.Is(err, ftpexec.ErrConnect) || !strings.Contains(err.Error(), "internal error") {
			t.Errorf("%s: got %v", verb, err)
		}
	}
}

// An EPSV that ends the connection leads to PASV, once for the server.
func TestEPSVEndsTheConnection(t *testing.T) {
	for _, how := range []testserver.Ending{testserver.Closed, testserver.Reset} {
		for _, scheme := range []string{"ftp", "ftpes"} {
			s := testserver.New(t, &testserver.Options{Tree: ordered, Scheme: scheme, Fault: func(c *testserver.Conn) testserver.Action {
				if c.Verb == "EPSV" {
					return testserver.EndControl(how)
				}
				return nil
			}})
			c := closing(t, &ftpexec.Client{TLSConfig: &tls.Config{RootCAs: s.RootCAs()}})
			wantContentsOf(t, c, s, "/a/one", "")
			lost := s.Connections()
			wantContentsOf(t, c, s, "/b/four.txt", "")
			if s.Connections() != lost || lost > 3 {
				t.Errorf("%s, ending %v: %d connections for one file, %d for two", scheme, how, lost, s.Connections())
			}
		}
	}
}

// A server whose PASV names another host gets no connection there, unless the Client trusts it. The error names the
// host, and is final.
func TestDataOnAnotherHost(t *testing.T) {
	for _, trusts := range []bool{false, true} {
		elsewhere := must.Get(net.Listen("tcp", "127.0.0.2:0"))(t)
		defer elsewhere.Close()
		port := elsewhere.Addr().(*net.TCPAddr).Port
		s := testserver.New(t, nil, testserver.Honest("contents").With("EPSV", testserver.Reply("500 no")).
			With("PASV", testserver.Reply(fmt.Sprintf("227 Entering Passive Mode (127,0,0,2,%d,%d)", port>>8, port&0xff))).
			With("RETR", testserver.Reply("150 x"), ftptest.Call(func() {
				if conn, err := elsewhere.Accept(); err == nil {
					_, _ = io.WriteString(conn, "contents")
					conn.Close()
				}
			}), testserver.Reply("226 x")))
		c := &ftpexec.Client{MaxIdle: -1, PassiveHost: trusts}
		if trusts {
			wantContents(t, c, parse(t, s.URL("/a/f")))
			continue
		}
		_, err := read(t.Context(), c, parse(t, s.URL("/a/f")))
		if !errors.Is(err, ftpexec.ErrDataHost) || !errors.Is(err, ftpexec.ErrConnect) || ftpexec.Retryable(err) || !strings.Contains(err.Error(), "127.0.0.2") {
			t.Errorf("got %v, want ErrDataHost", err)
		}
		elsewhere.Close()
	}
}
