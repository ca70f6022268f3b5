package testserver

import (
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
func upon(verb string, fault Fault) func(FaultPoint) Fault {
	return func(p FaultPoint) Fault {
		if p.Verb == verb {
			return fault
		}
		return Fault{}
	}
}

func TestFaultsOfReplies(t *testing.T) {
	tests := []struct {
		name  string
		verb  string
		fault Fault
		say   []string
	}{
		{"busy greeting", "", Fault{Reply: "421 Too many users"}, []string{"", "421 Too many users\r\n"}},
		{"greeting and end", "", Fault{Reply: "421 Too many users", After: Closed}, []string{"", "421", "", "end"}},
		{"no greeting", "", Fault{Before: Closed}, []string{"", "end"}},
		{"refused", "EPSV", Fault{Reply: "500 What?"}, []string{"", "220", "USER open", "230", "EPSV", "500 What?", "PASV", "227"}},
		{"wrong size", "SIZE", Fault{Final: "213 7\r\n"}, []string{"", "220", "USER open", "230", "TYPE I", "200", "SIZE f", "213 7\r\n"}},
		{"two replies", "NOOP", Fault{Reply: "426 x\r\n226 y"}, []string{"", "220", "NOOP", "426 x\r\n", "", "226 y\r\n"}},
		{"dropped before", "CWD", Fault{Before: Closed}, []string{"", "220", "USER open", "230", "CWD d", "end"}},
		{"reset before", "CWD", Fault{Before: Reset}, []string{"", "220", "USER open", "230", "CWD d", "end"}},
		{"dropped after", "CWD", Fault{After: Closed}, []string{"", "220", "USER open", "230", "CWD d", "250", "", "end"}},
		{"refused and dropped", "CWD", Fault{Reply: "421 Bye", After: Closed}, []string{"", "220", "USER open", "230", "CWD d", "421", "", "end"}},
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
	for _, fault := range []Fault{{Before: Stalled}, {After: Stalled}} {
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
		fault Fault
		want  int // bytes
		final string
	}{
		{"none", Fault{}, len(contents), "226"},
		{"cut with a lying reply", Fault{Data: Closed, Octets: 1234}, 1234, "226"},
		{"cut at once", Fault{Data: Closed}, 0, "226"},
		{"cut with a true reply", Fault{Data: Closed, Octets: 50000, Final: "426 Broken"}, 50000, "426 Broken"},
		{"cut after the end", Fault{Data: Closed, Octets: int64(len(contents)) + 1}, len(contents), "226"},
		{"whole with a false reply", Fault{Final: "451 Broken"}, len(contents), "451"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(t, &Options{
				Tree: map[string]string{"/f": contents},
				Fault: func(p FaultPoint) Fault {
					if p.Transfer != 2 {
						return Fault{}
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
	s := New(t, &Options{Tree: map[string]string{"/f": "0123456789"}, Fault: upon("RETR", Fault{Data: Reset, Octets: 4})})
	c := anonymous(t, s.Addr())
	_, final, err := c.transfer("RETR f")
	if !errors.Is(err, syscall.ECONNRESET) || !strings.HasPrefix(final, "226") {
		t.Errorf("got %v and %q", err, final)
	}
}

// A stalled transfer ends when the client closes the data connection.
func TestFaultStallsData(t *testing.T) {
	s := New(t, &Options{Tree: map[string]string{"/f": "0123456789"}, Fault: upon("RETR", Fault{Data: Stalled, Octets: 10})})
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
		TLS:   TLSOffered,
		Tree:  map[string]string{"/f": strings.Repeat("x", 100000)},
		Fault: upon("RETR", Fault{Data: Closed, Octets: 50000}),
	})
	c := secure(t, s.Addr(), clientTLS(s.RootCAs()))
	got, final, err := c.transfer("RETR f")
	if len(got) == 0 || len(got) >= 50000 || !strings.HasPrefix(final, "226") {
		t.Errorf("%d bytes, %v, %q", len(got), err, final)
	}
}
