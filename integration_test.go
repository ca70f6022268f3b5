// Package ftpfetch_test tests the whole way, urlparse -> ftpexec -> a server, and compares what the server received with
// the plan.
package ftpfetch_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	ftpserver "github.com/fclairamb/ftpserverlib"
	"github.com/spf13/afero"
	"go.uber.org/goleak"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFromURLToFile is the whole way: a URL means a plan, the server receives the plan, and the file arrives.
func TestFromURLToFile(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/pub/read me.txt": "contents"}})
	u := must.Get(urlparse.Parse(s.URL("/pub/read%20me.txt")))(t)

	plan := must.Get(ftpexec.Plan(u))(t)
	want := []string{"CONNECT " + s.Addr(), "USER anonymous", "PASS", "CWD pub", "TYPE I", "RETR read me.txt"}
	if got := texts(plan); !slices.Equal(got, want) {
		t.Errorf("the plan is %q, want %q", got, want)
	}
	r := must.Get((&ftpexec.Client{MaxIdle: -1}).Do(t.Context(), &ftpexec.Request{URL: u}))(t)
	contents := must.Get(io.ReadAll(r.Body))(t)
	if err := r.Body.Close(); err != nil || string(contents) != "contents" {
		t.Errorf("got %q, %v", contents, err)
	}
	checkPlan(t, s, plan, "ftpfetch@example.com")
}

// texts returns commands as people write them.
func texts(plan []ftpexec.Command) (texts []string) {
	for _, c := range plan {
		texts = append(texts, strings.TrimSuffix(c.Verb+" "+c.Arg, " "))
	}
	return texts
}

// names have characters that are special in URLs, shells or servers. They are bytes, not text.
var names = []string{
	"plain.txt", "semi;colon", "quest?ion", "ha#sh", "per%cent", "white space", `dou"ble`, "sin'gle", `back\slash`,
	"latin-\xe9-one", "utf-\u00fc-8", "-dash", "ti~lde", "a:b", "a@b", "a&b=c", "{br}[ack]", "st*r", "\x01control", " both ", "%2F",
}

// tree has every name as a file in /odd, and as a directory "dir NAME" there.
func tree() map[string]string {
	t := map[string]string{
		"/etc/motd":                  "welcome\n",
		"/home/myname/etc/motd":      "welcome home\n",
		"/pub/text.txt":              "one\ntwo\n",
		"/home/myname/dir/inner.txt": "inner",
	}
	for _, name := range names {
		t["/odd/"+name] = "file " + name
		t["/odd/dir "+name+"/"+name] = "inside " + name
	}
	return t
}

func start(t *testing.T) *testserver.Server {
	return testserver.New(t, &testserver.Options{
		Tree:  tree(),
		Users: map[string]string{"myname": "secret", "": "null", "open": ""},
		Home:  map[string]string{"myname": "/home/myname", "open": "/home/myname"},
	})
}

// parse parses rawURL with the address of s in place of SERVER.
func parse(t *testing.T, s *testserver.Server, rawURL string) *urlparse.URL {
	t.Helper()
	u := must.Get(urlparse.Parse(strings.Replace(rawURL, "SERVER", s.Addr(), 1)))(t)
	return u
}

