package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

// screen is what a terminal shows: as much of one as the progress needs.
type screen struct {
	width int

	mu      sync.Mutex
	changed sync.Cond
	rows    []string // those that have scrolled away too
	row     int
	column  int
	escape  string
	over    bool
}

func newScreen(width int) *screen {
	s := &screen{width: width, rows: []string{""}}
	s.changed.L = &s.mu
	return s
}

// read shows what comes from r.
func (s *screen) read(r io.Reader) {
	buf := make([]byte, 4096)
	for {
		n, err := r.Read(buf)
		s.mu.Lock()
		for _, c := range buf[:n] { // all names are ASCII
			s.show(c)
		}
		s.over = err != nil
		s.changed.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *screen) show(c byte) {
	switch {
	case c == 0x1b:
		s.escape = "\x1b"
	case s.escape != "":
		if s.escape += string(c); c >= 'A' && c <= 'z' && c != '[' {
			s.control(s.escape)
			s.escape = ""
		}
	case c == '\r':
		s.column = 0
	case c == '\n':
		s.down()
	default:
		if s.column == s.width {
			s.column = 0
			s.down()
		}
		row := s.rows[s.row] + strings.Repeat(" ", max(0, s.column-len(s.rows[s.row])))
		s.rows[s.row] = row[:s.column] + string(c) + row[min(len(row), s.column+1):]
		s.column++
	}
}

func (s *screen) down() {
	if s.row++; s.row == len(s.rows) {
		s.rows = append(s.rows, "")
	}
}

// control moves the cursor up, or clears the screen below it.
func (s *screen) control(sequence string) {
	var n int
	if _, err := fmt.Sscanf(sequence, "\x1b[%dA", &n); err == nil {
		s.row = max(0, s.row-n)
	} else if sequence == "\x1b[J" {
		s.rows = append(s.rows[:s.row], s.rows[s.row][:min(s.column, len(s.rows[s.row]))])
	}
}

// wait waits until the screen shows what enough wants, and returns what it shows then, or after a minute.
func (s *screen) wait(enough func(text string) bool) string {
	late := false
	defer time.AfterFunc(time.Minute, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.changed.Broadcast()
	}).Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.over && !late && !enough(strings.Join(s.rows, "\n")) {
		s.changed.Wait()
	}
	return strings.Join(s.rows, "\n")
}

// terminal runs the command with a terminal of this size as standard error.
func terminal(t *testing.T, ctx context.Context, width, height int, args ...string) (*screen, <-chan int) {
	t.Helper()
	keyboard, c := openTerminal(t)
	must.Do(t, unix.IoctlSetWinsize(int(keyboard.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)}))
	s, code, null := newScreen(cmp.Or(width, 80)), make(chan int, 1), must.Get(os.OpenFile(os.DevNull, os.O_WRONLY, 0))(t)
	go s.read(keyboard)
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

// TestManyOnTerminal checks a run of many files on terminals of several sizes: a line for each running file and one for
// all, and after an interruption neither of them, but what is missing.
func TestManyOnTerminal(t *testing.T) {
	for _, tt := range []struct{ width, height, jobs, lines int }{{40, 24, 3, 3}, {80, 24, 4, 4}, {200, 50, 2, 2}, {80, 8, 10, 5}} {
		t.Run(fmt.Sprintf("%dx%d", tt.width, tt.height), func(t *testing.T) {
			t.Parallel()
			srv := testserver.New(t, &testserver.Options{Tree: files(20, 1<<20)})
			ctx, cancel := context.WithCancelCause(t.Context())
			jobs := fmt.Sprint(tt.jobs)
			s, code := terminal(t, ctx, tt.width, tt.height, "-r", "-d", t.TempDir(), "-j", jobs, "--per-host", jobs, "--limit-rate", "1M", srv.URL("/d/"))
			running := regexp.MustCompile(`(?m)^file-\d\d.gz .* %.*\n`)
			text := s.wait(func(text string) bool {
				return len(running.FindAllString(text, -1)) == tt.lines && strings.Contains(text, " of 20 files")
			})
			if left := running.ReplaceAllString(text, ""); !regexp.MustCompile(`^\d+ of 20 files(, [^,\n]+){1,3}\n$`).MatchString(left) {
				t.Errorf("beside the lines of the files there is %q", left)
			}
			cancel(&SignalError{os.Interrupt})
			if got := <-code; got != 130 {
				t.Errorf("exit code %d", got)
			}
			text = s.wait(func(text string) bool { return strings.Contains(text, " s\n") })
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

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.rows, "\n")
}

// TestShowsTheDialogue stalls the dialogue at each step: the terminal shows the end of the dialogue, and after Ctrl-C
// that it was interrupted.
func TestShowsTheDialogue(t *testing.T) {
	silent := testserver.Honest("contents")
	for _, tt := range []struct {
		step testserver.Step
		want string
	}{
		{testserver.On(""), `\* connected .*`},
		{silent.With("USER", testserver.End(testserver.Stalled)), ">> MDTM f"},
		{silent.With("PASS", testserver.End(testserver.Stalled)), "< 331 .*"},
		{silent.With("CWD", testserver.End(testserver.Stalled)), "< 257 .*"},
		{silent.With("RETR", testserver.End(testserver.Stalled)), "> RETR f"},
	} {
		for _, many := range []bool{false, true} {
			s := testserver.New(t, nil, tt.step)
			args, line := []string{"-d", t.TempDir(), s.URL("/d/f"), s.URL("/d/g")}, "127.0.0.1: "
			if many {
				args, line = append(args, "-j", "1"), "0 of 2 files, "
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			screen, code := terminal(t, ctx, 80, 24, args...)
			want := "(?m)^" + line + tt.want + "\n"
			text := screen.wait(regexp.MustCompile(want).MatchString)
			if !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("the terminal does not show %q, but\n%s", want, text)
			}
			cancel(&SignalError{os.Interrupt})
			if got := <-code; got != 130 {
				t.Errorf("exit code %d", got)
			}
			screen.wait(func(string) bool { return false }) // until the terminal is closed
			if text := screen.String(); strings.Contains(text, line) || !regexp.MustCompile(`^ftpfetch: .*interrupted(.*\n)+$`).MatchString(text) {
				t.Errorf("in the end the terminal shows\n%s", text)
			}
		}
	}
}

// TestLastLine checks for every way to end that the last thing on the terminal is a line that says what happened.
func TestLastLine(t *testing.T) {
	t.Setenv("FTPFETCH_WITHOUT", "portcheck")
	const one, all = `/f: 1000 B in .+\n$`, `1 of 1 complete in \S+: 1000 B in .+\n$`
	for _, tt := range []struct {
		name, path      string
		args            []string
		one, many, none string // the end of what is shown; none: with --progress none
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
					screen, code := terminal(t, t.Context(), 200, 24, args...)
					<-code
					screen.wait(func(string) bool { return false }) // until the terminal is closed
					if text := screen.String(); !regexp.MustCompile(want).MatchString(text) || text != "" && !strings.HasSuffix(text, "\n") {
						t.Errorf("%s, many %v: in the end the terminal shows %q, want %q", mode, many, text, want)
					}
				}
			}
		})
	}
}
