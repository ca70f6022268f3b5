package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/internal/rules/screen"
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
