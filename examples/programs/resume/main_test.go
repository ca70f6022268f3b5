package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var contents = strings.Repeat("0123456789abcdef", 1<<16)

// start starts a server. If reply is not "", the first transfer ends after 400000 bytes with reply.
func start(t *testing.T, reply string) *testserver.Server {
	return testserver.New(t, &testserver.Options{Tree: map[string]string{"/pub/f.iso": contents}, Fault: func(c *testserver.Conn) testserver.Action {
		if c.Transfer == 1 && reply != "" {
			return testserver.Sequence(testserver.EndDataAfter(400000, testserver.Closed), testserver.ReplaceReply(testserver.Reply(reply)))
		}
		return nil
	}})
}

// TestRetry checks that save retries after a failure that may pass, from where the transfer stopped.
func TestRetry(t *testing.T) {
	s := start(t, "426 Connection lost")
	path := filepath.Join(t.TempDir(), "f")
	var shown bytes.Buffer
	if err := save(t.Context(), s.URL("/pub/f.iso"), path, &shown); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); string(got) != contents {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, want := range []string{"426 Connection lost", "try 1 of 5 again in", "100% of 1048576 bytes", "1048576 bytes, 0 of them"} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("no %q in %q", want, &shown)
		}
	}
	if sent := strings.Join(s.Commands(), "\n"); !strings.Contains(sent, "\nREST ") {
		t.Errorf("no REST in %s", sent)
	}
}

// interrupter is an output that cancels a context once it shows a retry.
type interrupter struct {
	bytes.Buffer
	stop context.CancelFunc
}

func (w *interrupter) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "try 1 of 5") {
		w.stop()
	}
	return w.Buffer.Write(b)
}

// TestNextCall checks that the next call after Ctrl-C resumes, and that the call after that finds the file complete.
func TestNextCall(t *testing.T) {
	t.Chdir(t.TempDir())
	s := start(t, "426 Connection lost")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err := save(ctx, s.URL("/pub/f.iso"), "", &interrupter{stop: stop})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "bytes are kept: call again to go on)") {
		t.Fatal(err)
	}
	for _, want := range []string{"of them from earlier calls", "already there"} {
		var shown bytes.Buffer
		err := save(t.Context(), s.URL("/pub/f.iso"), "", &shown)
		if err != nil || !strings.Contains(shown.String(), want) || strings.Contains(shown.String(), ", 0 of them") {
			t.Errorf("%v, no %q in %q", err, want, &shown)
		}
	}
	if got, err := os.ReadFile("f.iso"); string(got) != contents {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestInterrupt checks that Ctrl-C ends a transfer that hangs.
func TestInterrupt(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest(contents).With("RETR", testserver.Reply("150 Here"), testserver.Data(contents[:1000], testserver.Stalled)))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		s.WaitCommand(ctx, "RETR")
		cancel()
	}()
	if err := save(ctx, s.URL("/f"), filepath.Join(t.TempDir(), "f"), new(bytes.Buffer)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestNames checks that a name from a server does not lead out of the directory.
func TestNames(t *testing.T) {
	t.Chdir(t.TempDir())
	s := start(t, "")
	for url, want := range map[string]string{
		s.URL("/..%2Fx"): "leads out of", s.URL("/%2Ftmp%2Fx"): "leads out of", s.URL("/pub/"): "no file name", s.URL("/pub/none"): "not found", "http://h/x": "http is not supported",
	} {
		err := save(t.Context(), url, "", new(bytes.Buffer))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}
