package partfile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
)

// Publish gives the whole part its final name, together with the others of its group.
func (p *Part) Publish(f Finish) error {
	n := &naming{Finish: f, part: p, size: p.Snapshot().Done.Octets()}
	if err := p.settle(n); err != nil {
		return err
	}
	return p.group.join(n)
}

// settle gives the part its size and time. If it is like the target that it replaces, its record comes after its name: before
// that it would be about the target.
func (p *Part) settle(n *naming) error {
	if err := p.Health(); err != nil { // a checkpoint may have failed at the end
		return err
	}
	info, err := disk.Stat(p.f)
	switch {
	case err != nil:
		return failure(p.Name(), "cannot be examined", err)
	case info.Size() > n.size:
		if err := disk.Truncate(p.f, n.size); err != nil {
			return failure(p.Name(), "cannot be resized", err)
		}
	}
	if n.time = n.ModTime; !n.time.IsZero() {
		if err := p.dir.SetTime(p.partial, n.time); err != nil {
			n.time = time.Time{}
			n.Note(p.Name() + ": cannot set the server's time: " + localfile.Cause(err).Error())
		}
	}
	if n.time.IsZero() {
		info, err := disk.Stat(p.f)
		if err != nil {
			return failure(p.Name(), "cannot be examined", err)
		}
		n.time = info.ModTime()
	}
	n.late = p.Info != nil && p.Info.Size() == n.size && p.Info.ModTime().Sub(n.time).Abs() < time.Second
	return nil
}

// publish gives the settled part its final name, which may exist only with Overwrite. The journal goes first.
func (p *Part) publish(n *naming) (err error) {
	if p.copied != nil {
		if now, err := p.dir.Lstat(p.target); err != nil || !same(now, p.copied) {
			return refuse(p.Path, ErrMoved.Error(), err)
		}
	}
	info, err := p.find()
	switch {
	case err != nil:
	case info.Size() != n.size:
		err = changed(p.Name(), fmt.Sprintf("holds %d bytes, but %d were written", info.Size(), n.size))
	default:
		err = p.removeJournal()
	}
	switch {
	case errors.Is(err, errReplaced) && p.group.Attempt != "": // another attempt has ended: the file is there
		return ErrMoved
	case err != nil:
		return err
	case n.Overwrite:
		err = p.dir.Rename(p.partial, p.target)
		p.placed = err == nil
	default:
		p.placed, err = p.dir.RenameNew(p.partial, p.target)
	}
	if errors.Is(err, fs.ErrExist) {
		return refuse(p.Path, "already exists", fs.ErrExist)
	}
	err = failure(p.Path, "cannot be moved into place", err)
	if err == nil && p.like != nil && p.like.Mode()&0o600 != 0o600 { // its owner could not have written to it
		err = p.permit(p.like.Mode().Perm())
	}
	return err
}

// KeepBad renames the part, because its digest is wrong, and returns the new name. One that an earlier run has kept makes
// room for it; same is called with that first.
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

// Group gives files their names, many at a time: those that arrive while others are flushed are the next ones. Its zero
// value is for one file. It is safe for concurrent use.
type Group struct {
	Pause   time.Duration // in which more files may join those that are there
	Flush   func() error  // puts on the disk what Finish.Commit has recorded; nil if there is nothing to do
	Dirs    disk.Dirs
	Attempt string // in the names of the parts

	mu      sync.Mutex
	leads   bool // somebody flushes
	waiting []*naming
}

// Finish says how a part becomes a file.
type Finish struct {
	Overwrite bool                          // the name may exist
	ModTime   time.Time                     // the server's, or zero: that of the last byte's arrival
	Note      func(string)                  // is told if the server's time cannot be set
	Commit    func(modTime time.Time) error // records the file, which is on the disk with this time; nil: nothing does
}

type naming struct {
	Finish
	part *Part     // nil: there is only something to record
	size int64     // the file's,
	time time.Time // and its time
	late bool      // it is recorded after it has its name
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
		dirs[d] = cmp.Or(g.Dirs.Settle(), d.Flush()) // first the names of directories
	}
	g.record(all, true)
	for d, err := range dirs {
		dirs[d] = cmp.Or(err, d.Named())
	}
	each(parts, func(n *naming) error { return dirs[n.part.dir] })
}

