package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
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

	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/cmd/internal/cli/show"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/screen"
	"example.com/ftpfetch/testserver"
)

// terminal runs the command with a terminal of this size as standard error.
func terminal(t *testing.T, ctx context.Context, width, height int, args ...string) (*screen.Screen, <-chan int) {
	t.Helper()
	keyboard, c := openTerminal(t, width, height)
	s, code, null := screen.New(cmp.Or(width, 80)), make(chan int, 1), must.Get(os.OpenFile(os.DevNull, os.O_WRONLY, 0))(t)
	go s.Show(keyboard)
	go func() {
		code <- Run(ctx, args, IO{In: strings.NewReader(""), Out: null, Err: c.Out})
		null.Close()
		c.In.Close()
	}()
	return s, code
}

// files returns n files of the same size.
func files(n, size int) map[string]string {
	tree := map[string]string{}
	for i := range n {
		tree[fmt.Sprintf("/d/file-%02d.gz", i)] = strings.Repeat("x", size)
	}
	return tree
}

// TestManyOnTerminal checks a run of many files on terminals of several sizes: there is a line for each running file
// and one for all. After an interruption these are gone, and the terminal shows what is missing.
func TestManyOnTerminal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ width, height, jobs, lines int }{{40, 24, 3, 3}, {80, 24, 4, 4}, {200, 50, 2, 2}, {80, 8, 10, 5}} {
		t.Run(fmt.Sprintf("%dx%d", tt.width, tt.height), func(t *testing.T) {
			t.Parallel()
			srv := testserver.New(t, &testserver.Options{Tree: files(20, 1<<20)})
			ctx, cancel := context.WithCancelCause(t.Context())
			jobs := fmt.Sprint(tt.jobs)
			s, code := terminal(t, ctx, tt.width, tt.height, "-r", "-d", t.TempDir(), "-j", jobs, "--per-host", jobs, "--limit-rate", "1M", srv.URL("/d/"))
			running := regexp.MustCompile(`(?m)^file-\d\d.gz .* %.*\n`)
			text := s.Wait(func(text string) bool {
				return len(running.FindAllString(text, -1)) == tt.lines && strings.Contains(text, " of 20 files")
			})
			if left := running.ReplaceAllString(text, ""); !regexp.MustCompile(`^\d+ of 20 files(, [^,\n]+){1,3}\n$`).MatchString(left) {
				t.Errorf("beside the lines of the files there is %q", left)
			}
			cancel(&SignalError{os.Interrupt})
			if got := <-code; got != 130 {
				t.Errorf("exit code %d", got)
			}
			text = s.Wait(func(text string) bool { return strings.Contains(text, " s\n") })
			if strings.HasPrefix(text, "ftpfetch: interrupted\n") {
				return // on a busy machine the run needed more than the second that it has, and was left behind
			}
			want := `^ftpfetch: interrupted; the same command fetches the rest\n\d+ of 20 complete.*\n$`
			if !regexp.MustCompile(want).MatchString(text) && tt.width > 60 {
				t.Errorf("in the end the terminal shows\n%s", text)
			}
			if running.MatchString(text) || strings.Contains(text, " of 20 files") {
				t.Errorf("left behind:\n%s", text)
			}
		})
	}
}

