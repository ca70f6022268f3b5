package partfile

import (
	"cmp"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/ftpfetch/internal/disk"
)

// Group gives files their names, many at a time: those that arrive while others are flushed are the next ones, so that no
// file waits for another that is still to come. Its zero value is for one file. It is safe for concurrent use.
type Group struct {
	Flush func() error // puts on the disk what Finish.Commit has recorded; nil if there is nothing to do
	Dirs  disk.Dirs

	mu      sync.Mutex
	leads   bool // somebody flushes
	waiting []*naming
}

// Finish says how a part becomes a file.
type Finish struct {
	Overwrite bool                          // the name may exist
	Note      func(string)                  // is told if the server's time cannot be set
	Commit    func(modTime time.Time) error // records the file, which is on the disk with this time; nil: nothing does
}

// naming is a file that waits for its name.
type naming struct {
	Finish
	part *Part     // nil: there is only something to record
	time time.Time // the file's
	err  error
	wake chan bool // true: to lead the next group; false: it is done
}

// Record calls commit and waits until what it records is on the disk.
func (g *Group) Record(commit func() error) error {
	return g.join(&naming{Finish: Finish{Commit: func(time.Time) error { return commit() }}})
}

// join waits until n is done. Who finds nobody at work does it for all that wait.
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
	if g.leads = len(g.waiting) > 0; g.leads {
		g.waiting[0].wake <- true
	}
	return n.err
}

// MostWaiting returns how many files may wait for their names: each is open.
func MostWaiting() int { return min(256, disk.OpenFiles()/4) }

// finish flushes the files of a group, records those that are on the disk, and gives them their names. A failure of one
// file is its own; one of the record or a directory is that of all.
func (g *Group) finish(all []*naming) {
	var flushes errgroup.Group
	flushes.SetLimit(32) // at once: the disk joins them
	for _, n := range all {
		if n.part != nil {
			flushes.Go(func() error { n.err = n.part.settle(n); return nil })
		}
	}
	_ = flushes.Wait()
	recorded := false
	each(all, func(n *naming) error {
		if n.Commit == nil {
			return nil
		}
		recorded = true
		return disk.Do("commit", "", func() error { return n.Commit(n.time) })
	})
	if recorded && g.Flush != nil {
		err := disk.Do("flush", "", g.Flush)
		each(all, func(*naming) error { return err })
	}
	each(all, func(n *naming) error {
		if n.part == nil {
			return nil
		}
		return n.part.publish(n.Overwrite)
	})
	dirs := make(map[*disk.Dir]error)
	for _, n := range all {
		if n.part != nil && n.part.placed {
			d := n.part.dir
			if _, done := dirs[d]; !done {
				dirs[d] = d.Flush()
			}
			n.err = cmp.Or(dirs[d], n.err)
		}
	}
}

// each calls f for those of all that have not failed.
func each(all []*naming, f func(*naming) error) {
	for _, n := range all {
		if n.err == nil {
			n.err = f(n)
		}
	}
}
