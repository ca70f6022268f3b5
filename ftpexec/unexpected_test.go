package ftpexec_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// anyDigit is the outcome of each command by the first digit of the reply: the errors for 1yz to 5yz, nil for success. A
// digit that makes no sense must lead to the error of the command's step.
var anyDigit = []struct {
	name   string
	url    string // path, "user:password@" before it, scheme ftpes with "+"
	step   func(reply string) testserver.Step
	offset int64
	want   [5]error
}{
	{"USER", "/a/f", on("USER"), 0, [5]error{ftpexec.ErrLogin, nil, nil, ftpexec.ErrLogin, ftpexec.ErrLogin}},
	{"USER with a password", "u:password@/a/f", on("USER"), 0, [5]error{ftpexec.ErrLogin, nil, nil, ftpexec.ErrLogin, ftpexec.ErrLogin}},
	{"PASS", "/a/f", on("PASS"), 0, [5]error{ftpexec.ErrLogin, nil, ftpexec.ErrLogin, ftpexec.ErrLogin, ftpexec.ErrLogin}},
	{"PASS with a password", "u:password@/a/f", on("PASS"), 0, [5]error{ftpexec.ErrLogin, nil, ftpexec.ErrLogin, ftpexec.ErrLogin, ftpexec.ErrLogin}},
	{"ACCT", "u:password@/a/f", func(r string) testserver.Step {
		return testserver.On("PASS", testserver.Reply("332 account")).With("ACCT", testserver.Reply(r))
	}, 0, [5]error{ftpexec.ErrLogin, nil, ftpexec.ErrLogin, ftpexec.ErrLogin, ftpexec.ErrLogin}},
	{"FEAT", "/%C3%BC/f", on("FEAT"), 0, [5]error{ftpexec.ErrProtocol}},
	{"OPTS", "/%C3%BC/f", on("OPTS"), 0, [5]error{ftpexec.ErrProtocol}},
	{"PWD", "/a/f", on("PWD"), 0, [5]error{ftpexec.ErrProtocol}},
	{"CWD", "/a/f", on("CWD"), 0, [5]error{ftpexec.ErrDirectory, nil, ftpexec.ErrDirectory, ftpexec.ErrDirectory, ftpexec.ErrDirectory}},
	{"TYPE", "/a/f", on("TYPE"), 0, [5]error{ftpexec.ErrType, nil, ftpexec.ErrType, ftpexec.ErrType, ftpexec.ErrType}},
	{"TYPE A", "/a/", on("TYPE"), 0, [5]error{ftpexec.ErrType, nil, ftpexec.ErrType, ftpexec.ErrType, ftpexec.ErrType}},
	{"SIZE", "/a/f", on("SIZE"), 0, [5]error{ftpexec.ErrProtocol}},
	{"MDTM", "/a/f", on("MDTM"), 0, [5]error{ftpexec.ErrProtocol}},
	{"EPSV", "/a/f", on("EPSV"), 0, [5]error{ftpexec.ErrPassive}},
	{"PASV", "/a/f", func(r string) testserver.Step {
		return testserver.On("EPSV", testserver.Reply("500 what")).With("PASV", testserver.Reply(r))
	}, 0, [5]error{ftpexec.ErrPassive, ftpexec.ErrPassive, ftpexec.ErrPassive, ftpexec.ErrPassive, ftpexec.ErrPassive}},
	{"REST", "/a/f", on("REST"), 3, [5]error{ftpexec.ErrNoRestart, ftpexec.ErrNoRestart, nil, ftpexec.ErrNoRestart, ftpexec.ErrNoRestart}},
	{"RETR", "/a/f", opens("RETR"), 0, [5]error{nil, ftpexec.ErrTruncated, ftpexec.ErrRefused, ftpexec.ErrRefused, ftpexec.ErrRefused}},
	{"NLST", "/a/", opens("NLST"), 0, [5]error{nil, ftpexec.ErrTruncated, ftpexec.ErrRefused, ftpexec.ErrRefused, ftpexec.ErrRefused}},
	{"end of RETR", "/a/f", closes("RETR"), 0, [5]error{nil, ftpexec.ErrTruncated, ftpexec.ErrTruncated, ftpexec.ErrTruncated, ftpexec.ErrTruncated}},
	{"end of NLST", "/a/", closes("NLST"), 0, [5]error{nil, ftpexec.ErrTruncated, ftpexec.ErrTruncated, ftpexec.ErrTruncated, ftpexec.ErrTruncated}},
	{"MLST", "/a/f", func(r string) testserver.Step {
		return testserver.On("SIZE", testserver.Reply("500 what")).With("MLST", testserver.Reply(r))
	}, 0, [5]error{ftpexec.ErrProtocol, ftpexec.ErrTruncated, ftpexec.ErrTruncated, ftpexec.ErrTruncated}},
	{"AUTH", "+/a/f", func(r string) testserver.Step {
		return testserver.On("AUTH", testserver.Reply(r))
	}, 0, [5]error{ftpexec.ErrTLSUnavailable, nil, ftpexec.ErrTLSUnavailable, ftpexec.ErrTLSUnavailable, ftpexec.ErrTLSUnavailable}},
	{"PBSZ", "+/a/f", on("PBSZ"), 0, [5]error{ftpexec.ErrTLSUnavailable}},
	{"PROT", "+/a/f", func(r string) testserver.Step {
		return testserver.On("PROT", testserver.Reply(r))
	}, 0, [5]error{ftpexec.ErrTLSUnavailable, nil, ftpexec.ErrTLSUnavailable, ftpexec.ErrTLSUnavailable, ftpexec.ErrTLSUnavailable}},
}

