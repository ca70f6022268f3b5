package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"example.com/ftpfetch/cmd/internal/cli"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/throwaway"
	"example.com/ftpfetch/testserver"
)

// authority returns, in PEM form, the root certificate that a client of the tests' servers must trust.
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
	code = cli.Run(t.Context(), args, cli.IO{Out: &out, Err: &err}) // nobody can be prompted
	return code, out.String(), err.String()
}

// writeFile writes a file and creates its directory.
func writeFile(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
}

// TestMalformed checks the form of the error message; urlparse's tests check the columns and reasons.
func TestMalformed(t *testing.T) {
	for _, tt := range []struct {
		url  string
		code int
		want string // a part of the message
	}{
		{"ftp://h/a b", 3, "%20"},
		{"ftp://h/a%0d%0aDELE%20x/f", 3, "column "},
		{"ftp://h/\x1b[2J", 3, "column "},
		{"ftp://h:6667/f", 3, "FTPFETCH_WITHOUT=portcheck"},
		{"ftp://u:s3cr3t:x@h/f", 3, "%3A"},
		{"ftp://u:s3/cr3t@h/f", 3, "column "},
		{"", 3, "is empty"},
		{"http://h/f", 1, "use curl"},
	} {
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
	want := `{"name":"\u001b[31mcaf\ufffd\u202e","url":"` + s.URL("/d/%1B%5B31mcaf%E9%E2%80%AE") + `","type":"file",`
	if code != 0 || !strings.HasPrefix(out, want) {
		t.Errorf("json: exit %d, got %s, want %s", code, out, want)
	}
}

// TestDataOnTerminal checks that a terminal shows the data and nothing else.
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
		must.Do(t, err)
		r.Close()
		var stderr bytes.Buffer
		code := cli.Run(t.Context(), args, cli.IO{Out: w, Err: &stderr})
		w.Close()
		if code != 141 || stderr.Len() > 0 {
			t.Errorf("%q: exit %d, %q, want 141 and silence", args, code, stderr.String())
		}
	}
}

