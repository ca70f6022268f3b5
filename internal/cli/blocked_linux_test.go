package cli

import (
	"io"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/testserver"
)

// openStopped opens a terminal that was stopped with Ctrl-S.
func openStopped(t *testing.T) *show.Console {
	t.Helper()
	_, c := openTerminal(t)
	if err := unix.IoctlSetInt(int(c.Out.Fd()), unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestStoppedTerminal checks that a run ends even if the terminal that shows
// its bar, its dialogue or its data is stopped.
func TestStoppedTerminal(t *testing.T) {
	for _, args := range [][]string{{"--progress", "bar"}, {"-v"}, {"--progress", "plain"}, {"-o", "-"}} {
		s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}, Fault: func(p testserver.FaultPoint) testserver.Fault {
			if p.Transfer == 1 {
				return testserver.Fault{Data: testserver.Stalled, Octets: 3}
			}
			return testserver.Fault{}
		}})
		c := openStopped(t)
		stdio := IO{Out: c.Out, Err: c.Out}
		if args[0] != "-o" {
			stdio.Out = io.Discard
			args = append(args, "-o", filepath.Join(t.TempDir(), "f"))
		}
		if code := Run(t.Context(), append(args, "--max-time", "100ms", s.URL("/f")), stdio); code != 28 {
			t.Errorf("%q: exit %d, want 28", args, code)
		}
	}
}
