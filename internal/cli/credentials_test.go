package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/netrc"
)

func TestNetrcPaths(t *testing.T) {
	tests := []struct {
		goos string
		env  map[string]string
		want []string
	}{
		{"linux", map[string]string{"HOME": "/h"}, []string{filepath.Join("/h", ".netrc")}},
		{"linux", map[string]string{"HOME": "/h", "NETRC": "/n"}, []string{"/n"}},
		{"linux", nil, nil},
		{"windows", map[string]string{"USERPROFILE": "/u", "HOME": "/h"}, []string{filepath.Join("/u", ".netrc"), filepath.Join("/u", "_netrc")}},
		{"windows", nil, nil},
	}
	for _, tt := range tests {
		got := netrcPaths(func(name string) string { return tt.env[name] }, tt.goos)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s %v: got %q, want %q", tt.goos, tt.env, got, tt.want)
		}
	}
}

func TestReadLine(t *testing.T) {
	tests := []struct {
		in, want, rest string
		ok             bool
	}{
		{"secret\nmore", "secret", "more", true},
		{"secret\r\nmore", "secret", "more", true},
		{"secret", "secret", "", true},
		{" a b \n", " a b ", "", true},
		{"\nmore", "", "more", true},
		{"", "", "", false},
		{strings.Repeat("x", 4096+2), "", "x", false},
	}
	for _, tt := range tests {
		in := strings.NewReader(tt.in)
		got, err := (&stdinPassword{in: in}).readLine()
		rest, _ := io.ReadAll(in)
		if got != tt.want || (err == nil) != tt.ok || string(rest) != tt.rest {
			t.Errorf("%.20q: got %q, %v, rest %q, want %q, rest %q", tt.in, got, err, rest, tt.want, tt.rest)
		}
		if err != nil && !errors.Is(err, ftpexec.ErrNoCredentials) {
			t.Errorf("%.20q: got %v, want ErrNoCredentials", tt.in, err)
		}
	}
}

// typed is standard input on a terminal.
type typed struct{ io.Reader }

func (typed) IsTerminal() bool { return true }

func TestStdinPassword(t *testing.T) {
	s := newStdinPassword(login{user: "me", host: "h"}, strings.NewReader("secret\nother\n"))
	for range 2 {
		if got, err := s.get(t.Context()); got != "secret" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if !s.isFor("h", "me") || s.isFor("h", "you") || s.isFor("other", "me") || (*stdinPassword)(nil).isFor("h", "me") {
		t.Error("the password must be for me at h only")
	}
	s = newStdinPassword(login{}, typed{strings.NewReader("secret\n")})
	if _, err := s.get(t.Context()); !errors.Is(err, ftpexec.ErrNoCredentials) {
		t.Errorf("a terminal: got %v, want ErrNoCredentials", err)
	}
}

// TestStdinPasswordInterrupted checks that a cancelled context ends the wait for
// a line.
func TestStdinPasswordInterrupted(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newStdinPassword(login{}, r).get(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestOrder checks the order of the sources: standard input, netrc, the person.
func TestOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "netrc")
	if err := os.WriteFile(path, []byte("machine h login me password fromfile account accfile"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := &prompter{forbidden: true, known: map[login]string{{"Password", "h", "you"}: "typed"}}
	c := &credentials{ask: ask, netrc: newNetrcFile(path)}
	for _, tt := range []struct{ user, want string }{{"me", "fromfile"}, {"you", "typed"}, {"she", ""}} {
		if got, err := c.Password(t.Context(), "h", tt.user); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: got %q, %v, want %q", tt.user, got, err, tt.want)
		}
	}
	c.stdin = newStdinPassword(login{user: "me"}, strings.NewReader("piped\n"))
	if got, err := c.Password(t.Context(), "h", "me"); got != "piped" || err != nil {
		t.Errorf("got %q, %v, want the line of standard input", got, err)
	}
	if got, err := c.Account(t.Context(), "h", "me"); got != "accfile" || err != nil {
		t.Errorf("got %q, %v, want that of the file", got, err)
	}
}

func TestNetrcExit(t *testing.T) {
	err := &ftpexec.Error{Op: "login", Err: netrc.Unusable("p", "r")}
	if got := exitCode(err); got != 26 {
		t.Errorf("got %d, want 26", got)
	}
}
