package testserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/afero"
)

func TestData(t *testing.T) {
	contents := strings.Repeat("0123456789", 10000)
	for _, tt := range []struct {
		name        string
		action      Action // on RETR
		script      bool
		want, final string
		err         error
	}{
		{"none", nil, false, contents, "226", nil},
		{"cut with a lying reply", EndDataAfter(1234, Closed), false, contents[:1234], "226", nil},
		{"cut at once", EndDataAfter(0, Closed), false, "", "226", nil},
		{"cut with a true reply", Sequence(EndDataAfter(50000, Closed), ReplaceReply(Reply("426 Broken"))), false, contents[:50000], "426 Broken", nil},
		{"cut after the end", EndDataAfter(int64(len(contents))+1, Closed), false, contents, "226", nil},
		{"whole with a false reply", ReplaceReply(Reply("451 Broken")), false, contents, "451", nil},
		{"reset", EndDataAfter(4, Reset), false, "", "226", syscall.ECONNRESET},
		{"honest script", Transfer("abc"), true, "abc", "226", nil},
		{"in parts", Sequence(Reply("150 x"), Data("a"), Data("b", Closed), Reply("226 y")), true, "ab", "226", nil},
		{"script resets", Sequence(Reply("150 x"), Data("", Reset), Reply("226 y")), true, "", "226", syscall.ECONNRESET},
		{"nothing", Sequence(Reply("150 x"), Data("", Closed), Reply("226 y")), true, "", "226", nil},
		{"replies before", Sequence(Reply("150 x\r\n226 y"), Data("abc", Closed)), true, "abc", "226", nil},
		{"data before replies", Sequence(Data("abc", Closed), Reply("150 x\r\n226 y")), true, "abc", "226", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, steps := upon("RETR", tt.action), []Step(nil)
			if o.Tree = map[string]string{"/f": contents}; tt.script {
				steps = []Step{Honest("").With("RETR", tt.action)}
			}
			c := anonymous(t, New(t, &o, steps...).Addr())
			c.do("TYPE I", "200")
			got, final, err := c.transfer("RETR f")
			if tt.err == nil && got != tt.want || !strings.HasPrefix(final, tt.final) || !errors.Is(err, tt.err) {
				t.Errorf("%d bytes, %v, %q, want %d, %q", len(got), err, final, len(tt.want), tt.final)
			}
			c.do("NOOP", "200")
		})
	}
}

// A stalled transfer ends when the client closes the data connection.
func TestFaultStallsData(t *testing.T) {
	o := upon("RETR", EndDataAfter(10, Stalled))
	o.Tree = map[string]string{"/f": "0123456789"}
	s := New(t, &o)
	c := anonymous(t, s.Addr())
	data := c.dialData()
	c.do("RETR f", "150")
	value(io.ReadFull(data, make([]byte, 10)))(t)
	data.Close()
	c.want("426")
	c.do("NOOP", "200")
}

// Under TLS a cut is the end of TCP without close_notify.
func TestFaultCutsDataUnderTLS(t *testing.T) {
	s := New(t, &Options{
		TLSConfig: &tls.Config{},
		Tree:      map[string]string{"/f": strings.Repeat("x", 100000)},
		Fault:     upon("RETR", EndDataAfter(50000, Closed)).Fault,
	})
	c := secure(t, s.Addr(), clientTLS(s.RootCAs()))
	got, final, err := c.transfer("RETR f")
	if len(got) != 50000 || !strings.HasPrefix(final, "226") {
		t.Errorf("%d bytes, %v, %q", len(got), err, final)
	}
}

// Every action returns when the client goes away and when the server is closed.
func TestScriptEnds(t *testing.T) {
	for _, action := range []Action{EndControl(Stalled), Data(strings.Repeat("x", 16<<20)), Data("x", Stalled)} {
		for _, clientEnds := range []bool{false, true} {
			s := New(t, nil, Honest("").With("RETR", action))
			c := dial(t, s.Addr())
			data := c.dialData()
			c.send("RETR f\r\n" + strings.Repeat("NOOP\r\n", 10000))
			check(t, s.WaitCommand(t.Context(), "RETR"))
			if clientEnds {
				c.raw.Close()
				_, _ = io.Copy(io.Discard, data)
			}
			check(t, s.Close())
			data.Close()
		}
	}
}

// TestOwnActions uses an Action and a Step that this package does not provide.
func TestOwnActions(t *testing.T) {
	echo := func(c *Conn) error {
		if _, err := fmt.Fprintf(c, "150 %s\r\n", c.Arg); err != nil {
			return err
		}
		_, err := io.WriteString(c.Data(), c.Arg)
		return err
	}
	s := New(t, nil, Honest(""), func(d *Dialogue) {
		OnConn(1, On("RETR", echo, Data("", Closed), Reply("226 Done")))(d)
	})
	for _, want := range []string{"f", ""} {
		dial(t, s.Addr()).retrieves("RETR f", want)
	}
}

