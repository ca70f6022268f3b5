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

// Part is a claimed part and its journal. A run writes both until the file is whole. The methods of Part are safe for
// concurrent use while bytes arrive.
//
// The run that holds the lock on the part owns both files. A later run uses only the bytes that the journal claims and
// its checksums confirm. So part and journal need not change together, and a crash may lose either.
type Part struct {
	*Place
	f       *os.File
	info    fs.FileInfo // of f when it was locked, to recognize the file
	created bool        // this run created the part
	like    fs.FileInfo // the file whose permissions the part gets, or nil
	copied  fs.FileInfo // the target, if the part started as a copy of it; else nil
	placed  bool        // the part has been renamed to the target or to NAME.ftpfetch.bad
	// recorded means that the caller has recorded the part as a file. So it must stay until it has its name: see
	// Unnamed.
	recorded bool

	// Left is what the journal of an earlier run says. LeftErr is what is wrong with that journal.
	Left    State
	LeftErr error

	mu       sync.Mutex
	state    State
	claimed  Spans        // bytes that the journal on the disk claims
	known    atomic.Bool  // Know has been called
	started  atomic.Int64 // how many bytes the part had at the last StartFlush
	streams  []*Stream
	overlaps []overlap // bytes to compare once the part has all of them
	dropped  int       // how often bytes that the part had were dropped
	failed   error     // why a flush failed; the part cannot be trusted then

	writing   sync.Mutex // held while blocks and the journal change; lock it before mu
	blocks    blocks
	journaled bool // there may be a journal
	watching  sync.Once
	watch     *disk.Watch // on the part since before its first block; nil if the system has none
}

// Name returns the part's name, as messages show it.
func (p *Part) Name() string { return p.shown(p.partial) }

// File returns the open part, for reading.
func (p *Part) File() *os.File { return p.f }

// Check reads the bytes that Left claims, and removes from Left the blocks that have changed. The error is the cause of
// the end of ctx.
func (p *Part) Check(ctx context.Context) error {
	p.watchOpens()
	good, _ := p.Left.Blocks.sound(disk.Reader{Ctx: ctx, F: p.f}) // a block that cannot be read is fetched again
	if ctx.Err() == nil {
		p.Left.Blocks = good
		p.Left.Done = good.spans()
	}
	return context.Cause(ctx)
}

// Resume makes the state in Left the state of the part.
func (p *Part) Resume() {
	p.state = p.Left
	p.blocks = p.Left.Blocks
	p.claimed = p.Left.Done
}

