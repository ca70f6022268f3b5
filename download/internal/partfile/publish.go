package partfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
)

// Publish gives the whole part its final name, together with the others of its group.
func (p *Part) Publish(f Finish) error {
	n := &naming{Finish: f, part: p, size: p.Snapshot().Done.Octets()}
	if err := p.prepare(n); err != nil {
		return err
	}
	return p.group.join(n)
}

// prepare gives the part its size and time.
func (p *Part) prepare(n *naming) error {
	if err := p.Health(); err != nil { // a checkpoint may have failed at the end
		return err
	}
	info, err := p.stat()
	if err == nil && info.Size() > n.size {
		err = failure(p.Name(), "cannot be resized", disk.Truncate(p.f, n.size))
	}
	n.time = n.ModTime
	if err == nil && !n.time.IsZero() {
		if failed := p.dir.SetTime(p.partial, n.time); failed != nil {
			n.Note(p.Name() + ": cannot set the server's time: " + localfile.Cause(failed).Error())
			n.time = time.Time{}
		}
	}
	if err == nil && n.time.IsZero() {
		if info, err = p.stat(); err == nil {
			n.time = info.ModTime()
		}
	}
	// A record that is true of the target too comes after the name: before that it would be about the target.
	was := p.Info
	n.late = was != nil && was.Size() == n.size && localfile.SameTime(was.ModTime(), n.time)
	return err
}

// publish gives the prepared part its final name, which may exist only with Overwrite. The journal goes first.
func (p *Part) publish(n *naming) error {
	if p.copied != nil {
		if now, err := p.dir.Lstat(p.target); err != nil || !same(now, p.copied) {
			return refuse(p.Path, ErrMoved.Error(), err)
		}
	}
	info, err := p.find()
	switch {
	case errors.Is(err, errReplaced) && p.group.Attempt != "": // another attempt has placed the file
		return ErrMoved
	case err != nil:
		return err
	case info.Size() != n.size:
		how := fmt.Sprintf("holds %d bytes, but %d were written", info.Size(), n.size)
		return changed(p.Name(), how)
	}
	if err = p.removeJournal(); err != nil {
		return err
	}
	if n.Overwrite {
		err = p.dir.Rename(p.partial, p.target)
		p.placed = err == nil
	} else {
		p.placed, err = p.dir.RenameNew(p.partial, p.target)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return refuse(p.Path, "already exists", fs.ErrExist)
	case err == nil && p.like != nil && p.like.Mode()&ownerWrites != ownerWrites:
		return p.permit(p.like.Mode().Perm())
	}
	return failure(p.Path, "cannot be moved into place", err)
}

// KeepBad renames the part, because its digest is wrong, and returns the new name. It replaces one that an earlier run has
// kept, and calls same with that first.
func (p *Part) KeepBad(same func(f *os.File)) (kept string, err error) {
	if f, err := p.dir.Open(p.bad, os.O_RDONLY); err == nil {
		same(f)
		f.Close()
	}
	if err = p.ours(); err == nil {
		err = p.removeJournal()
	}
	if err == nil {
		err = failure(p.shown(p.bad), "cannot be moved into place", p.dir.Rename(p.partial, p.bad))
		p.placed = err == nil
	}
	return p.shown(p.bad), err
}

// Group gives files their names, many at a time: files that arrive while others are flushed are named next. The zero value
// is for one file. A Group is safe for concurrent use.
type Group struct {
	Pause   time.Duration // in which more files may join those that are there
	Flush   func() error  // writes what Finish.Commit has recorded to the disk; nil: there is nothing
	Dirs    disk.Dirs
	Attempt string // in the names of the parts
	Dry     bool   // nothing on the disk may change

	mu      sync.Mutex
	leads   bool // a caller of join works for all that wait
	waiting []*naming
}

// Finish says how a part becomes a file.
type Finish struct {
	Overwrite bool         // the name may exist
	ModTime   time.Time    // the server's; if it is zero, the file has the time of its last byte's arrival
	Note      func(string) // is told if the server's time cannot be set
	// Commit, if not nil, records the file, which is on the disk with this time.
	Commit func(modTime time.Time) error
}

// naming is a part that waits for its name.
type naming struct {
	Finish
	part *Part     // nil if there is only something to record
	size int64     // of the file
	time time.Time // of the file
	late bool      // it is recorded after it has its name
	err  error
	wake chan bool // true: lead the next group; false: the part has its name, or err says why not
}

// Record calls commit and waits until what it records is on the disk.
func (g *Group) Record(commit func() error) error {
	return g.join(&naming{Finish: Finish{Commit: func(time.Time) error { return commit() }}})
}

// join waits until n is done. The first caller leads: it does the work for everyone who waits by then, and hands over to
// the first of those who came later.
func (g *Group) join(n *naming) error {
	n.wake = make(chan bool, 1)
	g.mu.Lock()
	g.waiting = append(g.waiting, n)
	lead := !g.leads
	g.leads = true
	g.mu.Unlock()
	if !lead && !<-n.wake {
		return n.err
	}
	time.Sleep(g.Pause)
	g.mu.Lock()
	all := g.waiting
	g.waiting = nil
	g.mu.Unlock()
	g.finish(all)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, x := range all {
		x.wake <- false
	}
	g.leads = len(g.waiting) > 0
	if g.leads {
		g.waiting[0].wake <- true
	}
	return n.err
}

// MostWaiting returns how many files may wait for their names: each is open.
func MostWaiting() int { return min(256, disk.OpenFiles()/4) }

// finish flushes the files of a group, records the ones that are on the disk, and gives them their names. If a file fails,
// the others go on. If the record or a directory fails, all its files do.
func (g *Group) finish(all []*naming) {
	parts := slices.DeleteFunc(slices.Clone(all), func(n *naming) bool { return n.part == nil })
	var files []*os.File
	for _, n := range parts {
		files = append(files, n.part.f)
	}
	for i, err := range disk.Flush(files...) {
		parts[i].err = parts[i].part.flushed(err)
	}
	g.record(all, false)
	each(parts, func(n *naming) error { return n.part.publish(n) })
	dirs := make(map[*disk.Dir]error)
	for _, n := range parts {
		if n.part.placed {
			dirs[n.part.dir] = nil
		}
	}
	for d := range dirs {
		dirs[d] = cmp.Or(g.Dirs.FlushNew(), d.Flush()) // first the names of directories
	}
	g.record(all, true)
	for d, err := range dirs {
		dirs[d] = cmp.Or(err, d.Named())
	}
	each(parts, func(n *naming) error { return dirs[n.part.dir] })
}

// record calls Commit for the files that are late, or for the others, and writes to the disk what Commit has recorded.
func (g *Group) record(all []*naming, late bool) {
	recorded := false
	each(all, func(n *naming) error {
		if n.Commit == nil || n.late != late {
			return nil
		}
		recorded = true
		return disk.Do("commit", "", func() error { return n.Commit(n.time) })
	})
	if recorded && g.Flush != nil {
		err := disk.Do("flush", "", g.Flush)
		each(all, func(*naming) error { return err })
	}
}

// each calls f for the files that have not failed.
func each(all []*naming, f func(*naming) error) {
	for _, n := range all {
		if n.err == nil {
			n.err = f(n)
		}
	}
}
