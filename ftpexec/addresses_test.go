package ftpexec_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// resolve makes every name have these IPv4 addresses.
func resolve(t *testing.T, addresses ...[4]byte) {
	t.Helper()
	server := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		buf := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil {
				continue
			}
			m.Response = true
			m.Additionals = nil
			for _, a := range addresses {
				if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
					m.Answers = append(m.Answers, dnsmessage.Resource{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1}, Body: &dnsmessage.AResource{A: a},
					})
				}
			}
			if answer, err := m.Pack(); err == nil {
				_, _ = server.WriteTo(answer, from)
			}
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		server.Close()
		<-answered
	})
}

// listenOn returns an Options.Listen for control connections on an address and port, and data connections beside it.
func listenOn(address string) func() (net.Listener, error) {
	host, _, _ := net.SplitHostPort(address)
	return func() (net.Listener, error) {
		defer func() { address = host + ":0" }()
		return net.Listen("tcp", address)
	}
}

// addressHosts are the addresses of the name in [TestNextAddress].
var addressHosts = []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}

// Of the addresses of a name, one machine may not serve: the next one does, in the same call, and at once from then on.
// If none serves, each is tried once.
func TestNextAddress(t *testing.T) {
	resolve(t, [4]byte{127, 0, 0, 1}, [4]byte{127, 0, 0, 2}, [4]byte{127, 0, 0, 3})
	for name, bad := range map[string]testserver.Step{
		"421":                testserver.On("", testserver.Reply("421 Too many users"), testserver.EndControl(testserver.Closed)),
		"closed":             testserver.On("", testserver.EndControl(testserver.Closed)),
		"silent":             testserver.On("", testserver.EndControl(testserver.Stalled)),
		"530 to the login":   testserver.On("PASS", testserver.Reply("530 Too many users logged in for this account.")),
		"out of order":       testserver.On("", testserver.Reply("500 out of order")),
		"lost at the login":  testserver.On("USER", testserver.EndControl(testserver.Closed)),
		"refused altogether": nil,
	} {
		for good := -1; good < len(addressHosts); good++ {
			t.Run(fmt.Sprintf("%s, good %d", name, good), func(t *testing.T) {
				t.Parallel()
				testNextAddress(t, name, bad, good)
			})
		}
	}
}

// testNextAddress retrieves two files. All of addressHosts do what bad says, or refuse connections if it is nil, but the
// good one, if it is not negative.
func testNextAddress(t *testing.T, name string, bad testserver.Step, good int) {
	port := ""
	var servers []*testserver.Server
	for i, host := range addressHosts {
		step := bad
		switch {
		case i == good:
			step = nil
		case bad == nil && i > 0: // refused: nothing listens there
			continue
		}
		s := testserver.New(t, &testserver.Options{Listen: listenOn(net.JoinHostPort(host, cmp.Or(port, "0")))}, testserver.Honest("contents"), step)
		_, port, _ = net.SplitHostPort(s.Addr())
		servers = append(servers, s)
	}
	c := &ftpexec.Client{MaxIdle: -1, Timeout: 10 * time.Second}
	if name == "silent" {
		c.Timeout = time.Second
	}
	u := parse(t, "ftp://mirror.example:"+port+"/a/f")
	got, err := read(t.Context(), c, u)
	switch served := good >= 0 || bad == nil; {
	case served && (err != nil || got != "contents"):
		t.Errorf("got %q, %v", got, err)
	// a server may also have lost what was sent ahead
	case name == "silent" && !served && err != nil && connections(servers) == 2*len(addressHosts): // each was asked for TLS too
	case !served && err == nil, !served && connections(servers) != len(addressHosts) && (name != "lost at the login" || connections(servers) > len(addressHosts)+1):
		t.Errorf("got %q, %v on %d connections", got, err, connections(servers))
	case served:
		before := connections(servers)
		wantContents(t, c, u)
		if n := connections(servers) - before; n != 1 {
			t.Errorf("%d connections for the second file, want 1", n)
		}
	}
}

func connections(servers []*testserver.Server) (n int) {
	for _, s := range servers {
		n += s.Connections()
	}
	return n
}

// A device that serves one client at a time greets the second connection after the end of the first. The first one does
// not stay idle meanwhile.
func TestOneClientAtATime(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		turn := make(chan struct{}, 1)
		s := testserver.New(t, &testserver.Options{Listen: network.Listen, Tree: tree, Fault: func(c *testserver.Conn) testserver.Action {
			switch c.Verb {
			case "":
				turn <- struct{}{}
			case "QUIT":
				<-turn
			}
			return nil
		}})
		c := closing(t, &ftpexec.Client{Dial: network.Dial})
		start := time.Now()
		first := must.Get(c.Get(t.Context(), s.URL("/a/f")))(t)
		second := make(chan error)
		go func() {
			_, err := read(t.Context(), c, parse(t, s.URL("/a/g")))
			second <- err
		}()
		synctest.Wait()
		must.Get(readAll(first))(t) // the connection becomes idle
		if err := <-second; err != nil {
			t.Errorf("the second file: %v", err)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
		third := must.Get(c.Get(t.Context(), s.URL("/a/f")))(t)
		go func() {
			_, err := read(t.Context(), c, parse(t, s.URL("/a/g")))
			second <- err
		}()
		<-time.After(5 * time.Second) // the wait is known before the first connection becomes idle
		must.Get(readAll(third))(t)
		if err := <-second; err != nil || errors.Is(err, ftpexec.ErrTimeout) {
			t.Errorf("the fourth file: %v", err)
		}
	})
}
