// Package slots bounds the connections to a server of all runs of this user on this machine, by files that they lock.
package slots

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/disk"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/retry"
)

const (
	places   = 64                     // waiters that are served in turn; any others compete for the last place
	poll     = 50 * time.Millisecond  // between two looks at a file that another run has locked
	settling = 250 * time.Millisecond // how long a server may still count a connection that was closed

	held, freed = 1, 2 // the size of the file of a slot, if it is not new: its time tells when
)

// Share makes c one of the Clients that together have at most so many connections to a server, given in the order of their
// calls. The first that waits for a second calls say. Share returns the directory of the files, and makes it if it is missing.
func Share(c *ftpexec.Client, most int, say func()) (dirs []string, err error) {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if info, err := os.Stat(dir); err != nil || !disk.Alone(info) {
		dir = os.TempDir() // there may be none for this user, as under cron and su
	}
	dir = filepath.Join(dir, fmt.Sprint(".ftpfetch-slots-", os.Geteuid()))
	err = os.MkdirAll(dir, 0o700)
	if info, lerr := os.Lstat(dir); lerr == nil && !(info.IsDir() && disk.Alone(info)) {
		err = errors.New("is in the way, and no directory that only this user can change")
	}
	say = sync.OnceFunc(say)
	c.MaxConns, c.Admit = most, func(ctx context.Context, address string) (release func(), err error) {
		defer time.AfterFunc(time.Second, say).Stop()
		name := filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256([]byte(strings.ToLower(address)))))
		var place, slot *os.File
		for at := places; at > 0 && err == nil; at-- {
			left := place
			place, err = lock(ctx, name+".place", at, at)
			left.Close()
		}
		if err == nil {
			slot, err = lock(ctx, name+".slot", 1, most)
		}
		place.Close()
		return func() {
			_ = slot.Truncate(freed)
			slot.Close()
		}, cmp.Or(err, slot.Truncate(held))
	}
	return []string{dir}, localfile.Failure(dir, "cannot be used", err)
}

// lock waits until it has locked one of the files from first to last.
func lock(ctx context.Context, name string, first, last int) (*os.File, error) {
	for i := first; ; i++ {
		if i > last {
			if err := retry.Sleep(ctx, poll); err != nil {
				return nil, err
			}
			i = first
		}
		f, err := os.OpenFile(fmt.Sprint(name, i), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, localfile.Failure(name, "cannot be opened", err)
		}
		taken, locked := disk.Lock(f)
		if locked && settled(f) {
			return f, nil
		}
		if f.Close(); !taken && !locked {
			return nil, localfile.Failure(name, "cannot be locked", errors.ErrUnsupported)
		}
	}
}

// settled reports whether the server no longer counts the connection of the last run that had a slot.
func settled(slot *os.File) bool {
	info, err := slot.Stat()
	if err == nil && info.Size() == held { // that run was killed, perhaps just now
		_ = slot.Truncate(freed)
		return false
	}
	return err == nil && (info.Size() != freed || time.Since(info.ModTime()).Abs() >= settling)
}
