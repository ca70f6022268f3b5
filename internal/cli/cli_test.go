package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ftpfetch/internal/cli"
	"example.com/ftpfetch/internal/throwaway"
	"example.com/ftpfetch/testserver"
)

// authority returns what a client of the tests' servers must trust, in PEM form.
func authority() string {
	id, err := throwaway.Loopback()
	if err != nil {
		panic(err)
	}
	return string(id.RootPEM())
}

// run runs the command in this process, with its output in pipes.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = cli.Run(t.Context(), args, cli.IO{In: strings.NewReader(""), Out: &out, Err: &err})
	return code, out.String(), err.String()
}

// TestPlans compares the exact output of --dry-run; ftpexec's tests hold which plan a URL has.
func TestPlans(t *testing.T) {
	const h, anonymous = "CONNECT h:21\n", "USER anonymous\nPASS <anonymous>\n"
	tests := []struct{ url, want string }{
		{"ftp://h", h + anonymous + "TYPE A\nNLST\n"},
		{"URL:ftp://h/f", h + anonymous + "TYPE I\nRETR f\n"},
		{"ftp://h/a/b;type=d", h + anonymous + "CWD a\nTYPE A\nNLST b\n"},
		{"ftp://myname@h/%2Fetc/motd", h + "USER myname\nPASS <prompt>\nCWD /etc\nTYPE I\nRETR motd\n"},
		{"ftp://myname@h//etc/motd", h + "USER myname\nPASS <prompt>\nCWD \nCWD etc\nTYPE I\nRETR motd\n"},
		{"ftp://foo%40x:b%3Ar@h/f", h + "USER foo@x\nPASS ********\nTYPE I\nRETR f\n"},
		{"ftp://h/caf%E9/%FF%01", h + anonymous + "CWD caf\\xe9\nTYPE I\nRETR \\xff\\x01\n"},
		{"ftp://h:2121/f", "CONNECT h:2121\n" + anonymous + "TYPE I\nRETR f\n"},
		{"ftp://bücher.example/f", "CONNECT xn--bcher-kva.example:21\n" + anonymous + "TYPE I\nRETR f\n"},
		{"ftpes://h/f", h + "AUTH TLS\nPBSZ 0\nPROT P\n" + anonymous + "TYPE I\nRETR f\n"},
	}
	for _, tt := range tests {
		code, out, err := run(t, "--dry-run", tt.url)
		if code != 0 || out != tt.want || err != "" {
			t.Errorf("%s: exit %d, standard error %q, plan\n%swant\n%s", tt.url, code, err, out, tt.want)
		}
	}
}

// TestMalformed checks the form of the error message; urlparse's tests check the columns and reasons.
func TestMalformed(t *testing.T) {
	tests := []struct {
		url  string
		code int
		want string // in the complaint
	}{
		{"ftp://h/a b", 3, "%20"},
		{"ftp://h/a%0d%0aDELE%20x/f", 3, "column "},
		{"ftp://h/\x1b[2J", 3, "column "},
		{"ftp://h:6667/f", 3, "--allow-port"},
		{"ftp://u:s3cr3t:x@h/f", 3, "%3A"},
		{"ftp://u:s3/cr3t@h/f", 3, "column "},
		{"", 3, "column "},
		{"http://h/f", 1, "column "},
	}
	for _, tt := range tests {
		for _, args := range [][]string{{tt.url}, {"--dry-run", tt.url}, {"-q", "-o", "-", tt.url}} {
			code, out, err := run(t, args...)
			if code != tt.code || out != "" || strings.Count(err, "\n") != 1 ||
				!strings.HasPrefix(err, "ftpfetch: ") || !strings.Contains(err, tt.want) {
				t.Errorf("%q: exit %d (want %d), output %q, complaint %q (want %q)", args, code, tt.code, out, err, tt.want)
			}
			if strings.Contains(err, "s3") || strings.ContainsAny(err, "\x1b\r\x00") {
				t.Errorf("%q: the complaint shows what it must not: %q", args, err)
			}
		}
	}
}

// screen is a terminal for the command's output.
type screen struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *screen) IsTerminal() bool { return true }

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

