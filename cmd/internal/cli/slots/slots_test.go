package slots

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
)

// most is the number of slots of the tests' server, and address its address.
const most, address = 3, "ftp.example.org:21"

// TestMain is also a run that takes a slot and releases it, again and again. While it has the slot, it locks one of as
// many witness files as there are slots. If none is free, it leaves a file that says so.
func TestMain(m *testing.M) {
	if victim != nil && os.Getenv("VICTIM") != "" {
		victim()
	}
	dir := os.Getenv("SLOTS")
	if dir == "" {
		flag.Set("test.parallel", "16") // parallel tests mostly wait; the flag -parallel overrides this
		os.Exit(m.Run())
	}
	for s := newShare(os.Getenv("DIR"), most); ; {
		release, err := s.admit(context.Background(), address)
		i := 0
		for i < most && !free(filepath.Join(dir, fmt.Sprint(i)), rand.N(settling)) {
			i++
		}
		if i == most || err != nil {
			_ = os.WriteFile(filepath.Join(dir, "wrong"), nil, 0o600)
		}
		release()
	}
}

// victim is a run of TestFrozen; nil where processes cannot be stopped.
var victim func()

// newShare returns a share in at most so many connections, with its files in dir.
func newShare(dir string, most int) *share {
	return &share{dir: dir, most: most, silence: silence, say: func(string) {}}
}

// free locks a file for d. It returns false if the file is locked already.
func free(name string, d time.Duration) bool {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false
	}
	defer f.Close()
	_, locked := disk.Lock(f)
	if locked {
		<-time.After(d)
	}
	return locked
}

// TestKilled kills runs that have a slot, want one, or are about to. There must never be more holders than slots, and
// in the end all slots must be free.
func TestKilled(t *testing.T) {
	t.Parallel()
	witnesses, s := t.TempDir(), newShare(t.TempDir(), most)
	runs := make([]*exec.Cmd, 2*most)
	for n := range night.Or(30, 200) + len(runs) {
		i := n % len(runs)
		if <-time.After(rand.N(settling / 2)); runs[i] != nil {
			_, _ = runs[i].Process.Kill(), runs[i].Wait()
		}
		runs[i] = exec.CommandContext(t.Context(), must.Get(os.Executable())(t))
		runs[i].Env = append(os.Environ(), "SLOTS="+witnesses, "DIR="+s.dir)
		must.Do(t, runs[i].Start())
	}
	for _, cmd := range runs {
		_, _ = cmd.Process.Kill(), cmd.Wait()
	}
	for range most {
		defer must.Get(s.admit(t.Context(), strings.ToUpper(address)))(t)()
	}
	if _, err := os.Stat(filepath.Join(witnesses, "wrong")); err == nil {
		t.Error("more runs had slots than there are slots")
	}
}

// TestInTurn checks that waiters are served in the order of arrival, also within one process, once the server has
// forgotten the last connection. Waiters that give up are skipped.
func TestInTurn(t *testing.T) {
	t.Parallel()
	s := newShare(t.TempDir(), 1)
	first := must.Get(s.admit(t.Context(), address))(t)
	must.Get(s.admit(t.Context(), "another"))(t)()
	impatient, cancel := context.WithCancelCause(t.Context())
	var all sync.WaitGroup
	served, times, order := make(chan int, 6), make(chan time.Time, 7), []int(nil)
	for i := range 6 {
		all.Go(func() {
			release, err := s.admit(map[bool]context.Context{true: impatient, false: t.Context()}[i%3 == 1], address)
			if i%3 == 1 && errors.Is(err, os.ErrDeadlineExceeded) {
				return
			}
			served <- i
			times <- time.Now()
			release()
		})
		for arrived := false; !arrived; <-time.After(time.Millisecond) {
			places, _ := filepath.Glob(filepath.Join(s.dir, fmt.Sprintf("*.place%d", i+1)))
			arrived = slices.ContainsFunc(places, func(name string) bool { return !free(name, 0) })
		}
	}
	cancel(os.ErrDeadlineExceeded)
	times <- time.Now()
	first()
	all.Wait()
	for last := <-times; len(times) > 0; order = append(order, <-served) {
		at := <-times
		if at.Sub(last) < settling-20*time.Millisecond { // the kernel's clock is coarse
			t.Errorf("served %v after the slot was freed", at.Sub(last))
		}
		last = at
	}
	if fmt.Sprint(order) != "[0 2 3 5]" {
		t.Errorf("served in the order %v", order)
	}
}

