package cli

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/ftpfetch/testserver"
)

// TestShowsWhatItWaitsFor stalls the dialogue at each step: the terminal says what the command waits for, and after Ctrl-C
// that it was interrupted.
func TestShowsWhatItWaitsFor(t *testing.T) {
	silent := testserver.Honest("contents")
	for _, tt := range []struct {
		step testserver.Step
		want string
	}{
		{testserver.On(""), "waiting for the greeting"},
		{silent.With("USER", testserver.End(testserver.Stalled)), "logging in"},
		{silent.With("PASS", testserver.End(testserver.Stalled)), "logging in"},
		{silent.With("CWD", testserver.End(testserver.Stalled)), "waiting for the reply to CWD d"},
		{silent.With("RETR", testserver.End(testserver.Stalled)), "waiting for the reply to RETR f"},
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
	const one, all = `/f: 1000 bytes in \S+ s\n$`, `1 of 1 complete; received 1000 bytes in \S+ s\n$`
	for _, tt := range []struct {
		name, path      string
		args            []string
		one, many, none string // the end of what is shown; none: with --progress none
	}{
		{"success", "/f", nil, one, all, `^$`},
		{"empty", "/empty", nil, `/empty: 0 bytes in \S+ s\n$`, `1 of 1 complete; received 0 bytes in \S+ s\n$`, `^$`},
		{"missing", "/none", nil, `^ftpfetch: \S+/none: [^$]*\n$`, `0 of 1 complete, 1 failed; .*\n$`, `ftpfetch: \S+/none: [^\n]*\n`},
		{"no server", "", nil, `^ftpfetch: \S+/f: .*\n$`, `0 of 1 complete, 1 failed; .*\n$`, `ftpfetch: \S+/f: [^\n]*\n`},
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
			if err := os.WriteFile(list, []byte(url+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			for _, mode := range []string{"bar", "plain", "none"} {
				for _, many := range []bool{false, true} {
					args, want := append([]string{"--retries", "0", "--allow-port", "--progress", mode, "-d", t.TempDir()}, tt.args...), tt.one
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
