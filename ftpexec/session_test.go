package ftpexec_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

func sessionServer(t *testing.T) *testserver.Server {
	return testserver.New(t, &testserver.Options{
		Tree: map[string]string{"/a/f": "f", "/a/g": "g", "/a/b/h": "h", "/c/i": "i", "/home/a/f": "home", "/k": "k"},
		Home: map[string]string{"user": "/home"}, Users: map[string]string{"user": "pass"},
	})
}

// RFC 1738 section 3.2.5: a kept connection must lead to the same file as a new one would.
func TestSessionReuse(t *testing.T) {
	tests := []struct {
		name  string
		paths []string // "user@/path" for another login
		want  string   // contents
		cmds  string   // commands after the first file's RETR, facts and data set-up left out
		conns int
	}{
		{"same directory", []string{"/a/f", "/a/g"}, "fg", "RETR g", 1},
		{"deeper", []string{"/a/f", "/a/b/h"}, "fh", "CWD b,RETR h", 1},
		{"elsewhere", []string{"/a/b/h", "/c/i"}, "hi", "CWD /,CWD c,RETR i", 1},
		{"up", []string{"/a/f", "/k"}, "fk", "CWD /,RETR k", 1},
		{"by an absolute segment", []string{"/a/f", "/%2Fc/i"}, "fi", "CWD /,CWD /c,RETR i", 1},
		{"elsewhere from a home", []string{"user@/a/f", "user@/%2Fc/i", "user@/a/f"}, "homeihome", "CWD /home,CWD /c,RETR i,CWD /home,CWD a,RETR f", 1},
		{"other type", []string{"/a/f", "/a/g;type=a"}, "fg", "TYPE A,RETR g", 1},
		{"other login", []string{"/a/f", "user@/a/f"}, "fhome", "", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := sessionServer(t)
			session := &ftpexec.Client{Credentials: fixed("pass")}
			defer session.CloseIdleConnections()
			var got strings.Builder
			for i, path := range tt.paths {
				user, path, _ := strings.Cut("@"+path, "@")
				if before, after, ok := strings.Cut(path, "@"); ok {
					user, path = before, after
				}
				url := s.URL(path)
				if user != "" {
					url = s.URLAs(user, path)
				}
				contents, err := read(t.Context(), session, parse(t, url))
				if err != nil {
					t.Fatal(err)
				}
				got.WriteString(contents)
				if i == 0 {
					s.ResetCommands()
				}
			}
			if got.String() != tt.want {
				t.Errorf("contents %q, want %q", got.String(), tt.want)
			}
			cmds := slices.DeleteFunc(s.Commands(), setUp)
			if got := strings.Join(cmds, ","); tt.cmds != "" && got != tt.cmds {
				t.Errorf("commands %s, want %s", got, tt.cmds)
			}
			if got := 1 + s.Connections(); got != tt.conns {
				t.Errorf("%d connections, want %d", got, tt.conns)
			}
		})
	}
}

func setUp(line string) bool {
	verb, _, _ := strings.Cut(line, " ")
	return slices.Contains([]string{"EPSV", "SIZE", "MDTM", "QUIT"}, verb)
}

func TestRoundTripsOfTheNextFile(t *testing.T) {
	s := sessionServer(t)
	session := &ftpexec.Client{}
	defer session.CloseIdleConnections()
	if _, err := read(t.Context(), session, parse(t, s.URL("/a/f"))); err != nil {
		t.Fatal(err)
	}
	s.ResetCommands()
	r, err := session.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/a/g"))})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.Size != 1 || r.ModTime.IsZero() {
		t.Errorf("size %d, time %v: not asked for", r.Size, r.ModTime)
	}
	if got := roundTrips(s); got > 3 {
		t.Errorf("%d round trips, want at most 3: %v", got, s.Flights())
	}
}

// After a missing file the session keeps the connection, and after a missing directory it finds the way back.
func TestSessionGoesOnAfterARefusal(t *testing.T) {
	for _, sequential := range []bool{false, true} {
		s := sessionServer(t)
		session := &ftpexec.Client{NoPipelining: sequential}
		defer session.CloseIdleConnections()
		for _, step := range []struct {
			path, want string
			err        error
		}{
			{"/a/missing", "", ftpexec.ErrNotFound}, {"/a/g", "g", nil}, {"/a/x/b/h", "", ftpexec.ErrDirectory}, {"/a/b/h", "h", nil}, {"/a/f", "f", nil},
		} {
			got, err := read(t.Context(), session, parse(t, s.URL(step.path)))
			if got != step.want || !errors.Is(err, step.err) {
				t.Errorf("%s: got %q, %v, want %q, %v", step.path, got, err, step.want, step.err)
			}
		}
		if s.Connections() != 1 {
			t.Errorf("%d connections, want 1", s.Connections())
		}
	}
}

