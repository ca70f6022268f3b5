package testserver

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// Every action ends when the client goes away and when the script is closed.
func TestScriptEnds(t *testing.T) {
	tests := []struct {
		name    string
		actions []Action
	}{
		{"silence", []Action{End(Stalled)}},
		{"big data", []Action{Data(strings.Repeat("x", 16<<20))}},
		{"stalled data", []Action{Data("x", Stalled)}},
	}
	for _, tt := range tests {
		for _, clientEnds := range []bool{false, true} {
			s := New(t, nil, Honest("").With("RETR", tt.actions...))
			c := dial(t, s.Addr())
			data := c.dialData()
			c.send("RETR f\r\n" + strings.Repeat("NOOP\r\n", 10000))
			if err := s.WaitCommand(t.Context(), "RETR"); err != nil {
				t.Fatal(err)
			}
			if clientEnds {
				c.raw.Close()
				_, _ = io.Copy(io.Discard, data)
			}
			if err := s.Close(); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
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
