package ftpexec_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// An endless listing ends with the Read that passes the bound. Each line counts 32 bytes more.
func TestListingIsBounded(t *testing.T) {
	const perLine = 32
	for _, line := range []string{"\n", strings.Repeat("n", 1000) + "\r\n"} {
		inMemory(t, func(t *testing.T, network *ftptest.Network) {
			s := network.NewScript(t, testserver.Honest(""), testserver.On("NLST", testserver.Reply("150 x"),
				ftptest.EndlessData(func(int) string { return line })))
			intake := &intake{dial: network.Dial, after: 1}
			c, most := &ftpexec.Client{MaxIdle: -1, Dial: intake.connect}, int64(1<<20)
			c.SetMaxListing(most)
			_, err := list(t.Context(), c, parse(t, s.URL("/a/")))
			if !errors.Is(err, ftpexec.ErrProtocol) {
				t.Errorf("error %v, want ErrProtocol", err)
			}
			cost := func(n int64) int64 { return n + perLine*(n/int64(len(line))) }
			if before := intake.bytes - intake.last; cost(before) > most || cost(intake.bytes) <= most {
				t.Errorf("%.5q...: took %d bytes, and %d before, for a bound of %d", line, intake.bytes, before, most)
			}
		})
	}
}

// intake dials and counts what is read from the connections after the first ones.
type intake struct {
	dial        dialFunc
	after       int   // how many connections do not count
	bytes, last int64 // of all Reads, and of the last one
}

func (i *intake) connect(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := i.dial(ctx, network, address)
	if i.after--; err != nil || i.after >= 0 {
		return conn, err
	}
	return &metered{conn, i}, nil
}

type metered struct {
	net.Conn
	*intake
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	if n > 0 {
		m.bytes, m.last = m.bytes+int64(n), int64(n)
	}
	return n, err
}

func TestListingResetAfterEarly226(t *testing.T) {
	came := newArrivals()
	s := testserver.New(t, nil, testserver.Honest(""), testserver.On("NLST", testserver.Reply("226 x"),
		testserver.Data("a\r\nb\r\nc"), ftptest.Call(came.wait), testserver.Data("", testserver.Reset)))
	c := within(ample)
	c.Dial = came.dial
	if got, err := list(t.Context(), c, parse(t, s.URL("/a/"))); err == nil {
		t.Errorf("got %q and no error", got)
	}
}

// twisted answers NLST d with d. The listing of d by MLSD then counts, even if it has only one name.
func TestListTellsItself(t *testing.T) {
	for entries, want := range map[string]string{"": "d", "type=file; d\r\n": "d", "type=dir; a\r\n": "a", "type=file; a\r\ntype=file; .b\r\ntype=file; c\r\n": "a c"} {
		s := testserver.New(t, nil, testserver.Honest(""), testserver.On("NLST", testserver.Transfer("d\r\n")), testserver.On("MLSD", testserver.Transfer(entries)))
		if got, err := list(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("/d;type=d"))); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: got %q, %v, want %s", entries, got, err, want)
		}
	}
}

// If a server does not know NLST, or only with an argument, List finds the names by the other ways to list.
func TestListWithoutNLST(t *testing.T) {
	for _, code := range []int{500, 501, 502, 504} {
		for _, path := range []string{"/d/", "/d;type=d"} {
			s := testserver.New(t, nil, testserver.Honest(""), testserver.On("NLST", testserver.Reply(fmt.Sprint(code, " No."))),
				testserver.On("MLSD", testserver.Transfer("type=cdir; .\r\ntype=dir; a\r\ntype=file; b\r\n")))
			got, err := list(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL(path)))
			if err != nil || !slices.Equal(got, []string{"a", "b"}) {
				t.Errorf("%s after %d: got %q, %v, want a and b", path, code, got, err)
			}
		}
	}
	s := testserver.New(t, nil, testserver.Honest(""), testserver.On("^(NLST|MLSD|LIST)", testserver.Reply("502 No.")))
	if got, err := list(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("/d/"))); err == nil {
		t.Errorf("no listing: got %q and no error", got)
	}
}