func on(verb string) func(string) testserver.Step {
	return func(reply string) testserver.Step { return testserver.On(verb, testserver.Reply(reply)) }
}

// text is what opens and closes send: of a listing one whole line.
func text(verb string) testserver.Action {
	if verb == "NLST" {
		return testserver.SendData("contents\r\n")
	}
	return testserver.SendData("contents")
}

// opens sends the reply in place of the 150, closes in place of the 226.
func opens(verb string) func(string) testserver.Step {
	return func(reply string) testserver.Step {
		return testserver.On(verb, testserver.Reply(reply), text(verb), testserver.CloseData(), testserver.Reply("226 x"))
	}
}

func closes(verb string) func(string) testserver.Step {
	return func(reply string) testserver.Step {
		return testserver.On(verb, testserver.Reply("150 x"), text(verb), testserver.CloseData(), testserver.Reply(reply), testserver.Reply("226 x"))
	}
}

// A code that makes no sense ends the run on the first connection. It does not count as a lost reply.
func TestAnyFirstDigit(t *testing.T) {
	for _, tt := range anyDigit {
		for i, want := range tt.want {
			for _, sequential := range []bool{false, true} {
				reply := fmt.Sprintf("%d14 x", i+1)
				t.Run(fmt.Sprintf("%s to %s, sequential %v", reply, tt.name, sequential), func(t *testing.T) {
					t.Parallel()
					s := testserver.NewScript(t, testserver.Honest("contents"), tt.step(reply))
					c := within(ample)
					c.MaxIdle = 0
					c.NoPipelining, c.Credentials, c.TLSConfig = sequential, fixed("word"), &tls.Config{RootCAs: s.RootCAs()}
					err := whole(t, c, s, tt.url, tt.offset)
					if !errors.Is(err, want) {
						t.Errorf("error %v, want %v", err, want)
					}
					var e *ftpexec.Error
					if errors.As(err, &e) && (e.Reply == nil || fmt.Sprintf("%d %s", e.Reply.Code, e.Reply.Text) != reply || e.Temporary() != (i == 3 || errors.Is(err, ftpexec.ErrTruncated))) {
						t.Errorf("%v: reply %+v, temporary %v; want the reply %s", err, e.Reply, e.Temporary(), reply)
					}
					if n := s.Connections(); n != 1 {
						t.Errorf("%d connections, want 1; commands %q", n, s.Commands())
					}
				})
			}
		}
	}
}

