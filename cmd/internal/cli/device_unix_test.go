//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/cmd/internal/cli"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestFIFOEnds ends the context while a FIFO has no reader, and while its reader does not read.
func TestFIFOEnds(t *testing.T) {
	srv := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": strings.Repeat("large", 1<<20)}})
	for _, reading := range []bool{false, true} {
		fifo := filepath.Join(t.TempDir(), "fifo")
		must.Do(t, syscall.Mkfifo(fifo, 0o600))
		if reading {
			f := must.Get(os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0))(t)
			defer f.Close()
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("enough"))
		defer cancel()
		var said bytes.Buffer
		if code := ends(t, ctx, []string{"-o", fifo, srv.URL("/f")}, cli.IO{Out: io.Discard, Err: &said}); code == 0 || !strings.Contains(said.String(), "enough") {
			t.Errorf("a reader %v: exit code %d, %q", reading, code, &said)
		}
	}
}

// TestStandardOutput checks that writing to /dev/stdout starts at its current offset and never replaces the file.
func TestStandardOutput(t *testing.T) {
	srv := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}})
	path := filepath.Join(t.TempDir(), "out")
	f := must.Get(os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600))(t)
	defer f.Close()
	must.Get(f.WriteString("before "))(t)
	stdout := os.Stdout
	os.Stdout = f
	code := ends(t, t.Context(), []string{"--overwrite", "-o", "/dev/stdout", srv.URL("/f")}, cli.IO{Out: io.Discard, Err: io.Discard})
	os.Stdout = stdout
	if got := string(must.Get(os.ReadFile(path))(t)); code != 0 || got != "before contents" {
		t.Errorf("exit code %d, %q", code, got)
	}
}
