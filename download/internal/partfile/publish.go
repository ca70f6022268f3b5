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

// Publish gives the complete part its final name, together with the other parts of its group.
func (p *Part) Publish(f Finish) error {
	n := &naming{Finish: f, part: p, size: p.Snapshot().Done.Octets()}
	if err := p.prepare(n); err != nil {
		return err
	}
	return p.group.join(n)
}

// prepare sets the part's size and time.
func (p *Part) prepare(n *naming) error {
	if err := p.Health(); err != nil { // a checkpoint may have failed at the end
		return err
	}
	refused := p.setTime(n)
	info, err := p.stat()
	if err == nil && info.Size() > n.size {
		if err = failure(p.Name(), "cannot be resized", disk.Truncate(p.f, n.size)); err == nil {
			refused = p.setTime(n)
			info, err = p.stat()
		}
	}
	if err != nil {
		return err
	}
	n.time = info.ModTime()
	p.timed(n, refused)
	// If the target has the same size and time, the record would match the target too. So it is written after the
	// rename.
	was := p.Info
	n.late = was != nil && was.Size() == n.size && localfile.SameTime(was.ModTime(), n.time) ||
		n.Remembered && p.alone
	return nil
}

// setTime gives the part the server's time, if it is known.
func (p *Part) setTime(n *naming) error {
	if n.ModTime.IsZero() {
		return nil
	}
	return p.dir.SetTime(p.partial, n.ModTime)
}

// timed notes that the part does not have the server's time: refused says why not or, if it is nil, the disk has made
// another time of it.
func (p *Part) timed(n *naming, refused error) {
	switch off := n.time.Sub(n.ModTime).Abs(); {
	case n.ModTime.IsZero():
	case refused != nil:
		n.Note(p.Name() + ": cannot set the server's time: " + localfile.Cause(refused).Error())
	case off <= localfile.Slack:
		n.time = n.ModTime
	case off > coarsest:
		n.Note(fmt.Sprintf("%s: the disk cannot keep the server's time %s: it makes %s of it",
			p.Path, n.ModTime.UTC().Format(time.RFC3339), n.time.UTC().Format(time.RFC3339)))
	}
}

// coarsest is the unit of times on FAT.
const coarsest = 2 * time.Second

// TryTime returns what the disk makes of a time. In a dry run it does not find out.
func (p *Place) TryTime(modTime time.Time) (time.Time, error) {
	if p.group.Dry {
		return modTime, nil
	}
	err := p.enter()
	if err != nil {
		return modTime, err
	}
	return p.dir.TryTime(modTime)
}

// publish removes the journal and gives the prepared part its final name. Without Overwrite it fails if that name
// exists.
func (p *Part) publish(n *naming) error {
	if p.copied != nil {
		if now, err := p.dir.Lstat(p.target); err != nil || !unchanged(now, p.copied) {
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

// KeepBad renames a part whose digest is wrong, and returns the new name. If an earlier run left a file of that name,
// KeepBad calls same with it and then replaces it.
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

// Group gives files their names in batches: the files that become complete during one batch make up the next. The zero
// value is for one file. A Group is safe for concurrent use.
type Group struct {
	Pause   time.Duration // how long a batch waits for more files
	Flush   func() error  // flushes what Finish.Commit has recorded; nil: there is nothing to flush
	Dirs    disk.Dirs
	Attempt string // identifies the attempt in the names of the parts; "" if there is only one
	Dry     bool   // leave the disk as it is

	mu      sync.Mutex
	leads   bool // a caller of join is naming files for all waiting callers
	waiting []*naming
	idle    chan struct{} // closed while no more files are under way; nil if nobody has said whether there are any
}

// Expect says that files are under way, or that no more are: then no batch waits for more. The first call says true, and
// the calls alternate.
func (g *Group) Expect(more bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if more {
		g.idle = make(chan struct{})
	} else {
		close(g.idle)
	}
}

// shortPause is how long a batch waits that begins with a record alone: its file may have the connection meanwhile.
const shortPause = 5 * time.Millisecond

// await waits for more files, before the batch that begins with n.
func (g *Group) await(n *naming) {
	pause := g.Pause
	if n.part == nil {
		pause = min(pause, shortPause)
	}
	if pause == 0 {
		return
	}
	g.mu.Lock()
	idle := g.idle
	g.mu.Unlock()
	over := time.NewTimer(pause)
	defer over.Stop()
	select {
	case <-over.C:
	case <-idle:
	}
}

// Finish says how a part becomes a file.
type Finish struct {
	Overwrite bool         // the name may exist
	ModTime   time.Time    // the server's time; if zero, the file has the time at which its last byte arrived
	Note      func(string) // called if the server's time cannot be set
	// Commit, if not nil, records the file. The file is on the disk and has modTime.
	Commit func(modTime time.Time) error
	// Remembered means that the record would count although the file is gone. So it must not be written before the name
	// if the next run would not find the part.
	Remembered bool
	// Announce, if not nil, is called before the file gets its name, if Commit is called only after it.
	Announce func() error
}

// naming is a part that is waiting for its name.
type naming struct {
	Finish
	part *Part     // nil if there is only something to record
	size int64     // of the file
	time time.Time // of the file
	late bool      // Commit is called after the rename, not before
	err  error
	wake chan bool // true: this caller leads the next batch; false: n is done, and err is its result
}

// Record calls commit and waits until what it records is on the disk.
func (g *Group) Record(commit func() error) error {
	return g.join(&naming{Finish: Finish{Commit: func(time.Time) error { return commit() }}})
}

// join waits until n is done. If no caller is working, this caller does the work for all waiting callers, in one batch.
// Then it passes the lead to the first caller that joined meanwhile.
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
	g.await(n)
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

// MostWaiting returns how many files may wait for their names. There is a limit because waiting files are open.
func MostWaiting() int { return min(256, disk.OpenFiles()/4) }

// finish flushes the files of a batch, records the ones that are on the disk, and gives them their names. A file that
// fails does not affect the others. If the flush of the records fails, all files of the batch fail; if the flush of a
// directory fails, all files in it do.
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
		dirs[d] = cmp.Or(g.Dirs.FlushNew(), d.Flush()) // flush the names of new directories first
	}
	g.record(all, true)
	for d, err := range dirs {
		dirs[d] = cmp.Or(err, d.Named())
	}
	each(parts, func(n *naming) error {
		g.Dirs.Rely(n.part.dir, n.part.target)
		return dirs[n.part.dir]
	})
}

// record calls Commit for the files whose field late has the given value, and then flushes the records.
func (g *Group) record(all []*naming, late bool) {
	recorded := false
	each(all, func(n *naming) error {
		switch {
		case n.Commit != nil && n.late == late:
			recorded = true
			if n.part != nil {
				n.part.recorded = true
			}
			return disk.Do("commit", "", func() error { return n.Commit(n.time) })
		case n.Announce != nil && n.late && !late:
			recorded = true
			return disk.Do("commit", "", n.Announce)
		}
		return nil
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
