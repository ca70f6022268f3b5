package testserver

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/jlaffaye/ftp"
)

// TestScriptedReplies has one hostile case per line.
func TestScriptedReplies(t *testing.T) {
	tests := []struct {
		name string
		step Step
		say  []string // command or "", start of the reply or "end", ...
	}{
		{"nothing", func(*Dialogue) {}, []string{"NOOP", "502"}},
		{"331 for 220", Honest("").With("NOOP", Reply("331 x")), []string{"", "220", "NOOP", "331 x\r\n"}},
		{"two replies", Honest("").With("retr", Reply("426 x\r\n226 y\r\n")), []string{"", "220", "RETR f", "426", "", "226 y"}},
		{"prefix", Honest("").With("CWD b", Reply("550 x")), []string{"", "220", "CWD a", "250", "CWD bc", "550"}},
		{"expression", Honest("").With("^CWD b$", Reply("550 x")), []string{"", "220", "CWD bc", "250", "CWD b", "550"}},
		{"every command", Honest("").With("*", Reply("421 x"), End(Closed)), []string{"", "220", "USER x", "421", "", "end"}},
		{"reset", Honest("").With("CWD", End(Reset)), []string{"", "220", "CWD a", "end"}},
		{"unanswered", Honest("").With("CWD"), []string{"", "220", "CWD a\r\nNOOP", "200"}},
		{"fake port", Honest("").With("EPSV", Reply("229 (|||99999|)")), []string{"", "220", "EPSV", "229 (|||99999|)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(t, nil, tt.step)
			c := connect(t, s.Addr())
			c.says(tt.say)
		})
	}
}

func TestScriptByTheCount(t *testing.T) {
	s := New(t, nil, Honest("x"),
		On("#2 CWD", Reply("450 later")),
		OnConn(1, On("", Reply("120 wait\r\n220 ready")), On("NOOP", Reply("500 x"))),
		OnConn(3, On("", Reply("331 Password"))),
	)
	c := connect(t, s.Addr())
	c.want("120")
	c.want("220")
	c.do("NOOP", "500")
	c.do("CWD a", "250")
	c.do("CWD a", "450")
	c.do("CWD a", "250")
	c = dial(t, s.Addr())
	c.do("NOOP", "200")
	c.do("CWD a", "250")
	connect(t, s.Addr()).want("331")
}

func TestScriptedData(t *testing.T) {
	tests := []struct {
		name   string
		action Action
		want   string
		final  string
		err    error
	}{
		{"honest", Transfer("abc"), "abc", "226", nil},
		{"short", Do(Reply("150 x"), Data("a", Closed), Reply("226 y")), "a", "226", nil},
		{"in parts", Do(Reply("150 x"), Data("a"), Data("b", Closed), Reply("226 y")), "ab", "226", nil},
		{"reset", Do(Reply("150 x"), Data("", Reset), Reply("226 y")), "", "226", syscall.ECONNRESET},
		{"none", Do(Reply("150 x"), Data("", Closed), Reply("226 y")), "", "226", nil},
		{"replies before", Do(Reply("150 x\r\n226 y"), Data("abc", Closed)), "abc", "226", nil},
		{"data before replies", Do(Data("abc", Closed), Reply("150 x\r\n226 y")), "abc", "226", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(t, nil, Honest("").With("RETR", tt.action))
			c := dial(t, s.Addr())
			got, final, err := c.transfer("RETR f")
			if got != tt.want || !strings.HasPrefix(final, tt.final) || !errors.Is(err, tt.err) {
				t.Errorf("got %q, %q, %v", got, final, err)
			}
		})
	}
}

func TestScriptWithoutDataPort(t *testing.T) {
	s := New(t, nil, Honest("x").With("NLST", Data("x", Stalled), Data("", Reset), Data("", Closed), Reply("226 y")))
	c := dial(t, s.Addr())
	c.do("RETR f", "150")
	c.want("226")
	c.do("NLST", "226")
}

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

func TestScriptedTLS(t *testing.T) {
	s := New(t, nil, Honest("secret"))
	c := dial(t, s.Addr())
	c.do("AUTH TLS", "234")
	c.startTLS(clientTLS(s.RootCAs()))
	c.do("PROT P", "200")
	c.retrieves("RETR f", "secret")
	c.do("PROT C", "200")
	c.tls = nil
	c.retrieves("RETR f", "secret")
	c.do("QUIT", "221")
	if _, err := c.reply(); err != io.EOF {
		t.Errorf("got %v, want close_notify", err)
	}
}

// TestOwnActions uses an Action and a Step that this package does not provide.
func TestOwnActions(t *testing.T) {
	echo := func(c *Conn) error {
		if _, err := fmt.Fprintf(c, "150 %s\r\n", c.Arg); err != nil {
			return err
		}
		if _, err := io.WriteString(c.Data(), c.Arg); err != nil {
			return err
		}
		return nil
	}
	s := New(t, nil, Honest(""), func(d *Dialogue) {
		OnConn(1, On("RETR", echo, Data("", Closed), Reply("226 Done")))(d)
	})
	for _, want := range []string{"f", ""} {
		conn, err := ftp.Dial(s.Addr(), ftp.DialWithTimeout(limit))
		if err != nil {
			t.Fatal(err)
		}
		r, err := conn.Retr("f")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
		_ = errors.Join(r.Close(), conn.Quit())
	}
}
