package ftpexec_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// What the refusal of a file means shows only together with what the server says to other commands. Each row is a way
// of a real server.
func TestRefusalsByOtherReplies(t *testing.T) {
	const gone = "451 ENOENT: no such file or directory"
	reply, data, closed := testserver.Reply, testserver.Data, testserver.Data("", testserver.Closed)
	noCWD := testserver.On("^CWD f$", reply("550 not a directory"))
	for _, tt := range []struct {
		name       string
		size, retr []testserver.Action
		step       testserver.Step
		want       error
		retryable  bool
	}{
		{"rclone, missing", []testserver.Action{reply("450 Unable to determine size")}, []testserver.Action{reply("551 open f: no such file or directory")}, nil, ftpexec.ErrNotFound, false},
		{"ftp-srv, missing", []testserver.Action{reply(gone)}, []testserver.Action{reply("551 " + gone[4:])}, nil, ftpexec.ErrNotFound, false},
		{"450 twice", []testserver.Action{reply("450 f")}, []testserver.Action{reply("450 f")}, nil, ftpexec.ErrNotFound, false},
		{"550 and 551", []testserver.Action{reply("550 f")}, []testserver.Action{reply("551 f")}, nil, ftpexec.ErrNotFound, false},
		{"551, denied", []testserver.Action{reply("450 f")}, []testserver.Action{reply("551 Permission denied")}, noCWD, fs.ErrPermission, false},
		{"551, SIZE unknown", []testserver.Action{reply("500 what")}, []testserver.Action{reply("551 f")}, noCWD, ftpexec.ErrRefused, false},
		{"451, which may pass", []testserver.Action{reply("450 f")}, []testserver.Action{reply("451 disk")}, nil, ftpexec.ErrRefused, true},
		{"rclone, a directory", []testserver.Action{reply("213 0")}, []testserver.Action{reply("551 Action not taken")}, nil, ftpexec.ErrIsDirectory, false},
		{"goftp, a directory", []testserver.Action{reply("213 4096")}, []testserver.Action{reply("150 Data transfer starting 4096 bytes"), closed, reply("551 read f")}, nil, ftpexec.ErrIsDirectory, false},
		{"a file that breaks", []testserver.Action{reply("213 4096")}, []testserver.Action{reply("150 x"), closed, reply("551 read f")}, noCWD, ftpexec.ErrRefused, false},
		{"a file that breaks in the midst", []testserver.Action{reply("213 4096")}, []testserver.Action{reply("150 x"), data("con"), closed, reply("551 read f")}, nil, ftpexec.ErrTruncated, true},
		{"a relay's 425", []testserver.Action{reply("550 f: No such file or directory")}, []testserver.Action{reply("425 RETR: Connection refused")}, nil, ftpexec.ErrNotFound, false},
		{"a relay's 425 of a directory", []testserver.Action{reply("550 f: not a regular file")}, []testserver.Action{reply("425 RETR: Connection refused")}, nil, ftpexec.ErrIsDirectory, false},
		{"a 425", []testserver.Action{reply("213 8")}, []testserver.Action{reply("425 RETR: Connection refused")}, nil, ftpexec.ErrRefused, true},
	} {
		for _, sequential := range []bool{false, true} {
			s := testserver.New(t, nil, testserver.Honest("contents").With("SIZE", tt.size...).With("MDTM", tt.size[0]).With("RETR", tt.retr...), tt.step)
			c := closing(t, &ftpexec.Client{NoPipelining: sequential})
			_, err := read(t.Context(), c, parse(t, s.URL("/x/f")))
			if !errors.Is(err, tt.want) || ftpexec.Retryable(err) != tt.retryable {
				t.Errorf("%s, sequential %v: got %v, retryable %v; want %v, %v", tt.name, sequential, err, ftpexec.Retryable(err), tt.want, tt.retryable)
			}
			if tt.want == ftpexec.ErrIsDirectory && (err == nil || !strings.Contains(err.Error(), `End the URL in "/"`)) {
				t.Errorf("%s: %v does not say what to write", tt.name, err)
			}
		}
	}
}

// proftpd's mod_proxy says 425 in place of a 550, which then answers the next command, and so on. So the connection is
// not used again.
func TestConnectionAfter425(t *testing.T) {
	for _, sequential := range []bool{false, true} {
		late := ""
		s := testserver.New(t, &testserver.Options{Tree: ordered, Fault: func(c *testserver.Conn) testserver.Action {
			switch {
			case c.Verb == "RETR" && c.Arg == "missing":
				late = "550 missing: No such file or directory\r\n"
				return testserver.Reply("425 RETR: Connection refused")
			case late != "" && c.Num == 1 && c.Verb != "QUIT":
				defer func() { late = "213 1\r\n" }()
				return testserver.Reply(late)
			}
			return nil
		}})
		c := closing(t, &ftpexec.Client{NoPipelining: sequential})
		for _, path := range []string{"/a/one", "/a/missing", "/a/two.txt", "/a/three.txt"} {
			got, err := read(t.Context(), c, parse(t, s.URL(path)))
			if got != ordered[path] || (err == nil) != (ordered[path] != "") {
				t.Errorf("sequential %v, %s: got %q, %v", sequential, path, got, err)
			}
		}
		if s.Connections() != 2 {
			t.Errorf("%d connections, want 2", s.Connections())
		}
	}
}

