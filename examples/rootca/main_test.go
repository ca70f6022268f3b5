package main

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDemo(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "without the authority: the certificate is not trusted\nhello\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOtherAuthority: a certificate of any other authority is refused, and nothing is printed.
func TestOtherAuthority(t *testing.T) {
	t.Chdir(t.TempDir())
	o := testserver.Options{TLS: testserver.TLSImplicit, Tree: map[string]string{"/motd": "hello\n"}}
	s, other := testserver.New(t, &o), testserver.New(t, &o)
	if err := os.WriteFile("other.pem", other.RootPEM(), 0o666); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), &out, []string{"other.pem", s.URL("/motd")}); !errors.Is(err, ftpexec.ErrCertificate) || out.Len() > 0 {
		t.Errorf("got %v and %q", err, out.String())
	}
}

func TestUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("empty.pem", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"ftpes://host/x"}, "write: rootca"},
		{[]string{"empty.pem", "ftpes://host/x"}, "no certificate"},
	} {
		if err := run(t.Context(), &bytes.Buffer{}, tt.args); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %s", tt.args, err, tt.want)
		}
	}
}
