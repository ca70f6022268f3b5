//go:build unix

package cli_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/testserver"
)

// TestSignalsKeepPart sends a signal while data flows: what came stays, the
// command ends within a second, and the next run goes on.
func TestSignalsKeepPart(t *testing.T) {
	const came = 300_000
	contents := strings.Repeat("0123456789abcdef", 1<<16)
	for _, segments := range []string{"1", "2"} {
		for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
			s := testserver.New(t, &testserver.Options{
				Tree: map[string]string{"/f": contents + contents + contents},
				Fault: func(p testserver.FaultPoint) testserver.Fault {
					if p.Transfer == 1 {
						return testserver.Fault{Data: testserver.Stalled, Octets: came}
					}
					return testserver.Fault{}
				},
			})
			dir := t.TempDir()
			cmd, stderr := command(t, dir, "-s", segments, s.URL("/f"))
			waitForData(t, dir, came)
			sent := time.Now()
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			wantExit(t, cmd, want, stderr)
			if !keptLine.Match(stderr.Bytes()) {
				t.Errorf("%v: %q does not say what was kept", signal, stderr)
			}
			if took := time.Since(sent); took > time.Second {
				t.Errorf("%v: it took %v to end", signal, took)
			}
			if _, err := os.Stat(filepath.Join(dir, "f.part.json")); err != nil {
				t.Errorf("%v: %v", signal, err)
			}
			cmd, stderr = command(t, dir, s.URL("/f"))
			wantExit(t, cmd, 0, stderr)
			if !strings.Contains(stderr.String(), "going on from ") {
				t.Errorf("%v: second run says %q", signal, stderr)
			}
			got, err := os.ReadFile(filepath.Join(dir, "f"))
			if err != nil || string(got) != contents+contents+contents {
				t.Errorf("%v: %d octets, %v", signal, len(got), err)
			}
		}
	}
}

var keptLine = regexp.MustCompile(`(?m)/f: (interrupted|ended by signal: terminated); \d{6,7} octets kept, the same command resumes$`)

// waitForData waits until that many octets of the part are written.
func waitForData(t *testing.T, dir string, octets int64) {
	t.Helper()
	for t.Context().Err() == nil {
		data, err := os.ReadFile(filepath.Join(dir, "f.part"))
		if err == nil && int64(len(data)) >= octets && data[octets-1] != 0 {
			return
		}
		runtime.Gosched()
	}
}

// TestSignalWhileWaiting sends a signal while the command waits to try again.
func TestSignalWhileWaiting(t *testing.T) {
	reached := make(chan struct{}, 10)
	s := testserver.New(t, &testserver.Options{
		Tree: map[string]string{"/f": "data"},
		Fault: func(p testserver.FaultPoint) testserver.Fault {
			if p.Verb != "RETR" {
				return testserver.Fault{}
			}
			reached <- struct{}{}
			return testserver.Fault{Reply: "450 Busy"}
		},
	})
	cmd, stderr := command(t, t.TempDir(), "--retries", "20", s.URL("/f"))
	for range 3 {
		<-reached
	}
	sent := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	wantExit(t, cmd, 143, stderr)
	if took := time.Since(sent); took > time.Second {
		t.Errorf("it took %v to end", took)
	}
}

// command starts ftpfetch in dir.
func command(t *testing.T, dir string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	stderr := new(bytes.Buffer)
	cmd := exec.CommandContext(t.Context(), "ftpfetch", args...)
	cmd.Dir, cmd.Stderr = dir, stderr
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stderr
}

func wantExit(t *testing.T, cmd *exec.Cmd, want int, stderr *bytes.Buffer) {
	t.Helper()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != want {
		t.Errorf("%v, %q, want exit %d", err, stderr, want)
	}
}
