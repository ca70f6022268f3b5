package partfile

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/internal/local/disk"
)

// Part is a claimed part and its journal, which a run writes until the file is whole. Its methods are safe for concurrent
// use while bytes arrive.
//
// The run that holds the lock on the part owns both files. The part alone is worth nothing: only what a journal claims and
// its checksums confirm counts for a later run. So the two need not change together, and a crash may lose either.
type Part struct {
	*Place
	f       *os.File
	info    fs.FileInfo // of f when it was locked, to recognize it
	created bool        // by this run
	like    fs.FileInfo // what has the permissions that the file gets, or nil
	copied  fs.FileInfo // the target that the part has a copy of, or nil
	placed  bool        // the file has another name now

	// What an earlier run has left: what the journal says, or what is wrong with it.
	Left    State
	LeftErr error

	mu      sync.Mutex
	state   State
	claimed Spans       // by the journal on the disk
	known   atomic.Bool // bytes of this transfer go to the part
	streams []*Stream
	laps    []lap // what other responses had of bytes that are not all there yet
	failed  error // why bytes did not reach the disk: the part cannot be trusted

	writing   sync.Mutex // held while blocks and the journal change; lock it before mu
	blocks    blocks
	journaled bool // there may be a journal
}

// Name returns the part's name, as messages show it.
func (p *Part) Name() string { return p.shown(p.partial) }

// File returns the part's own file, to read it.
func (p *Part) File() *os.File { return p.f }

// Check reads the bytes that Left claims, and removes the blocks that have changed from Left. The error is the cause of
// the end of ctx.
func (p *Part) Check(ctx context.Context) error {
	good, _ := p.Left.Blocks.sound(disk.Reader{Ctx: ctx, F: p.f}) // what cannot be read is fetched again
	if ctx.Err() == nil {
		p.Left.Blocks = good
		p.Left.Done = good.spans()
	}
	return context.Cause(ctx)
}

// Resume takes what Left claims as the start.
func (p *Part) Resume() {
	p.state = p.Left
	p.blocks = p.Left.Blocks
	p.claimed = p.Left.Done
}

// Copy replaces what the part has by the target, which must still be the one that was describes, as the start of a file with
// this size and time.
func (p *Part) Copy(ctx context.Context, was fs.FileInfo, size int64, modTime time.Time) error {
	f, err := p.dir.Open(p.target, os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrMoved
	case err != nil:
		return failure(p.Path, "cannot be opened", err)
	}
	defer f.Close()
	if now, err := disk.Stat(f); err != nil || !same(now, was) {
		return cmp.Or(failure(p.Path, "cannot be examined", err), ErrMoved)
	}
	for err = p.Reset(); err == nil; {
		if err = (disk.Reader{Ctx: ctx, F: f}).Ready(); err == nil {
			_, err = io.CopyN(p.f, f, 64<<20) // within the kernel, where that is possible
		}
	}
	if err != io.EOF {
		return cmp.Or(context.Cause(ctx), failure(p.Name(), "cannot be written", err))
	}
	p.copied = was
	p.state.Size = size
	p.state.ModTime = modTime
	p.state.Adopted = was.Size()
	p.state.Done = Spans{}.Add(Span{0, was.Size()})
	return nil
}

// same reports whether a file has not changed.
func same(now, was fs.FileInfo) bool {
	return os.SameFile(now, was) && now.Size() == was.Size() && now.ModTime().Equal(was.ModTime())
}

// Snapshot returns the state, including what the streams have written so far.
func (p *Part) Snapshot() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state
	for _, x := range p.streams {
		s.Done = s.Done.Add(x.brought(x.at()))
	}
	if s.Size >= 0 {
		s.Done = s.Done.UpTo(s.Size)
	}
	s.Adopted = min(s.Adopted, s.Done.Head())
	return s
}

// Know sets what is known about the file, whose bytes go to the part from now on.
func (p *Part) Know(size int64, modTime time.Time) {
	p.known.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.Size = size
	if !modTime.IsZero() {
		p.state.ModTime = modTime
	}
}