// Copy replaces the part's contents with a copy of the target, as the start of a file with this size and time. The
// error is ErrMoved if the target is no longer the file that was describes.
func (p *Part) Copy(ctx context.Context, was fs.FileInfo, size int64, modTime time.Time) error {
	f, err := p.dir.Open(p.target, os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrMoved
	case err != nil:
		return failure(p.Path, "cannot be opened", err)
	}
	defer f.Close()
	if now, err := disk.Stat(f); err != nil || !unchanged(now, was) {
		return cmp.Or(failure(p.Path, "cannot be examined", err), ErrMoved)
	}
	for err = p.Reset(); err == nil; {
		if err = (disk.Reader{Ctx: ctx, F: f}).Ready(); err == nil {
			_, err = io.CopyN(p.f, f, 64<<20) // the kernel copies, where it can
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

// unchanged reports whether now and was describe the same unchanged file.
func unchanged(now, was fs.FileInfo) bool {
	return os.SameFile(now, was) && now.Size() == was.Size() && now.ModTime().Equal(was.ModTime())
}

// Snapshot returns the state, including what the streams have written so far.
func (p *Part) Snapshot() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.snapshot()
}

// snapshot is Snapshot. The caller must hold mu.
func (p *Part) snapshot() State {
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

// Head returns how many bytes from the start of the file the part has without a gap, including what the streams have
// written so far, and how often bytes that it had were dropped.
func (p *Part) Head() (n int64, dropped int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.snapshot().Done.Head(), p.dropped
}

// Describe sets the size and time of the file. From now on the part holds bytes of this transfer.
func (p *Part) Describe(size int64, modTime time.Time) {
	p.known.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.Size = size
	if !modTime.IsZero() {
		p.state.ModTime = modTime
	}
}

// Described reports whether Describe has been called. Before that the part is as the earlier run left it.
func (p *Part) Described() bool { return p.known.Load() }

// DropFrom drops the bytes from offset n on, so that they are fetched again.
func (p *Part) DropFrom(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropped++
	p.state.Done = p.state.Done.UpTo(n)
}

// Reset drops the state, except the URL, and empties the part. No stream may be open.
func (p *Part) Reset() error {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.mu.Lock()
	p.state = State{URL: p.state.URL, Size: -1}
	p.overlaps = nil
	p.dropped++
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

// Checkpoint flushes the part to the disk, and only then claims its bytes in the journal. If the journal cannot be
// written, the next run merely fetches those bytes again. If the flush fails, the run ends: see Health. The end of ctx
// stops the checkpoint before it changes the journal.
func (p *Part) Checkpoint(ctx context.Context) error {
	p.writing.Lock() // Reset must not drop bytes between the snapshot and the journal
	defer p.writing.Unlock()
	s := p.Snapshot()
	err := p.Health()
	if err != nil || !p.Described() || s.Size < 0 || slices.Equal(s.Done, p.claimed) || ctx.Err() != nil {
		return err
	}
	err = cmp.Or(p.flushed(disk.Flush(p.f)[0]), p.ours()) // a removed part needs no journal
	if err != nil {
		return err
	}
	p.watchOpens()
	in := disk.Reader{Ctx: ctx, F: p.f}
	s.Blocks, err = p.blocks.cover(in, s.Done, blockFor(s.Size))
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
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

// mostUnflushed is how many bytes may wait for the disk before StartFlush has the system write them.
const mostUnflushed = 1 << 20

// StartFlush has the system start to write what the part has to the disk, so that the next flush finds less to do. It
// does not wait, and what it does is no promise.
func (p *Part) StartFlush() {
	n := p.Snapshot().Done.Octets()
	if started := p.started.Load(); n-started > mostUnflushed && p.started.CompareAndSwap(started, n) {
		disk.StartFlush(p.f)
	}
}

// flushed records the result of a flush for Health. It keeps the first error: bytes may be missing on the disk although
// they can still be read, and the system reports that only once.
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

// Leave closes the part. It keeps the part and its journal if a later run can resume from them and the part is not
// worthless. Otherwise it removes them. If the part has become a file, Leave only closes it. It returns how many bytes
// the next run can resume from.
func (p *Part) Leave(worthless bool) (kept int64) {
	defer p.Close()
	s := p.Snapshot()
	switch {
	case p.placed:
	case !p.Described() && (p.LeftErr != nil || len(p.Left.Done) > 0): // keep what an earlier run left
	case p.recorded && !p.alone:
		_ = p.Checkpoint(context.Background())
	case worthless, p.alone, p.copied != nil && s.Done.Octets() <= s.Adopted: // the target has the same bytes
		p.Discard()
	default:
		_ = p.Checkpoint(context.Background())
		if len(p.claimed) == 0 {
			p.Discard()
		}
	}
	return p.claimed.Octets()
}

// Unnamed is [Place.Unnamed] for a part that was claimed.
func (p *Part) Unnamed(size int64) bool { return !p.created && mayBeOf(p.info, size) }

// Unnamed reports whether there is a part of a file that was recorded with this size: the file has no name yet, because
// a run was killed between the two, or a later run while it fetched the file again. An empty part is none: another run
// has just created it, and will find the record.
func (p *Place) Unnamed(size int64) bool {
	if p.dir == nil {
		return false
	}
	var info fs.FileInfo
	err := p.fits(func() (err error) {
		info, err = p.dir.Lstat(p.partial)
		return err
	})
	return err == nil && mayBeOf(info, size)
}

// mayBeOf reports whether a part may be what a run left of a file of this size.
func mayBeOf(part fs.FileInfo, size int64) bool { return part.Size() > 0 || size == 0 }

// Discard closes the part, and removes it and its journal unless the part has become a file.
func (p *Part) Discard() {
	defer p.Close()
	if !p.placed && p.ours() == nil && p.removeJournal() == nil {
		_ = p.dir.Remove(p.partial)
	}
}

// watchOpens starts to watch the part, unless it has done so.
func (p *Part) watchOpens() { p.watching.Do(func() { p.watch = disk.WatchOpens(p.f) }) }

// Close closes the part and leaves it as it is.
func (p *Part) Close() {
	p.watch.Close()
	disk.Unlock(p.f)
	_ = p.f.Close()
}

// CopyPermissions gives the part the permissions of the file that it will replace, so that a private file stays
// private. The part is always writable for its owner, because later runs open it again; publish takes that permission
// away if the replaced file lacks it.
func (p *Part) CopyPermissions(replaced fs.FileInfo) error {
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
