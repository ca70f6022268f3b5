//go:build unix

package cli_test

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/ftpfetch/testserver"
)

// TestSignals sends a signal to the command in the middle of a transfer.
func TestSignals(t *testing.T) {
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		reached := make(chan struct{}, 1)
		s := testserver.New(t, &testserver.Options{
			Tree: map[string]string{"/f": "data"},
			Fault: func(p testserver.FaultPoint) testserver.Fault {
				if p.Verb != "RETR" {
					return testserver.Fault{}
				}
				reached <- struct{}{}
				return testserver.Fault{Before: testserver.Stalled}
			},
		})
		dir := t.TempDir()
		cmd, stderr := command(t, dir, s.URL("/f"))
		<-reached
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		wantExit(t, cmd, want, stderr)
		if strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%v: %q, want one line", signal, stderr)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("%v: left behind: %v", signal, left)
		}
	}
}

// TestSecondSignal checks that a second signal ends a process that the first one
// has not ended.
func TestSecondSignal(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), ample)
	defer cancel()
	cmd := exec.CommandContext(ctx, "stubborn")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, want := range []string{"ready", "ended by signal: terminated"} {
		if !lines.Scan() || lines.Text() != want {
			t.Errorf("got %q, want %q", lines.Text(), want)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	err = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("the second signal: %v", err)
	}
}
