//go:build unix

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// appears waits until a command of a test has made a file.
func appears(t *testing.T, name string) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < ample; runtime.Gosched() {
		if _, err := os.Stat(name); err == nil {
			return
		}
	}
	t.Fatalf("no command has made %s", name)
}

// TestExecSignals sends a signal while a command runs. The command must get it, the run must wait for the command, and the
// next run must run it again, without fetching the file again.
func TestExecSignals(t *testing.T) {
	t.Parallel()
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents", "/g": "contents"}})
		dir := t.TempDir()
		const traps = `for s in INT TERM HUP; do trap "echo $s >heard; exit 5" $s; done; `
		args := []string{"-j", "1", "-d", "in", s.URL("/f"), s.URL("/g"), "--exec"}
		cmd, stderr := command(t, dir, append(args, traps+`echo >ready; while :; do sleep 0.02; done`)...)
		appears(t, filepath.Join(dir, "ready"))
		must.Do(t, cmd.Process.Signal(signal))
		wantExit(t, cmd, want, stderr)
		heard, err := os.ReadFile(filepath.Join(dir, "heard"))
		if name := strings.TrimSpace(string(heard)); err != nil || want != map[string]int{"INT": 130, "TERM": 143, "HUP": 129}[name] {
			t.Errorf("%v: the command heard %q, %v", signal, name, err)
		}
		s.ResetCommands()
		cmd, stderr = command(t, dir, append(args, `echo "$1" >>ran`)...)
		wantExit(t, cmd, 0, stderr)
		ran := string(must.Get(os.ReadFile(filepath.Join(dir, "ran")))(t))
		again := slices.Contains(s.Commands(), "RETR f") // of g, the server may have the first run's RETR only now
		if !strings.Contains(ran, "/in/f\n") || !strings.Contains(ran, "/in/g\n") || strings.Count(ran, "\n") != 2 || again {
			t.Errorf("%v: the next run ran commands for %q, and fetched f again: %v", signal, ran, again)
		}
	}
}

// TestExecKilled kills a run while a command runs. The command must be told to end, and the next run must run it again.
func TestExecKilled(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}})
	for _, once := range []bool{false, true} {
		dir := t.TempDir()
		args := []string{"-d", "in", s.URL("/f"), "--once=" + strconv.FormatBool(once), "--exec"}
		cmd, _ := command(t, dir, append(args, `trap 'echo >"$1.ended"; exit' TERM; echo >ready; while :; do sleep 0.02; done`)...)
		appears(t, filepath.Join(dir, "ready"))
		must.Do(t, cmd.Process.Kill())
		_ = cmd.Wait()
		appears(t, filepath.Join(dir, "in/f.ended"))
		s.ResetCommands()
		for i, want := range []int{1, 1} {
			cmd, stderr := command(t, dir, append(args, `echo "$1" >>ran`)...)
			wantExit(t, cmd, 0, stderr)
			ran := string(must.Get(os.ReadFile(filepath.Join(dir, "ran")))(t))
			if strings.Count(ran, "/in/f\n") != want || strings.Contains(strings.Join(s.Commands(), "\n"), "RETR") {
				t.Errorf("once %v, run %d: %q, %q", once, i, ran, s.Commands())
			}
		}
	}
}

// TestExecAlone starts a second run while a command runs. It must end at once, with code 75; a share of a list has a
// ledger of its own, and may run.
func TestExecAlone(t *testing.T) {
	t.Parallel()
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents", "/g": "contents"}})
	dir := t.TempDir()
	must.Do(t, errors.Join(os.WriteFile(filepath.Join(dir, "list"), []byte(s.URL("/g")+"\n"), 0o600)))
	cmd, stderr := command(t, dir, "-q", "-d", "in", s.URL("/g"), "--once")
	wantExit(t, cmd, 0, stderr)
	first, said := command(t, dir, "-q", "-d", "in", s.URL("/f"), "--exec", "echo >ready$2; until test -e go; do sleep 0.02; done")
	appears(t, filepath.Join(dir, "ready"))
	for args, want := range map[string]int{
		"-i list --exec true||$1": 75, "-i list --once": 75, "-i list --shard 1/1 --exec true||$1": 0, "-i list --dry-run": 0,
	} {
		cmd, stderr := command(t, dir, append([]string{"-d", "in"}, strings.Split(args, " ")...)...)
		wantExit(t, cmd, want, stderr)
		if want == 75 && !strings.Contains(stderr.String(), "another run works here: let it end, or choose another directory") {
			t.Errorf("%s: %s", args, stderr)
		}
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	wantExit(t, first, 0, said)
}

// TestExecUnread closes standard output while commands write to it. A file whose output is lost must come again.
func TestExecUnread(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}})
	dir := t.TempDir()
	r, w, err := os.Pipe()
	must.Do(t, errors.Join(err, r.Close()))
	stderr := new(bytes.Buffer)
	cmd := exec.CommandContext(t.Context(), "ftpfetch", "-q", s.URL("/f"), "--exec", `cat "$1"`)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, w, stderr
	must.Do(t, errors.Join(cmd.Start(), w.Close()))
	wantExit(t, cmd, 141, stderr)
	cmd, stderr = command(t, dir, "-q", s.URL("/f"), "--exec", `echo "$1" >>ran`)
	wantExit(t, cmd, 0, stderr)
	if ran, err := os.ReadFile(filepath.Join(dir, "ran")); err != nil {
		t.Error(fmt.Sprint(string(ran), err))
	}
}
