package ftpexec_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// roundTrips counts the round trips of a transfer by what the server saw: the TCP handshake, the greeting, every flight
// on the control connection, and those from the data connection's handshake to the first byte of data.
func roundTrips(s *testserver.Server) int {
	data := len(s.Flights(0))
	return 2*s.Connections() + len(s.Flights()) - data + max(data, s.DataConnections())
}

func TestRoundTripsOfAFile(t *testing.T) {
	for _, tt := range []struct {
		name, userinfo string
		tls            string
		most           int
	}{
		{"anonymous", "", "ftp", 6},
		{"user whom no password is asked of", "open@", "ftp", 7},
		{"password, unencrypted", "user:pass@", "ftp", 7},
		{"explicit TLS 1.3", "", "ftpes", 8},
		{"explicit TLS 1.3 with a password", "user:pass@", "ftpes", 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := testserver.New(t, &testserver.Options{
				Tree:   map[string]string{"/a/b/c/file": "contents"},
				Users:  map[string]string{"user": "pass", "open": ""},
				Scheme: tt.tls, TLSConfig: &tls.Config{SessionTicketsDisabled: true}, // tickets would be sends that cost no round trip
			})
			c := &ftpexec.Client{MaxIdle: -1, TLSConfig: &tls.Config{RootCAs: s.RootCAs()}}
			r := must.Get(c.Get(t.Context(), s.URL(tt.userinfo+"/a/b/c/file")))(t)
			if r.Size != 8 || r.ModTime.IsZero() {
				t.Errorf("size %d, time %v: not asked for", r.Size, r.ModTime)
			}
			buf := make([]byte, 8)
			if _, err := r.Body.Read(buf); err != nil && string(buf) != "contents" {
				t.Fatal(err)
			}
			got := roundTrips(s)
			r.Body.Close()
			if got > tt.most {
				t.Errorf("%d round trips, want at most %d: %v", got, tt.most, s.Flights())
			}
		})
	}
}

// RETR is sent before the data connection is open, so that the handshake costs no round trip.
func TestDataConnectionIsOpenedMeanwhile(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}})
	calls := 0
	c := &ftpexec.Client{MaxIdle: -1, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if calls++; calls > 1 {
			if err := s.WaitCommand(ctx, "RETR"); err != nil {
				return nil, err
			}
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	wantContents(t, c, parse(t, s.URL("/f")))
}

// FEAT is sent if a name needs it, and OPTS if FEAT offers it.
func TestUTF8(t *testing.T) {
	for _, tt := range []struct {
		feat, want string
	}{
		{"211-x\r\n UTF8\r\n211 y", "PASS,FEAT,OPTS,CWD,RETR"},
		{"211-x\r\n MDTM\r\n211 y", "PASS,FEAT,CWD,RETR"},
		{"500 x", "PASS,FEAT,CWD,RETR"},
	} {
		for _, sequential := range []bool{false, true} {
			s := testserver.New(t, nil, testserver.Honest("x"), testserver.On("FEAT", testserver.Reply(tt.feat)),
				testserver.On("OPTS", testserver.Reply("501 never mind")))
			c := &ftpexec.Client{MaxIdle: -1, NoPipelining: sequential}
			must.Get(read(t.Context(), c, parse(t, s.URL("/%C3%BC/f"))))(t)
			var verbs []string
			for _, line := range s.Commands() {
				verb, _, _ := strings.Cut(line, " ")
				if slices.Contains([]string{"PASS", "FEAT", "OPTS", "CWD", "RETR"}, verb) {
					verbs = append(verbs, verb)
				}
			}
			if got := strings.Join(verbs, ","); got != tt.want {
				t.Errorf("FEAT %q, sequential %v: commands %s, want %s", tt.feat, sequential, got, tt.want)
			}
		}
	}
}

// If commands sent ahead get lost, the client dials again, sends one command at a time, and remembers that.
func TestAnomalies(t *testing.T) {
	for _, tt := range []struct {
		name string
		step testserver.Step // on the first connection only
	}{
		{"input after PASS is lost", testserver.On("PASS", ftptest.DiscardInput(), testserver.Reply("230 in"))},
		{"331 where 220 is due", testserver.On("", testserver.Reply("331 what"))},
		{"reset when more comes", testserver.On("USER", testserver.EndControl(testserver.Reset))},
		{"closed when more comes", testserver.On("USER", ftptest.CloseIfMore(), testserver.Reply("331 x"))},
		{"nonsense after PASS", testserver.On("CWD", testserver.Reply("?"))},
		// aioftp handles commands that arrive together concurrently, and refuses unknown ones at once.
		{"a later command's reply", testserver.On("TYPE", testserver.Reply("502 'size' not implemented"))},
		{"a later command's reply to CWD", testserver.On("CWD", testserver.Reply("500 what?"))},
	} {
		runInMemory(t, tt.name, func(t *testing.T, network *ftptest.Network) {
			s := network.NewScript(t, testserver.Honest("contents"), testserver.OnConn(1, tt.step))
			c := &ftpexec.Client{MaxIdle: -1, Dial: network.Dial}
			for range 2 {
				wantContents(t, c, parse(t, s.URL("/a/f")))
			}
			if n := s.Connections(); n != 3 {
				t.Errorf("%d connections, want 3: the first lost, its second try, and the second file's", n)
			}
			for _, f := range s.Flights(2, 3) {
				if len(f) > 1 {
					t.Errorf("sent ahead on a later connection: %v", f)
				}
			}
		})
	}
}

func TestKnownServersGoOneAtATime(t *testing.T) {
	for _, greeting := range []string{"220 Microsoft FTP Service", "220 x MadGoat y", "220 MikroTik FTP server", "220 FTP server (nodeftpd) ready"} {
		s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("", testserver.Reply(greeting)))
		var d diary
		must.Get(read(t.Context(), &ftpexec.Client{MaxIdle: -1, Trace: d.trace()}, parse(t, s.URL("/a/f"))))(t)
		if !strings.Contains(d.text(), "this kind of server needs one command at a time\n") {
			t.Errorf("%s: the trace does not say why: %s", greeting, d.text())
		}
		for _, f := range s.Flights() {
			if len(f) > 1 {
				t.Errorf("%s: sent ahead: %v", greeting, f)
			}
		}
		if s.Connections() != 1 {
			t.Errorf("%s: %d connections, want 1", greeting, s.Connections())
		}
	}
}

