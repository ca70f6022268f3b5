package ledger

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/timing"
)

// ErrAtWork means that another run keeps the ledger for itself, or that this one cannot have it for itself.
var ErrAtWork = errors.New("another run works here: let it end, or choose another directory")

const (
	// patience is how long a run waits for another one that has its ledger, in steps of pause.
	patience, pause = time.Second, 10 * time.Millisecond
	// longestRewriting is how long it waits at most for one that rewrites the ledger.
	longestRewriting = 15 * time.Second
)

// openOwn opens and locks the run's own ledger. Another run may have replaced it before it was locked.
func (l *store) openOwn(name string) (*os.File, error) {
	for {
		f, err := l.open(name, os.O_RDWR|os.O_APPEND)
		if err != nil {
			return nil, err
		}
		named := false
		if err = readable(f); err == nil {
			err = l.hold(f)
		}
		if err == nil {
			named, err = l.named(f, name)
		}
		if named {
			return f, nil
		}
		disk.Unlock(f)
		f.Close()
		if err != nil {
			return nil, err
		}
	}
}

// readable returns an error if f, which is open for reading and writing, cannot be read. rclone mounts without a cache
// let a file be opened so, and then only write it.
func readable(f *os.File) error {
	return disk.Do("read", f.Name(), func() error {
		_, err := f.ReadAt(make([]byte, 1), 0)
		if err == io.EOF {
			return nil
		}
		return err
	})
}

// named reports whether name still refers to f.
func (l *store) named(f *os.File, name string) (bool, error) {
	self, err := f.Stat()
	if err != nil {
		return false, err
	}
	now, err := l.root.Lstat(name)
	return err == nil && os.SameFile(self, now), err
}

// hold locks the run's own ledger: with the other runs that add to it or, if the run is alone, against them.
func (l *store) hold(f *os.File) error {
	limit := patience
	for waited := time.Duration(0); waited < limit; waited += pause {
		taken := false
		if l.alone {
			taken, _ = disk.Lock(f)
		} else {
			taken = disk.Share(f)
		}
		if !taken {
			return nil
		}
		if l.beingRewritten(f) {
			limit = min(waited+patience, longestRewriting)
		}
		_ = timing.Wait(context.Background(), pause)
	}
	return ErrAtWork
}

// beingRewritten reports whether another run rewrites the ledger f.
func (l *store) beingRewritten(f *os.File) bool {
	info, err := l.root.Lstat(freshName(filepath.Base(f.Name())))
	return err == nil && time.Since(info.ModTime()).Abs() < longestRewriting
}

// freshName returns the name of a ledger while it is being rewritten. No ledger has a name that begins so: a run may be
// killed, and half of a ledger must not count.
func freshName(name string) string { return ".ftpfetch-new" + strings.TrimPrefix(name, ".ftpfetch") }

// leastWorn is how many records must be superseded before a ledger is rewritten. A test changes it.
var leastWorn = 1000

// counts are numbers of records.
type counts struct{ all, superseded int }

func (c *counts) add(superseded bool) {
	c.all++
	if superseded {
		c.superseded++
	}
}

// worn reports whether it is worth while to rewrite a ledger with so many records.
func (c counts) worn() bool { return c.superseded >= leastWorn && c.superseded > c.all/2 }

// rewrite replaces the run's own ledger by one that has only the last record of each path, line for line. It does so
// only if no other run has the ledger open, and only where there are locks that show that. The caller must open all
// ledgers anew. If the ledger cannot be rewritten, it stays as it is.
func (l *store) rewrite() {
	if runtime.GOOS == "windows" { // an open file cannot be replaced there
		return
	}
	disk.Unlock(l.own)
	_, locked := disk.Lock(l.own)
	name := filepath.Base(l.own.Name())
	if named, _ := l.named(l.own, name); !named || !locked {
		return
	}
	fresh := freshName(name)
	err := l.writeLast(fresh)
	if err == nil {
		err = disk.Do("rename", fresh, func() error { return l.root.Rename(fresh, name) })
	}
	if err != nil {
		_ = l.root.Remove(fresh)
		return
	}
	if dir, err := l.root.Open("."); err == nil {
		_ = disk.Flush(dir) // after a crash there is either ledger, and both are right
		dir.Close()
	}
}

// writeLast writes the last record of each path in the run's own ledger to a new file, and flushes it to the disk.
func (l *store) writeLast(name string) error {
	info, err := l.own.Stat()
	if err != nil {
		return err
	}
	if err = l.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := l.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	last := make(map[uint64]int64) // the offset of the last record of each path
	_, err = lines(l.own, 0, func(at int64, _ []byte, r Record) { last[key(r.Local())] = at })
	out := bufio.NewWriter(f)
	if err == nil {
		_, err = lines(l.own, 0, func(at int64, line []byte, r Record) {
			if last[key(r.Local())] == at {
				_, _ = out.Write(line) // Flush returns the error
			}
		})
	}
	err = cmp.Or(err, disk.Do("write", name, out.Flush))
	if err == nil {
		err = disk.Flush(f)[0]
	}
	return cmp.Or(err, f.Close())
}