func TestCloseIsFastWhateverHappens(t *testing.T) {
	tests := []struct {
		name string
		do   func(c *client)
	}{
		{"idle", func(*client) {}},
		{"transfer that waits for the client", func(c *client) {
			c.do("EPSV", "229")
			c.send("RETR f\r\nNOOP\r\n")
		}},
		{"data not read", func(c *client) {
			c.dialData()
			c.do("RETR big", "150")
		}},
		{"active data not read", func(c *client) {
			l := value(net.Listen("tcp4", "127.0.0.1:0"))(c.t)
			c.t.Cleanup(func() { l.Close() })
			c.do("PORT 127,0,0,1,"+digits(l.Addr().(*net.TCPAddr).Port), "200")
			c.do("RETR big", "150")
		}},
		{"data stalled", func(c *client) {
			c.dialData()
			c.do("RETR stalls", "150")
		}},
		{"replies not read", func(c *client) { c.send(strings.Repeat("FEAT\r\n", 10000)) }},
		{"control stalled", func(c *client) { c.send("CWD stalls\r\nNOOP\r\n") }},
		{"control stalled at the reply", func(c *client) { c.send("MDTM stalls\r\nNOOP\r\n") }},
		{"passive port not used", func(c *client) { c.do("EPSV", "229"); c.do("EPSV", "229") }},
		{"client gone", func(c *client) {
			data := c.dialData()
			c.do("RETR big", "150")
			c.raw.Close()
			_, _ = io.Copy(io.Discard, data)
		}},
		{"hung up and client stays", func(c *client) { c.do("QUIT", "221") }},
	}
	fs := afero.NewMemMapFs()
	New(t, &Options{FS: afero.NewIOFS(fs), Tree: map[string]string{"/f": "x", "/stalls": "x", "/big": strings.Repeat("x", 16<<20)}}) // more than sockets hold
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := value(Start(&Options{FS: afero.NewIOFS(fs), Fault: stallOnName}))(t)
			tt.do(anonymous(t, s.Addr()))
			check(t, s.Close())
			if err := s.Close(); err != nil {
				t.Errorf("second Close: %v", err)
			}
		})
	}
}

func stallOnName(p *Conn) Action {
	switch {
	case p.Arg != "stalls":
		return nil
	case p.Verb == "CWD":
		return EndControl(Stalled)
	case p.Verb == "MDTM":
		return ReplaceReply(EndControl(Stalled))
	}
	return EndDataAfter(0, Stalled)
}

func clientTLS(roots *x509.CertPool) *tls.Config {
	return &tls.Config{RootCAs: roots, ServerName: "localhost", ClientSessionCache: tls.NewLRUClientSessionCache(8)}
}

// secure dials, protects both connections with AUTH TLS, PBSZ and PROT P, and logs in.
func secure(t *testing.T, addr string, config *tls.Config) *client {
	t.Helper()
	c := dial(t, addr)
	c.do("AUTH TLS", "234")
	c.startTLS(config)
	c.says([]string{"PBSZ 0", "200", "PROT P", "200", "USER anonymous", "331", "PASS x@", "230"})
	return c
}

func resumed(s tls.ConnectionState) error {
	if !s.DidResume {
		return errors.New("no session")
	}
	return nil
}

func TestExplicitTLS(t *testing.T) {
	for _, tt := range []struct {
		name           string
		options        Options
		resumes, fails bool
	}{
		{name: "1.3", options: Options{TLSConfig: &tls.Config{}}, resumes: true},
		{name: "1.2", options: Options{Scheme: "ftpes", TLSConfig: &tls.Config{MaxVersion: tls.VersionTLS12}}, resumes: true},
		{name: "no tickets", options: Options{TLSConfig: &tls.Config{SessionTicketsDisabled: true}}},
		{name: "reuse required", options: Options{TLSConfig: &tls.Config{VerifyConnection: resumed}}, resumes: true},
		{name: "reuse required and impossible", options: Options{TLSConfig: &tls.Config{SessionTicketsDisabled: true, VerifyConnection: resumed}}, fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.Tree = map[string]string{"/f": "secret"}
			s := New(t, &tt.options)
			c := secure(t, s.Addr(), clientTLS(s.RootCAs()))
			for range 3 {
				data := c.dialData().(*tls.Conn)
				c.do("RETR f", "150")
				b, err := io.ReadAll(data)
				data.Close()
				if tt.fails {
					if err == nil {
						t.Fatal("data without a resumed session")
					}
					c.want("426")
					return
				}
				c.want("226")
				if string(b) != "secret" || err != nil || data.ConnectionState().DidResume != tt.resumes {
					t.Errorf("got %q, %v, resumed %v", b, err, data.ConnectionState().DidResume)
				}
			}
			if v := c.conn.(*tls.Conn).ConnectionState().Version; tt.options.TLSConfig != nil && tt.options.TLSConfig.MaxVersion != 0 && v != tt.options.TLSConfig.MaxVersion {
				t.Errorf("version %x", v)
			}
		})
	}
}

