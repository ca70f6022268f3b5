package ftpexec_test

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// utf8Case is a server, and how it is asked.
type utf8Case struct {
	feat, refuses    string // the reply to FEAT, and the commands that list and that it refuses
	userinfo, scheme string
	sequential       bool
	list             bool // by List, not Entries
}

// server returns a server with a file whose name it writes in UTF-8 only after OPTS UTF8 ON.
func (tt utf8Case) server(t *testing.T) *testserver.Server {
	on := map[*testserver.Conn]bool{}
	name := func(c *testserver.Conn, line string) testserver.Action {
		if on[c] {
			return testserver.Transfer(fmt.Sprintf(line, "\u0451.txt"))
		}
		return testserver.Transfer(fmt.Sprintf(line, "?.txt"))
	}
	steps := []testserver.Step{
		testserver.Honest("x"),
		testserver.On("FEAT", testserver.Reply(tt.feat)),
		testserver.On("OPTS UTF8 ON", func(c *testserver.Conn) error {
			on[c] = true
			return testserver.Reply("200 on")(c)
		}),
	}
	for verb, line := range map[string]string{"MLSD": "type=file;size=1; %s\r\n", "LIST": "-rw-r--r-- 1 u g 1 Jan 02  2003 %s\r\n", "NLST": "%s\r\n"} {
		if strings.Contains(tt.refuses, verb) {
			steps = append(steps, testserver.On(verb, testserver.Reply("500 unknown")))
			continue
		}
		steps = append(steps, testserver.On(verb, func(c *testserver.Conn) error { return name(c, line)(c) }))
	}
	return testserver.New(t, &testserver.Options{Scheme: tt.scheme, TLSConfig: &tls.Config{SessionTicketsDisabled: true}}, steps...)
}

// ask lists a directory, reads a file, and lists another directory. It returns the names, and what the server saw.
func (tt utf8Case) ask(t *testing.T, octets bool) (names []string, seen *testserver.Server) {
	s := tt.server(t)
	c := closing(t, &ftpexec.Client{Octets: octets, NoPipelining: tt.sequential, TLSConfig: &tls.Config{RootCAs: s.RootCAs()}})
	for _, dir := range []string{"/", "/b/"} {
		dir := parse(t, s.URL(tt.userinfo+dir))
		entries := c.Entries(t.Context(), dir)
		if tt.list {
			entries = c.List(t.Context(), dir)
		}
		for e, err := range entries {
			if err != nil {
				t.Errorf("%+v: %v", tt, err)
			}
			names = append(names, e.Name)
		}
		must.Get(read(t.Context(), c, parse(t, s.URL(tt.userinfo+"/a/f"))))(t)
	}
	return names, s
}

// Whatever lists a directory, its names are asked for in UTF-8 where FEAT offers it, at no round trip: FEAT travels with
// the login, and OPTS with the command that lists.
func TestUTF8Listings(t *testing.T) {
	t.Parallel()
	cases := 0
	for _, feat := range []string{"211-x\r\n UTF8\r\n211 y", "211-x\r\n MDTM\r\n211 y", "211 none", "500 x", "502 x"} {
		for _, refuses := range []string{"", "MLSD", "MLSD LIST"} {
			for _, user := range []string{"", "u:p@"} {
				for _, scheme := range []string{"ftp", "ftpes"} {
					for how := range 4 {
						cases++
						testUTF8Listing(t, utf8Case{feat, refuses, user, scheme, how&1 > 0, how&2 > 0})
					}
				}
			}
		}
	}
	if cases < 240 {
		t.Errorf("%d cases", cases)
	}
}

func testUTF8Listing(t *testing.T, tt utf8Case) {
	offers := strings.Contains(tt.feat, "UTF8")
	names, s := tt.ask(t, false)
	_, bare := tt.ask(t, true)
	want := "?.txt"
	opts := 0
	if offers {
		want = "\u0451.txt"
		opts = 1
	}
	if !slices.Equal(names, []string{want, want}) {
		t.Errorf("%+v: names %q, want %q twice", tt, names, want)
	}
	commands := s.Commands()
	if count(commands, "FEAT") != 1 || count(commands, "OPTS UTF8 ON") != opts || s.Connections() != 1 {
		t.Errorf("%+v: %d connections: %v", tt, s.Connections(), commands)
	}
	more := 0
	if tt.sequential {
		more = 1 + opts
	}
	if got, most := roundTrips(s), roundTrips(bare)+more; got > most {
		t.Errorf("%+v: %d round trips, want %d: %v", tt, got, most, s.Flights())
	}
	if commands := bare.Commands(); count(commands, "FEAT") > 0 || count(commands, "OPTS UTF8 ON") > 0 {
		t.Errorf("%+v, names as octets: %v", tt, commands)
	}
}

// A server that lists octets that are no UTF-8 although it was asked for UTF-8 takes them as they are: no other
// connection is needed for them. A name that the user wrote so needs one.
func TestUTF8ListingOfOctets(t *testing.T) {
	for _, tt := range []struct {
		name, feat, lists string
		conns             int
	}{
		{"UTF-8 on a server that offers it", "211-x\r\n UTF8\r\n211 y", "a", 2},
		{"octets on a server that offers it", "211-x\r\n UTF8\r\n211 y", "caf\xe9", 1},
		{"octets on a server that does not", "500 x", "caf\xe9", 1},
		{"names on a server that does not", "500 x", "a", 1},
	} {
		s := testserver.New(t, nil, testserver.Honest("x"), testserver.On("FEAT", testserver.Reply(tt.feat)),
			testserver.On("OPTS", testserver.Reply("200 on")), testserver.On("MLSD", testserver.Transfer("type=file;size=1; "+tt.lists+"\r\n")))
		c := closing(t, &ftpexec.Client{})
		if _, _, err := entriesOf(t.Context(), c, parse(t, s.URL("/"))); err != nil {
			t.Fatal(err)
		}
		must.Get(read(t.Context(), c, parse(t, s.URL("/caf%E9"))))(t)
		if got := s.Connections(); got != tt.conns {
			t.Errorf("%s: %d connections, want %d: %v", tt.name, got, tt.conns, s.Commands())
		}
	}
}