// run does what u says. It returns the file's contents, or the names in the directory, one per line.
func run(c *ftpexec.Client, u *urlparse.URL) (string, error) {
	if !u.IsDir() {
		r, err := c.Do(context.Background(), &ftpexec.Request{URL: u})
		if err != nil {
			return "", err
		}
		defer r.Body.Close()
		contents, err := io.ReadAll(r.Body)
		return string(contents), err
	}
	var names []string
	for e, err := range c.List(context.Background(), u) {
		if err != nil {
			return "", err
		}
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return strings.Join(names, "\n"), nil
}

// secrets is a Credentials with one password. It counts how often it is asked.
type secrets struct {
	password string
	asked    int
}

func (s *secrets) supply(context.Context, string, string, string) (string, error) {
	s.asked++
	return s.password, nil
}

// checkURL retrieves one URL with flights and with one command at a time. The server must receive the plan, byte for
// byte, and the result must be want.
func checkURL(t *testing.T, rawURL, want string) {
	t.Helper()
	for _, sequential := range []bool{false, true} {
		s := start(t)
		u := parse(t, s, rawURL)
		c := &ftpexec.Client{MaxIdle: -1, NoPipelining: sequential, Credentials: (&secrets{password: "secret"}).supply}
		if got, err := run(c, u); err != nil || got != want {
			t.Errorf("%q, sequential %t: got %q, %v, want %q", rawURL, sequential, got, err, want)
		}
		password := "secret"
		if u.User == nil {
			password = "ftpfetch@example.com"
		}
		checkPlan(t, s, must.Get(ftpexec.Plan(u))(t), password)
	}
}

// checkPlan checks that s has received the commands of a plan and QUIT, in this order, with the password in PASS. What
// Plan says that a Client sends besides is left out.
func checkPlan(t *testing.T, s *testserver.Server, plan []ftpexec.Command, password string) {
	t.Helper()
	must.Do(t, s.WaitCommand(t.Context(), "QUIT"))
	want := []string{"QUIT"}
	for _, c := range slices.Backward(plan[1:]) {
		line := c.Verb + " " + c.Arg
		switch {
		case c.Verb == "PASS":
			line += password
		case c.Verb == "NLST" && c.Arg == "": // of the working directory
			line = "NLST"
		}
		want = append([]string{line}, want...)
	}
	got := slices.DeleteFunc(s.Commands(), func(line string) bool {
		verb, _, _ := strings.Cut(line, " ")
		return !slices.Contains([]string{"USER", "PASS", "CWD", "TYPE", "RETR", "NLST", "MLSD", "QUIT"}, verb)
	})
	if !slices.Equal(got, want) {
		t.Errorf("the server received\n%q\nwant\n%q", got, want)
	}
}

func TestSection3_2_Examples(t *testing.T) {
	for url, want := range map[string]string{
		"ftp://SERVER/%2Fetc/motd": "welcome\n", "ftp://SERVER/etc/motd": "welcome\n", "ftp://SERVER//etc/motd": "welcome\n",
		"ftp://myname@SERVER/%2Fetc/motd": "welcome\n", "ftp://myname@SERVER/etc/motd": "welcome home\n",
		"ftp://myname@SERVER//etc/motd": "welcome home\n", "ftp://myname:secret@SERVER/etc/motd": "welcome home\n",
		"ftp://SERVER/home%2Fmyname/dir%2Finner.txt": "inner", // a segment with an encoded slash is one CWD
	} {
		checkURL(t, url, want)
	}
}

func TestSection3_2_NamesOctetForOctet(t *testing.T) {
	for _, name := range names {
		root := &urlparse.URL{Scheme: "ftp", Host: "x", Dirs: []string{"odd"}}
		file := root.Child(name, "")
		inside := root.Child("dir "+name, urlparse.TypeDir).Child(name, "")
		checkURL(t, strings.Replace(file.String(), "//x/", "//SERVER/", 1), "file "+name)
		checkURL(t, strings.Replace(inside.String(), "//x/", "//SERVER/", 1), "inside "+name)
	}
}

func TestSection3_2_Types(t *testing.T) {
	for url, want := range map[string]string{
		"ftp://SERVER/pub/text.txt": "one\ntwo\n", "ftp://SERVER/pub/text.txt;type=i": "one\ntwo\n",
		"ftp://SERVER/pub/text.txt;type=A":     "one\ntwo\n", // CR LF on the wire
		"ftp://SERVER/home/myname/dir;type=d":  "dir/inner.txt",
		"ftp://SERVER/home/myname/dir/":        "inner.txt",
		"ftp://SERVER/home/myname/dir/;type=d": "inner.txt",
	} {
		checkURL(t, url, want)
	}
}

func TestSection3_2_EmptyPath(t *testing.T) {
	for _, url := range []string{"ftp://SERVER", "ftp://SERVER/", "ftp://SERVER/;type=d"} {
		checkURL(t, url, "etc\nhome\nodd\npub")
	}
	checkURL(t, "ftp://myname@SERVER/", "dir\netc")
}

func TestSection3_2_1_Logins(t *testing.T) {
	tests := []struct {
		url, login string // what the server receives as USER and PASS
		asked      int    // how often the password is asked for
	}{
		{"ftp://SERVER/pub/text.txt", "USER anonymous|PASS ftpfetch@example.com", 0},
		{"ftp://myname@SERVER/etc/motd", "USER myname|PASS secret", 1},
		{"ftp://myname:secret@SERVER/etc/motd", "USER myname|PASS secret", 0},
		{"ftp://myname:s%65cret@SERVER/etc/motd", "USER myname|PASS secret", 0},
		{"ftp://:null@SERVER/etc/motd", "USER |PASS null", 0},
		{"ftp://open@SERVER/etc/motd", "USER open", 0}, // 230 to USER: no password is sent or asked for
		{"ftp://open:unused@SERVER/etc/motd", "USER open", 0},
	}
	for _, tt := range tests {
		s := start(t)
		ask := &secrets{password: "secret"}
		must.Get(run(&ftpexec.Client{MaxIdle: -1, Credentials: ask.supply}, parse(t, s, tt.url)))(t)
		isLogin := func(line string) bool { return strings.HasPrefix(line, "USER") || strings.HasPrefix(line, "PASS") }
		got := slices.DeleteFunc(s.Commands(), func(line string) bool { return !isLogin(line) })
		if strings.Join(got, "|") != tt.login || ask.asked != tt.asked {
			t.Errorf("%s: server received %q, want %q; the password was asked for %d times, want %d", tt.url, got, tt.login, ask.asked, tt.asked)
		}
	}
}

// library is an ftpserverlib for anonymous users, with a tree in memory.
type library struct{ afero.Fs }

func (library) GetSettings() (*ftpserver.Settings, error) {
	return &ftpserver.Settings{ListenAddr: "127.0.0.1:0"}, nil
}
func (library) ClientConnected(ftpserver.ClientContext) (string, error) { return "ready", nil }
func (library) ClientDisconnected(ftpserver.ClientContext)              {}
func (library) GetTLSConfig() (*tls.Config, error)                      { return nil, errors.ErrUnsupported }
func (l library) AuthUser(ftpserver.ClientContext, string, string) (ftpserver.ClientDriver, error) {
	return l.Fs, nil
}

// TestSection3_2_NamesOnAnotherServer retrieves the same names from a server that was written independently.
func TestSection3_2_NamesOnAnotherServer(t *testing.T) {
	files := afero.NewMemMapFs()
	for name, text := range tree() {
		must.Do(t, afero.WriteFile(files, name, []byte(text), 0o644))
	}
	server := ftpserver.NewFtpServer(library{files})
	must.Do(t, server.Listen())
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve() })
	defer serving.Wait()
	defer func() { _ = server.Stop() }()
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	root := must.Get(urlparse.Parse("ftp://" + server.Addr() + "/odd/"))(t)
	for _, name := range names {
		for u, want := range map[*urlparse.URL]string{
			root.Child(name, ""): "file " + name, root.Child("dir "+name, urlparse.TypeDir).Child(name, ""): "inside " + name,
		} {
			if got, err := run(&c, u); err != nil || got != want {
				t.Errorf("%s: got %q, %v, want %q", u, got, err, want)
			}
		}
	}
}
