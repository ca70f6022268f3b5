package ftpexec_test

import (
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// told is what StatAll yielded about one URL.
type told struct {
	size  int64
	known bool // the time
	err   error
}

func collect(all iter.Seq2[ftpexec.Entry, error]) (list []told) {
	for info, err := range all {
		if err != nil {
			info.Size = -1
		}
		list = append(list, told{info.Size, !info.ModTime.IsZero(), err})
	}
	return list
}

// compare reports where got differs from want. An error of want must be in the chain.
func compare(got, want []told) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d answers, want %d: %v", len(got), len(want), got)
	}
	for i := range got {
		if g, w := got[i], want[i]; g.size != w.size || g.known != w.known || !errors.Is(g.err, w.err) || (g.err == nil) != (w.err == nil) {
			return fmt.Sprintf("answer %d: %+v, want %+v", i, g, w)
		}
	}
	return ""
}

func parseAll(t testing.TB, s interface{ URL(string) string }, paths ...string) (urls []*urlparse.URL) {
	for _, path := range paths {
		urls = append(urls, parse(t, s.URL(path)))
	}
	return urls
}

// 200 files take seven flights of 64 commands at most, the first with the login. Long names take more, of 4 KiB at
// most.
func TestStatAllInFlights(t *testing.T) {
	for _, tt := range []struct{ name, most int }{{20, 8}, {200, 24}} {
		tree := map[string]string{}
		var paths []string
		var want []told
		for i := range 200 {
			path := fmt.Sprintf("/a/b/%0*d", tt.name, i)
			tree[path] = strings.Repeat("x", i)
			paths, want = append(paths, path), append(want, told{int64(i), true, nil})
		}
		s := testserver.New(t, &testserver.Options{Tree: tree})
		if diff := compare(collect((&ftpexec.Client{MaxIdle: -1}).StatAll(t.Context(), parseAll(t, s, paths...))), want); diff != "" {
			t.Error(diff)
		}
		must.Do(t, s.WaitCommand(t.Context(), "QUIT"))
		flights := slices.DeleteFunc(s.Flights(), func(f []string) bool { return slices.Contains(f, "QUIT") })
		if len(flights) > tt.most || s.DataConnections() != 0 || s.Connections() != 1 {
			t.Errorf("%d flights, %d data connections, %d connections", len(flights), s.DataConnections(), s.Connections())
		}
		for i, f := range flights {
			n := len(strings.Join(f, "\r\n"))
			if login := 3; len(f) > 64+login || n > 4<<10+100 || i > 0 && (len(f) > 64 || n > 4<<10) {
				t.Errorf("flight %d: %d commands and %d bytes", i, len(f), n)
			}
		}
	}
}

// Every file gets the answer that it would get alone, and errors about one do not touch the others.
func TestStatAllMixed(t *testing.T) {
	s := sessionServer(t)
	other := testserver.New(t, nil, testserver.Honest("x"))
	paths := []string{"/a/f", "/a/g", "/a/b/h", "/a/missing", "/nowhere/f", "/nowhere/deeper/f", "/c/i", "/c/i;type=a", "/nowhere/g", "/a/", "/k", "/a/nowhere/f", "/a/f"}
	want := []told{
		{1, true, nil}, {1, true, nil}, {1, true, nil}, {-1, false, ftpexec.ErrNotFound}, {-1, false, ftpexec.ErrDirectory},
		{-1, false, ftpexec.ErrDirectory}, {1, true, nil}, {-1, true, nil}, {-1, false, ftpexec.ErrDirectory}, {-1, false, ftpexec.ErrIsDirectory},
		{1, true, nil}, {-1, false, ftpexec.ErrDirectory}, {1, true, nil},
		{-1, false, ftpexec.ErrOtherServer}, {-1, false, ftpexec.ErrOtherServer}, {1, true, nil},
	}
	urls := parseAll(t, s, paths...)
	urls = append(urls, parse(t, other.URL("/f")), parse(t, s.URL("user:pass@/a/f")), parse(t, s.URL("/a/b/h")))
	for _, c := range []*ftpexec.Client{{MaxIdle: -1}, {MaxIdle: -1, NoPipelining: true}, {MaxIdle: 1}, {}} {
		got := collect(c.StatAll(t.Context(), urls))
		if diff := compare(got, want); diff != "" {
			t.Errorf("one at a time %v: %s", c.NoPipelining, diff)
		}
		for i, one := range got {
			var e *ftpexec.Error
			if errors.As(one.err, &e) && e.URL != urls[i].Redacted() {
				t.Errorf("the error about %s names %s", urls[i], e.URL)
			}
		}
		c.CloseIdleConnections()
	}
	if s.Connections() != 4 || other.Connections() != 0 {
		t.Errorf("%d connections, want one for each Client; %d to the other server", s.Connections(), other.Connections())
	}
}

