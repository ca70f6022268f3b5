package ftpexec_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

var tree = map[string]string{"/a/f": "contents", "/a/g": "g"}

// TestSessions retrieves files and lists a directory in one session, by every kind of connection.
func TestSessions(t *testing.T) {
	type session struct {
		name  string
		o     testserver.Options
		c     *ftpexec.Client
		setup string // the verb of the data connections, of those that there are
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
		dial dialFunc // nil means that of a network without listeners
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
