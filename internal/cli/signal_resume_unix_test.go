//go:build unix

package cli_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"example.com/ftpfetch/testserver"
)

// TestSignalsKeepPart sends a signal while data flows. The command ends, keeps what has arrived, and the next run resumes.
func TestSignalsKeepPart(t *testing.T) {
	const came = 300_000
	contents := strings.Repeat("0123456789abcdef", 1<<16)
	for _, segments := range []string{"1", "2"} {
		for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
			s := testserver.New(t, &testserver.Options{
				Tree: map[string]string{"/f": contents + contents + contents},
				Fault: func(p *testserver.Conn) testserver.Action {
					if p.Transfer == 1 {
						return testserver.Cut(came, testserver.Stalled)
					}
					return nil
				},
			})
			dir := t.TempDir()
			cmd, stderr := command(t, dir, "-s", segments, s.URL("/f"))
			waitForData(t, dir, came)
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			wantExit(t, cmd, want, stderr)
			if !keptLine.MatchString(stderr.String()) {
				t.Errorf("%v: %q does not say what was kept", signal, stderr)
			}
			if _, err := os.Stat(filepath.Join(dir, "f.part.json")); err != nil {
				t.Errorf("%v: %v", signal, err)
			}
			cmd, stderr = command(t, dir, s.URL("/f"))
			wantExit(t, cmd, 0, stderr)
			if !strings.Contains(stderr.String(), "resuming from ") {
				t.Errorf("%v: second run says %q", signal, stderr)
			}
			got, err := os.ReadFile(filepath.Join(dir, "f"))
			if err != nil || string(got) != contents+contents+contents {
				t.Errorf("%v: %d bytes, %v", signal, len(got), err)
			}
		}
	}
}

var keptLine = regexp.MustCompile(`(?m)/f: (interrupted|ended by signal: [a-z]+); \d{6,7} bytes kept, run the same command to resume$`)

// waitForData waits until the part has that many bytes.
func waitForData(t *testing.T, dir string, octets int64) {
	t.Helper()
	last := make([]byte, 1)
	for t.Context().Err() == nil && last[0] == 0 {
		if part, err := os.Open(filepath.Join(dir, "f.part")); err == nil {
			_, _ = part.ReadAt(last, octets-1)
			part.Close()
		}
		runtime.Gosched()
	}
}

// TestSignalWhileWaiting sends a signal while the command waits to retry: it must not retry.
func TestSignalWhileWaiting(t *testing.T) {
	s := testserver.New(t, &testserver.Options{
		Tree: map[string]string{"/f": "data"},
		Fault: func(p *testserver.Conn) testserver.Action {
			if p.Verb == "RETR" {
				return testserver.Reply("450 Busy")
			}
			return nil
		},
	})
	cmd, stderr := command(t, t.TempDir(), "--retries", "20", s.URL("/f"))
	stderr.await("(2 of 20)\n")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	wantExit(t, cmd, 143, stderr)
	if tries := strings.Count(strings.Join(s.Commands(), "\n"), "RETR"); tries != 2 {
		t.Errorf("RETR was sent %d times, want 2: %s", tries, stderr)
	}
}

// command starts ftpfetch in dir. A run that hangs is killed, which no test accepts as an exit code.
func command(t *testing.T, dir string, args ...string) (*exec.Cmd, *transcript) {
	t.Helper()
	stderr := newTranscript()
	ctx, cancel := context.WithTimeout(t.Context(), ample)
	t.Cleanup(cancel)
	context.AfterFunc(ctx, stderr.end)
	cmd := exec.CommandContext(ctx, "ftpfetch", args...)
	cmd.Dir, cmd.Stderr = dir, stderr
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stderr
}

// transcript is what a running command has written.
type transcript struct {
	mu      sync.Mutex
	changed *sync.Cond
	text    strings.Builder
	over    bool
}

func newTranscript() *transcript {
	w := new(transcript)
	w.changed = sync.NewCond(&w.mu)
	return w
}

func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.changed.Broadcast()
	return w.text.Write(p)
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// await returns once text has been written or end has been called.
func (w *transcript) await(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.over && !strings.Contains(w.text.String(), text) {
		w.changed.Wait()
	}
}

// end ends every await.
func (w *transcript) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.changed.Broadcast()
}

func wantExit(t *testing.T, cmd *exec.Cmd, want int, stderr *transcript) {
	t.Helper()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != want {
		t.Errorf("%v, %q, want exit %d", err, stderr, want)
	}
}