func TestListingOctets(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/\x1b[31mcaf\xe9\u202e": ""}})
	code, out, _ := run(t, s.URL("/d/"))
	if want := "\x1b[31mcaf\xe9\u202e\n"; code != 0 || out != want {
		t.Errorf("pipe: exit %d, got %q, want %q", code, out, want)
	}
	var tty screen
	code = cli.Run(t.Context(), []string{s.URL("/d/")}, cli.IO{Out: &tty, Err: io.Discard})
	if want := `\x1b[31mcaf\xe9\u202e` + "\n"; code != 0 || tty.String() != want {
		t.Errorf("terminal: exit %d, got %q, want %q", code, tty.String(), want)
	}
	code, out, _ = run(t, "--json", s.URL("/d/"))
	want := `{"name":"\u001b[31mcaf\ufffd\u202e","url":"` + s.URL("/d/%1B%5B31mcaf%E9%E2%80%AE") + `"}` + "\n"
	if code != 0 || out != want {
		t.Errorf("json: exit %d, got %s, want %s", code, out, want)
	}
}

// TestDataOnTerminal checks that data goes to a terminal alone.
func TestDataOnTerminal(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "data\n"}})
	var tty screen
	code := cli.Run(t.Context(), []string{"-o", "-", s.URL("/f")}, cli.IO{Out: &tty, Err: &tty})
	if code != 0 || tty.String() != "data\n" {
		t.Errorf("exit %d, %q", code, tty.String())
	}
}

// TestOutputClosed closes standard output before anything is written to it.
func TestOutputClosed(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "data\n"}})
	for _, args := range [][]string{
		{"--help"}, {"--version"}, {"--dry-run", "ftp://h/f"}, {s.URL("/")}, {"--json", s.URL("/")}, {"-q", "-o", "-", s.URL("/f")},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		var stderr bytes.Buffer
		code := cli.Run(t.Context(), args, cli.IO{Out: w, Err: &stderr})
		w.Close()
		if code != 141 || stderr.Len() > 0 {
			t.Errorf("%q: exit %d, %q, want 141 and silence", args, code, stderr.String())
		}
	}
}

// TestInterruptEndsRun checks that the URLs after an interrupted one are not tried.
func TestInterruptEndsRun(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := testserver.New(t, &testserver.Options{
		Tree: map[string]string{"/f": "data", "/g": "data"},
		Fault: func(p *testserver.Conn) testserver.Action {
			if p.Verb == "RETR" {
				cancel(&cli.SignalError{Signal: os.Interrupt})
				return testserver.End(testserver.Stalled)
			}
			return nil
		},
	})
	var stderr bytes.Buffer
	code := cli.Run(ctx, []string{"-d", t.TempDir(), s.URL("/none/x"), s.URL("/f"), s.URL("/g")}, cli.IO{Out: io.Discard, Err: &stderr})
	if code != 130 || !strings.HasSuffix(stderr.String(), "/f: interrupted\n") {
		t.Errorf("exit %d, %q", code, stderr.String())
	}
}

// TestMaxTimeKeeps checks that a run keeps what arrived before --max-time and that the next run resumes from it. On a busy
// machine nothing may arrive in the first limit.
func TestMaxTimeKeeps(t *testing.T) {
	contents := strings.Repeat("0123456789abcdef", 1<<16)
	var came atomic.Bool
	s := testserver.New(t, &testserver.Options{
		Tree: map[string]string{"/f": contents},
		Fault: func(p *testserver.Conn) testserver.Action {
			if p.Verb == "RETR" && !came.Load() {
				return testserver.Cut(300_000, testserver.Stalled)
			}
			return nil
		},
	})
	dir := t.TempDir()
	kept := regexp.MustCompile(`/f: not done within --max-time [0-9a-z]+; [1-9][0-9]+ bytes kept, run the same command to resume\n$`)
	late := regexp.MustCompile(`/f: not done within --max-time [0-9a-z]+\n$`)
	for limit := 250 * time.Millisecond; !came.Load(); limit *= 2 {
		code, _, err := run(t, "--max-time", limit.String(), "-d", dir, s.URL("/f"))
		came.Store(kept.MatchString(err))
		if code != 28 || !came.Load() && !late.MatchString(err) {
			t.Fatalf("exit %d, %s", code, err)
		}
	}
	code, _, err := run(t, "-d", dir, s.URL("/f"))
	if code != 0 || !strings.Contains(err, "resuming from ") {
		t.Errorf("exit %d, %s", code, err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(got) != contents {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
