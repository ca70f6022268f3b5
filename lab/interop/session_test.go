//go:build interop

package interop

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
)

// transfers is how many files one session retrieves in a row: some servers drop a TLS session after a few.
const transfers = 8

// inSession retrieves one url-path after another in one session.
func inSession(ctx context.Context, t *testing.T, c *ftpexec.Client, base string, paths []string) {
	t.Helper()
	c.MaxIdle = 1
	defer c.CloseIdleConnections()
	for _, path := range paths {
		_, got, err := fetch(ctx, c, base+path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		wantFile(t, strings.Trim(path, "/"), got)
	}
}

// sessionPaths returns paths that go down, stay, go up and go aside, so that the working directory for one file is
// wrong for the next.
func sessionPaths() []string {
	paths := []string{
		"/pub/text.txt", "/pub/none.bin", "/pub/a/b/c/file.txt", "/pub/text.txt",
		"/pub/odd/-dash", "/pub/a/b/c/file.txt",
	}
	for len(paths) < transfers {
		paths = append(paths, "/pub/big.bin")
	}
	return paths
}

func TestSession(t *testing.T) {
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		connections := countConnections(c)
		inSession(testContext(t), t, c, s.URL(""), sessionPaths())
		if want := s.logins(c); *connections != want {
			t.Errorf("%d logins for %d files from one server, want %d", *connections, transfers, want)
		}
	})
}

// logins returns how many connections a session needs: one more if the replies to commands sent ahead on the first
// connection are in the wrong order.
func (s *Server) logins(c *ftpexec.Client) int {
	if s.flavour.disorder && !c.NoPipelining {
		return 2
	}
	return 1
}

// countConnections counts the USER commands that c sends. One goroutine must use both the session and the count.
func countConnections(c *ftpexec.Client) *int {
	n, trace := new(int), *c.Trace
	c.Trace = &trace
	shown := trace.Command
	trace.Command = func(e ftpexec.CommandInfo) {
		if e.Verb == "USER" {
			*n++
		}
		shown(e)
	}
	return n
}

// keeper knows the named user's password and counts how often it is asked for it.
type keeper struct{ asked atomic.Int32 }

func (k *keeper) supply(context.Context, string, string, string) (string, error) {
	k.asked.Add(1)
	return UserPassword, nil
}

func TestLogin(t *testing.T) {
	const wrong = "not the one"
	forEach(t, false, func(f flavour) bool { return !f.noUser }, func(t *testing.T, s *Server) {
		bothWays(t, s, func(t *testing.T, s *Server, c *ftpexec.Client) {
			k := &keeper{}
			c.Credentials = k.supply
			wantNote(t, c, "ftp://"+UserName+"@"+s.Addr+"/"+homeFile)
			if got, want := k.asked.Load(), int32(s.logins(c)); got != want {
				t.Errorf("asked for the password %d times, want %d", got, want)
			}
			wantNote(t, c, s.UserURL(UserPassword, "/"+homeFile))
			_, _, err := fetch(testContext(t), c, s.UserURL(wrong, "/"+homeFile))
			if !errors.Is(err, ftpexec.ErrLogin) || strings.Contains(err.Error(), wrong) || strings.Contains(err.Error(), Escape(wrong)) {
				t.Errorf("got %v, want %v without the password", err, ftpexec.ErrLogin)
			}
		})
	})
}

// wantNote retrieves the named user's one file.
func wantNote(t *testing.T, c *ftpexec.Client, url string) {
	t.Helper()
	if _, got, err := fetch(testContext(t), c, url); err != nil || got != homeText {
		t.Errorf("got %q, %v, want %q", got, err, homeText)
	}
}

// versions are the TLS versions that a test may limit a client to.
var versions = map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13}