// A server that refuses a transfer may keep its data connection for the next one, which then loses its bytes. The sign
// of that is the same port again. But a server may have no other port, such as vsftpd with one passive port, and it may
// accept only one connection.
func TestPortOfARefusedTransfer(t *testing.T) {
	refusals := map[string]string{"EPSV": "502 No.", "PASV": "550 No files found."}
	for i := range 4 {
		verb, full := []string{"EPSV", "PASV"}[i&1], i>>1&1
		inMemory(t, func(t *testing.T, network *ftptest.Network) {
			l := must.Get(network.Listen())(t)
			defer l.Close()
			port := l.Addr().(*net.TCPAddr).Port
			same := map[string]string{"EPSV": fmt.Sprintf("229 (|||%d|)", port), "PASV": fmt.Sprintf("227 (0,0,0,0,%d,%d)", port>>8, port&0xff)}[verb]
			steps := []testserver.Step{testserver.Honest("contents"), testserver.On("NLST", testserver.Reply(refusals[verb])), testserver.On("EPSV", testserver.Reply("500 No.")),
				testserver.OnConn(1, testserver.On(verb, testserver.Reply(same))), testserver.OnConn(2+full, testserver.On(verb, testserver.Reply(map[string]string{"EPSV": "229 (|||{port}|)", "PASV": "227 (0,0,0,0,{hi},{lo})"}[verb])))}
			if full > 0 {
				steps = append(steps, testserver.OnConn(2, testserver.On("", testserver.Reply("421 There are too many connections from your internet address."), testserver.EndControl(testserver.Closed))))
			}
			s := network.NewScript(t, steps...)
			c := closing(t, &ftpexec.Client{Dial: network.Dial})
			_, _ = list(t.Context(), c, parse(t, s.URL("/d/")))
			got, err := read(t.Context(), c, parse(t, s.URL("/d/f")))
			if err != nil || got != "contents" || s.Connections() != 2+full {
				t.Errorf("%s: got %q, %v on %d connections, want the file on number %d", verb, got, err, s.Connections(), 2+full)
			}
		})
	}
}

// The port of a refused transfer is like any other again once another transfer has begun.
func TestPortOfATransferBeforeTheLast(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		l := must.Get(network.Listen())(t)
		defer l.Close()
		same := testserver.Reply(fmt.Sprintf("229 (|||%d|)", l.Addr().(*net.TCPAddr).Port))
		serve := func() {
			for range 2 { // the connections of the refused transfer and of the third one
				conn, err := l.Accept()
				if err != nil {
					return
				}
				io.WriteString(conn, "contents")
				conn.Close()
			}
		}
		go serve()
		s := network.NewScript(t, testserver.Honest("contents"),
			testserver.On("#1 EPSV", same), testserver.On("#3 EPSV", same),
			testserver.On("#1 RETR", testserver.Reply("550 No.")),
			testserver.On("#3 RETR", testserver.Reply("150 Here."), testserver.Reply("226 Done.")))
		c := closing(t, &ftpexec.Client{Dial: network.Dial})
		if _, err := read(t.Context(), c, parse(t, s.URL("/d/e"))); !errors.Is(err, ftpexec.ErrRefused) {
			t.Errorf("the first file: got %v, want a refusal", err)
		}
		wantContents(t, c, parse(t, s.URL("/d/f")))
		wantContents(t, c, parse(t, s.URL("/d/g")))
		if n := s.Connections(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
}

// Globus GridFTP's server ends every line of a listing twice. If not all lines do so, a CR at an end belongs to the
// name.
func TestListingWithDoubledLineEnds(t *testing.T) {
	for data, want := range map[string][]string{
		"a\r\r\nb\r\r\n": {"a", "b"},
		"a\r\r\nb\r\n":   {"a\r", "b"},
	} {
		s := testserver.New(t, nil, testserver.Honest(""), testserver.On("NLST", testserver.Transfer(data)))
		got, err := list(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("/d/")))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %v, want %q", data, got, err, want)
		}
	}
}

func TestListingTooLongTwice(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("x"), testserver.On("NLST", testserver.Reply("150 x"),
		ftptest.EndlessData(func(i int) string { return "name\r\n" })))
	session := new(ftpexec.Client).SetMaxListing(1 << 16)
	defer session.CloseIdleConnections()
	read(t.Context(), session, parse(t, s.URL("/a/f")))
	for range session.List(t.Context(), parse(t, s.URL("/a/"))) {
	}
	if n := count(s.Commands(), "NLST"); n != 1 {
		t.Errorf("NLST sent %d times", n)
	}
}

type arrivals struct {
	dialled int
	once    sync.Once
	some    chan struct{}
}

func newArrivals() *arrivals { return &arrivals{some: make(chan struct{})} }

func (a *arrivals) wait() { <-a.some }

func (a *arrivals) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if a.dialled++; err != nil || a.dialled == 1 {
		return conn, err
	}
	return &watched{conn, a}, nil
}

type watched struct {
	net.Conn
	a *arrivals
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.a.once.Do(func() { close(w.a.some) })
	}
	return n, err
}