// script is a server without a goroutine: what is written to it is answered at once. It counts the calls.
type script struct {
	net.Conn // nil; nothing else is called
	replies  bytes.Buffer
	calls    map[string]int
}

// scripted has the replies of a script to the commands of a transfer.
var scripted = map[string]string{"USER": "331 x", "PASS": "230 x", "PWD": "257 \"/\"", "CWD": "250 x", "TYPE": "200 x", "EPSV": "229 x (|||1|)",
	"SIZE": "213 4096", "MDTM": "213 20260102030405", "RETR": "150 x\r\n226 Transfer complete.", "QUIT": "221 x"}

func (s *script) Write(p []byte) (int, error) {
	s.calls["Write"]++
	for line := range strings.Lines(string(p)) {
		verb, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		s.replies.WriteString(cmp.Or(scripted[verb], "502 x") + "\r\n")
	}
	return len(p), nil
}

func (s *script) Read(p []byte) (int, error)       { s.calls["Read"]++; return s.replies.Read(p) }
func (s *script) SetReadDeadline(time.Time) error  { s.calls["deadline"]++; return nil }
func (s *script) SetWriteDeadline(time.Time) error { s.calls["deadline"]++; return nil }
func (s *script) Close() error                     { s.calls["Close"]++; return nil }
func (s *script) RemoteAddr() net.Addr             { return peer }

// peer is the remote address. It is allocated once, like the address of a real connection.
var peer = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 21}

// TestCostOfASmallFile counts what a file costs that is neither the first nor the last of its connection.
func TestCostOfASmallFile(t *testing.T) {
	calls := map[string]int{}
	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		s := &script{calls: calls}
		if strings.HasSuffix(address, ":21") {
			s.replies.WriteString("220 x\r\n")
		} else {
			s.replies.Write(make([]byte, 4096))
		}
		return s, nil
	}
	c := &ftpexec.Client{Dial: dial}
	u := parse(t, "ftp://127.0.0.1/pub/file-0001.dat")
	retrieve := func() {
		r := must.Get(c.Do(t.Context(), &ftpexec.Request{URL: u, More: func() bool { return true }}))(t)
		if n, err := io.Copy(io.Discard, r.Body); n != 4096 || err != nil {
			t.Errorf("got %d bytes, %v", n, err)
		}
		r.Body.Close()
	}
	retrieve()
	for what := range calls {
		calls[what] = 0
	}
	retrieve()
	for what, most := range map[string]int{"Write": 2, "Read": 4, "deadline": 10, "Close": 1} {
		if got := calls[what]; got > most {
			t.Errorf("%d calls of %s, want at most %d", got, what, most)
		}
	}
	const most = 93 // the race detector empties pools at times
	if got := testing.AllocsPerRun(100, retrieve); got > most {
		t.Errorf("%v allocations, want at most %d", got, most)
	}
	c.CloseIdleConnections()
}

func BenchmarkSmallFile(b *testing.B) {
	s := testserver.New(b, &testserver.Options{Tree: map[string]string{"pub/f": strings.Repeat("x", 4096)}})
	c := new(ftpexec.Client)
	defer c.CloseIdleConnections()
	request := &ftpexec.Request{URL: parse(b, s.URL("/pub/f")), More: func() bool { return true }}
	b.ReportAllocs() // those of the server too
	for b.Loop() {
		r := must.Get(c.Do(b.Context(), request))(b)
		must.Get(io.Copy(io.Discard, r.Body))(b)
		r.Body.Close()
	}
}
