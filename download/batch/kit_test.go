package batch_test

import (
	"cmp"
	"path"
	"strconv"
	"strings"
	"testing"

	"example.com/ftpfetch/testserver"
)

// shelf is a scripted server of directories whose listings the test writes.
type shelf struct {
	verb     string            // the only command that lists: MLSD, LIST or NLST
	listings map[string]string // by the path of the directory
	files    map[string]string
	refuse   map[string]string // replies in place of a listing or file, by path
	mounts   map[string]string // directories that are others
	hops     int               // how many mounts a path may cross; 0 means any number
	refusal  string            // to a CWD that crosses more
}

// start starts the server, with steps that override what it does.
func (s shelf) start(t *testing.T, steps ...testserver.Step) *testserver.Server {
	return testserver.New(t, nil, append([]testserver.Step{s.step}, steps...)...)
}

// step adds the server's behavior to a connection.
func (s shelf) step(d *testserver.Dialogue) {
	testserver.Honest("")(d)
	cwd, hops := "/", 0
	arg := func(c *testserver.Conn) string {
		if strings.HasPrefix(c.Arg, "/") {
			return path.Clean(c.Arg)
		}
		return path.Join(cwd, c.Arg)
	}
	testserver.On("CWD", func(c *testserver.Conn) error {
		dir := arg(c)
		if c.Arg == "/" {
			hops = 0
		}
		if to, ok := s.mounts[dir]; ok {
			if hops++; s.hops > 0 && hops > s.hops {
				return testserver.Reply(s.refusal)(c)
			}
			dir = to
		}
		if _, ok := s.listings[dir]; !ok {
			return testserver.Reply("550 No such directory.")(c)
		}
		cwd = dir
		return testserver.Reply("250 Done.")(c)
	})(d)
	file := func(serve func(text string) testserver.Action) testserver.Action {
		return func(c *testserver.Conn) error {
			text, ok := s.files[arg(c)]
			if reply, no := s.refuse[arg(c)]; no || !ok {
				return testserver.Reply(cmp.Or(reply, "550 No such file."))(c)
			}
			return serve(text)(c)
		}
	}
	testserver.On("SIZE", file(func(text string) testserver.Action { return testserver.Reply("213 " + strconv.Itoa(len(text))) }))(d)
	testserver.On("MDTM", file(func(string) testserver.Action { return testserver.Reply("213 20260102030405") }))(d)
	testserver.On("RETR", file(testserver.Transfer))(d)
	for _, verb := range []string{"MLSD", "LIST", "NLST"} {
		testserver.On(verb, testserver.Reply("502 Not implemented."))(d)
	}
	testserver.On(s.verb, func(c *testserver.Conn) error {
		if reply, no := s.refuse[cwd]; no {
			return testserver.Reply(reply)(c)
		}
		return testserver.Transfer(s.listings[cwd])(c)
	})(d)
}

// lines returns lines with line ends.
func lines(text ...string) string { return strings.Join(text, "\r\n") + "\r\n" }