// whole retrieves what url names with a session, as for more than one URL.
func whole(t *testing.T, c *ftpexec.Client, s *testserver.Server, url string, offset int64) error {
	session := c
	defer session.CloseIdleConnections()
	url, ftpes := strings.CutPrefix(url, "+")
	login, path, found := strings.Cut(url, "@")
	full := s.URL(url)
	if found {
		full = s.URLAs(login, path)
	}
	u := parse(t, full)
	if ftpes {
		u.Scheme = "ftpes"
	}
	if u.IsDir() {
		for _, err := range session.List(t.Context(), u) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	r, err := session.Do(t.Context(), &ftpexec.Request{URL: u, Offset: offset})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if offset == 0 {
		_, err = io.ReadAll(r.Body)
	}
	return err
}

// In active mode a script has no data to send, so only EPRT and PORT are tried.
func TestAnyFirstDigitInActiveMode(t *testing.T) {
	for _, code := range []string{"114", "314", "414", "514"} {
		for _, step := range []testserver.Step{
			testserver.On("EPRT", testserver.Reply(code+" x")),
			testserver.On("EPRT", testserver.Reply("500 what")).With("PORT", testserver.Reply(code+" x")),
		} {
			s := testserver.NewScript(t, testserver.Honest("contents"), step)
			c := within(ample)
			c.Active = true
			if _, err := read(t.Context(), c, parse(t, s.URL("/a/f"))); !errors.Is(err, ftpexec.ErrActive) || s.Connections() != 1 {
				t.Errorf("%s: error %v on %d connections, want ErrActive on 1", code, err, s.Connections())
			}
		}
	}
}

// After a code that makes no sense on a kept connection, the next URL gets a new connection.
func TestUnexpectedOnAKeptConnection(t *testing.T) {
	s := testserver.NewScript(t, testserver.Honest("contents"), testserver.OnConn(1, testserver.On("CWD x", testserver.Reply("150 wait\r\n250 done"))))
	session := &ftpexec.Client{}
	defer session.CloseIdleConnections()
	for _, tt := range []struct {
		path string
		want error
	}{{"/a/f", nil}, {"/a/x/f", ftpexec.ErrDirectory}, {"/a/x/f", nil}} {
		if got, err := read(t.Context(), session, parse(t, s.URL(tt.path))); !errors.Is(err, tt.want) || err == nil && got != "contents" {
			t.Errorf("%s: got %q, %v, want %v", tt.path, got, err, tt.want)
		}
	}
	if n := s.Connections(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

// A reply line of 64 KiB is read, but shown cut.
func TestLongReplyLine(t *testing.T) {
	for _, size := range []int{4096, 8 << 10, 64<<10 - 1, 64 << 10} {
		long := strings.Repeat("x", size-len("250 "))
		steps := map[string]testserver.Step{
			"greeting":  testserver.On("", testserver.Reply("220 "+long)),
			"PASS":      testserver.On("PASS", testserver.Reply("230 "+long)),
			"CWD":       testserver.On("CWD", testserver.Reply("250 "+long)),
			"lines":     testserver.On("CWD", testserver.Reply("250-"+long+"\r\n"+long+"\r\n250 "+long)),
			"RETR":      testserver.On("RETR", testserver.Reply("150 "+long), testserver.SendData("contents"), testserver.CloseData(), testserver.Reply("226 "+long)),
			"MDTM":      testserver.On("MDTM", testserver.Reply("550 "+long)),
			"refused":   testserver.On("CWD", testserver.Reply("550 "+long)),
			"too long":  testserver.On("CWD", testserver.Reply("250 "+long+strings.Repeat("x", 64<<10-size+1))),
			"too large": testserver.On("CWD", testserver.Reply("250-x\r\n"+strings.Repeat(long+"\r\n", 256<<10/size+1)+"250 x")),
		}
		for name, step := range steps {
			s := testserver.NewScript(t, testserver.Honest("contents"), step)
			c := within(ample)
			c.NoPipelining = true
			got, err := read(t.Context(), c, parse(t, s.URL("/a/f")))
			want := map[string]error{"refused": ftpexec.ErrDirectory, "too long": ftpexec.ErrProtocol, "too large": ftpexec.ErrProtocol}[name]
			if !errors.Is(err, want) || err == nil && got != "contents" {
				t.Errorf("%d bytes, %s: got %q, %.100v, want %v", size, name, got, err, want)
			}
			if err != nil && len(err.Error()) > 500 {
				t.Errorf("%d bytes, %s: the error has %d bytes", size, name, len(err.Error()))
			}
			s.Close()
		}
	}
}
