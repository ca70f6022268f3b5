//go:build unix

package cli_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/internal/cli"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

// newFIFO makes a FIFO. If reached is not nil, newFIFO opens the FIFO for writing, never writes, and calls reached once a
// reader has opened it.
func newFIFO(t *testing.T, reached func()) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	must.Do(t, syscall.Mkfifo(path, 0o600))
	if reached == nil {
		return path
	}
	go func() {
		for t.Context().Err() == nil {
			f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
			if err == nil {
				reached()
				<-t.Context().Done()
				f.Close()
				return
			}
			runtime.Gosched()
		}
	}()
	return path
}

// TestFIFOs checks that every ending ends a run that waits for a FIFO.
func TestFIFOs(t *testing.T) {
	noProxies(t)
	s := testserver.New(t, nil, testserver.Honest("contents"))
	var all sync.WaitGroup
	defer all.Wait()
	for _, flag := range []string{"--cacert", "--cert", "--netrc=", "-o"} {
		for _, e := range endings {
			ctx, end := e.begin(t)
			reached := end
			if flag == "-o" { // the run waits for a reader before it connects
				reached = nil
				end()
			}
			args := slices.Concat(e.args, strings.Fields(strings.Replace(flag+" "+newFIFO(t, reached), "= ", "=", 1)), []string{s.URL("/f")})
			all.Go(func() {
				if got := ends(t, ctx, args, cli.IO{Out: io.Discard, Err: io.Discard}); got != e.code {
					t.Errorf("%s, %s: exit %d, want %d", flag, e.name, got, e.code)
				}
			})
		}
	}
}

// fullPipe returns a pipe that takes nothing more.
func fullPipe(t *testing.T) (w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	fd := int(w.Fd())
	must.Do(t, syscall.SetNonblock(fd, true))
	for size := 4096; size > 0; {
		if _, err := syscall.Write(fd, make([]byte, size)); err != nil {
			size /= 2
		}
	}
	must.Do(t, syscall.SetNonblock(fd, false))
	return w
}

// TestProcessWithFullPipe runs the command with a full pipe without a reader as standard output or standard error.
func TestProcessWithFullPipe(t *testing.T) {
	contents := strings.Repeat("0123456789abcdef", 1<<16)
	tests := []struct {
		stdout bool // standard output is the full pipe, not standard error
		args   []string
	}{
		{true, []string{"-o", "-"}},
		{true, []string{"-o", "/dev/stdout"}},
		{true, []string{"-o", "-", "--limit-rate", "1G"}},
		{false, []string{"--progress", "json"}},
		{false, []string{"--progress", "bar"}},
		{false, nil},
	}
	var all sync.WaitGroup
	defer all.Wait()
	for _, tt := range tests {
		for _, e := range endings {
			reached := make(chan struct{}, 1)
			s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": contents}, Fault: func(p *testserver.Conn) testserver.Action {
				if p.Transfer == 1 {
					select {
					case reached <- struct{}{}:
					default:
					}
				}
				return nil
			}})
			cmd := exec.CommandContext(t.Context(), "ftpfetch", slices.Concat(e.args, tt.args, []string{s.URL("/f")})...)
			cmd.Dir = t.TempDir()
			if tt.stdout {
				cmd.Stdout = fullPipe(t)
			} else {
				cmd.Stderr = fullPipe(t)
			}
			must.Do(t, cmd.Start())
			all.Go(func() {
				if e.with != nil {
					select {
					case <-reached:
					case <-time.After(ample / 6): // a busy machine: a message was due before, and waits
					}
					_ = cmd.Process.Signal(e.with)
				}
				_ = cmd.Wait()
				got := cmd.ProcessState.ExitCode()
				_, err := os.Stat(filepath.Join(cmd.Dir, "f"))
				if done := err == nil && e.with == nil; got != e.code && !(done && got == 0) {
					t.Errorf("%q, %s: exit %d, want %d", tt.args, e.name, got, e.code)
				}
			})
		}
	}
}