// TestTLS retrieves files with TLS. vsftpd and proftpd refuse a data connection that does not resume the control
// connection's TLS session, after the 150 reply. A client without resumption would see an empty file that ends cleanly,
// and a negative final reply.
func TestTLS(t *testing.T) {
	forEachTLSServer(t, func(t *testing.T, s *Server) {
		for name, version := range versions {
			t.Run(name, func(t *testing.T) {
				bothWays(t, s, func(t *testing.T, s *Server, c *ftpexec.Client) {
					c.TLSConfig = &tls.Config{RootCAs: s.RootCAs, MinVersion: version, MaxVersion: version}
					scheme := "ftpes://"
					if version == tls.VersionTLS12 {
						c.TryTLS, scheme = true, "ftp://"
					}
					inSession(testContext(t), t, c, scheme+s.Addr, sessionPaths())
					listUnderTLS(t, c, scheme+s.Addr)
					wantNote(t, c, "ftpes://"+UserName+":"+Escape(UserPassword)+"@"+s.Addr+"/"+homeFile)
				})
			})
		}
		if _, _, err := fetch(testContext(t), newClient(t), "ftpes://"+s.Addr+"/pub/text.txt"); !errors.Is(err, ftpexec.ErrTLS) {
			t.Errorf("without the authority: got %v, want %v", err, ftpexec.ErrTLS)
		}
	})
}

// listUnderTLS lists a directory twice: after CWD, and by its name.
func listUnderTLS(t *testing.T, c *ftpexec.Client, base string) {
	t.Helper()
	for _, path := range []string{"/pub/a/b/", "/pub/a/b;type=d"} {
		if got, err := list(testContext(t), c, base+path); err != nil || !slices.Equal(got, []string{"c"}) {
			t.Errorf("%s: got %q, %v, want c alone", path, got, err)
		}
	}
}

// TestTryTLSUnencrypted checks that a server without TLS cannot serve an ftpes URL, and that a session that only tries
// TLS continues unencrypted on the same connection, whatever the reply to AUTH.
func TestTryTLSUnencrypted(t *testing.T) {
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		want := ftpexec.ErrRefused
		if s.flavour.takesAUTH { // nothing may be sent unencrypted after that
			want = ftpexec.ErrTLS
		}
		if _, _, err := fetch(testContext(t), c, "ftpes://"+s.Addr+"/pub/text.txt"); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		c = newClient(t)
		c.TryTLS = true
		if s.flavour.takesAUTH {
			if _, _, err := fetch(testContext(t), c, s.URL("/pub/text.txt")); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
			return
		}
		connections, unencrypted := countConnections(c), false
		shown := c.Trace.Note
		c.Trace.Note = func(e ftpexec.NoteInfo) {
			unencrypted = unencrypted || strings.Contains(e.Text, "unencrypted")
			shown(e)
		}
		inSession(testContext(t), t, c, s.URL(""), sessionPaths())
		if want := s.logins(c); *connections != want || !unencrypted {
			t.Errorf("%d logins, want %d; noted that it is unencrypted: %v", *connections, want, unencrypted)
		}
	})
}

// fetch retrieves a whole file.
func fetch(ctx context.Context, c *ftpexec.Client, url string) (*ftpexec.Response, string, error) {
	r, err := c.Get(ctx, url)
	if err != nil {
		return nil, "", err
	}
	text, err := readAll(r)
	return r, text, err
}

func readAll(r *ftpexec.Response) (string, error) {
	var b bytes.Buffer
	_, err := io.Copy(&b, r.Body)
	return b.String(), errors.Join(err, r.Body.Close())
}

// wantFile compares got with the tree's file path.
func wantFile(t *testing.T, path, got string) {
	t.Helper()
	want, ok := tree.Files[path]
	if !ok {
		t.Fatalf("no file %q in the tree", path)
	}
	if got != want {
		t.Errorf("%q: got %s, want %s", path, digest(got), digest(want))
	}
}

func digest(contents string) string {
	if len(contents) < 100 {
		return fmt.Sprintf("%q", contents)
	}
	return fmt.Sprintf("%d bytes, SHA-256 %x", len(contents), sha256.Sum256([]byte(contents)))
}

// serves reports whether a server can serve a path of the tree at all.
func (s *Server) serves(path string) bool {
	return !slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool { return slices.Contains(s.flavour.refuses, name) })
}

