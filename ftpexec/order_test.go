package ftpexec_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// ordered is a tree whose files differ in their contents and sizes, so that no reply about one suits another.
var ordered = map[string]string{"/a/one": "1", "/a/two.txt": "22", "/a/three.txt": "333", "/b/four.txt": "4444"}

// sent has the commands of the sweep, each with the path that makes the client send it; "+" means TLS.
var sent = map[string]string{
	"USER": "/a/one", "PASS": "/a/one", "PWD": "/a/one", "CWD": "/a/one", "TYPE": "/a/one", "SIZE": "/a/one", "MDTM": "/a/one",
	"EPSV": "/a/one", "RETR": "/a/one", "NLST": "/a/", "FEAT": "/%C3%BC/one", "OPTS": "/%C3%BC/one",
}

// codes are those of RFC 959, RFC 2228, RFC 2428 and RFC 3659, and some that no command has.
var codes = []int{
	110, 114, 120, 125, 150, 200, 202, 211, 212, 213, 214, 215, 220, 221, 225, 226, 227, 228, 229, 230, 232, 234, 235, 250, 257, 299,
	331, 332, 334, 335, 336, 350, 399, 421, 425, 426, 430, 431, 450, 451, 452, 499, 500, 501, 502, 503, 504, 522, 530, 532, 533, 534,
	535, 536, 537, 550, 551, 552, 553, 599,
}

// TestReplyOfAnotherCommand answers each command with each code, on the first connection only. Where the reply cannot
// belong to the command, the client comes again with one command at a time, and stays with it; whatever the reply, it
// takes nothing for a file that is not the file.
func TestReplyOfAnotherCommand(t *testing.T) {
	cases, lost := 0, 0
	for verb, path := range sent {
		for _, code := range codes {
			cases++
			runInMemory(t, fmt.Sprintf("%d to %s", code, verb), func(t *testing.T, network *ftptest.Network) {
				s := testserver.New(t, &testserver.Options{Listen: network.Listen, Tree: maps.Collect(func(yield func(string, string) bool) {
					for name, contents := range ordered {
						_ = yield(name, contents) && yield("/ü"+strings.TrimPrefix(name, "/a"), contents)
					}
				}), Fault: func(c *testserver.Conn) testserver.Action {
					if c.Num != 1 || c.Verb != verb {
						return nil
					}
					return testserver.Reply(fmt.Sprintf("%d What?", code))
				}})
				c := closing(t, &ftpexec.Client{Dial: network.Dial})
				got, err := do(t.Context(), c, parse(t, s.URL(path)))
				if want := contentsOf(path); err == nil && got != want {
					t.Errorf("got %q, want %q: %q", got, want, s.Commands())
				}
				if ftpexec.Belongs(verb, code) {
					return
				}
				lost++
				if err != nil || s.Connections() != 2 {
					t.Errorf("got %q, %v on %d connections, want it to work on the second: %q", got, err, s.Connections(), s.Commands())
				}
				wantContentsOf(t, c, s, "/b/four.txt", "")
				checkOneAtATime(t, s, 2)
			})
		}
	}
	t.Logf("%d replies, %d of them of another command", cases, lost)
}

func contentsOf(path string) string {
	if path == "/a/" {
		return "one,three.txt,two.txt"
	}
	return ordered["/a/"+path[strings.LastIndexByte(path, '/')+1:]]
}

func wantContentsOf(t *testing.T, c *ftpexec.Client, s *testserver.Server, path, userinfo string) {
	t.Helper()
	if got, err := read(t.Context(), c, parse(t, s.URL(userinfo+path))); err != nil || got != ordered[path] {
		t.Errorf("%s: got %q, %v", path, got, err)
	}
}

// checkOneAtATime checks that the flights of the connections from the nth on have one command each.
func checkOneAtATime(t *testing.T, s *testserver.Server, n int) {
	t.Helper()
	for i := n; i <= s.Connections(); i++ {
		for _, f := range s.Flights(i) {
			if len(f) > 1 {
				t.Errorf("sent ahead on connection %d: %q", i, f)
			}
		}
	}
}

// disorders change the replies of a connection: each gets the number of a reply, from 0 for the greeting, the reply, and
// the ones before it that are held back.
var disorders = map[string]func(at, i int, reply string, held *[]string) []string{
	"lost": func(at, i int, reply string, _ *[]string) []string {
		if i == at {
			return nil
		}
		return []string{reply}
	},
	"twice": func(at, i int, reply string, _ *[]string) []string {
		if i == at {
			return []string{reply, reply}
		}
		return []string{reply}
	},
	"after the next": func(at, i int, reply string, held *[]string) []string {
		if i == at {
			*held = []string{reply}
			return nil
		}
		defer func() { *held = nil }()
		return append([]string{reply}, *held...)
	},
	"one too many before": func(at, i int, reply string, _ *[]string) []string {
		if i == at {
			return []string{"550 nonsense.txt: No such file or directory\r\n", reply}
		}
		return []string{reply}
	},
}

