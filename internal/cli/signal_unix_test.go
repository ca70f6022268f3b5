//go:build unix

package cli_test

import (
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
