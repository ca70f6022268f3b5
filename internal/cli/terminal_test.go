package cli_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"example.com/ftpfetch/internal/cli"
	"example.com/ftpfetch/testserver"
)

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

// TestServerTextOnTerminal runs a server that sends poison in every reply and name. None of it may reach the terminal raw,
// as dialogue, error, listing, event or progress.
func TestServerTextOnTerminal(t *testing.T) {
	poisoned := func(code string) testserver.Action {
		return testserver.Reply(code + "-" + poison + "\r\n" + code + " " + poison)
	}
	honest := testserver.Honest("contents").
		With("NLST", testserver.Transfer(poison+"\r\nb\r\n")).
		With("USER", poisoned("331")).With("PASS", poisoned("230")).With("SIZE", poisoned("550")).
		With("QUIT", poisoned("221"), testserver.End(testserver.Closed))
	tests := []struct {
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
	}
	for _, tt := range tests {
		for _, flags := range [][]string{{"-v"}, {"-v", "--json"}, {"-v", "--progress", "json"}, {"-v", "--progress", "plain"}} {
			s := testserver.New(t, nil, tt.server)
			var out, err screen
			args := slices.Concat(flags, []string{"--retries", "0", "-d", t.TempDir(), s.URL(tt.path)})
			cli.Run(t.Context(), args, cli.IO{In: strings.NewReader(""), Out: &out, Err: &err})
			wantHarmless(t, tt.name+": standard error", err.String())
			if out.String() != "" {
				wantHarmless(t, tt.name+": standard output", out.String())
			}
		}
	}
}
