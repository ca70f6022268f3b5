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
	return testserver.NewScript(t, append([]testserver.Step{s.step}, steps...)...)
}

// step adds the server's behavior to a connection.
func (s shelf) step(d *testserver.Dialogue) {
	testserver.Honest("")(d)
	cwd, hops := "/", 0
	arg := func(c *testserver.Conn) string {
		_, name, _ := strings.Cut(c.Line(), " ")
		if strings.HasPrefix(name, "/") {
			return path.Clean(name)
		}
		return path.Join(cwd, name)
	}
	testserver.On("CWD", func(c *testserver.Conn) error {
		dir := arg(c)
		if strings.HasSuffix(c.Line(), " /") {
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
	file := func(serve func(text string) []testserver.Action) testserver.Action {
		return func(c *testserver.Conn) error {
			text, ok := s.files[arg(c)]
			if reply, no := s.refuse[arg(c)]; no || !ok {
				return testserver.Reply(cmp.Or(reply, "550 No such file."))(c)
			}
			return all(c, serve(text))
		}
	}
	testserver.On("SIZE", file(func(text string) []testserver.Action {
		return []testserver.Action{testserver.Reply("213 " + strconv.Itoa(len(text)))}
	}))(d)
	testserver.On("MDTM", file(func(string) []testserver.Action {
		return []testserver.Action{testserver.Reply("213 20260102030405")}
	}))(d)
	testserver.On("RETR", file(func(text string) []testserver.Action { return testserver.Transfer(text) }))(d)
	for _, verb := range []string{"MLSD", "LIST", "NLST"} {
		testserver.On(verb, testserver.Reply("502 Not implemented."))(d)
	}
	testserver.On(s.verb, func(c *testserver.Conn) error {
		if reply, no := s.refuse[cwd]; no {
			return testserver.Reply(reply)(c)
		}
		return all(c, testserver.Transfer(s.listings[cwd]))
	})(d)
}

func all(c *testserver.Conn, actions []testserver.Action) error {
	for _, act := range actions {
		if err := act(c); err != nil {
			return err
		}
	}
	return nil
}

// lines returns lines with line ends.
func lines(text ...string) string { return strings.Join(text, "\r\n") + "\r\n" }