// The server must not take plaintext commands after AUTH for protected ones.
func TestClearCommandAfterAuth(t *testing.T) {
	s := New(t, &Options{TLSConfig: &tls.Config{}})
	c := dial(t, s.Addr())
	c.send("AUTH TLS\r\nUSER anonymous\r\nPASS x\r\n")
	c.want("234")
	c.ends()
	if got := s.Commands(); !slices.Equal(got, []string{"AUTH TLS"}) {
		t.Errorf("got %q", got)
	}
}

func TestFlights(t *testing.T) {
	const login = "USER anonymous\r\nPASS x\r\n"
	for _, writes := range [][]string{ // each is followed by reading its replies
		{"USER anonymous\r\n", "PASS x\r\n", "NOOP\r\n"},
		{login + "TYPE I\r\nNOOP\r\n", "PWD\r\n"},
		{login + strings.Repeat("NOOP\r\n", 5000)},
	} {
		s := New(t, nil)
		c := dial(t, s.Addr())
		for _, w := range writes {
			c.send(w)
			for range strings.Count(w, "\n") {
				c.want("")
			}
		}
		var got []string
		for _, f := range s.Flights() {
			got = append(got, strings.Join(f, "\r\n")+"\r\n")
		}
		if !slices.Equal(got, writes) {
			t.Errorf("%d flights: %.200q, want %.200q", len(got), got, writes)
		}
	}
}

func TestFlightsUnderTLS(t *testing.T) {
	s := New(t, &Options{TLSConfig: &tls.Config{}, Users: map[string]string{"open": ""}, Tree: map[string]string{"/f": "x"}})
	c := dial(t, s.Addr())
	c.do("AUTH TLS", "234")
	c.startTLS(clientTLS(s.RootCAs()))
	c.send("USER open\r\nPBSZ 0\r\nPROT P\r\nEPSV\r\n")
	for _, code := range []string{"230", "200", "200"} {
		c.want(code)
	}
	data := c.dialPort(epsvPort.FindStringSubmatch(c.want("229"))[1])
	c.do("RETR f", "150")
	readAll(t, data, "x")
	c.want("226")
	// The flights: AUTH; ClientHello; Finished, with all commands up to EPSV; RETR.
	control := s.Flights(1)
	if len(control) != 4 || strings.Join(control[2], " | ") != "USER open | PBSZ 0 | PROT P | EPSV" {
		t.Errorf("flights %v", control)
	}
	if got := len(s.Flights(0)); got != 2 {
		t.Errorf("%d data flights, want 2", got)
	}
}

func TestResetCommands(t *testing.T) {
	s := New(t, &Options{Tree: map[string]string{"/f": "12345"}})
	c := anonymous(t, s.Addr())
	c.retrieves("RETR f", "12345")
	if s.Connections() != 1 || s.DataConnections() != 1 || len(s.Flights()) != 4 {
		t.Errorf("%d connections, %d for data, flights %v", s.Connections(), s.DataConnections(), s.Flights())
	}
	s.ResetCommands()
	if s.Connections()+s.DataConnections()+len(s.Commands())+len(s.Flights()) != 0 {
		t.Errorf("left %q, %v", s.Commands(), s.Flights())
	}
	c.do("NOOP", "200")
	if got := len(s.Flights()); got != 1 {
		t.Errorf("%d flights, want 1", got)
	}
	dial(t, s.Addr()).do("FEAT", "211")
	if got := s.Commands(2); !slices.Equal(got, []string{"FEAT"}) {
		t.Errorf("got %q", got)
	}
}

func TestWaitCommand(t *testing.T) {
	s := New(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	waited := make(chan error)
	go func() { waited <- s.WaitCommand(ctx, "USER an") }()
	c := dial(t, s.Addr())
	c.do("NOOP", "200")
	c.do("USER anonymous", "331")
	check(t, <-waited)
	if err := s.WaitCommand(ctx, "NOOP"); err != nil {
		t.Errorf("a command that came before: %v", err)
	}
	cancel()
	if err := s.WaitCommand(ctx, "CWD"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want Canceled", err)
	}
	go func() { waited <- s.WaitCommand(t.Context(), "CWD") }()
	check(t, s.Close())
	if err := <-waited; err != errClosed {
		t.Errorf("got %v, want errClosed", err)
	}
}

// The server records a command before it calls Fault. A Fault that blocks holds up only its own connection.
func TestFaultHoldsTheServer(t *testing.T) {
	release := make(chan struct{})
	s := New(t, &Options{Fault: func(c *Conn) Action {
		if c.Verb == "PASS" && c.Num == 1 {
			<-release
		}
		return nil
	}})
	c := dial(t, s.Addr())
	c.send("USER anonymous\r\nPASS x\r\nNOOP\r\n")
	c.want("331")
	check(t, s.WaitCommand(t.Context(), "NOOP"))
	anonymous(t, s.Addr())
	close(release)
	c.says([]string{"", "230", "", "200"})
}