// files returns n URLs in one directory and what Honest("contents") says about them.
func files(t testing.TB, s interface{ URL(string) string }, n int) (urls []*urlparse.URL, want []told) {
	for i := range n {
		urls, want = append(urls, parse(t, s.URL(fmt.Sprintf("/a/f%d", i)))), append(want, told{8, true, nil})
	}
	return urls, want
}

// Whatever happens to the connection, each file gets one answer, and the iteration ends only if no way is left.
func TestStatAllOnOddServers(t *testing.T) {
	steps := func(all ...testserver.Step) testserver.Step {
		return func(d *testserver.Dialogue) {
			for _, step := range all {
				step(d)
			}
		}
	}
	first := func(step testserver.Step) testserver.Step { return testserver.OnConn(1, step) }
	end := testserver.EndControl(testserver.Closed)
	for _, tt := range []struct {
		name   string
		step   testserver.Step
		conns  int
		answer int // how many, before an error; all if 0
		err    error
	}{
		{"honest", steps(), 1, 0, nil},
		{"hangs up between two batches", first(testserver.On("#33 SIZE", end)), 2, 0, nil},
		{"hangs up within a later batch", first(testserver.On("#40 MDTM", end)), 2, 0, nil},
		{"421 within a later batch", first(testserver.On("#40 SIZE", testserver.Reply("421 bye"))), 2, 0, nil},
		{"loses commands at the login", first(testserver.On("PASS", ftptest.DiscardInput(), testserver.Reply("230 in"))), 2, 0, nil},
		{"loses commands sent ahead", testserver.On("#5 SIZE", ftptest.DiscardInput(), testserver.Reply("213 8")), 2, 0, nil},
		{"loses commands of a later batch", steps(first(testserver.On("#40 SIZE", ftptest.DiscardInput(), testserver.Reply("213 8")))), 2, 0, nil},
		{"PWD refused", testserver.On("PWD", testserver.Reply("500 what")), 1, 0, nil},
		{"never survives a file", testserver.On("^SIZE f70$", end), 3, 70, ftpexec.ErrLost},
		{"silent at a file", testserver.On("^SIZE f70$"), 2, 70, ftpexec.ErrTimeout},
		{"a reply that makes no sense", testserver.On("^MDTM f40$", testserver.Reply("150 what")), 2, 40, ftpexec.ErrProtocol},
		{"refuses the login", testserver.On("USER", testserver.Reply("530 no")), 1, -1, ftpexec.ErrLogin},
	} {
		runInMemory(t, tt.name, func(t *testing.T, network *ftptest.Network) {
			s := network.NewScript(t, testserver.Honest("contents"), tt.step)
			c, x := pooled(1, s, network.Dial)
			defer c.CloseIdleConnections()
			urls, want := files(t, s, 100)
			if tt.err != nil {
				want = append(want[:max(tt.answer, 0)], told{-1, false, tt.err})
			}
			if diff := compare(collect(c.StatAll(t.Context(), urls)), want); diff != "" {
				t.Error(diff)
			}
			if dials, _ := x.now(); dials != tt.conns {
				t.Errorf("%d connections, want %d", dials, tt.conns)
			}
		})
	}
}

// Without the way back, another directory needs another connection.
func TestStatAllWithoutPWD(t *testing.T) {
	s := testserver.New(t, &testserver.Options{
		Tree: map[string]string{"/a/f": "1", "/a/b/f": "22", "/c/f": "333"},
		Fault: func(p *testserver.Conn) testserver.Action {
			return map[string]testserver.Action{"PWD": testserver.Reply("500 what")}[p.Verb]
		},
	})
	got := collect((&ftpexec.Client{MaxIdle: -1}).StatAll(t.Context(), parseAll(t, s, "/a/f", "/a/b/f", "/missing/f", "/c/f", "/a/f")))
	want := []told{{1, true, nil}, {2, true, nil}, {-1, false, ftpexec.ErrDirectory}, {3, true, nil}, {1, true, nil}}
	if diff := compare(got, want); diff != "" || s.Connections() != 4 {
		t.Errorf("%s; %d connections, want 4", diff, s.Connections())
	}
}

