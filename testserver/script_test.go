package testserver

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jlaffaye/ftp"
)

func TestHonestScript(t *testing.T) {
	s := NewScript(t, Honest("contents"))
	for _, option := range []ftp.DialOption{
		ftp.DialWithTimeout(limit),
		ftp.DialWithDisabledEPSV(true),
		ftp.DialWithExplicitTLS(clientTLS(s.RootCAs())),
	} {
		c, err := ftp.Dial(s.Addr(), option)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.Login("me", "secret"), c.ChangeDir("a"), c.NoOp()); err != nil {
			t.Fatal(err)
		}
		size, err := c.FileSize("f")
		if size != 8 || err != nil {
			t.Errorf("size %d, %v", size, err)
		}
		r, err := c.Retr("f")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if string(b) != "contents" || err != nil || r.Close() != nil {
			t.Errorf("got %q, %v", b, err)
		}
		if names, err := c.NameList(""); !slices.Equal(names, []string{"a", "b"}) || err != nil {
			t.Errorf("got %q, %v", names, err)
		}
		if err := c.Quit(); err != nil {
			t.Error(err)
		}
	}
	if got := s.Connections(); got != 3 {
		t.Errorf("%d connections", got)
	}
	if got := s.CommandsFor(1)[:2]; !slices.Equal(got, []string{"USER me", "PASS secret"}) {
		t.Errorf("got %q", got)
	}
}

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
		{"every command", Honest("").With("*", Reply("421 x"), CloseConn()), []string{"", "220", "USER x", "421", "", "end"}},
		{"reset", Honest("").With("CWD", ResetConn()), []string{"", "220", "CWD a", "end"}},
		{"unanswered", Honest("").With("CWD"), []string{"", "220", "CWD a\r\nNOOP", "200"}},
		{"fake port", Honest("").With("EPSV", Reply("229 (|||99999|)")), []string{"", "220", "EPSV", "229 (|||99999|)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := NewScript(t, tt.step)
			c := connect(t, s.Addr())
			for i := 0; i < len(tt.say); i += 2 {
				if tt.say[i] != "" {
					c.send(tt.say[i] + "\r\n")
				}
				if tt.say[i+1] == "end" {
					c.ends()
					continue
				}
				c.want(tt.say[i+1])
			}
		})
	}
}

func TestScriptByTheCount(t *testing.T) {
	s := NewScript(t, Honest("x"),
		OnNth(2, "CWD", Reply("450 later")),
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
		name    string
		actions []Action
		want    string
		final   string
		err     error
	}{
		{"honest", Transfer("abc"), "abc", "226", nil},
		{"short", []Action{Reply("150 x"), SendData("a"), CloseData(), Reply("226 y")}, "a", "226", nil},
		{"in parts", []Action{Reply("150 x"), SendData("a"), SendData("b"), CloseData(), Reply("226 y")}, "ab", "226", nil},
		{"reset", []Action{Reply("150 x"), ResetData(), Reply("226 y")}, "", "226", syscall.ECONNRESET},
		{"none", []Action{Reply("150 x"), CloseData(), Reply("226 y")}, "", "226", nil},
		{"replies before", []Action{Reply("150 x\r\n226 y"), SendData("abc"), CloseData()}, "abc", "226", nil},
		{"data before replies", []Action{SendData("abc"), CloseData(), Reply("150 x\r\n226 y")}, "abc", "226", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := NewScript(t, Honest("").With("RETR", tt.actions...))
			c := dial(t, s.Addr())
			got, final, err := c.transfer("RETR f")
			if got != tt.want || !strings.HasPrefix(final, tt.final) || !errors.Is(err, tt.err) {
				t.Errorf("got %q, %q, %v", got, final, err)
			}
		})
	}
}

func TestScriptedDataPorts(t *testing.T) {
	s := NewScript(t, Honest("x"), On("PASV", Reply("227 127,0,0,1,{hi},{lo}")), On("EPSV", Reply("229 x(|||{port}|)")))
	c := dial(t, s.Addr())
	c.do("PASV", "227 127,0,0,1,")
	c.retrieves("RETR f", "x")
}

func TestScriptWithoutDataPort(t *testing.T) {
	s := NewScript(t, Honest("x").With("NLST", SendData("x"), StallData(), ResetData(), CloseData(), Reply("226 y")))
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
		{"silence", []Action{Silence()}},
		{"big data", []Action{SendData(strings.Repeat("x", 16<<20))}},
		{"stalled data", []Action{SendData("x"), StallData()}},
	}
	for _, tt := range tests {
		for _, clientEnds := range []bool{false, true} {
			s := NewScript(t, Honest("").With("RETR", tt.actions...))
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

func TestStalledDataEndsWithClient(t *testing.T) {
	s := NewScript(t, Honest("").With("RETR", Reply("150 x"), StallData(), Reply("426 y")))
	c := dial(t, s.Addr())
	data := c.dialData()
	c.do("RETR f", "150")
	data.Close()
	c.want("426")
}

func TestScriptedTLS(t *testing.T) {
	s := NewScript(t, Honest("secret"))
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
		if _, err := fmt.Fprintf(c, "150 %s\r\n", c.Line()); err != nil {
			return err
		}
		if _, err := io.WriteString(c.Data(), c.Line()); err != nil {
			return err
		}
		return nil
	}
	s := NewScript(t, Honest(""), func(d *Dialogue) {
		OnConn(1, On("RETR", echo, CloseData(), Reply("226 Done")))(d)
	})
	for _, want := range []string{"RETR f", ""} {
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
