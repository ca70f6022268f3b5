package cli_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/ftpfetch/internal/network/proxy/proxytest"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/table"
	"example.com/ftpfetch/testserver"
)

// packets returns a pipe that holds one message, so that a process waits with each message until the one before has
// been read.
func packets(t *testing.T) (r, w *os.File) {
	t.Helper()
	fds := make([]int, 2)
	must.Do(t, unix.Pipe2(fds, unix.O_CLOEXEC|unix.O_DIRECT))
	must.Get(unix.FcntlInt(uintptr(fds[1]), unix.F_SETPIPE_SZ, os.Getpagesize()))(t)
	return os.NewFile(uintptr(fds[0]), "messages"), os.NewFile(uintptr(fds[1]), "messages")
}

// TestKilledAtEachMessage kills runs after each of their messages. The same command must then complete the files.
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
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(r.Fd()), Events: unix.POLLIN}}, -1) // the next message has come
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

// TestListEnds ends runs that are reading a list. A killed run must leave no copy of standard input behind.
func TestListEnds(t *testing.T) {
	text := []byte(strings.Repeat("# no URL\n", 1<<22))
	for _, name := range []string{"-", "list"} {
		for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM} {
			t.Run(fmt.Sprint(name, " ", sig), func(t *testing.T) {
				t.Parallel()
				cmd := exec.CommandContext(t.Context(), "ftpfetch", "-q", "-i", name)
				cmd.Dir = t.TempDir()
				tmp, list := filepath.Join(cmd.Dir, "tmp"), filepath.Join(cmd.Dir, "list")
				cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
				in, err := cmd.StdinPipe()
				must.Do(t, errors.Join(err, os.Mkdir(tmp, 0o700), os.WriteFile(list, text, 0o600), cmd.Start()))
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
					t.Errorf("%v, left %v", cmd.ProcessState, left)
				}
			})
		}
	}
}

// TestFenceReads checks what the process can open, change or create after a run.
func TestFenceReads(t *testing.T) {
	s := testserver.New(t, &testserver.Options{TLSConfig: &tls.Config{}, Tree: map[string]string{"/g": "contents"}})
	dir := t.TempDir()
	for name, text := range map[string]string{".netrc": "", "key": "", "out/g": "contents", "list": s.URL("/g") + "\n", "ca.pem": authority()} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	must.Do(t, os.Symlink(dir+"/key", dir+"/out/link"))
	for path, want := range map[string]string{
		dir + "/key": "false false", dir + "/.netrc": "false false", dir + "/ca.pem": "false false", "/proc/self/environ": "false false",
		dir + "/list": "false false", "/etc/hosts": "true false", dir + "/out/g": "true true",
		dir + "/new": "false false", dir + "/out/../new": "false false", dir + "/out/link": "false false", dir + "/out/new": "false true",
	} {
		cmd := exec.CommandContext(t.Context(), "peek", "-q", "--no-clobber", "-d", "out", "--cacert", "ca.pem", "-i", "list")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "PEEK="+path)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s: %v, can be read and written: %s, want %s", path, err, out, want)
		}
	}
}

// TestFenceAllows runs commands that must work inside the fence although they need files outside the output directory.
func TestFenceAllows(t *testing.T) {
	t.Parallel()
	s := testserver.New(t, &testserver.Options{TLSConfig: &tls.Config{}, Users: map[string]string{"me": "secret"}, Tree: map[string]string{"/d/f": "contents", "/g": "contents"}})
	me := strings.Replace(s.URL(""), "//", "//me@", 1)
	socks, connect := proxytest.NewSOCKS5(t, nil).URL(), proxytest.NewHTTP(t, nil).URL()
	for _, row := range table.Rows(t, "fence.txt", "allowed") {
		script, prints, leaves := row[0], row[1], row[2]
		dir, tmp := t.TempDir(), t.TempDir()
		must.Do(t, errors.Join(os.Mkdir(tmp+"/tmp", 0o700), os.Mkdir(tmp+"/certs", 0o700)))
		writeFile(t, tmp+"/ca.pem", authority())
		writeFile(t, tmp+"/certs/ca.pem", authority())
		writeFile(t, tmp+"/.netrc", "machine 127.0.0.1 login me password secret\n")
		cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.NewReplacer("URL", s.URL(""), "ME/", me+"/", "SOCKS", socks, "HTTP", connect).Replace(script))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+tmp, "TMP="+tmp, "TMPDIR="+tmp+"/tmp")
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != prints {
			t.Errorf("%s: %v, %q, want %q", script, err, out, prints)
		}
		var files []string
		for _, pattern := range []string{"/*", "/*/*", "/*/*/*"} {
			found, _ := filepath.Glob(dir + pattern)
			for _, f := range found {
				files = append(files, strings.TrimPrefix(f, dir+"/"))
			}
		}
		slices.Sort(files)
		if got := strings.Join(files, " "); got != leaves {
			t.Errorf("%s: left %s, want %s", script, got, leaves)
		}
	}
}