// record calls Commit for files, those that are late or the others, and puts on the disk what that has recorded.
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

func each(all []*naming, f func(*naming) error) {
	for _, n := range all {
		if n.err == nil {
			n.err = f(n)
		}
	}
}

// Stream writes one connection's bytes into the part.
type Stream struct {
	// To is the part's file, whose offset tells how far the stream is even if the bytes go straight from the socket, or the
	// stream itself while another has that.
	To io.Writer

	part  *Part
	n     atomic.Int64 // bytes written by Write
	span  Span         // the bytes to write; an end of -1 means the end of the file
	whole bool         // the span has arrived and nothing contradicts it
}

// Write writes to where the stream is.
func (s *Stream) Write(b []byte) (int, error) {
	n, err := s.part.f.WriteAt(b, s.at())
	s.n.Add(int64(n))
	return n, err
}

func (s *Stream) at() int64 {
	if s.To == s {
		return s.span.Start + s.n.Load()
	}
	n, err := s.part.f.Seek(0, io.SeekCurrent)
	if err != nil {
		return s.span.Start
	}
	return n
}

// brought returns the bytes of s.span that s has written if it is at at, but not the last one before the span is known to be whole: no
// run may take it for that.
func (s *Stream) brought(at int64) Span {
	if end := s.span.End; s.whole && end >= 0 {
		at = min(at, end)
	} else if end >= 0 {
		at = min(at, end-1)
	}
	return Span{s.span.Start, at}
}

// Write returns a stream that writes x. The first of several at a time uses the part's own file.
func (p *Part) Write(x Span) (*Stream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &Stream{part: p, span: x}
	if s.To = s; !slices.ContainsFunc(p.streams, func(y *Stream) bool { return y.To == p.f }) {
		s.To = p.f
		if _, err := p.f.Seek(x.Start, io.SeekStart); err != nil {
			return nil, failure(p.Name(), "cannot be written", err)
		}
	}
	p.streams = append(p.streams, s)
	return s, nil
}

// End ends s and counts its bytes. If it wrote more than its span, none of them count: if it began in the middle of the
// file, that was not where it should have, and the error is ErrBeyond.
func (p *Part) End(s *Stream, whole bool) (brought int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.whole = whole
	at := s.at()
	x, over := s.brought(at), s.span.End >= 0 && at > s.span.End
	p.streams = slices.DeleteFunc(p.streams, func(y *Stream) bool { return y == s })
	switch {
	case over && x.Start > 0:
		return 0, ErrBeyond
	case over:
		return 0, nil
	}
	done := p.state.Done.Add(x)
	if err := p.agree(done); err != nil {
		return 0, err
	}
	p.state.Done = done
	return x.Len(), nil
}

// lap holds bytes of the file that a response had beside its own.
type lap struct {
	Span
	b []byte
}

// Expect compares b with the bytes of the file from start on: now, or as soon as all of them are there. The error is then
// ErrDiffers.
func (p *Part) Expect(start int64, b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.laps = append(p.laps, lap{Span{start, start + int64(len(b))}, b})
	return p.agree(p.state.Done)
}

// agree compares the laps that lie in done. The caller must hold mu.
func (p *Part) agree(done Spans) (err error) {
	p.laps = slices.DeleteFunc(p.laps, func(x lap) bool {
		if !slices.ContainsFunc(done, func(y Span) bool { return y.Start <= x.Start && x.End <= y.End }) {
			return x.Len() <= 0
		}
		b := make([]byte, len(x.b))
		in := io.NewSectionReader(disk.Reader{Ctx: context.Background(), F: p.f}, x.Start, x.Len())
		if _, rerr := io.ReadFull(in, b); rerr != nil {
			err = failure(p.Name(), "cannot be read", rerr)
		} else if !bytes.Equal(b, x.b) {
			err = ErrDiffers
		}
		return true
	})
	return err
}

// After returns what there already is from end on, but at most n bytes.
func (p *Part) After(end, n int64) Span {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.state.Done {
		if x.Start <= end && end < x.End {
			return Span{end, min(x.End, end+n)}
		}
	}
	return Span{}
}
