package cli

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/internal/throwaway"
)

// TestNetrcPaths checks that the variable NETRC goes before the home directory.
func TestNetrcPaths(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for path, user := range map[string]string{".netrc": "home", "n": "variable"} {
		must.Do(t, os.WriteFile(filepath.Join(home, path), []byte("machine h login "+user), 0o600))
	}
	for variable, want := range map[string]string{"": "home", filepath.Join(home, "n"): "variable", filepath.Join(home, "none"): ""} {
		t.Setenv("NETRC", variable)
		l := newLogins(new(config.Config), nil, nil)
		l.load()
		if got, _ := l.file.User("h"); got != want || l.unusable != nil {
			t.Errorf("NETRC=%s: got %q, %v, want %q", variable, got, l.unusable, want)
		}
	}
}

func TestReadLine(t *testing.T) {
	for _, tt := range []struct {
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
	} {
		in := strings.NewReader(tt.in)
		got, err := readPiped(in)
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

// TestOrder checks the order of the sources: standard input, netrc, the person.
func TestOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "netrc")
	must.Do(t, os.WriteFile(path, []byte("machine h login me password fromfile account accfile"), 0o600))
	c := &config.Config{Netrc: path, StdinUser: "me"}
	loaded := func(in io.Reader) *logins {
		l := newLogins(c, in, nil)
		l.load()
		return l
	}
	answers := func(l *logins, want map[string]string) {
		t.Helper()
		l.typed[login{"password", "h", "you"}] = "typed"
		for user, want := range want {
			if got, err := l.supply(t.Context(), "h", user, "password"); got != want || (err == nil) != (want != "") {
				t.Errorf("%s: got %q, %v, want %q", user, got, err, want)
			}
		}
		if got, err := l.supply(t.Context(), "h", "me", "account"); got != "accfile" || err != nil {
			t.Errorf("got %q, %v, want that of the file", got, err)
		}
	}
	answers(loaded(nil), map[string]string{"me": "fromfile", "you": "typed", "she": ""})
	c.PasswordStdin = true
	piped := loaded(strings.NewReader("piped\nother\n"))
	for range 2 { // the line is read once
		answers(piped, map[string]string{"me": "piped", "you": "typed"})
	}
	c.StdinHost = "other"
	answers(loaded(strings.NewReader("piped\n")), map[string]string{"me": "fromfile"})
	c.StdinHost = "h"
	if _, err := newLogins(c, typed{strings.NewReader("piped\n")}, nil).supply(t.Context(), "h", "me", "password"); !errors.Is(err, ftpexec.ErrNoCredentials) {
		t.Errorf("a terminal: got %v, want ErrNoCredentials", err)
	}
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newLogins(c, r, nil).supply(ctx, "h", "me", "password"); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: got %v, want %v", err, context.Canceled)
	}
}

// TestClientCertificate checks that --cert takes a file with a certificate and its key.
func TestClientCertificate(t *testing.T) {
	id := must.Get(throwaway.New("h"))(t)
	both := must.Get(id.ServerPEM())(t)
	block, _ := pem.Decode(both)
	one := pem.EncodeToMemory(block)
	for _, text := range [][]byte{both, one, both[len(one):]} {
		path := filepath.Join(t.TempDir(), "pem")
		must.Do(t, os.WriteFile(path, text, 0o600))
		o, err := config.Parse([]string{"--cert", path, "ftp://h/f"})
		var cfg *tls.Config
		if err == nil {
			cfg, err = readTLS(o)
		}
		if ok := len(text) == len(both); (err == nil) != ok || ok && len(cfg.Certificates) != 1 {
			t.Errorf("%s: got %v, want accepted %v", text, err, ok)
		}
	}
}

type asTerminal struct{ io.Reader }

func (asTerminal) IsTerminal() bool { return true }

// TestPipedPassword reads the password from a terminal, which is no pipe.
func TestPipedPassword(t *testing.T) {
	_, err := readPiped(asTerminal{})
	if text, code := Explain(err); code != 67 || !strings.HasSuffix(text, " (leave out --password-stdin to be asked)") {
		t.Errorf("got %s, exit %d", text, code)
	}
}