// urlPath returns the url-path of a path of the tree.
func urlPath(path string) string { return "/" + strings.ReplaceAll(Escape(path), "%2F", "/") }

// TestRetrieve checks that every file of the tree arrives, whatever its name and those of its directories.
func TestRetrieve(t *testing.T) {
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		for path, text := range tree.Files {
			r, got, err := fetch(testContext(t), c, s.URL(urlPath(path)))
			var e *ftpexec.Error
			switch plain := !strings.Contains(path, "/odd"); {
			case !s.serves(path): // aioftp gives up at a name that is not UTF-8
				if !errors.Is(err, ftpexec.ErrLost) && (!errors.As(err, &e) || e.Code/100 != 5) {
					t.Errorf("%q: got %v, want a refusal: this server cannot serve it", path, err)
				}
			case err != nil:
				t.Errorf("%q: %v", path, err)
			case plain && s.flavour.noFacts && (r.Size != -1 || !r.ModTime.IsZero()),
				plain && !s.flavour.noFacts && (r.Size != int64(len(text)) || !r.ModTime.Equal(modTime)):
				t.Errorf("%s: got %d bytes, %v", path, r.Size, r.ModTime)
			default:
				wantFile(t, path, got)
			}
		}
	})
}

// opensDirectories has the servers on which a directory first looks like a file, because they tell its size, or which
// say that it is a directory, and the error that follows.
var opensDirectories = map[Kind]error{
	Twisted: ftpexec.ErrRefused, Globus: ftpexec.ErrRefused, PureFTPd: ftpexec.ErrIsDirectory, Library: ftpexec.ErrIsDirectory,
	Inetutils: ftpexec.ErrIsDirectory, Netkit: ftpexec.ErrIsDirectory, Proftpd: ftpexec.ErrIsDirectory, Pyftpdlib: ftpexec.ErrIsDirectory,
}

// TestOtherURLs retrieves files by URLs other than their paths, and requests what is not a file. The root that %2F
// names (RFC 1738, section 3.2.2) is the public tree for anonymous users. An empty segment is a CWD with a null
// argument, which some servers refuse. vsftpd sends a text as it is on its disk; the others end its lines with CRLF.
func TestOtherURLs(t *testing.T) {
	tests := []struct {
		path, file string
		err        error
		differs    map[Kind]error
	}{
		{"/%2Fpub/a/b%2Fc/file.txt;type=i", "pub/a/b/c/file.txt", nil, nil},
		{"/pub/text.txt;type=a", "pub/text.txt", nil, map[Kind]error{Twisted: ftpexec.ErrTimeout}},
		{"/pub/absent.txt", "", ftpexec.ErrNotFound, nil},
		{"/pub/a", "", ftpexec.ErrNotFound, opensDirectories},
		{"/pub/absent/file.txt", "", ftpexec.ErrRefused, nil},
		{"/pub/text.txt/file.txt", "", ftpexec.ErrRefused, nil},
		{"//pub/text.txt", "pub/text.txt", nil, map[Kind]error{Vsftpd: ftpexec.ErrRefused, Proftpd: ftpexec.ErrRefused,
			Inetutils: ftpexec.ErrRefused, Netkit: ftpexec.ErrRefused, Globus: ftpexec.ErrRefused}},
	}
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		c.Timeout = hangTimeout
		for _, test := range tests {
			r, got, err := fetch(testContext(t), c, s.URL(test.path))
			want := test.err
			if differs := test.differs[s.Kind]; differs != nil {
				want = differs
			}
			if !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", test.path, err, want)
			}
			if err == nil {
				wantFile(t, test.file, got)
			}
			if err == nil && strings.HasSuffix(test.path, "type=a") && r.Size != -1 {
				t.Errorf("%s: size %d, want -1", test.path, r.Size)
			}
		}
	})
}

