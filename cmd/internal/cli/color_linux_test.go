package cli

import (
	"io"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/ftpfetch/testserver"
)

// TestColor checks which outputs are colored on a terminal, and that none is if NO_COLOR or the terminal's type asks
// for no color.
func TestColor(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/a\x1b[5m": "contents", "/d/b/c": ""}})
	show := func(args ...string) string {
		keyboard, c := openTerminal(t, 80, 24)
		modes, err := unix.IoctlGetTermios(int(c.In.Fd()), unix.TCGETS)
		if err == nil {
			modes.Oflag &^= unix.OPOST
			err = unix.IoctlSetTermios(int(c.In.Fd()), unix.TCSETS, modes)
		}
		if err != nil {
			t.Fatal(err)
		}
		text := make(chan string)
		go func() {
			all, _ := io.ReadAll(keyboard) // reads until the terminal is closed, which is an error
			text <- string(all)
		}()
		Run(t.Context(), args, IO{In: strings.NewReader(""), Out: c.In, Err: c.In})
		c.In.Close()
		return <-text
	}
	for _, tt := range []struct {
		args string
		want string // a part of the output
	}{
		{"-l U/d/", "Z  \x1b[1;34mb/\x1b[m\n"},
		{"U/d/", "a\\x1b[5m\n\x1b[1;34mb/\x1b[m\n"},
		{"--progress plain U/none", "\x1b[31mftpfetch:\x1b[m ftp://"},
		{"--progress plain --insecure --tls try --ip 4 U/none", "\x1b[33mftpfetch:\x1b[m warning: "},
		{"--nonsense U/none", "\x1b[31mftpfetch:\x1b[m unknown flag --nonsense"},
		{"-I U/d/b/c", "U/d/b/c\n"},
		{"--json U/d/", "\"type\":\"directory\""},
	} {
		fill := strings.NewReplacer("U", strings.TrimSuffix(s.URL("/"), "/"))
		args := strings.Fields(fill.Replace(tt.args))
		colored := strings.Contains(tt.want, "\x1b[")
		for _, env := range [][2]string{{"", "xterm"}, {"1", "xterm"}, {"", "dumb"}} {
			t.Setenv("NO_COLOR", env[0])
			t.Setenv("TERM", env[1])
			got := show(args...)
			if env == [2]string{"", "xterm"} {
				if !strings.Contains(got, fill.Replace(tt.want)) || !colored && strings.Contains(got, "\x1b") {
					t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
				}
			} else if strings.Contains(got, "\x1b") {
				t.Errorf("%s, with NO_COLOR=%s TERM=%s: %q", tt.args, env[0], env[1], got)
			}
		}
		t.Setenv("NO_COLOR", "")
		t.Setenv("TERM", "xterm")
		var out, err strings.Builder
		Run(t.Context(), args, IO{In: strings.NewReader(""), Out: &out, Err: &err})
		if strings.Contains(strings.ReplaceAll(out.String(), "a\x1b[5m", "")+err.String(), "\x1b") {
			t.Errorf("%s, without a terminal: %q, %q", tt.args, out.String(), err.String())
		}
	}
}
