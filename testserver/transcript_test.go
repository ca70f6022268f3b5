package testserver

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestTranscript compares two conversations with a file: one that waits for each reply and one that sends ahead.
func TestTranscript(t *testing.T) {
	want := string(value(os.ReadFile("testdata/transcript.txt"))(t))
	for range 2 {
		s := New(t, &Options{Tree: map[string]string{"/pub/motd": "hello"}})
		c := anonymous(t, s.Addr())
		c.says([]string{"CWD pub", "250", "PASV", "227", "EPRT |1|127.0.0.1|" + port(s) + "|", "200", "PORT 127,0,0,1,4,1", "200", "FEAT", "211-Features:"})
		c.says([]string{"RETR motd", "=hello", "QUIT", "221"})
		ahead := dial(t, s.Addr())
		ahead.send("USER anonymous\r\nPASS x@\r\nCWD 1,2,3,4,5,6\r\nQUIT\r\n")
		ahead.says([]string{"", "331", "", "230", "", "550", "", "221"})
		if got := s.Transcript(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if first, second := s.Transcript(1), s.Transcript(2); first+"\n"+second != want || s.Transcript(3) != "" {
			t.Errorf("one by one: %q, %q", first, second)
		}
		s.ResetCommands()
		if got := s.Transcript(); got != "" {
			t.Errorf("after ResetCommands: %q", got)
		}
	}
}

func port(s *Server) string { return s.Addr()[strings.LastIndexByte(s.Addr(), ':')+1:] }

// A server can serve an fs.FS, but Tree cannot add to it. A directory of it can be a home.
func TestFS(t *testing.T) {
	files := fstest.MapFS{"pub/motd": &fstest.MapFile{Data: []byte("hello")}}
	s := New(t, &Options{FS: files, Users: map[string]string{"me": ""}, Home: map[string]string{"me": "/pub"}})
	home := dial(t, s.Addr())
	home.says([]string{"USER me", "230", "TYPE I", "200", "SIZE motd", "213 5\r\n"})
	c := anonymous(t, s.Addr())
	c.says([]string{"NLST", "=pub\r\n", "CWD pub", "250", "TYPE I", "200", "SIZE motd", "213 5\r\n", "NLST", "=motd\r\n", "REST 1", "350", "RETR motd", "=ello"})
	c.says([]string{"RETR /pub/motd", "=hello", "CWD /none", "550", "RETR ../../pub/motd", "=hello"})
	if s, err := Start(&Options{FS: files, Tree: map[string]string{"/f": ""}}); err == nil {
		check(t, s.Close())
		t.Error("Tree was added to an fs.FS")
	}
}

// Nil and invalid arguments give an error or have no effect; so do the methods of the zero Server.
func TestNothing(t *testing.T) {
	pipe, _ := net.Pipe()
	defer pipe.Close()
	for _, listen := range []func() (net.Listener, error){
		func() (net.Listener, error) { return nil, nil },
		func() (net.Listener, error) { return nil, errors.New("no port") },
		func() (net.Listener, error) { return unix{pipe}, nil },
	} {
		if _, err := Start(&Options{Listen: listen}); err == nil {
			t.Error("a listener that is none is served")
		}
	}
	if _, err := Start(&Options{Scheme: "http"}); err == nil {
		t.Error("a scheme of others")
	}
	for _, steps := range [][]Step{{nil}, {OnConn(1, nil)}, {Step(nil).With("", Reply("220 hi"))}, {On("", nil, Sequence(nil), Reply(""), Reply("220 hi"))}, {}} {
		s := New(t, nil, append(steps, On("", Sequence(), Reply("220 hi")), On("SYST", nil, Data("no port"), Reply("215 x")))...)
		dial(t, s.Addr()).do("SYST", "215")
	}
	check(t, new(Server).Close())
	zero := new(Server)
	if zero.Commands() != nil || zero.Transcript() != "" || zero.Flights() != nil || zero.RootCAs() != nil || zero.Connections() != 0 || zero.URL("") == "" {
		t.Errorf("the zero Server: %q", zero.URL(""))
	}
}

// unix is a listener whose address is not a *net.TCPAddr.
type unix struct{ net.Conn }

func (u unix) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (u unix) Addr() net.Addr            { return &net.UnixAddr{Name: "@x"} }
