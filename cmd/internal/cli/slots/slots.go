// Package slots limits the connections to a server of all runs of this user on this machine. The runs lock files to do
// so.
package slots

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/timing"
)

const (
	// number of waiters that are served in turn; any others compete for the last place
	places = 64
	poll   = 50 * time.Millisecond // between two attempts to lock a file
	// how long a server may still count a closed connection
	settling = 250 * time.Millisecond
	// how long a waiter may give no sign before those behind it pass it: it may be stopped (SIGSTOP). A waiter has no
	// connection, so passing it cannot exceed the limit.
	silence = 3 * time.Second
)

// Share makes c one of the Clients that together have at most so many connections to a server, granted in the order of
// their requests. It calls say with the processes that have the connections after a wait of a second, and again after
// pauses that double. Share returns the directory of the files, and creates it if it is missing.
func Share(c *ftpexec.Client, most int, say func(text string)) (dirs []string, err error) {
	dir, err := directory()
	s := &share{dir: dir, most: most, silence: silence, say: say}
	c.MaxConns = most
	c.Admit = s.admit
	return []string{dir}, localfile.Failure(dir, "cannot be used", err)
}

// directory returns the directory of the files, and creates it if it is missing.
func directory() (dir string, err error) {
	dir = os.Getenv("XDG_RUNTIME_DIR")
	if info, err := os.Stat(dir); err != nil || !disk.Alone(info) {
		dir = os.TempDir() // the variable may be unset for this user, as under cron and su
	}
	dir = filepath.Join(dir, fmt.Sprint(".ftpfetch-slots-", os.Geteuid()))
	err = os.MkdirAll(dir, 0o700)
	if info, lerr := os.Lstat(dir); lerr == nil && !(info.IsDir() && disk.Alone(info)) {
		err = errors.New("is in the way, and no directory that only this user can change")
	}
	return dir, err
}

// share is this run's part in sharing connections.
type share struct {
	dir     string
	most    int
	silence time.Duration
	say     func(text string)

	mu   sync.Mutex
	next time.Time // no wait is reported before this time
}

// admit waits for a slot. It moves through the places of the queue from the last to the first, and from there to a free
// slot.
func (s *share) admit(ctx context.Context, address string) (release func(), err error) {
	key := strings.Replace(strings.ToLower(address), ".:", ":", 1)
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(key)))
	w := &wait{share: s, address: address, name: filepath.Join(s.dir, name), since: time.Now()}
	defer func() { w.place.Close() }()
	for at := places; at > 0 && err == nil; at-- {
		var next *os.File
		next, err = w.lock(ctx, ".place", at, at)
		if next != nil {
			w.place.Close()
			w.place = next
		}
	}
	var slot *os.File
	if err == nil {
		slot, err = w.lock(ctx, ".slot", 1, s.most)
	}
	if err == nil {
		err = localfile.Failure(w.name, "cannot be written", write(slot, os.Getpid()))
	}
	if err != nil {
		slot.Close()
		return nil, err
	}
	return func() {
		_ = write(slot, 0) // otherwise the slot would count as that of a killed run
		slot.Close()
	}, nil
}

// wait is one call of admit.
type wait struct {
	*share
	address string
	name    string // the common beginning of this server's file names
	since   time.Time
	place   *os.File // the place that it has in the queue; nil if none
}

// lock waits until it has locked one of the files from first to last. If the only one belongs to a silent waiter, lock
// passes it by and returns nil. It looks twice, because a waiter that has just come may not have given a sign yet.
func (w *wait) lock(ctx context.Context, kind string, first, last int) (*os.File, error) {
	var signed time.Time
	for looks := 0; ; looks++ {
		for i := first; i <= last; i++ {
			f, silent, err := w.try(kind, i)
			if f != nil || err != nil || silent && looks > 0 {
				return f, err
			}
		}
		if w.place != nil && time.Since(signed) > w.silence/4 {
			_ = write(w.place, os.Getpid())
			signed = time.Now()
		}
		w.tell()
		if err := timing.Sleep(ctx, poll); err != nil {
			return nil, err
		}
	}
}

// try locks a file, and returns nil if another run has it. silent means that the other run waits in the queue and gives
// no sign.
func (w *wait) try(kind string, i int) (locked *os.File, silent bool, err error) {
	f, err := os.OpenFile(fmt.Sprint(w.name, kind, i), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, localfile.Failure(w.name, "cannot be opened", err)
	}
	queue := kind == ".place"
	taken, mine := disk.Lock(f)
	if mine && (queue || settled(f)) {
		return f, false, nil
	}
	silent = taken && queue && age(f) > w.silence
	f.Close()
	if !taken && !mine {
		err = localfile.Failure(w.name, "cannot be locked", errors.ErrUnsupported)
	}
	return nil, silent, err
}

// tell reports, if it is time to, how long this wait has lasted and which processes have the connections.
func (w *wait) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	waited := time.Since(w.since)
	if waited < time.Second || time.Now().Before(w.next) {
		return
	}
	w.next = time.Now().Add(max(waited, time.Minute))
	text := fmt.Sprintf("waiting for a shared connection to %s, %s so far",
		w.address, printable.Duration(waited))
	for i := range w.most {
		f, err := os.Open(fmt.Sprint(w.name, ".slot", i+1))
		if err != nil {
			continue
		}
		if pid, _ := read(f); pid > 0 {
			text += fmt.Sprint("; process ", pid, " has one")
		}
		f.Close()
	}
	w.say(text)
}

// record is the format of a file: the process that has the slot or waits for it, or 0. Its length never varies, so a
// file with any other text is damaged.
const record = "process %010d\n"

// write replaces the record in f. If the process is killed between the two steps, f is damaged.
func write(f *os.File, pid int) error {
	return disk.Do("write", f.Name(), func() error {
		n, err := f.WriteAt(fmt.Appendf(nil, record, pid), 0)
		if err == nil {
			err = f.Truncate(int64(n))
		}
		return err
	})
}

// read returns the process that f names, 0 for none, -1 if f is damaged. fresh means that f was never written to.
func read(f *os.File) (pid int, fresh bool) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 100))
	_, _ = fmt.Sscanf(string(text), record, &pid)
	if fmt.Sprintf(record, pid) != string(text) {
		pid = -1
	}
	return pid, err == nil && len(text) == 0
}

// settled reports whether the server no longer counts the connection of the last run that had the slot.
func settled(slot *os.File) bool {
	pid, fresh := read(slot)
	if pid != 0 && !fresh { // that run was killed, perhaps just now
		_ = write(slot, 0)
		return false
	}
	return fresh || age(slot) >= settling
}

// age returns the time since f was written to; 0 if it is not known.
func age(f *os.File) time.Duration {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return time.Since(info.ModTime()).Abs()
}