// TestDataConnections checks that every kind of data connection delivers the same bytes.
func TestDataConnections(t *testing.T) {
	ways := map[string]func(*ftpexec.Client){
		"EPSV":   func(*ftpexec.Client) {},
		"PASV":   func(c *ftpexec.Client) { c.NoEPSV = true },
		"active": func(c *ftpexec.Client) { c.Active = true },
	}
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		for name, set := range ways {
			c := &ftpexec.Client{NoPipelining: c.NoPipelining, Trace: c.Trace}
			set(c)
			_, got, err := fetch(testContext(t), c, s.URL("/pub/big.bin"))
			if c.Active && s.flavour.noActive {
				if !errors.Is(err, ftpexec.ErrRefused) {
					t.Errorf("%s: got %v, want %v", name, err, ftpexec.ErrRefused)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			wantFile(t, "pub/big.bin", got)
		}
	})
}

// takesTelnet has the servers that read the control connection as Telnet, as RFC 959 section 3.1 says: two octets 0xFF
// stand for one.
var takesTelnet = map[Kind]bool{Proftpd: true, Inetutils: true, Netkit: true}

// TestTelnetOctets tests how each server reads a name with the octet 0xFF, which is IAC in Telnet, before every other
// octet. %FF%FF names it on servers that read Telnet, and %FF on the others. Some servers serve only names in UTF-8.
func TestTelnetOctets(t *testing.T) {
	names := []string{"\xff", "x\xff", "x\xff\xff\xffy"}
	for b := ' '; b <= 0xff; b += rune(night.Or(11, 1)) {
		if !strings.ContainsRune("/\\\x7f", b) { // pure-ftpd does not accept the last two
			names = append(names, "x\xff"+string([]byte{byte(b)})+"y")
		}
	}
	files := map[string]string{}
	for _, name := range names {
		files["pub/"+name] = "I am " + name
	}
	forEachOn(t, plantTree(t, files), func(t *testing.T, s *Server) {
		c := newClient(t)
		for _, name := range names {
			sent := name
			if takesTelnet[s.Kind] {
				sent = strings.ReplaceAll(name, "\xff", "\xff\xff")
			}
			_, got, err := fetch(testContext(t), c, s.URL("/pub/"+Escape(sent)))
			switch {
			case !s.serves(latin1Name) && err == nil:
				t.Errorf("%q: got %q, want a refusal", name, got)
			case s.serves(latin1Name) && (err != nil || got != "I am "+name):
				t.Errorf("%q as %q: got %q, %v", name, sent, got, err)
			}
		}
	})
}

// TestShared runs ten commands at once against servers that allow three connections from one address. None may be
// refused.
func TestShared(t *testing.T) {
	t.Parallel()
	for kind, o := range map[Kind]Options{Vsftpd: {More: []string{"max_per_ip=3"}}, PureFTPd: {More: []string{"-C", "3"}, MaxClients: 50}} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := must.Get(Start(t.Context(), kind, tree, o))(t)
			defer s.Close()
			paths := []string{"pub/text.txt", "pub/big.bin", "pub/a/b/c/file.txt", "pub/odd/-dash"}
			tmp := t.TempDir()
			var runs sync.WaitGroup
			for i := range 10 {
				urls := s.URL("/" + strings.Join(paths, " "+s.URL("/")))
				args := fmt.Sprintf("-v -j %d --connect-timeout 5s -d %s/%d %s", 1+i%2, tmp, i, urls)
				cmd := exec.CommandContext(testContext(t), build(t), strings.Fields(args)...)
				cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+tmp, "FTPFETCH_PER_HOST=3")
				runs.Go(func() {
					out, err := cmd.CombinedOutput()
					if err != nil || bytes.Contains(out, []byte("< 421")) || bytes.Contains(out, []byte("< 530")) {
						t.Errorf("run %d: %v, %s", i, err, out)
					}
				})
			}
			runs.Wait()
			for i := range 10 * len(paths) {
				got, _ := os.ReadFile(filepath.Join(tmp, fmt.Sprint(i%10), filepath.Base(paths[i/10])))
				wantFile(t, paths[i/10], string(got))
			}
		})
	}
}
