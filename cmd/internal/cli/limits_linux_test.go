package cli_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// TestFewFiles runs commands that may open only a few files, including the three standard streams. Each must do its
// work or report what it lacks; the Go runtime must end none.
func TestFewFiles(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": strings.Repeat("contents", 1<<19), "/d/e/g": "g", "/d/h": "h"}})
	for _, args := range []string{"/f", "-s 4 /f", "-r /d/", "-r -d out -j 8 /d/", "/d/", "--dry-run /f", "-I /f", "-o - /d/h"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			for n := 4; n <= 24; n += night.Or(4, 1) {
				at := strings.Index(args, "/")
				line := fmt.Sprintf("exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n %d; exec ftpfetch -q --retries 0 %s%s", n, args[:at], s.URL(args[at:]))
				cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
				cmd.Dir = t.TempDir()
				var said strings.Builder
				cmd.Stderr = &said
				_ = cmd.Run() // the exit code is checked instead
				code := cmd.ProcessState.ExitCode()
				warned := strings.HasPrefix(said.String(), "ftpfetch: warning: .ftpfetch-ledger: ") && strings.Count(said.String(), "\n") == 1
				fine := said.Len() == 0 || warned // a run goes on without a ledger
				if code != 0 && code != 23 || code == 0 && !fine || code != 0 && said.Len() == 0 || n <= 6 && code != 23 || n == 24 && code != 0 {
					t.Errorf("%s: exit %d, %s", line, code, said.String())
				}
				for line := range strings.Lines(said.String()) {
					if !strings.HasPrefix(line, "ftpfetch: ") && !strings.Contains(line, " complete") {
						t.Errorf("%s, %d files: exit %d, says %q", args, n, code, line)
					}
				}
			}
		})
	}
}
