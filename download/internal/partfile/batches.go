package partfile

import (
	"cmp"
	"os"
	"slices"
	"sync"
	"time"

	"example.com/ftpfetch/internal/guard"
	"example.com/ftpfetch/internal/local/disk"
)

// Group has the files of a run. The zero value is for one file; a run of many calls Begin. A Group is safe for
// concurrent use.
type Group struct {
	Flush   func() error // flushes what Finish.Commit has recorded; nil: there is nothing to flush
	Dirs    disk.Dirs
	Attempt string // identifies the attempt in the names of the parts; "" if there is only one
	Dry     bool   // leave the disk as it is

	batches *batches // nil: there is one file
	expects bool     // files are under way; batches.mu guards it
}

// batches give files their names: the files that become complete during one batch make up the next. All groups of this
// process below one os.Root have them in common, so that runs of one connection each have large batches too.
type batches struct {
	root  *os.Root // nil if only one group has them
	users int      // begun guards it

	mu      sync.Mutex
	leads   bool // a caller of join is naming files for all waiting callers
	waiting []*naming
	enough  chan struct{} // has an element if the next batch is to wait for no more files
}

// begun has the batches of groups between Begin and End.
var begun = struct {
	sync.Mutex
	all map[*os.Root]*batches
}{all: make(map[*os.Root]*batches)}

// Begin lets the files get their names in batches, in common with other groups that save below root. It comes before the
// first file. The caller must call End after the last one.
func (g *Group) Begin(root *os.Root) {
	begun.Lock()
	defer begun.Unlock()
	b := begun.all[root]
	if b == nil {
		b = &batches{root: root, enough: make(chan struct{}, 1)}
	}
	if root != nil {
		begun.all[root] = b
	}
	b.users++
	g.batches = b
}

// End ends what Begin began.
func (g *Group) End() {
	begun.Lock()
	defer begun.Unlock()
	g.batches.users--
	if g.batches.users == 0 {
		delete(begun.all, g.batches.root)
	}
}

// Expect says that files are under way, or that no more are. A batch waits for more only while all groups that have files
// in it expect some.
func (g *Group) Expect(more bool) {
	b := g.batches
	b.mu.Lock()
	defer b.mu.Unlock()
	g.expects = more
	if !more && slices.ContainsFunc(b.waiting, func(n *naming) bool { return n.group == g }) {
		b.hurry()
	}
}

// hurry lets the next batch wait for no more files. The caller holds mu.
func (b *batches) hurry() {
	select {
	case b.enough <- struct{}{}:
	default:
	}
}

const (
	// pause is how long a batch waits for more files.
	pause = 50 * time.Millisecond
	// shortPause is how long one waits that begins with a record alone: its file may have the connection meanwhile.
	shortPause = 5 * time.Millisecond
)

// await waits for more files, and returns those of the batch, which begins with n.
func (b *batches) await(n *naming) []*naming {
	longest := pause
	if n.part == nil {
		longest = shortPause
	}
	over := time.NewTimer(longest)
	defer over.Stop()
	select {
	case <-over.C:
	case <-b.enough:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.enough:
	default:
	}
	all := b.waiting
	b.waiting = nil
	return all
}

// naming is a part that is waiting for its name, or a record that is waiting for its flush.
type naming struct {
	Finish
	group *Group
	part  *Part     // nil: there is only something to record
	size  int64     // of the file
	time  time.Time // of the file
	late  bool      // Commit is called after the rename, not before
	err   error
	wake  chan bool // true: this caller leads the next batch; false: n is done, and err is its result
}

// Record calls commit and waits until what it records is on the disk.
func (g *Group) Record(commit func() error) error {
	return g.process(&naming{group: g, Finish: Finish{Commit: func(time.Time) error { return commit() }}})
}

// process waits until n is done: in a batch, or by itself if there is one file.
func (g *Group) process(n *naming) error {
	if g.batches != nil {
		return g.batches.join(n)
	}
	finish([]*naming{n})
	return n.err
}

// join waits until n is done. If no caller is working, this caller does the work for all waiting callers, in one batch.
// Then it passes the lead to the first caller that joined meanwhile.
func (b *batches) join(n *naming) error {
	n.wake = make(chan bool, 1)
	b.mu.Lock()
	b.waiting = append(b.waiting, n)
	if !n.group.expects {
		b.hurry()
	}
	lead := !b.leads
	b.leads = true
	b.mu.Unlock()
	if !lead && !<-n.wake {
		return n.err
	}
	all := b.await(n)
	finish(all)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range all {
		x.wake <- false
	}
	b.leads = len(b.waiting) > 0
	if b.leads {
		b.waiting[0].wake <- true
	}
	return n.err
}

// MostWaiting returns how many files may wait for their names. There is a limit because waiting files are open.
func MostWaiting() int { return min(256, disk.OpenFiles()/4) }

// finish flushes the files of a batch, records the ones that are on the disk, and gives them their names. A file that
// fails does not affect the others. If the flush of records fails, all files fail that these are about; if the flush of a
// directory fails, all files in it do.
func finish(all []*naming) {
	parts := slices.DeleteFunc(slices.Clone(all), func(n *naming) bool { return n.part == nil })
	var files []*os.File
	for _, n := range parts {
		files = append(files, n.part.f)
	}
	for i, err := range disk.Flush(files...) {
		parts[i].err = parts[i].part.flushed(err)
	}
	writeRecords(all, false)
	each(parts, func(n *naming) error { return n.part.publish(n) })
	dirs := make(map[*disk.Dir]error)
	for _, n := range parts {
		d := n.part.dir
		_, flushed := dirs[d]
		if n.part.placed && !flushed {
			dirs[d] = cmp.Or(n.group.Dirs.FlushNew(), d.Flush()) // the names of new directories first
		}
	}
	writeRecords(all, true)
	for d, err := range dirs {
		dirs[d] = cmp.Or(err, d.Named())
	}
	each(parts, func(n *naming) error {
		n.group.Dirs.Rely(n.part.dir, n.part.target)
		return dirs[n.part.dir]
	})
}

// writeRecords calls Commit for the files whose field late has the given value and, before the names, Announce for the
// late ones. Then it flushes the records.
func writeRecords(all []*naming, late bool) {
	written := make(map[*Group][]*naming)
	each(all, func(n *naming) error {
		write := n.Announce
		switch {
		case n.Commit != nil && n.late == late:
			if n.part != nil {
				n.part.recorded = true
			}
			write = func() error { return n.Commit(n.time) }
		case n.Announce == nil || late || !n.late:
			return nil
		}
		written[n.group] = append(written[n.group], n)
		return disk.Do("commit", "", write)
	})
	for g, group := range written {
		if g.Flush != nil {
			err := g.guard(func() error { return disk.Do("flush", "", g.Flush) })
			each(group, func(*naming) error { return err })
		}
	}
}

// each calls f for the files that have not failed.
func each(all []*naming, f func(*naming) error) {
	for _, n := range all {
		if n.err == nil {
			n.err = n.group.guard(func() error { return f(n) })
		}
	}
}

// guard calls f. In a batch, a panic is an error of the group's files: the other files must not wait for ever, and the
// goroutine may be that of another run.
func (g *Group) guard(f func() error) error {
	if g.batches == nil {
		return f()
	}
	return guard.Do(f)
}
