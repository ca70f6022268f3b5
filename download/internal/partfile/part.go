package partfile

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/ftpfetch/internal/localfile"
)

// Part is a claimed NAME.part and its journal, which a run writes until the file is whole. Its methods are safe for
// concurrent use while bytes arrive.
//
// The run that holds the lock on NAME.part owns both files. A run can tell its own kind of part from another program's
// file even if an earlier run was killed: the name has a hash, or no byte goes into a part before the journal names its
// inode, and the journal is removed last. The exception is an empty part, which anyone may remove. The lock is on the file, not on its name:
// it lasts while the part becomes the target, until the journal is gone.
type Part struct {
	*Place
	f      *os.File
	info   fs.FileInfo  // of f when it was locked, to recognize it
	mode   *fs.FileMode // of the target; nil means the part's own
	placed bool         // the file has another name now
	run    string       // what this run calls itself in its journals where there are no locks; "" means a lock
	begun  atomic.Bool  // this run has written a journal
	light  bool         // the names show whose it is: there was no journal, and there need not be one before the first checkpoint

	// What Claim has found. Theirs means that there are bytes and nothing shows that this package wrote them, Linked
	// that the part has other names. Otherwise Left is what the journal says, or LeftErr what is wrong with it.
	Theirs, Linked bool
	Left           State
	LeftErr        error

	copied fs.FileInfo // of the target that the part has a copy of, or nil

	mu      sync.Mutex
	state   State
	claimed Spans       // by the journal on the disk
	known   atomic.Bool // the journal is about this transfer and may be written
	streams []*Stream
	failed  error // why bytes did not reach the disk: the part cannot be trusted
	laps    []lap // what other responses had of bytes that are not all there yet

	writing sync.Mutex // held while blocks and the journal change; lock it before mu
	blocks  blocks
}

// look finds out what the part holds.
func (p *Part) look(ctx context.Context) error {
	has := p.info.Size()
	s, err := p.readJournal(p.journal)
	missing := errors.Is(err, fs.ErrNotExist)
	_, ferr := p.readJournal(p.fresh) // of a killed run, if not of a stranger
	switch {
	case errors.Is(ferr, ErrForeign):
		return ferr
	case errors.Is(ferr, errNotRegular):
		return Failure(p.shown(p.fresh), "is in the way", ferr)
	}
	p.light = p.own && p.run == "" && missing && errors.Is(ferr, fs.ErrNotExist)
	if p.Linked = links(p.info) > 1; p.Linked && has == 0 || p.own && missing && has > 0 { // a killed run left it
		p.Linked = false
		if err := p.Renew(); err != nil || missing {
			return err
		}
	}
	switch {
	case missing && has == 0:
		return nil // it is new, or left by a run that received nothing
	case errors.Is(err, ErrForeign):
		return err
	case missing, err == nil && has > 0 && !s.about(p.info) && s.Inode != "":
		good, serr := s.Blocks.sound(Reader{ctx, p.f}) // if any block is in the part, that is a copy of the one that s was written for
		if p.Theirs = serr != nil || len(good) == 0; p.Theirs {
			return nil
		}
	case errors.As(err, new(*fs.PathError)):
		return Failure(p.shown(p.journal), "cannot be read", err)
	}
	p.Left, p.LeftErr = s, err
	return nil
}

// Name returns the part's name, as messages show it.
func (p *Part) Name() string { return p.shown(p.partial) }

// Naked returns the error of a part that is in the way: nothing shows that this package wrote it.
func (p *Part) Naked() error {
	return refuse(p.Name(), "is in the way: nothing shows that this program wrote it", localfile.ErrPart)
}

// File returns the part's own file, to read it.
func (p *Part) File() *os.File { return p.f }

// Found returns how many bytes the part had when it was claimed, and since when.
func (p *Part) Found() (int64, time.Time) { return p.info.Size(), p.info.ModTime() }

// Check reads the bytes that Left claims and removes the blocks from it that have changed. It returns their number, and
// that of all.
func (p *Part) Check(ctx context.Context) (bad, all int, err error) {
	good, err := p.Left.Blocks.sound(Reader{ctx, p.f})
	if err != nil {
		return 0, 0, Failure(p.Name(), "cannot be read", err)
	}
	all = len(p.Left.Blocks)
	p.Left.Blocks, p.Left.Done = good, good.spans()
	return all - len(good), all, nil
}

// Resume takes what Left claims as the start.
func (p *Part) Resume() error {
	p.begin(p.Left)
	p.claimed = p.Left.Done
	if p.Left.Inode == inodeOf(p.info) {
		return nil
	}
	return p.record(p.Left) // part and journal are copies
}

func (p *Part) begin(s State) { p.state, p.blocks = s, s.Blocks }

// Adopt takes all bytes of another program's part as the start.
func (p *Part) Adopt(ctx context.Context) error { return p.adopt(ctx, p.state, p.info.Size()) }