// Known reports whether Know has been called. Until then what an earlier run has left stays: it may yet be given up.
func (p *Part) Known() bool { return p.known.Load() }

// Disown drops the bytes from n on, so that they are fetched again.
func (p *Part) Disown(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.Done = p.state.Done.UpTo(n)
}

// Reset forgets everything and empties the part. No stream may be open.
func (p *Part) Reset() error {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.mu.Lock()
	p.state = State{URL: p.state.URL, Size: -1}
	p.laps = nil
	p.mu.Unlock()
	p.blocks = nil
	p.copied = nil
	p.Left = State{}
	p.LeftErr = nil
	return cmp.Or(p.removeJournal(), p.truncate())
}

func (p *Part) truncate() error {
	return failure(p.Name(), "cannot be emptied", disk.Truncate(p.f, 0))
}

// Checkpoint flushes the part to disk, and only then claims its bytes in the journal. If the journal cannot be written,
// the next run merely fetches those bytes again. If the bytes do not reach the disk, the run ends: see Health.
func (p *Part) Checkpoint() error {
	p.writing.Lock() // no bytes are given up between the snapshot and the journal
	defer p.writing.Unlock()
	s := p.Snapshot()
	err := p.Health()
	if err != nil || !p.Known() || s.Size < 0 || slices.Equal(s.Done, p.claimed) {
		return err
	}
	err = cmp.Or(p.flushed(disk.Flush(p.f)[0]), p.ours()) // a removed part needs no journal
	if err != nil {
		return err
	}
	in := disk.Reader{Ctx: context.Background(), F: p.f}
	s.Blocks, err = p.blocks.cover(in, s.Done, blockFor(s.Size))
	if err != nil {
		return failure(p.Name(), "cannot be read", err)
	}
	p.blocks = s.Blocks
	p.journaled = true
	err = p.writeJournal(s)
	if err == nil {
		p.claimed = s.Done
	}
	return err
}

// flushed takes the result of a flush to the disk. An error is the part's health from then on: bytes may be missing on the
// disk although they can still be read, and the system reports that only once.
func (p *Part) flushed(err error) error {
	err = failure(p.Name(), "cannot be flushed to disk", err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = cmp.Or(p.failed, err)
	return err
}

// Health returns why the part cannot be trusted, or nil.
func (p *Part) Health() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// Leave ends the use of a part: unless that has become a file, it keeps what a later run can resume from, which is nothing
// if the part is worthless. Leave returns how many bytes the next run resumes from.
func (p *Part) Leave(worthless bool) (kept int64) {
	defer p.Close()
	s := p.Snapshot()
	switch {
	case p.placed:
	case !p.Known() && (p.LeftErr != nil || len(p.Left.Done) > 0): // what an earlier run has left stays
	case worthless, p.alone, p.copied != nil && s.Done.Octets() <= s.Adopted: // the target has them
		p.Discard()
	default:
		_ = p.Checkpoint()
		if len(p.claimed) == 0 {
			p.Discard()
		}
	}
	return p.claimed.Octets()
}

// Discard removes the part and its journal, unless the part has become a file.
func (p *Part) Discard() {
	defer p.Close()
	if !p.placed && p.ours() == nil && p.removeJournal() == nil {
		_ = p.dir.Remove(p.partial)
	}
}

// Close leaves the part as it is.
func (p *Part) Close() {
	disk.Unlock(p.f)
	_ = p.f.Close()
}

// Like gives the part the permissions of the file that it will replace, so that a private file stays private. Until the
// file has its name its owner can write to it: later runs open it again.
func (p *Part) Like(replaced fs.FileInfo) error {
	if replaced == nil || !replaced.Mode().IsRegular() {
		return nil
	}
	p.like = replaced
	return p.permit(replaced.Mode().Perm() | ownerWrites)
}

const ownerWrites fs.FileMode = 0o600

func (p *Part) permit(mode fs.FileMode) error {
	const what = "cannot take the permissions of the file that it replaces"
	return failure(p.Name(), what, disk.Chmod(p.f, mode))
}