// TestRepliesInAnotherOrder loses, doubles and swaps each reply of a session of four files on its first connection. All
// files come, and none in place of another. At most one needs another call: where nothing follows a lost reply, which
// is a timeout, or where a refusal that the server has made up stands in the place of a true one.
func TestRepliesInAnotherOrder(t *testing.T) {
	const replies = 40
	cases := 0
	for name, change := range disorders {
		for at := range replies {
			cases++
			runInMemory(t, fmt.Sprintf("%s/%d", name, at), func(t *testing.T, network *ftptest.Network) {
				s := testserver.New(t, &testserver.Options{Listen: network.Listen, Tree: ordered})
				conns, failed := 0, 0
				c := closing(t, &ftpexec.Client{Dial: func(ctx context.Context, kind, address string) (net.Conn, error) {
					conn, err := network.Dial(ctx, kind, address)
					if address != s.Addr() || err != nil {
						return conn, err
					}
					if conns++; conns > 1 {
						return conn, nil
					}
					return &disorderly{Conn: conn, replies: bufio.NewReader(conn), change: func(i int, r string, held *[]string) []string {
						return change(at, i, r, held)
					}}, nil
				}})
				for _, path := range slices.Sorted(maps.Keys(ordered)) {
					got, err := read(t.Context(), c, parse(t, s.URL(path)))
					switch {
					case err == nil && got != ordered[path]:
						t.Errorf("%s: got %q, want %q", path, got, ordered[path])
					case err != nil && !errors.Is(err, ftpexec.ErrTimeout) && !strings.Contains(err.Error(), "nonsense"):
						t.Errorf("%s: got %v", path, err)
					case err != nil:
						failed++
						wantContentsOf(t, c, s, path, "")
					}
				}
				if failed > 1 {
					t.Errorf("%d files needed another call", failed)
				}
			})
		}
	}
	t.Logf("%d sessions", cases)
}

// disorderly is a control connection whose replies, of one line each, come changed.
type disorderly struct {
	net.Conn
	replies *bufio.Reader
	change  func(i int, reply string, held *[]string) []string
	n       int
	held    []string
	rest    string
}

func (d *disorderly) Read(p []byte) (int, error) {
	for d.rest == "" {
		reply, err := d.replies.ReadString('\n')
		if err != nil {
			return 0, err
		}
		d.rest = strings.Join(d.change(d.n, reply, &d.held), "")
		d.n++
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// ordinary are replies of servers in good order that look like more: each with the directory and file that are asked for.
var ordinary = []struct{ verb, reply, dir, name string }{
	{"CWD", "250 CWD command successful.", "c", "f"},
	{"CWD", "250 CWD command successful.", "command", "command"},
	{"PASS", "230 CWD dir", "di", "f"},
	{"PASS", "230 User anonymous logged in.", "a", "anonymous"},
	{"TYPE", "200 SIZE file", "a", "fil"},
	{"SIZE", "550 SIZE: No such file", "a", "SIZE"},
	{"MDTM", "550 a: MDTM not implemented", "a", "f"},
	{"MDTM", "213 20260102030405.678", "a", "f"},
	{"USER", "331 Send your e-mail address as PASS word", "a", "f"},
	{"FEAT", "500 'FEAT': command not understood", "%C3%BC", "f"},
}

// TestOrdinaryReplies checks that no ordinary reply costs the server its flights.
func TestOrdinaryReplies(t *testing.T) {
	for _, tt := range ordinary {
		s := testserver.New(t, nil, testserver.Honest("contents").With(tt.verb, testserver.Reply(tt.reply)))
		c := closing(t, new(ftpexec.Client))
		wantContents(t, c, parse(t, s.URL("/"+tt.dir+"/"+tt.dir+"/"+tt.name)))
		if s.Connections() != 1 {
			t.Errorf("%s: %d connections", tt.reply, s.Connections())
		}
	}
}

// A server that takes a whole write for one command says so in its reply.
func TestSwallowedCommands(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		s := network.NewScript(t, testserver.Honest("contents"), testserver.OnConn(1, testserver.On("USER", ftptest.DiscardInput(),
			testserver.Reply("331 User anonymous PASS ftpfetch@example.com CWD pub TYPE I ok, send password."))))
		start := time.Now()
		wantContents(t, closing(t, &ftpexec.Client{Dial: network.Dial}), parse(t, s.URL("/pub/f")))
		if took := time.Since(start); took > 0 {
			t.Errorf("it took %v", took)
		}
		checkOneAtATime(t, s, 2)
	})
}
