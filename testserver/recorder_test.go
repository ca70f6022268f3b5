package testserver

import (
	"context"
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/must"
)

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
	// AUTH; hello; finished with all up to EPSV; RETR.
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
	must.Do(t, <-waited)
	if err := s.WaitCommand(ctx, "NOOP"); err != nil {
		t.Errorf("a command that came before: %v", err)
	}
	cancel()
	if err := s.WaitCommand(ctx, "CWD"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want Canceled", err)
	}
	go func() { waited <- s.WaitCommand(t.Context(), "CWD") }()
	must.Do(t, s.Close())
	if err := <-waited; err != errClosed {
		t.Errorf("got %v, want errClosed", err)
	}
}

// A command is recorded before Fault is asked, which holds this connection alone.
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
	must.Do(t, s.WaitCommand(t.Context(), "NOOP"))
	anonymous(t, s.Addr())
	close(release)
	c.says([]string{"", "230", "", "200"})
}
