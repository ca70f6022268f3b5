package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestIdleWaits has workers that cannot begin, because another has the only connection. They must not end before the
// list is done.
func TestIdleWaits(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	srv, open := holding(t, 1)
	defer open()
	id := s.want(0, "add", "--per-host", "1", srv.list(t, 1))
	s.starts("first", t.TempDir(), "", 1)
	eventually(t, "a file", func() bool { return srv.files.Load() == 1 })
	ended := make(chan bool, 3)
	for i := range cap(ended) {
		go func() {
			s.do("work", "-d", t.TempDir(), "--egress", "e", "--name", fmt.Sprint("w", i), "--idle", "1s")
			ended <- true
		}()
	}
	eventually(t, "all workers", func() bool { return strings.Contains(s.want(0, "status", id), "4 workers") })
	wait(t.Context(), 2*slotTTL)
	if n := len(ended); n != 0 {
		t.Errorf("%d workers ended before there was nothing to do", n)
	}
	open()
	s.want(0, "wait", id)
	for range cap(ended) {
		<-ended
	}
}

// TestCancelCounts cancels a job while a worker has a chunk. wait must wait for what becomes of that.
func TestCancelCounts(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	srv, open := holding(t, 2)
	defer open()
	id := s.want(0, "add", "--per-host", "1", srv.list(t, 2))
	s.starts("w", t.TempDir(), "", 1)
	eventually(t, "a file", func() bool { return srv.files.Load() == 1 })
	s.want(0, "cancel", id)
	told := make(chan string, 1)
	go func() { told <- s.want(43, "wait", id, "--json") }()
	wait(t.Context(), 3*beat)
	if len(told) != 0 {
		t.Error("wait does not wait for the chunk that a worker has")
	}
	open()
	first := <-told
	if second := s.want(43, "wait", id, "--json"); facts(first) != facts(second) || !strings.Contains(facts(first), "cancelled 2 1 0") {
		t.Errorf("the first wait tells %s, the second %s", facts(first), facts(second))
	}
}

// TestTidy has a killed worker that has left a part, and another process that has one.
func TestTidy(t *testing.T) {
	t.Parallel()
	s, dir := newStand(t), t.TempDir()
	srv := newFTP(t, 1, 9, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" {
			return testserver.EndDataAfter(3, testserver.Stalled)
		}
		return nil
	}})
	id := s.want(0, "add", srv.list(t, 1))
	parts := func() int { return len(must.Get(filepath.Glob(filepath.Join(dir, "*.ftpfetch.*")))(t)) }
	killed := process(t, "work", "--join", s.file, "-d", dir, "-j", "1")
	eventually(t, "a part", func() bool { return parts() > 0 })
	s.want(0, "cancel", id)
	s.want(0, "work", "-d", dir, "--tidy", "--idle", "1ms")
	if parts() == 0 {
		t.Error("the part of a worker that runs was removed")
	}
	kill(killed)
	must.Do(t, os.WriteFile(filepath.Join(dir, "mine.part"), nil, 0o600))
	s.want(0, "work", "-d", dir, "--tidy", "--idle", "1ms")
	if names := must.Get(filepath.Glob(filepath.Join(dir, "*part*")))(t); parts() != 0 || len(names) != 1 {
		t.Errorf("left over: %v", names)
	}
	s.want(2, "work", "-d", dir, "--tidy", "--shared")
}

// TestSbatch runs the recipe for Slurm with stand-ins for its commands. Its workers end with 23, or the list is done.
func TestSbatch(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		dir  string
		code int
	}{"done": {"data", 0}, "no worker is left": {"/dev/null/data", 23}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, bin := t.TempDir(), t.TempDir()
			srv := newFTP(t, 5, 9, testserver.Options{})
			for command, text := range map[string]string{
				"ftpfetch-fleet": "FLEET_TEST=1 exec " + must.Get(os.Executable())(t) + ` "$@"`,
				"srun":           `"$@" & echo $! >` + bin + "/worker; wait $!",
				"scancel":        "kill -TERM $(cat " + bin + "/worker)",
			} {
				must.Do(t, os.WriteFile(filepath.Join(bin, command), []byte("#!/bin/bash\n"+text+"\n"), 0o700))
			}
			c := exec.CommandContext(t.Context(), "bash", must.Get(filepath.Abs("../../docs/recipes/fleet.sbatch"))(t), srv.list(t, 5), tt.dir)
			c.Dir, c.Stderr, c.Stdout = dir, t.Output(), t.Output()
			c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "SLURM_JOB_ID=7", "HOME="+dir)
			if err := c.Run(); c.ProcessState.ExitCode() != tt.code {
				t.Errorf("%v, want exit code %d", err, tt.code)
			}
		})
	}
}

// TestKeeper holds the ledger of a worker at work. Another process cannot have the ledger for itself then, nor rewrite it,
// and can when the worker has nothing to do.
func TestKeeper(t *testing.T) {
	dir := t.TempDir()
	root := must.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	other := must.Get(os.OpenRoot(dir))(t)
	defer other.Close()
	l := must.Get(ledger.Open(root, ledgerName))(t)
	must.Do(t, errors.Join(l.Add(ledger.Of("f")), l.Flush()))
	l.Close()
	w := &worker{root: root, ledger: ledgerName}
	var k keeper
	for _, atWork := range []bool{true, true, false, false, true, false} {
		k.hold(w, atWork)
		alone, err := ledger.OpenAlone(other, ledgerName)
		if (err != nil) != atWork || atWork && !errors.Is(err, ledger.ErrAtWork) {
			t.Errorf("at work %v: %v", atWork, err)
		}
		if err == nil {
			alone.Close()
		}
	}
	k.hold(&worker{}, true) // into a store: there is no ledger
}