// TestNamesOfNone checks an NLST with no name, or only the name of the directory: other commands show whether there is
// nothing else. NLST may leave out names that begin with a dot.
func TestNamesOfNone(t *testing.T) {
	const denied, missing = "550 Permission denied", "550 No such directory"
	for _, tt := range []struct {
		path, nlst, cwd, listing string // listing: a refusal, or lines of LIST
		want                     []string
		err                      error
	}{
		{"/d/", "", "250 ok", "", nil, nil},
		{"/d;type=d", "", "250 ok", "", nil, nil},
		{"/d;type=d", "", "250 ok", line(".hidden"), nil, nil},
		{"/d/", "", "250 ok", line("seen"), []string{"seen"}, nil},
		{"/d/", "", "250 ok", denied, nil, ftpexec.ErrRefused},
		{"/d;type=d", "", "250 ok", denied, nil, ftpexec.ErrRefused},
		{"/d;type=d", "", missing, "", nil, ftpexec.ErrNotFound},
		{"/d;type=d", "", denied, "", nil, ftpexec.ErrRefused},
		{"/d;type=d", "d\r\n", "250 ok", denied, nil, ftpexec.ErrRefused},
		{"/d;type=d", "d/d\r\n", "250 ok", line("d"), []string{"d/d"}, nil},
		{"/d/", "", "250 ok", "502 no", nil, nil},
	} {
		list := []testserver.Action{testserver.Reply("150 x"), testserver.Data(tt.listing, testserver.Closed), testserver.Reply("226 x")}
		if len(tt.listing) > 3 && tt.listing[3] == ' ' {
			list = []testserver.Action{testserver.Reply(tt.listing)}
		}
		s := testserver.New(t, nil, testserver.Honest(""), testserver.On("MLSD", testserver.Reply("500 no")), testserver.On("CWD d", testserver.Reply(tt.cwd)), testserver.On("LIST", list...),
			testserver.On("NLST d", testserver.Reply("150 x"), testserver.Data(tt.nlst, testserver.Closed), testserver.Reply("226 x")),
			testserver.On("^NLST$", testserver.Reply("150 x"), testserver.Data("", testserver.Closed), testserver.Reply("226 x")))
		var got []string
		var err error
		for e, lerr := range (&ftpexec.Client{MaxIdle: -1}).List(t.Context(), parse(t, s.URL(tt.path))) {
			if err = lerr; err == nil {
				got = append(got, e.Name)
			}
		}
		if !slices.Equal(got, tt.want) || !errors.Is(err, tt.err) {
			t.Errorf("%+v: got %q, %v", tt, got, err)
		}
	}
}

// TestListingCutAtEveryByte ends a listing after each number of bytes. If anything shows the cut, it is an error. Every
// line of MLSD ends with CRLF (RFC 3659 section 7.2). CRLF only separates the names of NLST (RFC 959 section 4.1.3), so
// the last name need not have it.
func TestListingCutAtEveryByte(t *testing.T) {
	texts := map[string]string{
		"MLSD": "type=file;size=7; one\r\ntype=dir; two\r\ntype=file; three\r\n",
		"LIST": line("one") + line("two") + line("three"),
		"NLST": "one\r\ntwo\r\nthree\r\n",
	}
	ends := map[string][]testserver.Action{
		"226":     {testserver.Data("", testserver.Closed), testserver.Reply("226 Done.")},
		"426":     {testserver.Data("", testserver.Closed), testserver.Reply("426 Broken.")},
		"550":     {testserver.Data("", testserver.Closed), testserver.Reply("550 Broken.")},
		"reset":   {testserver.Data("", testserver.Reset), testserver.Reply("226 Done.")},
		"control": {testserver.Data("", testserver.Closed), testserver.EndControl(testserver.Closed)},
	}
	for verb, text := range texts {
		for end, actions := range ends {
			for n := 1; n <= len(text); n += night.Or(3, 1) {
				inMemory(t, func(t *testing.T, network *ftptest.Network) {
					steps := []testserver.Step{testserver.Honest("")}
					for _, other := range []string{"MLSD", "LIST", "NLST"} {
						steps = append(steps, testserver.On(other, testserver.Reply("502 No.")))
					}
					data := append([]testserver.Action{testserver.Reply("150 Yes."), testserver.Data(text[:n])}, actions...)
					whole := []testserver.Action{testserver.Reply("150 Yes."), testserver.Data(text, testserver.Closed), testserver.Reply("226 Done.")}
					s := network.NewScript(t, append(steps, testserver.On(verb, data...), testserver.OnConn(2, testserver.On(verb, whole...)))...)
					c := &ftpexec.Client{MaxIdle: -1, Dial: network.Dial}
					got, lines, err := entriesOf(t.Context(), c, parse(t, s.URL("/d/")))
					inLine := text[n-1] != '\n'
					switch {
					case end != "226" && (err == nil || len(got) > 0):
						t.Errorf("%s, %s, %d bytes: got %q, %v, want an error", verb, end, n, got, err)
					case end == "226" && verb == "MLSD" && inLine && (!errors.Is(err, ftpexec.ErrTruncated) || len(got) > 0):
						t.Errorf("%s, %d bytes: got %q, %v, want ErrTruncated", verb, n, got, err)
					case end == "226" && !inLine && (err != nil || len(lines) > 0):
						t.Errorf("%s, %d bytes: %v, %v", verb, n, lines, err)
					case end == "226" && verb != "MLSD" && (inLine || n > len(text)-3) && (err != nil || len(got) != 3):
						t.Errorf("%s, %d bytes: got %q, %v, want all entries", verb, n, got, err)
					}
				})
			}
		}
	}
}