// mod_proxy passes on a 230 to USER, and then wants PASS nevertheless.
func TestPASSAfter230(t *testing.T) {
	for _, userinfo := range []string{"me:secret@", ""} {
		for _, sequential := range []bool{false, true} {
			loggedIn := map[int]bool{}
			s := testserver.New(t, &testserver.Options{Tree: ordered, Fault: func(c *testserver.Conn) testserver.Action {
				switch c.Verb {
				case "", "RETR", "EPSV", "QUIT":
				case "USER":
					return testserver.ReplaceReply(testserver.Reply("230 Welcome"))
				case "PASS":
					loggedIn[c.Num] = true
				default:
					if !loggedIn[c.Num] {
						return testserver.Reply("530 Please login with USER and PASS")
					}
				}
				return nil
			}, Users: map[string]string{"me": "secret"}})
			c := closing(t, &ftpexec.Client{NoPipelining: sequential})
			for _, path := range []string{"/a/one", "/b/four.txt"} {
				wantContentsOf(t, c, s, path, userinfo)
			}
			if n := s.Connections(); n > 2 {
				t.Errorf("%d connections, want at most 2: %q", n, s.Commands())
			}
		}
	}
}

// SIZE counts the text of a link on goftp, and the 150 the file; elsewhere the 150 may have lost digits. What comes
// shows which is right, at the latest at the second try.
func TestContradictingSizes(t *testing.T) {
	for _, tt := range []struct {
		size, opens string
		tries       int
	}{
		{"213 5", "150 Data transfer starting 8 bytes", 1},
		{"213 11", "150 Data transfer starting 8 bytes", 2},
		{"213 8", "150 Opening f (3 bytes)", 1},
		{"213 8", "150 Opening f (11 bytes)", 2},
		{"213 8", "150 Data transfer starting 8 bytes", 1},
		{"550 no", "150 Data transfer starting 8 bytes", 1},
	} {
		s := testserver.New(t, nil, testserver.Honest("contents").With("SIZE", testserver.Reply(tt.size)).
			With("RETR", testserver.Reply(tt.opens), testserver.Data("contents", testserver.Closed), testserver.Reply("226 done")))
		var d diary
		c := closing(t, &ftpexec.Client{Trace: d.trace()})
		tries := 1
		r, err := c.Get(t.Context(), s.URL("/a/f"))
		for ; err == nil; tries++ {
			var got []byte
			if got, err = readAll(r); err == nil && string(got) == "contents" {
				break
			}
			if !ftpexec.Retryable(err) || tries == 3 {
				t.Fatalf("%s, %s: got %q, %v", tt.size, tt.opens, got, err)
			}
			r, err = c.Get(t.Context(), s.URL("/a/f"))
		}
		if err != nil || tries != tt.tries || r.Size != 8 {
			t.Errorf("%s, %s: %v after %d tries, size %d; want %d tries", tt.size, tt.opens, err, tries, r.Size, tt.tries)
		}
		wantContents(t, c, parse(t, s.URL("/a/g")))
		if n := strings.Count(d.text(), "is right"); n > 1 {
			t.Errorf("%s, %s: said %d times", tt.size, tt.opens, n)
		}
	}
}

func readAll(r *ftpexec.Response) ([]byte, error) {
	defer r.Body.Close()
	return io.ReadAll(r.Body)
}

// npm's ftpd gives every connection the same port, and refuses a listing twice before it closes the connection. The
// error is that refusal.
func TestRefusedListingOnOnePort(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	epsv := testserver.Reply(fmt.Sprintf("229 (|||%d|)", l.Addr().(*net.TCPAddr).Port))
	refusal := testserver.Reply("550 Not a directory")
	twice := testserver.Sequence(refusal, refusal, testserver.EndControl(testserver.Closed))
	for name, step := range map[string]testserver.Step{
		"once":             testserver.On("LIST", refusal).With("NLST", refusal),
		"twice, and close": testserver.On("LIST", twice).With("NLST", twice),
	} {
		s := testserver.New(t, nil, testserver.Honest(""), testserver.On("EPSV", epsv), testserver.On("MLSD", testserver.Reply("502 no")), step)
		c := closing(t, new(ftpexec.Client))
		for _, err := range c.Entries(t.Context(), parse(t, s.URL("/d/"))) {
			if err == nil || !strings.Contains(err.Error(), "550 Not a directory") {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if s.Connections() > 4 {
			t.Errorf("%s: %d connections", name, s.Connections())
		}
	}
}
