//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"example.com/ftpfetch/internal/rules/must"
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
			must.Do(t, cmd.Process.Signal(signal))
			wantExit(t, cmd, want, stderr)
			if !keptLine.MatchString(stderr.String()) {
				t.Errorf("%v: %q does not say what was kept", signal, stderr)
			}
			if _, err := os.Stat(filepath.Join(dir, "f.ftpfetch.json")); err != nil {
				t.Errorf("%v: %v", signal, err)
			}
			cmd, stderr = command(t, dir, s.URL("/f"))
			wantExit(t, cmd, 0, stderr)
			if !strings.Contains(stderr.String(), "resuming at ") {
				t.Errorf("%v: second run says %q", signal, stderr)
			}
			got, err := os.ReadFile(filepath.Join(dir, "f"))
			if err != nil || string(got) != contents+contents+contents {
				t.Errorf("%v: %d bytes, %v", signal, len(got), err)
			}
		}
	}
}

var keptLine = regexp.MustCompile(`(?m)/f: (interrupted|stopped by SIG[A-Z]+); [0-9.]+ [KM]iB kept: the same command resumes$`)

// waitForData waits until the part has that many bytes.
func waitForData(t *testing.T, dir string, octets int64) {
	t.Helper()
	last := make([]byte, 1)
	for t.Context().Err() == nil && last[0] == 0 {
		if part, err := os.Open(filepath.Join(dir, "f.ftpfetch.part")); err == nil {
			_, _ = part.ReadAt(last, octets-1)
			part.Close()
		}
		runtime.Gosched()
	}
}

// TestSecondSignal checks that a second signal ends a process that the first one has not ended.
func TestSecondSignal(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), ample)
	defer cancel()
	cmd := exec.CommandContext(ctx, "stubborn")
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for _, want := range []string{"ready", "stopped by SIGTERM"} {
		if !lines.Scan() || lines.Text() != want {
			t.Errorf("got %q, want %q", lines.Text(), want)
		}
		must.Do(t, cmd.Process.Signal(syscall.SIGTERM))
	}
	err := cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("the second signal: %v", err)
	}
}

// command starts ftpfetch in dir. A run that hangs is killed, which no test accepts as an exit code.
func command(t *testing.T, dir string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	stderr := new(bytes.Buffer)
	ctx, cancel := context.WithTimeout(t.Context(), ample)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "ftpfetch", args...)
	cmd.Dir, cmd.Stderr = dir, stderr
	must.Do(t, cmd.Start())
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