// TestDirectory checks where the files are: in the user's own runtime directory, or else below the directory for
// temporary files, which all users share, in a directory that only this user can change.
func TestDirectory(t *testing.T) {
	own := t.TempDir()
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for _, tt := range []struct {
		mode os.FileMode
		in   string
	}{{0o700, own}, {0o770, temporary}, {0o700, own}} {
		must.Do(t, os.Chmod(own, tt.mode))
		t.Setenv("XDG_RUNTIME_DIR", own)
		var c ftpexec.Client
		dirs := must.Get(Share(&c, most, nil))(t)
		if filepath.Dir(dirs[0]) != tt.in || c.MaxConns != most {
			t.Errorf("mode %v: the files are in %s, want %s; %d connections", tt.mode, dirs, tt.in, c.MaxConns)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	file := filepath.Join(temporary, "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("TMPDIR", file)
	if _, err := Share(new(ftpexec.Client), most, nil); !errors.Is(err, localfile.ErrLocal) {
		t.Errorf("a file in place of the directory for temporary files: %v", err)
	}
}

// TestPlacesAreGivenBack checks that a run that has a slot, or gave up, has no place in the queue.
func TestPlacesAreGivenBack(t *testing.T) {
	t.Parallel()
	s := newShare(t.TempDir(), 1)
	defer must.Get(s.admit(t.Context(), address))(t)()
	ctx, cancel := context.WithTimeout(t.Context(), 3*poll)
	defer cancel()
	if _, err := s.admit(ctx, address); err == nil {
		t.Error("two have the only slot")
	}
	files := must.Get(filepath.Glob(filepath.Join(s.dir, "*.place*")))(t)
	for _, name := range files {
		if !free(name, 0) {
			t.Errorf("%s is locked", filepath.Base(name))
		}
	}
	if len(files) != places {
		t.Errorf("there are %d places, want %d", len(files), places)
	}
}

// TestWhoHasIt checks that the file of a slot names the process that has it, and none afterwards, and that a wait of
// more than a second is reported with it.
func TestWhoHasIt(t *testing.T) {
	t.Parallel()
	told, s := make(chan string, 1), newShare(t.TempDir(), 1)
	s.say = func(text string) { told <- text }
	release := must.Get(s.admit(t.Context(), address))(t)
	slot := must.Get(filepath.Glob(filepath.Join(s.dir, "*.slot1")))(t)[0]
	holder := func() int {
		f := must.Get(os.Open(slot))(t)
		defer f.Close()
		pid, _ := read(f)
		return pid
	}
	if pid := holder(); pid != os.Getpid() {
		t.Errorf("the slot names process %d, want %d", pid, os.Getpid())
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := s.admit(ctx, address); err == nil {
			t.Error("two have the only slot")
		}
	})
	got := <-told
	begins := "waiting for a shared connection to " + address + ", "
	ends := fmt.Sprintf(" so far; process %d has one", os.Getpid())
	if !strings.HasPrefix(got, begins) || !strings.HasSuffix(got, ends) {
		t.Errorf("got %q, want %q and %q", got, begins, ends)
	}
	cancel()
	all.Wait()
	release()
	if pid := holder(); pid != 0 {
		t.Errorf("after its end the slot names process %d", pid)
	}
}

// TestSign checks that waiters give signs regularly, so that no other run takes them for stopped.
func TestSign(t *testing.T) {
	t.Parallel()
	s := newShare(t.TempDir(), 1)
	s.silence = 500 * time.Millisecond
	release := must.Get(s.admit(t.Context(), address))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*s.silence)
	_, err := s.admit(ctx, address)
	cancel()
	if err == nil {
		t.Fatal("two have the only slot")
	}
	place := must.Get(filepath.Glob(filepath.Join(s.dir, "*.place1")))(t)[0]
	f := must.Get(os.Open(place))(t)
	defer f.Close()
	if a := age(f); a > 2*s.silence {
		t.Errorf("the last sign is %v old", a)
	}
	release()
}

// TestShare checks that Share refuses a directory that others can write to, and a file system without locks.
func TestShare(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", t.TempDir())
	var c ftpexec.Client
	dir := must.Get(Share(&c, 1, func(string) {}))(t)[0]
	disk.Fault = func(string, string) error { return os.ErrInvalid }
	_, err := c.Admit(t.Context(), address)
	if disk.Fault = nil; !errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, localfile.ErrLocal) {
		t.Errorf("without locks: %v", err)
	}
	disk.Fault = func(call, path string) error {
		if call == "write" && strings.Contains(path, ".slot") {
			return os.ErrInvalid
		}
		return nil
	}
	_, err = c.Admit(t.Context(), address)
	disk.Fault = nil
	if !errors.Is(err, os.ErrInvalid) || !errors.Is(err, localfile.ErrLocal) {
		t.Errorf("with a slot that cannot be written: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*settling)
	defer cancel()
	must.Get(c.Admit(ctx, address))(t)()
	for _, change := range []func() error{
		func() error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o770)) },
		func() error { return os.Symlink(".", dir) },
		func() error { return os.WriteFile(dir, nil, 0o600) },
	} {
		must.Do(t, errors.Join(os.RemoveAll(dir), change()))
		if _, err := Share(new(ftpexec.Client), 1, nil); !errors.Is(err, localfile.ErrLocal) || !strings.Contains(err.Error(), "only this user") {
			t.Errorf("got %v", err)
		}
	}
}