// adopt makes s, with the first n bytes of the part, which another program brought, the start.
func (p *Part) adopt(ctx context.Context, s State, n int64) (err error) {
	s.Adopted, s.Done = n, Spans{}.Add(Span{0, n})
	s.Blocks, err = blocks(nil).cover(Reader{ctx, p.f}, s.Done, blockFor(max(s.Size, n)))
	p.begin(s)
	return Failure(p.Name(), "cannot be read", err)
}

// Copy fills the part, which is empty, with the target, which must still be the one that was describes, as the start of
// a file with this size and time. The journal comes first: it marks the part as this package's.
func (p *Part) Copy(ctx context.Context, was fs.FileInfo, size int64, modTime time.Time) error {
	f, err := p.openTarget(os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if now, err := fstat(f); err != nil || !same(now, was) {
		return cmp.Or(Failure(p.Path, "cannot be examined", err), ErrMoved)
	}
	if err := p.record(p.state); err != nil {
		return err
	}
	for err == nil {
		if err = (Reader{ctx, f}).ready(); err == nil {
			_, err = io.CopyN(p.f, f, 64<<20) // within the kernel, where that is possible
		}
	}
	if err != io.EOF {
		return Failure(p.Name(), "cannot be written", err)
	}
	s := p.state
	s.Size, s.ModTime, p.copied = size, modTime, was
	return p.adopt(ctx, s, was.Size())
}

func same(now, was fs.FileInfo) bool {
	return os.SameFile(now, was) && now.Size() == was.Size() && now.ModTime().Equal(was.ModTime())
}

// Snapshot returns the state, including what the streams have written so far.
func (p *Part) Snapshot() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state
	for _, x := range p.streams {
		s.Done = s.Done.Add(x.brought())
	}
	if s.Size >= 0 {
		s.Done = s.Done.UpTo(s.Size)
	}
	s.Adopted = min(s.Adopted, s.Done.Head())
	return s
}

// Know sets what is known about the file. From now on the journal may be written: the first one is written now, and
// without locks each.
func (p *Part) Know(size int64, modTime time.Time) error {
	p.known.Store(true)
	p.mu.Lock()
	p.state.Size = size
	if !modTime.IsZero() {
		p.state.ModTime = modTime
	}
	p.mu.Unlock()
	if p.begun.Load() && p.run == "" || p.bare() {
		return nil
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	return p.write(p.Snapshot())
}

// bare reports whether there is no journal, and need not be.
func (p *Part) bare() bool { return p.light && !p.begun.Load() }

// removeJournal removes the journal, if there may be one.
func (p *Part) removeJournal() error {
	if p.bare() {
		return nil
	}
	return p.Place.removeJournal()
}

// Known reports whether Know has been called. Until then the journal on the disk stays: it may be an earlier one that
// is about to be given up.
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
	p.state, p.claimed, p.laps = State{URL: p.state.URL, Size: -1}, nil, nil
	p.mu.Unlock()
	p.blocks, p.copied = nil, nil
	if !p.bare() {
		if err := p.record(p.state); err != nil {
			return err
		}
		if err := p.dir.flush(); err != nil { // no run may find the journal that was
			return err
		}
	}
	return p.Empty()
}

// Checkpoint flushes the part to disk, and only then claims its bytes in the journal. If the journal cannot be written,
// the next run merely fetches those bytes again. If the bytes do not reach the disk, the run ends: see Health.
func (p *Part) Checkpoint() error {
	p.writing.Lock()
	defer p.writing.Unlock()
	if !p.Known() {
		return nil
	}
	s := p.Snapshot()
	if err := p.flush(); err != nil {
		return err
	}
	return p.write(s)
}

// keep makes a checkpoint at the end of a run. If the disk is full, it gives up the last 64 KiB of the part to make room
// for the journal, but none that the one on the disk claims. It returns how many bytes the journal claims.
func (p *Part) keep() int64 {
	err := p.Checkpoint()
	if errors.Is(err, syscall.ENOSPC) && p.Health() == nil {
		s := p.Snapshot()
		end := max(p.claimed.End(), s.Done.End()-64<<10)
		p.Disown(end)
		if p.cut(end) == nil {
			_ = p.Checkpoint()
		}
	}
	return p.claimed.Octets()
}

// write writes a journal for s, whose bytes must be in the part. The caller must hold writing, so that no bytes are
// given up between the snapshot and the journal.
func (p *Part) write(s State) (err error) {
	if s.Size < 0 {
		s.Done = nil // a journal without a size claims nothing
	}
	if s.Blocks, err = p.blocks.cover(Reader{context.Background(), p.f}, s.Done, blockFor(s.Size)); err != nil {
		return Failure(p.Name(), "cannot be read", err)
	}
	p.blocks = s.Blocks
	if err := p.record(s); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claimed = s.Done
	return nil
}

// Health returns why the part cannot be trusted, or nil.
func (p *Part) Health() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}
