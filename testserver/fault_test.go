package testserver

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
)

// listenLocal listens for active data and never accepts.
func listenLocal(c *client) *net.TCPAddr {
	c.t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr)
}

// upon returns a hook that gives fault to every command with this verb.
func upon(verb string, fault Action) func(*Conn) Action {
	return func(p *Conn) Action {
		if p.Verb == verb {
			return fault
		}
		return nil
	}
}

func TestFaultsOfReplies(t *testing.T) {
	tests := []struct {
		name  string
		verb  string
		fault Action
		say   []string
	}{
		{"busy greeting", "", Reply("421 Too many users"), []string{"", "421 Too many users\r\n"}},
		{"greeting and end", "", Do(Reply("421 Too many users"), End(Closed)), []string{"", "421", "", "end"}},
		{"no greeting", "", End(Closed), []string{"", "end"}},
		{"refused", "EPSV", Reply("500 What?"), []string{"", "220", "USER open", "230", "EPSV", "500 What?", "PASV", "227"}},
		{"wrong size", "SIZE", Final(Reply("213 7\r\n")), []string{"", "220", "USER open", "230", "TYPE I", "200", "SIZE f", "213 7\r\n"}},
		{"two replies", "NOOP", Reply("426 x\r\n226 y"), []string{"", "220", "NOOP", "426 x\r\n", "", "226 y\r\n"}},
		{"dropped before", "CWD", End(Closed), []string{"", "220", "USER open", "230", "CWD d", "end"}},
		{"reset before", "CWD", End(Reset), []string{"", "220", "USER open", "230", "CWD d", "end"}},
		{"dropped in place of the reply", "CWD", Final(End(Closed)), []string{"", "220", "USER open", "230", "CWD d", "end"}},
		{"refused and dropped", "CWD", Do(Reply("421 Bye"), End(Closed)), []string{"", "220", "USER open", "230", "CWD d", "421", "", "end"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(t, &Options{
				Tree:  map[string]string{"/f": "x", "/d/": ""},
				Users: map[string]string{"open": ""},
				Fault: upon(tt.verb, tt.fault),
			})
			c := connect(t, s.Addr())
			c.says(tt.say)
		})
	}
}

// A stalled connection records commands and sends nothing until Close.
func TestFaultStallsControl(t *testing.T) {
	for _, fault := range []Action{End(Stalled), Final(End(Stalled))} {
		s := New(t, &Options{Fault: upon("CWD", fault)})
		c := anonymous(t, s.Addr())
		c.send("CWD /\r\nNOOP\r\n")
		if err := s.WaitCommand(t.Context(), "NOOP"); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		c.ends()
	}
}

func TestFaultsOfData(t *testing.T) {
	contents := strings.Repeat("0123456789", 10000)
	tests := []struct {
		name  string
		fault Action
		want  int // bytes
		final string
	}{
		{"none", nil, len(contents), "226"},
		{"cut with a lying reply", Cut(1234, Closed), 1234, "226"},
		{"cut at once", Cut(0, Closed), 0, "226"},
		{"cut with a true reply", Do(Cut(50000, Closed), Final(Reply("426 Broken"))), 50000, "426 Broken"},
		{"cut after the end", Cut(int64(len(contents))+1, Closed), len(contents), "226"},
		{"whole with a false reply", Final(Reply("451 Broken")), len(contents), "451"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(t, &Options{
				Tree: map[string]string{"/f": contents},
				Fault: func(p *Conn) Action {
					if p.Transfer != 2 {
						return nil
					}
					return tt.fault
				},
			})
			c := anonymous(t, s.Addr())
			c.do("TYPE I", "200")
			c.retrieves("RETR f", contents)
			got, final, err := c.transfer("RETR f")
			if got != contents[:tt.want] || err != nil || !strings.HasPrefix(final, tt.final) {
				t.Errorf("%d bytes, %v, %q, want %d, %q", len(got), err, final, tt.want, tt.final)
			}
			c.retrieves("RETR f", contents)
		})
	}
}

func TestFaultResetsData(t *testing.T) {
	s := New(t, &Options{Tree: map[string]string{"/f": "0123456789"}, Fault: upon("RETR", Cut(4, Reset))})
	c := anonymous(t, s.Addr())
	_, final, err := c.transfer("RETR f")
	if !errors.Is(err, syscall.ECONNRESET) || !strings.HasPrefix(final, "226") {
		t.Errorf("got %v and %q", err, final)
	}
}

// A stalled transfer ends when the client closes the data connection.
func TestFaultStallsData(t *testing.T) {
	s := New(t, &Options{Tree: map[string]string{"/f": "0123456789"}, Fault: upon("RETR", Cut(10, Stalled))})
	c := anonymous(t, s.Addr())
	data := c.dialData()
	c.do("RETR f", "150")
	if _, err := io.ReadFull(data, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	data.Close()
	c.want("5")
	c.do("NOOP", "200")
}

// Under TLS a cut is the end of TCP without close_notify.
func TestFaultCutsDataUnderTLS(t *testing.T) {
	s := New(t, &Options{
		TLSConfig: &tls.Config{},
		Tree:      map[string]string{"/f": strings.Repeat("x", 100000)},
		Fault:     upon("RETR", Cut(50000, Closed)),
	})
	c := secure(t, s.Addr(), clientTLS(s.RootCAs()))
	got, final, err := c.transfer("RETR f")
	if len(got) == 0 || len(got) >= 50000 || !strings.HasPrefix(final, "226") {
		t.Errorf("%d bytes, %v, %q", len(got), err, final)
	}
}