// TestRecord writes every prefix of a record, and text that is no record, to the file of a slot. Only a new file is
// free at once; any other counts as that of a run that was just killed, and is free a moment later.
func TestRecord(t *testing.T) {
	of := func(pid int64) string { return fmt.Sprintf(record, pid) }
	texts := []string{of(0) + of(0), of(1) + "x", of(12345678901), "process -000000001\n", strings.Repeat("x", 200), "\x00", strings.Repeat("\x00", len(of(0))), strings.ToUpper(of(0)), of(0), of(int64(os.Getpid()))}
	for n := range of(7) {
		texts = append(texts, of(7)[:n])
	}
	for _, pid := range []int64{0, 1, math.MaxInt32} { // otherwise the rest of a longer record would follow a shorter one
		if len(of(pid)) != len(of(7)) {
			t.Errorf("%q is not as long as %q", of(pid), of(7))
		}
	}
	for _, text := range texts {
		f := must.Get(os.Create(filepath.Join(t.TempDir(), "slot")))(t)
		must.Get(f.WriteString(text))(t)
		fresh := settled(f)
		must.Do(t, os.Chtimes(f.Name(), time.Time{}, time.Now().Add(-settling)))
		later := settled(f)
		if pid, _ := read(f); fresh != (text == "") || !later || pid > 0 {
			t.Errorf("%q: free at once %v, later %v, process %d", text, fresh, later, pid)
		}
		f.Close()
	}
	t.Logf("%d cases", len(texts))
}

// TestSpelling checks that all spellings of a server's address share the slots of one server.
func TestSpelling(t *testing.T) {
	t.Parallel()
	s := newShare(t.TempDir(), 1)
	release := must.Get(s.admit(t.Context(), "ftp.example.net:21"))(t)
	defer release()
	for _, same := range []string{"ftp.example.net:21", "FTP.Example.Net:21", "ftp.example.net.:21"} {
		ctx, cancel := context.WithTimeout(t.Context(), 3*poll)
		if _, err := s.admit(ctx, same); err == nil {
			t.Errorf("%s is another server", same)
		}
		cancel()
	}
}

// TestTell checks that a wait of a second reports the processes that have connections, and no others, and is not
// reported again at once.
func TestTell(t *testing.T) {
	dir := t.TempDir()
	var said []string
	s := &share{dir: dir, most: 3, say: func(text string) { said = append(said, text) }}
	for slot, pid := range []int{7, 0} { // the third slot was never taken
		f := must.Get(os.Create(filepath.Join(dir, fmt.Sprint("h.slot", slot+1))))(t)
		must.Do(t, write(f, pid))
		must.Do(t, f.Close())
	}
	w := &wait{share: s, address: address, name: filepath.Join(dir, "h"), since: time.Now()}
	w.tell()
	if len(said) != 0 {
		t.Errorf("said at once: %q", said)
	}
	w.since = time.Now().Add(-2 * time.Second)
	w.tell()
	w.tell()
	if len(said) != 1 || !strings.HasSuffix(said[0], "2.0 s so far; process 7 has one") {
		t.Errorf("said %q", said)
	}
}