// TestShowsTheDialogue stalls the dialogue at each step. The terminal must show what the run waits for and, after
// Ctrl-C, that the run was interrupted.
func TestShowsTheDialogue(t *testing.T) {
	t.Parallel()
	silent := testserver.Honest("contents")
	for _, tt := range []struct {
		step testserver.Step
		want string
	}{
		{testserver.On(""), "connected, waiting for the server's greeting"},
		{silent.With("USER", testserver.EndControl(testserver.Stalled)), "waiting for the reply to USER anonymous"},
		{silent.With("PASS", testserver.EndControl(testserver.Stalled)), "waiting for the reply to PASS .*"},
		{silent.With("CWD", testserver.EndControl(testserver.Stalled)), "waiting for the reply to CWD d"},
		{silent.With("RETR", testserver.EndControl(testserver.Stalled)), "waiting for the reply to RETR f"},
	} {
		for _, many := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.want, " many ", many), func(t *testing.T) {
				t.Parallel()
				s := testserver.New(t, nil, tt.step)
				args, line := []string{"-d", t.TempDir(), s.URL("/d/f"), s.URL("/d/g")}, "127.0.0.1: "
				if many {
					args, line = append(args, "-j", "1"), "0 of 2 files, "
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				shown, code := terminal(t, ctx, 80, 24, args...)
				want := "(?m)^" + line + tt.want + "\n"
				text := shown.Wait(regexp.MustCompile(want).MatchString)
				if !regexp.MustCompile(want).MatchString(text) {
					t.Errorf("the terminal does not show %q, but\n%s", want, text)
				}
				cancel(&SignalError{os.Interrupt})
				if got := <-code; got != 130 {
					t.Errorf("exit code %d", got)
				}
				shown.Wait(func(string) bool { return false }) // until the terminal is closed
				if text := shown.String(); strings.Contains(text, line) || !regexp.MustCompile(`^ftpfetch: .*interrupted(.*\n)+$`).MatchString(text) {
					t.Errorf("in the end the terminal shows\n%s", text)
				}
			})
		}
	}
}

// TestLastLine checks, for every way to end, that the last line on the terminal says what happened.
func TestLastLine(t *testing.T) {
	t.Setenv("FTPFETCH_WITHOUT", "portcheck")
	const one, all = `/f: 1000 B in .+\n$`, `1 of 1 complete in \S+: 1000 B in .+\n$`
	for _, tt := range []struct {
		name, path      string
		args            []string
		one, many, none string // the last text on the terminal; none: with --progress none
	}{
		{"success", "/f", nil, one, all, `^$`},
		{"empty", "/empty", nil, `/empty: 0 B in .+\n$`, `1 of 1 complete in \S+: 0 B in .+\n$`, `^$`},
		{"missing", "/none", nil, `^ftpfetch: \S+/none: [^$]*\n$`, `0 of 1 complete, 1 failed\n$`, `ftpfetch: \S+/none: [^\n]*\n`},
		{"no server", "", nil, `^ftpfetch: \S+/f: .*\n$`, `0 of 1 complete, 1 failed\n$`, `ftpfetch: \S+/f: [^\n]*\n`},
		{"too long", "/f", []string{"--limit-rate", "1", "--max-time", "1s"}, `^ftpfetch: .*--max-time 1s.*\n$`, `(?s)--max-time 1s.*0 of 1 complete.*\n$`, `--max-time 1s`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": strings.Repeat("x", 1000), "/empty": ""}})
			url := s.URL(tt.path)
			if tt.path == "" {
				url = "ftp://127.0.0.1:1/f"
			}
			list := filepath.Join(t.TempDir(), "list")
			must.Do(t, os.WriteFile(list, []byte(url+"\n"), 0o666))
			for _, mode := range []string{"bar", "plain", "none"} {
				for _, many := range []bool{false, true} {
					args, want := append([]string{"--retries", "0", "--progress", mode, "-d", t.TempDir()}, tt.args...), tt.one
					if many {
						args, want = append(args, "-i", list), tt.many
					} else {
						args = append(args, url)
					}
					if mode == "none" {
						want = tt.none
					}
					shown, code := terminal(t, t.Context(), 200, 24, args...)
					<-code
					shown.Wait(func(string) bool { return false }) // until the terminal is closed
					if text := shown.String(); !regexp.MustCompile(want).MatchString(text) || text != "" && !strings.HasSuffix(text, "\n") {
						t.Errorf("%s, many %v: in the end the terminal shows %q, want %q", mode, many, text, want)
					}
				}
			}
		})
	}
}

// shell is an interactive shell on a terminal of its own.
type shell struct {
	*screen.Screen
	t        *testing.T
	keyboard *os.File
}

