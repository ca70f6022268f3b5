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
	n := &naming{Finish: f, group: p.group, part: p, size: p.Snapshot().Done.Octets()}
	if err := p.prepare(n); err != nil {
		return err
	}
	return n.join()
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

// Group gives the files of a run their names in batches: the files that become complete during one batch make up the
// next. The zero value is for one file. A Group is safe for concurrent use.
type Group struct {
	Pause   time.Duration // how long a batch waits for more files
	Flush   func() error  // flushes what Finish.Commit has recorded; nil: there is nothing to flush
	Dirs    disk.Dirs
	Attempt string // identifies the attempt in the names of the parts; "" if there is only one
	Dry     bool   // leave the disk as it is
	Queue   *Queue // where files wait; nil: the group has one of its own

	own Queue
}

// Queue is where complete files wait for the next batch. Groups that share one have batches in common.
type Queue struct {
	mu      sync.Mutex
	leads   bool // a caller of join is naming files for all waiting callers
	waiting []*naming
	users   int // of queues
}

// queues has the queue of each root directory that runs of this process save files in.
var queues = struct {
	sync.Mutex
	of map[*os.Root]*Queue
}{of: make(map[*os.Root]*Queue)}

// QueueOf returns the queue that all runs have which save files in root at the same time: the disk is flushed once for
// all of them. The caller must call leave when its files have their names. If root is nil, so is the queue.
func QueueOf(root *os.Root) (q *Queue, leave func()) {
	if root == nil {
		return nil, func() {}
	}
	queues.Lock()
	defer queues.Unlock()
	if q = queues.of[root]; q == nil {
		q = &Queue{}
		queues.of[root] = q
	}
	q.users++
	return q, func() {
		queues.Lock()
		defer queues.Unlock()
		q.users--
		if q.users == 0 {
			delete(queues.of, root)
		}
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
	group *Group
	part  *Part     // nil if there is only something to record
	size  int64     // of the file
	time  time.Time // of the file
	late  bool      // Commit is called after the rename, not before
	err   error
	wake  chan bool // true: this caller leads the next batch; false: n is done, and err is its result
}

// Record calls commit and waits until what it records is on the disk.
func (g *Group) Record(commit func() error) error {
	n := &naming{Finish: Finish{Commit: func(time.Time) error { return commit() }}, group: g}
	return n.join()
}

// join waits until n is done. If no caller is working, this caller does the work for all waiting callers, in one batch.
// Then it passes the lead to the first caller that joined meanwhile.
func (n *naming) join() error {
	n.wake = make(chan bool, 1)
	q := cmp.Or(n.group.Queue, &n.group.own)
	q.mu.Lock()
	q.waiting = append(q.waiting, n)
	lead := !q.leads
	q.leads = true
	q.mu.Unlock()
	if !lead && !<-n.wake {
		return n.err
	}
	time.Sleep(n.group.Pause)
	q.mu.Lock()
	all := q.waiting
	q.waiting = nil
	q.mu.Unlock()
	finish(all)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, x := range all {
		x.wake <- false
	}
	q.leads = len(q.waiting) > 0
	if q.leads {
		q.waiting[0].wake <- true
	}
	return n.err
}

// MostWaiting returns how many files may wait for their names. There is a limit because waiting files are open.
func MostWaiting() int { return min(256, disk.OpenFiles()/4) }

// finish flushes the files of a batch, records the ones that are on the disk, and gives them their names. A file that
// fails does not affect the others. If the flush of the records fails, all files of the group in the batch fail; if the
// flush of a directory fails, all files in it do.
func finish(all []*naming) {
	parts := slices.DeleteFunc(slices.Clone(all), func(n *naming) bool { return n.part == nil })
	var files []*os.File
	for _, n := range parts {
		files = append(files, n.part.f)
	}
	for i, err := range disk.Flush(files...) {
		parts[i].err = parts[i].part.flushed(err)
	}
	record(all, false)
	each(parts, func(n *naming) error { return n.part.publish(n) })
	dirs := make(map[*disk.Dir]error)
	for _, n := range parts {
		d := n.part.dir
		if _, done := dirs[d]; n.part.placed && !done {
			dirs[d] = cmp.Or(n.group.Dirs.FlushNew(), d.Flush()) // flush the names of new directories first
		}
	}
	record(all, true)
	for d, err := range dirs {
		dirs[d] = cmp.Or(err, d.Named())
	}
	each(parts, func(n *naming) error {
		n.group.Dirs.Rely(n.part.dir, n.part.target)
		return dirs[n.part.dir]
	})
}

// record calls Commit for the files whose field late has the given value, and then flushes the records.
func record(all []*naming, late bool) {
	flushed := make(map[*Group]error)
	each(all, func(n *naming) error {
		switch {
		case n.Commit != nil && n.late == late:
			flushed[n.group] = nil
			if n.part != nil {
				n.part.recorded = true
			}
			return disk.Do("commit", "", func() error { return n.Commit(n.time) })
		case n.Announce != nil && n.late && !late:
			flushed[n.group] = nil
			return disk.Do("commit", "", n.Announce)
		}
		return nil
	})
	for g := range flushed {
		if g.Flush != nil {
			flushed[g] = disk.Do("flush", "", g.Flush)
		}
	}
	each(all, func(n *naming) error { return flushed[n.group] })
}

// each calls f for the files that have not failed.
func each(all []*naming, f func(*naming) error) {
	for _, n := range all {
		if n.err == nil {
			n.err = f(n)
		}
	}
}
