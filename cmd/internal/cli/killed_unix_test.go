//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// study is a server with the files of an ENA file report, and a directory to fetch them into.
type study struct {
	*testing.T
	*testserver.Server
	dir   string
	files map[string]string // the contents by their paths on the server
	lists [][]string        // the arguments that name the files: a report with digests, and a list without
	run   atomic.Pointer[killing]
}

// killing kills a process when the server receives a command. The server handles that command after the process has
// ended.
type killing struct {
	left   atomic.Int64 // commands
	victim chan *os.Process
	over   chan struct{}
}

func newStudy(t *testing.T) *study {
	s := &study{T: t, dir: t.TempDir(), files: map[string]string{}}
	report, list := "run_accession\tfastq_ftp\tfastq_md5\tfastq_bytes\n", ""
	var paths []string
	for n := range 6 {
		path := fmt.Sprintf("/vol1/fastq/ERR%03d/ERR00%d_%d.fastq.gz", n/4, n/2, n%2)
		s.files[path], paths = strings.Repeat(path, 11*n), append(paths, path)
	}
	s.Server = testserver.New(t, &testserver.Options{Tree: s.files, Fault: func(p *testserver.Conn) testserver.Action {
		if k := s.run.Load(); p.Verb != "" && k.left.Add(-1) == 0 {
			_ = (<-k.victim).Kill() // the process may have ended already
			<-k.over
		}
		return nil
	}})
	for i := 0; i < len(paths); i += 2 { // as ENA serves it: two files per row, URLs without a scheme
		a, b := s.files[paths[i]], s.files[paths[i+1]]
		report += fmt.Sprintf("ERR%d\t%s%s;%s%s\t%x;%x\t%d;%d\n", i, s.Addr(), paths[i], s.Addr(), paths[i+1], md5.Sum([]byte(a)), md5.Sum([]byte(b)), len(a), len(b))
		list += s.URL(paths[i]) + "\n" + s.URL(paths[i+1]) + "\n"
	}
	s.lists = [][]string{{"--manifest", written(t, report)}, {"-i", written(t, list)}}
	return s
}

// fetch runs the command with six connections, and kills it when the server receives the command with this number; 0 means
// never. It returns the exit code, -1 if it was killed.
func (s *study) fetch(kill int, args ...string) (code int, said string) {
	s.Helper()
	s.ResetCommands()
	k := &killing{victim: make(chan *os.Process, 1), over: make(chan struct{})}
	k.left.Store(int64(kill))
	s.run.Store(k)
	cmd, stderr := command(s.T, s.dir, append([]string{"-d", "out", "-j", "6", "--per-host", "6"}, args...)...)
	k.victim <- cmd.Process
	_ = cmd.Wait() // the exit code is checked instead
	close(k.over)
	return cmd.ProcessState.ExitCode(), stderr.String()
}

// there returns the files that have their final names, and checks that each is right. If the run has completed, it also
// checks that there is nothing else.
func (s *study) there(complete bool) map[string]bool {
	s.Helper()
	there := map[string]bool{}
	for path, want := range s.files {
		switch got, err := os.ReadFile(filepath.Join(s.dir, "out", filepath.Base(path))); {
		case err == nil && string(got) == want:
			there[filepath.Base(path)] = true
		case !os.IsNotExist(err):
			s.Errorf("%s has %d bytes that differ from those of the server, %v", path, len(got), err)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(s.dir, "out")); complete && len(left) != len(s.files)+1 { // the ledger too
		s.Errorf("in the end there is %v", left)
	}
	return there
}

// TestKilledAnywhere kills the command at each command that the server receives; by day, at a sample of them. No file
// may be wrong or lost, and no file that had its final name may be fetched again.
func TestKilledAnywhere(t *testing.T) {
	s := newStudy(t)
	for _, list := range s.lists {
		at := 0
		for code, said := -1, ""; code == -1 && !t.Failed(); {
			must.Do(t, os.RemoveAll(filepath.Join(s.dir, "out")))
			at += night.Or(8, 1)
			if code, said = s.fetch(at, list...); code > 0 {
				t.Errorf("exit %d: %s", code, said)
			}
			before := s.there(code == 0)
			want := fmt.Sprintf("%d of %[1]d complete", len(s.files))
			if len(before) > 0 {
				want += fmt.Sprintf(" in out/, %d already there", len(before))
			}
			if code, said := s.fetch(0, list...); code != 0 || len(s.there(true)) != len(s.files) || !strings.Contains(said, want) {
				t.Errorf("%s, killed at command %d: exit %d, %s, want %s", list, at, code, said, want)
			}
			for _, line := range s.Commands() {
				if name, ok := strings.CutPrefix(line, "RETR "); ok && before[filepath.Base(name)] {
					t.Errorf("%s, killed at command %d: %s was there, and was asked for again", list, at, name)
				}
			}
		}
		if at < 3*len(s.files) {
			t.Errorf("the command ended by itself at command %d, want it killed at commands of every file", at)
		}
	}
}

// TestSignalsKeepPart sends a signal while data flows. The command must end and keep what has arrived, and the next run
// must resume.
func TestSignalsKeepPart(t *testing.T) {
	t.Parallel()
	const came = 300_000
	contents := strings.Repeat("0123456789abcdef", 1<<16)
	for _, segments := range []string{"1", "2"} {
		for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
			s := testserver.New(t, &testserver.Options{
				Tree: map[string]string{"/f": contents + contents + contents},
				Fault: func(p *testserver.Conn) testserver.Action {
					if p.Transfer == 1 {
						return testserver.EndDataAfter(came, testserver.Stalled)
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

// waitForData waits until the part has at least that many bytes.
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

// TestSecondSignal checks that a second signal ends a process that has survived the first.
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