func newShell(t *testing.T) *shell {
	t.Helper()
	keyboard, c := openTerminal(t, 100, 24)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // bounds every wait
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
			return testserver.EndDataAfter(500, testserver.Stalled)
		}
		return nil
	}})
}

// TestSuspended stops the command with Ctrl-Z, continues it in the background and brings it to the foreground. It must
// draw only while it has the terminal, and below what the shell has written.
func TestSuspended(t *testing.T) {
	t.Parallel()
	for _, many := range []string{"", "-j 1 --overwrite "} {
		t.Run(many, func(t *testing.T) {
			t.Parallel()
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
		})
	}
}

// TestPlainTerminals checks that terminals on which rows cannot be drawn get plain lines.
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

// TestNarrated checks that a terminal without rows is told what the run waits for.
func TestNarrated(t *testing.T) {
	t.Setenv("TERM", "dumb")
	told := make(chan struct{})
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}, Fault: func(c *testserver.Conn) testserver.Action {
		if c.Verb == "" {
			<-told
		}
		return nil
	}})
	shown, code := terminal(t, t.Context(), 80, 24, "-o", filepath.Join(t.TempDir(), "f"), s.URL("/f"))
	shown.Wait(func(text string) bool { return strings.HasSuffix(text, "waiting for the server's greeting\n") })
	close(told)
	if got := <-code; got != exitOK {
		t.Errorf("exit code %d", got)
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

// TestPrompt types a password, which the terminal must not show.
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

// TestNarrowListing lists a directory on a terminal where whole lines would wrap. The listing then has dates without
// times of day.
func TestNarrowListing(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, name := range []string{"a", strings.Repeat("a", 30), strings.Repeat("\u540d", 8)} {
		s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/" + name: "contents"}, ModTime: at})
		keyboard, c := openTerminal(t, 40, 24)
		if code := Run(t.Context(), []string{"-l", s.URL("/d/")}, IO{Out: c.In, Err: io.Discard}); code != exitOK {
			t.Errorf("exit %d", code)
		}
		shown(t, keyboard, "-         8  2026-01-02  "+name+"\r\n")
	}
}

// TestPromptEnded types ^D in place of a password, at the start or after a line that was erased.
func TestPromptEnded(t *testing.T) {
	for _, typed := range []string{"\x04", "no\x15\x04"} {
		keyboard, c := openTerminal(t, 80, 24)
		before := state(t, c)
		p := person(func() (*show.Console, error) { return c, nil })
		failed := make(chan error)
		go func() {
			_, err := p.supply(t.Context(), "h", "me", "password")
			failed <- err
		}()
		shown(t, keyboard, "Password for me at h: ")
		for reflect.DeepEqual(state(t, c), before) {
			runtime.Gosched() // until the echo is off
		}
		must.Get(keyboard.WriteString(typed))(t)
		want := "the server wants a password, and none was typed (--password-stdin or ~/.netrc)"
		if text, code := Explain(<-failed); text != want || code != exitLogin {
			t.Errorf("after %q: %q, exit %d", typed, text, code)
		}
		if !reflect.DeepEqual(state(t, c), before) {
			t.Error("the terminal is left without echo")
		}
	}
}

// TestPlanOnTerminal checks that a terminal shows that the plan of one file is no dialogue: the server receives nothing.
func TestPlanOnTerminal(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "x"}})
	keyboard, c := openTerminal(t, 80, 24)
	shown := screen.New(80)
	if code := Run(t.Context(), []string{"--dry-run", s.URL("/f")}, IO{Out: c.Out, Err: c.Out}); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	c.In.Close()
	shown.Show(keyboard)
	if text := shown.String(); !strings.HasSuffix(text, "RETR f\nnothing was sent: this is the plan (-I asks the server)\n") || len(s.Commands()) > 0 {
		t.Errorf("the terminal shows\n%s; the server received %q", text, s.Commands())
	}
}
