//go:build unix

package cli_test

import (
	"bufio"
	"context"
	"os/exec"
	"syscall"
	"testing"
)

// TestSecondSignal checks that a second signal ends a process that the first one has not ended.
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
