package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/internal/rules/screen"
	"example.com/ftpfetch/testserver"
)

// shell is an interactive shell on a terminal of its own.
type shell struct {
	*screen.Screen
	t        *testing.T
	keyboard *os.File
}

func newShell(t *testing.T) *shell {
	t.Helper()
	keyboard, c := openTerminal(t, 100, 24)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends every wait
	cmd := exec.CommandContext(ctx, "/bin/sh", "-i")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = t.TempDir(), c.In, c.In, c.In
	cmd.Env = append(os.Environ(), "PS1=$ ", "ENV=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must.Do(t, cmd.Start())
	c.In.Close()
	j := &shell{Screen: screen.New(100), t: t, keyboard: keyboard}
	go j.Show(keyboard)
	t.Cleanup(func() {
		j.types("\x03kill -KILL %1; exit\n")
		cancel()
		_ = cmd.Wait()
	})
	return j
}

func (j *shell) types(keys string) {
	if _, err := j.keyboard.WriteString(keys); err != nil {
		j.t.Error(err)
	}
}

// shows waits until the screen matches pattern, and returns its text.
func (j *shell) shows(pattern string) string {
	j.t.Helper()
	want := regexp.MustCompile("(?m)" + pattern)
	text := j.Wait(want.MatchString)
	if !want.MatchString(text) {
		j.t.Fatalf("the terminal never matches %q:\n%s", pattern, text)
	}
	return text
}

// stalled returns a server whose file /f stops in the middle.
func stalled(t *testing.T) *testserver.Server {
	return testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": strings.Repeat("x", 1000)}, Fault: func(p *testserver.Conn) testserver.Action {
		if p.Transfer > 0 {
			return testserver.Cut(500, testserver.Stalled)
		}
		return nil
	}})
}

// TestSuspended stops the command with Ctrl-Z, lets it go on in the background and brings it back. It draws only while it
// has the terminal, and below what the shell has written.
func TestSuspended(t *testing.T) {
	for _, many := range []string{"", "-j 1 --overwrite "} {
		j := newShell(t)
		s := stalled(t)
		j.types("ftpfetch " + many + s.URL("/f") + " " + s.URL("/f?") + "\n")
		const figures = `^(\$ )?(1 of 2: )?f .* 50 % .*$`
		j.shows(figures)
		j.types("\x1a")
		before := j.shows(`(?i)stopped`)
		j.types("bg\n")
		j.types("sleep 1.1; echo 2''nd\n")
		text := j.shows(`^(\$ )?2nd$`)
		if !strings.HasPrefix(text, before) || regexp.MustCompile("(?m)"+figures).MatchString(text[len(before):]) {
			t.Errorf("in the background, the terminal shows\n%s", text)
		}
		j.types("fg\n")
		j.shows(`2nd\n(.*\n)*(\$ )?ftpfetch .*\n(\$ )?(1 of 2: )?f .* 50 % `)
		j.types("\x03")
		j.shows(`(?s)ftpfetch: .*interrupted.*(kept|complete)`)
		j.types("echo code $?\n")
		text = j.shows(`code \d+$`)
		if _, after, _ := strings.Cut(text, "2nd\n"); !strings.Contains(text, "code 130\n") || regexp.MustCompile("(?m)"+figures).MatchString(after) {
			t.Errorf("in the end the terminal shows\n%s", text)
		}
	}
}

// TestPlainTerminals checks that terminals on which nothing can be drawn get plain lines.
func TestPlainTerminals(t *testing.T) {
	for _, tt := range []struct {
		kind  string
		width int
	}{{"xterm", 0}, {"dumb", 80}, {"", 80}} {
		t.Setenv("TERM", tt.kind)
		for _, args := range [][]string{{"/f"}, {"/f", "-j", "2"}} {
			dir := t.TempDir()
			s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}})
			shown, code := terminal(t, t.Context(), tt.width, 24, append(args[1:], "-d", dir, s.URL(args[0]))...)
			<-code
			text := shown.Wait(func(text string) bool { return strings.HasSuffix(text, " s\n") })
			if !regexp.MustCompile(`^` + filepath.Join(dir, "f") + `: 8 B in .*\n$`).MatchString(text) {
				t.Errorf("%q, %d columns: %q", tt.kind, tt.width, text)
			}
		}
	}
}

// openTerminal opens a pseudo-terminal. Writing to keyboard types; reading from it returns what the terminal shows.
func openTerminal(t *testing.T, width, height int) (keyboard *os.File, c *show.Console) {
	t.Helper()
	keyboard, tty, err := screen.Open(width, height)
	must.Do(t, err)
	t.Cleanup(func() { keyboard.Close() })
	return keyboard, &show.Console{In: tty, Out: tty}
}

// shown reads from keyboard until the terminal has shown want.
func shown(t *testing.T, keyboard io.Reader, want string) {
	t.Helper()
	var got bytes.Buffer
	one := make([]byte, 1)
	for !bytes.Contains(got.Bytes(), []byte(want)) {
		if _, err := keyboard.Read(one); err != nil {
			t.Fatalf("the terminal showed %q, then %v; want %q", got.String(), err, want)
		}
		got.Write(one)
	}
}

// state returns the terminal's current mode.
func state(t *testing.T, c *show.Console) *term.State {
	t.Helper()
	return must.Get(term.GetState(int(c.In.Fd())))(t)
}

// person returns the logins of a run whose only source is the person at a terminal.
func person(open func() (*show.Console, error)) *logins {
	l := newLogins(&config.Config{Netrc: config.NoNetrc}, strings.NewReader(""), func(f func()) { f() })
	l.open = open
	return l
}

// TestPrompt types a password, which the terminal does not show.
func TestPrompt(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("contents"))
	j := newShell(t)
	j.types("ftpfetch " + strings.Replace(s.URL("/f"), "//", "//me@", 1) + "\n")
	j.shows(`Password for me at \S+ `)
	for must.Get(unix.IoctlGetTermios(int(j.keyboard.Fd()), unix.TCGETS))(t).Lflag&unix.ECHO != 0 {
		runtime.Gosched()
	}
	j.types("secret\n")
	text := j.shows(`^f: 8 B in `)
	if got := strings.Join(s.Commands(), "\n"); strings.Contains(text, "secret") || !strings.Contains(got, "PASS secret") {
		t.Errorf("the terminal shows\n%s\nsent %s", text, got)
	}
}

func TestPromptCanceled(t *testing.T) {
	keyboard, c := openTerminal(t, 80, 24)
	before := state(t, c)
	ctx, cancel := context.WithCancelCause(t.Context())
	p := person(func() (*show.Console, error) { return c, nil })
	failed := make(chan error)
	go func() {
		_, err := p.supply(ctx, "h\x1b", "me", "password")
		failed <- err
	}()
	shown(t, keyboard, `Password for me at h\x1b: `)
	for reflect.DeepEqual(state(t, c), before) {
		runtime.Gosched() // until the echo is off
	}
	cause := &SignalError{os.Interrupt}
	cancel(cause)
	if err := <-failed; !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
	if !reflect.DeepEqual(state(t, c), before) {
		t.Error("the terminal is left without echo")
	}
}

// TestNarrowListing lists a directory on a terminal where whole lines would wrap.
func TestNarrowListing(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/a": "contents", "/d/b/c": ""}})
	keyboard, c := openTerminal(t, 40, 24)
	if code := Run(t.Context(), []string{"-l", s.URL("/d/")}, IO{Out: c.In, Err: io.Discard}); code != exitOK {
		t.Errorf("exit %d", code)
	}
	shown(t, keyboard, "-         8  a\r\nd         -  b/\r\n")
}