// TestInterruptEndsRun checks that an interrupt keeps the run from trying the next URLs.
func TestInterruptEndsRun(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := testserver.New(t, &testserver.Options{
		Tree: map[string]string{"/f": "data", "/g": "data"},
		Fault: func(p *testserver.Conn) testserver.Action {
			if p.Verb == "RETR" {
				cancel(&cli.SignalError{Signal: os.Interrupt})
				return testserver.EndControl(testserver.Stalled)
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

// poison is text that must not reach a terminal: escape sequences, a carriage return in the middle, C1 controls as one
// byte and as UTF-8, bidirectional overrides, line separators and tags.
const poison = "\x1b]0;title\a\x1b[2J\rover\b\x9b31m\u009b31m\u202e\u2066\u2028\U000e0041\x7f"

// wantHarmless fails the test if text would make a terminal do more than show characters on a line.
func wantHarmless(t *testing.T, what, text string) {
	t.Helper()
	if !strings.Contains(text, `\x1b`) && !strings.Contains(text, `\u001b`) {
		t.Errorf("%s does not show the poison at all: %q", what, text)
	}
	for _, r := range strings.ToValidUTF8(text, "\x00") {
		if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			t.Errorf("%s has a raw %U: %q", what, r, text)
			return
		}
	}
}

// TestServerTextOnTerminal runs a server that sends poison in every reply and name. No poison may reach the terminal
// unescaped, whether as dialogue, error, listing, event or progress.
func TestServerTextOnTerminal(t *testing.T) {
	poisoned := func(code string) testserver.Action {
		return testserver.Reply(code + "-" + poison + "\r\n" + code + " " + poison)
	}
	honest := testserver.Honest("contents").
		With("NLST", testserver.Transfer(poison+"\r\n"+strings.ReplaceAll(poison, "\r", "")+"\r\nb\r\n")).
		With("USER", poisoned("331")).With("PASS", poisoned("230")).With("SIZE", poisoned("550")).
		With("QUIT", poisoned("221"), testserver.EndControl(testserver.Closed))
	for _, tt := range []struct {
		name, path string
		server     testserver.Step
	}{
		{"file", "/f", honest},
		{"listing", "/", honest},
		{"name in the URL", "/%1B%5D0;type=i", honest.With("RETR", poisoned("550"))},
		{"refused file", "/f", honest.With("RETR", poisoned("550"))},
		{"refused directory", "/d/f", honest.With("CWD", poisoned("550"))},
		{"refused login", "/f", honest.With("PASS", poisoned("530"))},
		{"goodbye", "/f", honest.With("TYPE", poisoned("421"))},
		{"no sense", "/f", honest.With("TYPE", testserver.Reply(poison))},
		{"no passive port", "/f", honest.With("EPSV", poisoned("500")).With("PASV", poisoned("227"))},
	} {
		for _, flags := range [][]string{{"-v"}, {"-v", "--json"}, {"-v", "--progress", "json"}, {"-v", "--progress", "plain"}} {
			s := testserver.New(t, nil, tt.server)
			t.Chdir(t.TempDir())
			var out, err screen
			args := slices.Concat(flags, []string{"--retries", "0", s.URL(tt.path)})
			cli.Run(t.Context(), args, cli.IO{In: strings.NewReader(""), Out: &out, Err: &err})
			wantHarmless(t, tt.name+": standard error", err.String())
			if out.String() != "" {
				wantHarmless(t, tt.name+": standard output", out.String())
			}
		}
	}
}

// TestEmptyOutput redirects standard output, as curl users do, and checks what a terminal on standard error says.
func TestEmptyOutput(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/f": "text\n", "/d/g": "text\n"}})
	const lone, many = "saved as f; standard output is empty (-o - writes there)\n", "saved in ./; standard output is empty\n"
	null := must.Get(os.OpenFile(os.DevNull, os.O_WRONLY, 0))(t)
	defer null.Close()
	for _, tt := range []struct {
		args   string
		stdout io.Writer // nil: a pipe
		said   string    // the message about the output
	}{
		{"Uf", nil, lone}, {"-o x/../f Uf", nil, strings.Replace(lone, "f;", "x/../f;", 1)}, {"Ug Uf", nil, lone}, {"-j 2 Ug Uf", nil, many}, {"-r -d . U", nil, many},
		{"Uf", null, ""}, {"Uf", new(screen), ""}, {"-o - Uf", nil, ""}, {"U", nil, ""}, {"-I Uf", nil, ""}, {"-q Uf", nil, ""}, {"Unone", nil, ""},
		{"-j 2 --report - Ug Uf", nil, ""},
	} {
		t.Chdir(t.TempDir())
		must.Do(t, os.Mkdir("x", 0o700))
		var said screen
		if tt.stdout == nil {
			tt.stdout = new(bytes.Buffer)
		}
		cli.Run(t.Context(), strings.Fields(strings.ReplaceAll(tt.args, "U", s.URL("/d/"))), cli.IO{Out: tt.stdout, Err: &said})
		if text := said.String(); !strings.HasSuffix(text, tt.said) || tt.said == "" && strings.Contains(text, "standard output") {
			t.Errorf("%s: %q, want %q", tt.args, text, tt.said)
		}
		said = screen{}
		if code, _, said := run(t, strings.Fields(strings.ReplaceAll("--overwrite "+tt.args, "U", s.URL("/d/")))...); strings.Contains(said, "standard output") {
			t.Errorf("%s, without a terminal: exit %d, %q", tt.args, code, said)
		}
	}
}

// TestBinaryOnTerminal checks that a terminal shows no binary file, but shows everything else.
func TestBinaryOnTerminal(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/bin": "\x7fELF\x00", "/text": "caf\xe9\n", "/d/f": "", "/empty": ""}})
	for path, want := range map[string]string{"/bin": "", "/text": "caf\xe9\n", "/empty": "", "/d/": "f\n", "/bin /text": ""} {
		var out, said screen
		args := []string{"-o", "-"}
		for name := range strings.FieldsSeq(path) {
			args = append(args, s.URL(name))
		}
		code := cli.Run(t.Context(), args, cli.IO{Out: &out, Err: &said})
		if path == "/bin /text" {
			want = "caf\xe9\n"
		}
		refused := strings.Contains(said.String(), "standard output: cannot be written: it is a terminal, and the file is binary (-o FILE saves it, -o /dev/tty shows it)")
		if out.String() != want || refused != strings.Contains(path, "bin") || (code == 23) != refused {
			t.Errorf("%s: exit %d, %q, %q", path, code, out.String(), said.String())
		}
	}
	if code, out, said := run(t, "-o", "-", s.URL("/bin")); code != 0 || out != "\x7fELF\x00" {
		t.Errorf("into a pipe: exit %d, %q, %s", code, out, said)
	}
}
