package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/throwaway"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// TestNetrcPaths checks that the variable NETRC takes precedence over the home directory.
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

// typed is a standard input that is a terminal.
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
			cfg, _, err = readTLS(o)
		}
		if ok := len(text) == len(both); (err == nil) != ok || ok && len(cfg.Certificates) != 1 {
			t.Errorf("%s: got %v, want accepted %v", text, err, ok)
		}
	}
}

// TestClientKey checks that --key takes the key of --cert from a file of its own, and that each message names the file
// that is wrong.
func TestClientKey(t *testing.T) {
	dir := t.TempDir()
	files := make(map[string]string)
	put := func(name string, text []byte) {
		files[name] = filepath.Join(dir, name)
		must.Do(t, os.WriteFile(files[name], text, 0o600))
	}
	for _, name := range []string{"own", "other"} {
		both := must.Get(must.Get(throwaway.New("h"))(t).ServerPEM())(t)
		put(name+".both", both)
		parts := make(map[bool][]byte) // true: the certificates
		for block, rest := pem.Decode(both); block != nil; block, rest = pem.Decode(rest) {
			isCert := block.Type == "CERTIFICATE"
			parts[isCert] = append(parts[isCert], pem.EncodeToMemory(block)...)
		}
		put(name+".cert", parts[true])
		put(name+".key", parts[false])
	}
	put("locked", pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("secret")}))
	put("old", pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: []byte("x"), Headers: map[string]string{"Proc-Type": "4,ENCRYPTED"}}))
	put("damaged", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}))
	put("empty", nil)
	files["none"] = filepath.Join(dir, "none")
	for _, tt := range []struct{ cert, key, want string }{
		{"own.both", "", ""}, {"own.cert", "own.key", ""}, {"own.both", "own.key", ""}, {"own.cert", "own.both", ""},
		{"own.cert", "", "--cert FILE: it holds no private key: add --key FILE"},
		{"own.key", "", "--cert FILE: it holds no certificate in PEM form"},
		{"empty", "own.key", "--cert FILE: it holds no certificate in PEM form"},
		{"none", "own.key", "--cert FILE: no such file or directory"},
		{"own.cert", "none", "--key FILE: no such file or directory"},
		{"own.cert", "own.cert", "--key FILE: it holds no private key in PEM form"},
		{"own.cert", "empty", "--key FILE: it holds no private key in PEM form"},
		{"own.cert", "other.key", "--key FILE: its private key is not that of the certificate in --cert"},
		{"own.cert", "locked", "--key FILE: the private key needs a passphrase: use one without, as from openssl pkey -in FILE -out PLAIN"},
		{"own.cert", "old", "--key FILE: the private key needs a passphrase: use one without, as from openssl pkey -in FILE -out PLAIN"},
		{"own.cert", "damaged", "--key FILE: failed to parse private key"},
	} {
		args := []string{"--cert", files[tt.cert], "ftp://h/f"}
		if tt.key != "" {
			args = append(args, "--key", files[tt.key])
		}
		cfg, _, err := readTLS(must.Get(config.Parse(args))(t))
		got := ""
		if err != nil {
			got = regexp.MustCompile(regexp.QuoteMeta(dir)+`/[a-z.]+`).ReplaceAllString(err.Error(), "FILE")
		}
		if got != tt.want || err == nil && len(cfg.Certificates) != 1 {
			t.Errorf("--cert %s --key %s: %q, want %q", tt.cert, tt.key, got, tt.want)
		}
	}
}

// TestLimiterBeginsEmpty takes all available tokens in every millisecond of the first second. It must never get more
// than the rate times the time.
func TestLimiterBeginsEmpty(t *testing.T) {
	for _, limit := range []int64{4 << 10, 500 << 10, 1 << 20, 1 << 30} {
		begin := time.Unix(1e9, 0)
		l := newLimiter(limit, begin)
		taken := 0
		for ms := range 1001 {
			now := begin.Add(time.Duration(ms) * time.Millisecond)
			if n := int(l.TokensAt(now)); n > 0 && l.AllowN(now, n) {
				taken += n
			}
			if most := float64(limit)*float64(ms)/1000 + 1; float64(taken) > most {
				t.Fatalf("%d: %d bytes after %d ms, at most %.0f", limit, taken, ms, most)
			}
		}
		if taken < int(limit)*9/10 {
			t.Errorf("%d: only %d bytes in a second", limit, taken)
		}
	}
}

// TestCharsets checks that each charset decodes every octet to a character, and encodes the character as the same
// octet.
func TestCharsets(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for name, chars := range charsets {
		c := &charset{nil, name, chars}
		text := c.text(string(all))
		if octets, ok := c.octets(text); octets != string(all) || !ok || strings.Contains(text, "\ufffd") {
			t.Errorf("%s: %q becomes %q", name, all, octets)
		}
		if _, err := config.Parse([]string{"--charset", name, "ftp://h/f"}); err != nil {
			t.Error(err)
		}
	}
}

