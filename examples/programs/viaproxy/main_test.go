package main

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// relay copies between two connections until both directions have ended.
func relay(a, b net.Conn) {
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			io.Copy(pair[0], pair[1])
			pair[0].(*net.TCPConn).CloseWrite()
		})
	}
	both.Wait()
	a.Close()
	b.Close()
}

// stand has a server whose name only the proxies can resolve.
type stand struct {
	server  *testserver.Server
	url     string
	tunnels atomic.Int64
}

const contents = "Message of the day\n"

func newStand(t *testing.T) *stand {
	s := &stand{server: testserver.New(t, &testserver.Options{Tree: map[string]string{"/pub/motd": contents}})}
	_, port, _ := net.SplitHostPort(s.server.Addr())
	s.url = "ftp://inside.invalid:" + port + "/pub/motd"
	return s
}

// dial connects a proxy to the server.
func (s *stand) dial(address string) (net.Conn, error) {
	host, port, _ := net.SplitHostPort(address)
	if host != "inside.invalid" {
		return nil, io.ErrUnexpectedEOF
	}
	s.tunnels.Add(1)
	return net.Dial("tcp", "127.0.0.1:"+port)
}

// http starts an HTTP proxy that accepts CONNECT, and returns its URL with a login.
func (s *stand) http(t *testing.T) string {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth(); user != "me" || password != "S3CRET" {
			http.Error(w, "who are you?", http.StatusProxyAuthRequired)
			return
		}
		to, err := s.dial(r.Host)
		if err != nil {
			http.Error(w, "no such host", http.StatusBadGateway)
			return
		}
		conn, _, _ := w.(http.Hijacker).Hijack()
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		relay(conn, to)
	}))
	t.Cleanup(web.Close)
	return "http://me:S3CRET@" + web.Listener.Addr().String()
}

// socks starts a SOCKS5 proxy (RFC 1928) that accepts CONNECT, and returns its URL.
func (s *stand) socks(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() { s.socksConn(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); served.Wait() })
	return "socks5://" + l.Addr().String()
}

func (s *stand) socksConn(conn net.Conn) {
	read := func(n int) []byte {
		b := make([]byte, n)
		io.ReadFull(conn, b)
		return b
	}
	read(int(read(2)[1])) // authentication methods
	conn.Write([]byte{5, 0})
	head := read(5) // version, CONNECT, 0, address type (a name), length of the name
	host, port := string(read(int(head[4]))), binary.BigEndian.Uint16(read(2))
	to, err := s.dial(net.JoinHostPort(host, itoa(port)))
	if err != nil {
		conn.Write([]byte{5, 4, 0, 1, 0, 0, 0, 0, 0, 0})
		conn.Close()
		return
	}
	conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	relay(conn, to)
}

func itoa(n uint16) string { return (&net.TCPAddr{Port: int(n)}).String()[1:] }

// TestProxies checks that both kinds of proxy carry the control and the data connection, and resolve the name.
func TestProxies(t *testing.T) {
	s := newStand(t)
	for kind, through := range map[string]string{"CONNECT": s.http(t), "SOCKS": s.socks(t)} {
		before := s.tunnels.Load()
		var got strings.Builder
		if err := show(t.Context(), through, s.url, &got); err != nil || got.String() != contents {
			t.Errorf("%s: %q, %v", kind, &got, err)
		}
		if n := s.tunnels.Load() - before; n != 2 {
			t.Errorf("%s: %d tunnels", kind, n)
		}
		err := show(t.Context(), through, "ftp://outside.invalid/f", io.Discard)
		if err == nil || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%s: a host that the proxy does not reach: %v", kind, err)
		}
	}
}

// TestRefused checks that a refusal, or a URL of no proxy, is an error that does not show the password.
func TestRefused(t *testing.T) {
	s := newStand(t)
	wrong := strings.Replace(s.http(t), "S3CRET", "S3CRET2", 1)
	for through, want := range map[string]string{
		wrong: "407", "https://me:S3CRET@h": "write socks5:// or http://", "socks5://me:S3CRET@%zz": "no URL", "": "write socks5:// or http://", "http://127.0.0.1:1": "refused",
	} {
		err := show(t.Context(), through, s.url, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%s: %v", through, err)
		}
	}
}

// TestSilent checks that the wait for a silent proxy ends with the context.
func TestSilent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		conn, err := l.Accept()
		if err == nil {
			conn.Read(make([]byte, 8)) // wait for the request
			cancel()
			conn.Read(make([]byte, 1000))
			conn.Close()
		}
	}()
	if err := show(ctx, "http://"+l.Addr().String(), "ftp://h/f", io.Discard); err == nil {
		t.Error("no error")
	}
}
