package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDemo(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), &stdout, &stderr, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := stdout.String(), strings.Repeat("Not a byte is lost.\n", 3); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := strings.Count(stderr.String(), "try 1 of 8: "); got != 2 {
		t.Errorf("%d retries:\n%s", got, stderr.String())
	}
}

// TestInVain: what cannot pass is tried once.
func TestInVain(t *testing.T) {
	s := testserver.New(t, nil)
	err := run(t.Context(), io.Discard, io.Discard, []string{s.URL("/gone")})
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "a retry would not help: ") {
		t.Errorf("got %v", err)
	}
	if got := s.Connections(); got != 1 {
		t.Errorf("%d connections", got)
	}
}

func TestUsage(t *testing.T) {
	err := run(t.Context(), io.Discard, io.Discard, []string{"ftp://host/a", "ftp://host/b"})
	if err == nil || err.Error() != "write: retries URL" {
		t.Errorf("got %v", err)
	}
}
