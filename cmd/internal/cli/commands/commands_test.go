//go:build unix

package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/internal/testkit/must"
)

// TestMain lets the test binary be the keeper of commands.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "keep" {
		Survive()
		Keep(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// kit is a Runner whose output the test keeps.
type kit struct {
	*Runner
	mu       sync.Mutex
	out, err []string
	heard    chan string // gets the first lines
	lost     error       // of the output
}

// newKit starts a Runner with a keeper in this process or, if aside is set, in another one.
func newKit(t *testing.T, script string, aside bool) *kit {
	t.Helper()
	k := &kit{heard: make(chan string, 100)}
	keep := func(to *[]string) func(string, []byte) {
		return func(_ string, line []byte) {
			k.mu.Lock()
			defer k.mu.Unlock()
			*to = append(*to, string(line))
			select {
			case k.heard <- string(line):
			default:
			}
		}
	}
	out := keep(&k.out)
	output := func(path string, line []byte) error {
		out(path, line)
		return k.lost
	}
	k.Runner = &Runner{Script: script, Output: output, Errors: keep(&k.err), Signal: func(error) syscall.Signal { return syscall.SIGTERM }}
	if aside {
		must.Do(t, k.Start(must.Get(os.Executable())(t), "commands.test", "keep"))
	} else {
		must.Do(t, k.Start(""))
	}
	t.Cleanup(k.Close)
	return k
}

// TestRun runs scripts, each with a keeper here and elsewhere.
func TestRun(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, tt := range []struct{ script, out, err, fails string }{
		{`echo "$1"`, "a b\n", "", ""},
		{`printf %s "$0 $#"`, "sh 1", "", ""},
		{`echo one; echo two >&2; echo three`, "one\nthree\n", "two\n", ""},
		{`echo "$FTPFETCH_SIZE"; exit 3`, "7\n", "", "the command ended with exit code 3"},
		{`kill -KILL $$`, "", "", "the command was ended by SIGKILL"},
		{`kill -TERM $$`, "", "", "the command was ended by SIGTERM"},
		{`read x; echo "[$x]"`, "[]\n", "", ""},
		{`printf '\0\377'`, "\x00\xff", "", ""},
		{`test -r /dev/tty && : </dev/tty`, "", "*", "*"},
		{`yes | head -n 1`, "y\n", "", ""},
		{`printf %s ` + long, long, "", ""},
		{`exit 0; "`, "", "*", "*"},
		{"false\ntrue", "", "", ""},
	} {
		for _, aside := range []bool{false, true} {
			k := newKit(t, tt.script, aside)
			err := k.Run(t.Context(), "a b", []string{"FTPFETCH_SIZE=7"})
			k.Close()
			out, said, failed := strings.Join(k.out, ""), strings.Join(k.err, ""), ""
			if err != nil {
				failed = err.Error()
			}
			if out != tt.out || tt.err != "*" && said != tt.err || tt.fails != "*" && failed != tt.fails || (failed != "") != (tt.fails != "") {
				t.Errorf("%.40s: %.40q, %q, %q", tt.script, out, said, failed)
			}
		}
	}
}

// TestLines runs many commands at once. Their lines must not mix.
func TestLines(t *testing.T) {
	k := newKit(t, `for i in 1 2 3 4 5 6 7 8 9; do printf "$1"; printf "$1\n"; printf "$1" >&2; echo "$1" >&2; done`, true)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := k.Run(t.Context(), fmt.Sprint("<", i, ">"), nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, got := range [][]string{k.out, k.err} {
		slices.Sort(got)
		if len(got) != 180 || len(slices.Compact(got)) != 20 {
			t.Errorf("%d lines: %q", len(got), got)
		}
	}
}

// TestEnd ends the context of commands. They and all that they have started must get the signal, and Run must wait.
func TestEnd(t *testing.T) {
	for _, aside := range []bool{false, true} {
		for script, want := range map[string]string{
			`trap 'echo heard; exit 0' TERM; echo ready; while :; do sleep 0.02; done`:                    "ready\nheard\n",
			`trap 'echo heard; exit 9' TERM; echo ready; while :; do sleep 0.02; done`:                    "ready\nheard\n",
			`echo ready; while :; do sleep 0.02; done`:                                                    "ready\n",
			`sh -c 'trap "echo inner; exit" TERM; echo ready; while :; do sleep 0.02; done' & wait; true`: "ready\n*",
		} {
			k := newKit(t, script, aside)
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- k.Run(ctx, "f", nil) }()
			<-k.heard
			why := errors.New("enough")
			cancel(why)
			err := <-ended
			k.Wait()
			k.Close()
			got := strings.Join(k.out, "")
			if success := strings.Contains(script, "exit 0"); (err == nil) != success || err != nil && !errors.Is(err, why) || got != want && !strings.HasSuffix(want, "*") {
				t.Errorf("%s: %v, %q", script, err, got)
			}
			if err := k.Run(ctx, "f", nil); !errors.Is(err, why) {
				t.Errorf("after the end: %v", err)
			}
		}
	}
}

// TestLeftBehind runs a command that leaves a process behind, which keeps the output open.
func TestLeftBehind(t *testing.T) {
	was := lingers
	defer func() { lingers = was }()
	lingers = time.Millisecond
	k := newKit(t, `sleep 1000 & echo $! >"$1"`, false)
	file := filepath.Join(t.TempDir(), "pid")
	if err := k.Run(t.Context(), file, nil); err != nil {
		t.Error(err)
	}
	pid := 0
	_, err := fmt.Sscan(string(must.Get(os.ReadFile(file))(t)), &pid)
	must.Do(t, err)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// TestKeeperEnds kills the keeper while a command runs, and closes the orders. The caller must hear of the one, and the
// command of the other.
func TestKeeperEnds(t *testing.T) {
	k := newKit(t, `echo ready; kill -KILL $PPID`, true)
	if err := k.Run(t.Context(), "f", nil); err == nil || !strings.Contains(err.Error(), "the process that runs the commands has ended") {
		t.Errorf("got %v", err)
	}
	if err := k.Run(t.Context(), "f", nil); err == nil {
		t.Error("a command runs without a keeper")
	}
	end, begun := filepath.Join(t.TempDir(), "end"), time.Now()
	k = newKit(t, `trap 'echo >"$1"; exit' TERM; echo ready; while :; do sleep 0.02; done`, true)
	go func() { _ = k.Run(t.Context(), end, nil) }()
	<-k.heard
	_ = k.orders.Close()
	_ = k.keeper.Wait()
	if _, err := os.Stat(end); err != nil {
		t.Errorf("after %v: %v", time.Since(begun), err)
	}
}

// TestNoShell checks a PATH without sh, and a program that is not there.
func TestNoShell(t *testing.T) {
	var out bytes.Buffer
	if err := new(Runner).Start("/none", "none"); err == nil {
		t.Error("there is a keeper")
	}
	t.Setenv("PATH", t.TempDir())
	if err := new(Runner).Start(""); err == nil || !strings.Contains(err.Error(), "there is no sh in PATH") || out.Len() > 0 {
		t.Errorf("got %v", err)
	}
}

// TestLostOutput checks that a command that writes for ever ends when nobody reads its output any more.
func TestLostOutput(t *testing.T) {
	for _, aside := range []bool{false, true} {
		k := newKit(t, "yes", aside)
		k.lost = errors.New("closed")
		if err := k.Run(t.Context(), "/f", nil); err == nil || !strings.Contains(err.Error(), "SIGPIPE") {
			t.Errorf("aside %t: %v", aside, err)
		}
	}
}