// The session dials again if the server has closed the kept connection.
func TestSessionAfterTheServerHungUp(t *testing.T) {
	for _, end := range []testserver.Action{testserver.CloseConn(), testserver.ResetConn(), testserver.Reply("421 too long idle")} {
		s := testserver.NewScript(t, testserver.Honest("contents"), testserver.OnConn(1, testserver.OnNth(2, "EPSV", end)))
		session := &ftpexec.Client{}
		defer session.CloseIdleConnections()
		for range 2 {
			if got, err := read(t.Context(), session, parse(t, s.URL("/a/f"))); err != nil || got != "contents" {
				t.Fatalf("got %q, %v", got, err)
			}
		}
		if s.Connections() != 2 {
			t.Errorf("%d connections, want 2", s.Connections())
		}
	}
}

// Listings and files share a session.
func TestSessionLists(t *testing.T) {
	s := sessionServer(t)
	session := &ftpexec.Client{}
	defer session.CloseIdleConnections()
	var got []string
	for e, err := range session.List(t.Context(), parse(t, s.URL("/a/"))) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Base)
	}
	slices.Sort(got)
	for _, name := range []string{"f", "g"} {
		contents, err := read(t.Context(), session, parse(t, s.URL("/a/"+name)))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, contents)
	}
	if want := []string{"b", "f", "g", "f", "g"}; !slices.Equal(got, want) || s.Connections() != 1 {
		t.Errorf("got %q on %d connections, want %q on 1", got, s.Connections(), want)
	}
}

// What was sent ahead after a refused CWD was answered in another directory. It does not count for the next file, even
// one of the same name.
func TestAnswersAfterARefusalAreForgotten(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/a/f": "short", "/b/f": "much longer"}})
	session := &ftpexec.Client{}
	defer session.CloseIdleConnections()
	if _, err := read(t.Context(), session, parse(t, s.URL("/a/missing/f"))); !errors.Is(err, ftpexec.ErrDirectory) {
		t.Fatalf("error %v, want ErrDirectory", err)
	}
	r, err := session.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/b/f"))})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if got, err := io.ReadAll(r.Body); err != nil || string(got) != "much longer" || r.Size != 11 {
		t.Errorf("got %q, %v, size %d", got, err, r.Size)
	}
	if s.Connections() != 1 {
		t.Errorf("%d connections, want 1", s.Connections())
	}
}

// After a refused login the next URL logs in again.
func TestSessionAfterARefusedLogin(t *testing.T) {
	s := sessionServer(t)
	session := &ftpexec.Client{}
	defer session.CloseIdleConnections()
	for _, step := range []struct {
		userinfo string
		want     error
	}{{"user:wrong", ftpexec.ErrLogin}, {"user:wrong", ftpexec.ErrLogin}, {"user:pass", nil}} {
		got, err := read(t.Context(), session, parse(t, s.URLAs(step.userinfo, "/a/f")))
		if !errors.Is(err, step.want) || err == nil && got != "home" {
			t.Errorf("%s: got %q, %v, want %v", step.userinfo, got, err, step.want)
		}
	}
	if s.Connections() != 3 {
		t.Errorf("%d connections, want 3", s.Connections())
	}
}

// A server may keep the offset of a REST whose RETR it refused, so the next file comes over a new connection.
func TestSessionAfterARefusalFollowingREST(t *testing.T) {
	s := testserver.NewScript(t, testserver.Honest("contents"), testserver.On("REST", testserver.Reply("350 go on")),
		testserver.OnConn(1, testserver.On("RETR", testserver.Reply("450 busy"))))
	session := &ftpexec.Client{}
	defer session.CloseIdleConnections()
	if _, err := session.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/a/f")), Offset: 3}); !errors.Is(err, ftpexec.ErrRefused) {
		t.Fatalf("error %v, want ErrRefused", err)
	}
	if got, err := read(t.Context(), session, parse(t, s.URL("/a/f"))); err != nil || got != "contents" || s.Connections() != 2 {
		t.Errorf("got %q, %v on %d connections, want 2", got, err, s.Connections())
	}
}

// Open refuses a directory and List refuses a file, before anything is sent.
func TestFilesAndDirectories(t *testing.T) {
	s := sessionServer(t)
	c := &ftpexec.Client{MaxIdle: -1}
	dir, file := parse(t, s.URL("/a/")), parse(t, s.URL("/a/f"))
	_, open := c.Do(t.Context(), &ftpexec.Request{URL: dir})
	_, hash := c.Hash(t.Context(), dir, "md5")
	for _, err := range []error{open, hash} {
		if !errors.Is(err, ftpexec.ErrIsDirectory) {
			t.Errorf("error %v, want ErrIsDirectory", err)
		}
	}
	if _, err := list(t.Context(), c, file); !errors.Is(err, ftpexec.ErrNotDirectory) {
		t.Errorf("error %v, want ErrNotDirectory", err)
	}
	var bad *urlparse.Error
	if _, err := c.Get(t.Context(), "ftp://127.0.0.1:25/f"); !errors.As(err, &bad) || !strings.Contains(bad.Error(), "smtp") {
		t.Errorf("error %v, want that the port belongs to another protocol", err)
	}
	allowed := &ftpexec.Client{AllowPort: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, io.ErrClosedPipe }}
	if _, err := allowed.Get(t.Context(), "ftp://127.0.0.1:25/f"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("with AllowPort: error %v, want that of Dial", err)
	}
	if s.Connections() != 0 {
		t.Errorf("%d connections, want none", s.Connections())
	}
}