// TestRow checks entries in JSON: they omit what is not known, and show no password.
func TestRow(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e8, time.UTC)
	u := must.Get(urlparse.Parse("ftp://u:hunter2@h/d/f"))(t)
	for want, e := range map[string]ftpexec.Entry{
		`"f","url":"ftp://u@h/d/f","type":"file","size":0,"time":"2026-01-02T03:04:05.6Z","precision":"fraction","mode":"0640"`: {Name: "f", Mode: 0o640, HasPerm: true, ModTime: at, Precision: time.Nanosecond},
		`"d","url":"ftp://u@h/d/f","type":"directory","time":"2026-01-02T03:04:00","precision":"minute","local":true`:           {Name: "d", Size: -1, Mode: fs.ModeDir, ModTime: at.Truncate(time.Minute), Precision: time.Minute, Local: true},
		`"l","url":"ftp://u@h/d/f","type":"link","target":"a<b"`:                                                                {Name: "l", Size: -1, Mode: fs.ModeSymlink, Target: "a<b"},
		`"?","url":"ftp://u@h/d/f","type":"unknown"`:                                                                            {Name: "?", Size: -1, Mode: fs.ModeIrregular},
		`"s","url":"ftp://u@h/d/f","type":"special","time":"2026-01-02T03:04:05.6Z","precision":"day"`:                          {Name: "s", Size: -1, Mode: fs.ModeSocket, ModTime: at, Precision: 24 * time.Hour},
	} {
		e.URL = u
		if got := string(printable.JSON(rowOf(e))); got != `{"name":`+want+"}\n" {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestListShorter shortens a list after it was checked. The files of the removed lines are missing, so the run fails.
func TestListShorter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	for text, want := range map[string]int{"ftp://h/a\nftp://h/b\n": exitOK, "ftp://h/a\n": 23, "": 3} {
		must.Do(t, os.WriteFile(path, []byte("ftp://h/a\nftp://h/b\n"), 0o666))
		r := newRun(must.Get(config.Parse([]string{"-i", path}))(t), IO{Out: io.Discard, Err: io.Discard})
		r.checkInput(t.Context())
		must.Do(t, os.WriteFile(path, []byte(text), 0o666))
		for range r.tasks(t.Context()) {
		}
		if code := int(r.code.Load()); code != want {
			t.Errorf("list %q: code %d, want %d", text, code, want)
		}
	}
}

// TestListTooLong reads from a pipe a list that is one byte too long, and one that just fits.
func TestListTooLong(t *testing.T) {
	defer func(most int) { mostPiped = most }(mostPiped)
	const text = "# a list of nothing\n"
	for most, want := range map[int]string{len(text): "ftpfetch: warning: standard input names no file\n", len(text) - 1: "ftpfetch: standard input: cannot be read: it is longer than 1 GiB: save it as a file\n"} {
		mostPiped = most
		var said strings.Builder
		if code := Run(t.Context(), []string{"-q", "-i", "-"}, IO{In: strings.NewReader(text), Out: io.Discard, Err: &said}); said.String() != want || (code == 23) != (most < len(text)) {
			t.Errorf("with a limit of %d bytes: exit %d, %q", most, code, said.String())
		}
	}
}

// TestUnusableNetrc has a server refuse an anonymous login when the netrc file cannot be read. The hint must not look
// into the file.
func TestUnusableNetrc(t *testing.T) {
	s := testserver.New(t, &strict)
	path := filepath.Join(t.TempDir(), "netrc")
	must.Do(t, os.WriteFile(path, []byte("no keyword"), 0o600))
	t.Setenv("NETRC", path)
	var said bytes.Buffer
	code := Run(t.Context(), []string{"-d", t.TempDir(), s.URL("/f")}, IO{Out: io.Discard, Err: &said})
	if code != 67 || !strings.Contains(said.String(), "-u NAME logs in") {
		t.Errorf("exit %d, %s", code, said.String())
	}
}

// TestNoNetrc checks that -n says so where there is no netrc file: elsewhere it is a dry run.
func TestNoNetrc(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("NETRC", "")
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}})
	says := func(args ...string) string {
		var stderr bytes.Buffer
		Run(t.Context(), append(args, "--overwrite", "-d", home, s.URL("/f")), IO{In: strings.NewReader(""), Out: io.Discard, Err: &stderr})
		return stderr.String()
	}
	const note = "-n: there is no netrc file (--dry-run shows what would be done)"
	without := says()
	first := says("-n")
	must.Do(t, os.WriteFile(filepath.Join(home, ".netrc"), nil, 0o600))
	then := says("-n")
	if !strings.Contains(first, note) || strings.Contains(without+then, note) {
		t.Errorf("got %q, and with the file %q, without -n %q", first, then, without)
	}
}