// A directory that the server has refused is not asked for again and again.
func TestStatAllInAMissingDirectory(t *testing.T) {
	for _, sequential := range []bool{false, true} {
		s := sessionServer(t)
		var paths []string
		for i := range 200 {
			paths = append(paths, fmt.Sprintf("/nowhere/b/%d", i))
		}
		for _, one := range collect((&ftpexec.Client{MaxIdle: -1, NoPipelining: sequential}).StatAll(t.Context(), parseAll(t, s, paths...))) {
			if !errors.Is(one.err, ftpexec.ErrDirectory) {
				t.Errorf("got %+v", one)
			}
		}
		asked := slices.DeleteFunc(s.Commands(), func(line string) bool {
			return !strings.HasPrefix(line, "CWD ") && (!sequential || !strings.HasPrefix(line, "SIZE "))
		})
		if want := map[bool]int{false: 2, true: 1}[sequential]; len(asked) != want {
			t.Errorf("one at a time %v: the client sent %q, want %d", sequential, asked, want)
		}
	}
}

// A name that is not UTF-8 is asked about on a connection without OPTS UTF8 ON, as it would be alone.
func TestStatAllUTF8(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("contents"))
	got := collect((&ftpexec.Client{MaxIdle: -1}).StatAll(t.Context(), parseAll(t, s, "/a/f", "/a/%C3%A9", "/a/g", "/a/%E9", "/a/f")))
	if diff := compare(got, slices.Repeat([]told{{8, true, nil}}, 5)); diff != "" {
		t.Error(diff)
	}
	for conn := range s.Connections() {
		sent := s.Commands(conn + 1)
		if opts, utf8, latin := slices.Contains(sent, "OPTS UTF8 ON"), slices.Contains(sent, "SIZE \u00e9"), slices.Contains(sent, "SIZE \xe9"); utf8 && !opts || latin && opts {
			t.Errorf("connection %d: %q", conn+1, sent)
		}
	}
}

// The caller may stop, and nothing stays open.
func TestStatAllStops(t *testing.T) {
	s := sessionServer(t)
	c, x := pooled(-1, s, new(net.Dialer).DialContext)
	for range c.StatAll(t.Context(), nil) {
		t.Error("an answer to no question")
	}
	x.count(1, 0)
	for info, err := range c.StatAll(t.Context(), parseAll(t, s, "/a/f", "/a/g")) {
		if err != nil || info.Size != 1 {
			t.Errorf("got %+v, %v", info, err)
		}
		break
	}
	if dials, open := x.now(); dials != 1 || open != 0 {
		t.Errorf("%d dials, %d open", dials, open)
	}
}

// For any list of URLs, StatAll answers as the tree says, whether it sends ahead or not.
func TestStatAllModel(t *testing.T) {
	tree := map[string]string{"/f": "1", "/a/f": "22", "/a/g": "333", "/a/b/f": "4444", "/a/b/c/f": "55555", "/d/f": "666666"}
	s := testserver.New(t, &testserver.Options{Tree: tree, ModTime: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)})
	dirs := []string{"/", "/a/", "/a/b/", "/a/b/c/", "/d/", "/no/", "/a/no/", "/a/no/b/", "/no/b/"}
	rapid.Check(t, func(rt *rapid.T) {
		c := &ftpexec.Client{MaxIdle: -1, NoPipelining: rapid.Bool().Draw(rt, "one at a time")}
		var paths []string
		var want []told
		for range rapid.IntRange(1, 60).Draw(rt, "files") {
			dir, name := rapid.SampledFrom(dirs).Draw(rt, "dir"), rapid.SampledFrom([]string{"f", "g"}).Draw(rt, "name")
			one := told{int64(len(tree[dir+name])), true, nil}
			switch {
			case strings.Contains(dir, "/no/"):
				one = told{-1, false, ftpexec.ErrDirectory}
			case tree[dir+name] == "":
				one = told{-1, false, ftpexec.ErrNotFound}
			}
			paths, want = append(paths, dir+name), append(want, one)
		}
		if diff := compare(collect(c.StatAll(t.Context(), parseAll(t, s, paths...))), want); diff != "" {
			rt.Fatalf("%s\n%q", diff, paths)
		}
	})
}
