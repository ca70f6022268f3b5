package cli_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

// packets returns a pipe that holds one message, so that a process waits with each until the one before is read.
func packets(t *testing.T) (r, w *os.File) {
	t.Helper()
	fds := make([]int, 2)
	must.Do(t, unix.Pipe2(fds, unix.O_CLOEXEC|unix.O_DIRECT))
	must.Get(unix.FcntlInt(uintptr(fds[1]), unix.F_SETPIPE_SZ, os.Getpagesize()))(t)
	return os.NewFile(uintptr(fds[0]), "messages"), os.NewFile(uintptr(fds[1]), "messages")
}

// TestKilledAtEachMessage kills runs whose messages are read up to one of them. The same command then completes the files.
func TestKilledAtEachMessage(t *testing.T) {
	contents := strings.Repeat("0123456789abcdef", 1<<14)
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": contents, "/d/g": contents, "/d/h": contents}})
	for _, args := range [][]string{{s.URL("/f")}, {"-s", "2", s.URL("/f")}, {"-r", s.URL("/d/")}} {
		ended := false
		for n := 0; !ended; n++ {
			r, w := packets(t)
			cmd := exec.CommandContext(t.Context(), "ftpfetch", append([]string{"--progress", "json"}, args...)...)
			cmd.Dir, cmd.Stderr = t.TempDir(), w
			must.Do(t, cmd.Start())
			w.Close()
			for range n {
				if _, err := r.Read(make([]byte, 1<<16)); err != nil {
					ended = true
				}
			}
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(r.Fd()), Events: unix.POLLIN}}, -1) // the next one has come
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			r.Close()
			again := exec.CommandContext(t.Context(), "ftpfetch", append([]string{"-q", "--no-clobber"}, args...)...)
			again.Dir = cmd.Dir
			said, err := again.CombinedOutput()
			var left []string
			for _, pattern := range []string{"/[^d]*", "/d/*"} {
				found, _ := filepath.Glob(cmd.Dir + pattern)
				for _, path := range found {
					text, _ := os.ReadFile(path)
					left = append(left, fmt.Sprint(filepath.Base(path), " ", string(text) == contents))
				}
			}
			if got := strings.Join(left, ", "); err != nil || got != "f true" && got != ".ftpfetch-ledger false, g true, h true" {
				t.Errorf("%q, killed after message %d: %v, %s, left %q", args, n, err, said, got)
			}
		}
	}
}

// TestListEnds ends runs that read a list. A killed one leaves no copy of standard input.
func TestListEnds(t *testing.T) {
	for _, name := range []string{"-", "list"} {
		for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM} {
			cmd := exec.CommandContext(t.Context(), "ftpfetch", "-q", "-i", name)
			cmd.Dir = t.TempDir()
			tmp, list := filepath.Join(cmd.Dir, "tmp"), filepath.Join(cmd.Dir, "list")
			cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
			in, err := cmd.StdinPipe()
			must.Do(t, errors.Join(err, os.Mkdir(tmp, 0o700), os.WriteFile(list, []byte(strings.Repeat("# no URL\n", 1<<22)), 0o600), cmd.Start()))
			if name == "-" {
				_, _ = io.WriteString(in, "# no URL\n")
			}
			for reads := false; !reads; runtime.Gosched() {
				fds, _ := filepath.Glob("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/fd/*")
				for _, fd := range fds {
					to, _ := os.Readlink(fd)
					reads = reads || to == list || strings.HasPrefix(to, tmp) && strings.HasSuffix(to, " (deleted)")
				}
			}
			_ = cmd.Process.Signal(sig)
			_ = cmd.Wait()
			in.Close()
			left, _ := os.ReadDir(tmp)
			status := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if len(left) > 0 || status.Signal() != sig && status.ExitStatus() != 128+int(sig) {
				t.Errorf("%s, %v: %v, left %v", name, sig, cmd.ProcessState, left)
			}
		}
	}
}
