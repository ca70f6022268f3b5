package partfile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/ftpfetch/internal/local/disk"
)

const (
	journalVersion = 4
	maxJournal     = 4 << 20 // in bytes: there are a few thousand blocks of some 50 bytes
)

// State describes a part: where its bytes come from, and which bytes it has. Its JSON is the journal, which
// docs/download.md describes.
type State struct {
	Version int       `json:"ftpfetch"`
	URL     string    `json:"url"`               // the source: the text of its urlparse.Key
	Size    int64     `json:"size"`              // bytes of the whole file; -1 if unknown
	ModTime time.Time `json:"modified,omitzero"` // the source's, UTC; zero if unknown
	Adopted int64     `json:"adopted,omitempty"` // bytes at the start that another program brought
	Blocks  blocks    `json:"done"`              // the checksums of Done
	Done    Spans     `json:"-"`
}

var errJournal = errors.New("its journal is damaged")

// parseJournal parses a journal. The data may be anything, but the returned state is consistent: its blocks are in
// order and inside the file.
func parseJournal(data []byte) (State, error) {
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		return State{}, errJournal
	}
	if s.Version != journalVersion {
		return State{}, fmt.Errorf("its journal has version %d, not %d", s.Version, journalVersion)
	}
	at := int64(0)
	for _, x := range s.Blocks {
		if x.Start < at || x.End <= x.Start {
			return State{}, errJournal
		}
		at = x.End
	}
	s.ModTime = s.ModTime.UTC()
	s.Done = s.Blocks.spans()
	if s.Size < 0 || s.URL == "" || at > s.Size || s.Adopted < 0 || s.Adopted > s.Done.Head() {
		return State{}, errJournal
	}
	return s, nil
}

// readJournal reads the journal. The error is fs.ErrNotExist if there is none, and a [fs.PathError] if it cannot be read.
func (p *Place) readJournal() (State, error) {
	f, err := p.dir.Open(p.journal, os.O_RDONLY)
	if err != nil {
		return State{}, err
	}
	defer f.Close()
	if info, err := disk.Stat(f); err == nil && !disk.Ours(info) {
		theirs := errors.New("it belongs to another user")
		return State{}, &fs.PathError{Op: "open", Path: p.shown(p.journal), Err: theirs}
	}
	in := disk.Reader{Ctx: context.Background(), F: f}
	data, err := io.ReadAll(io.NewSectionReader(in, 0, maxJournal+1))
	switch {
	case err != nil:
		return State{}, err
	case len(data) > maxJournal:
		return State{}, errJournal
	}
	return parseJournal(data)
}

// writeJournal replaces the journal by one for s. The replacement is atomic.
func (p *Place) writeJournal(s State) error {
	s.Version = journalVersion
	data, err := json.Marshal(s)
	if err == nil {
		err = p.dir.Write(p.fresh, append(data, '\n'))
	}
	if err == nil {
		err = p.dir.Rename(p.fresh, p.journal)
	}
	return failure(p.shown(p.journal), "cannot be written", err)
}

// removeJournal removes the journal, and the next one if that was being written.
func (p *Part) removeJournal() error {
	if !p.journaled {
		return nil
	}
	err := errors.Join(p.dir.RemoveIfThere(p.fresh), p.dir.RemoveIfThere(p.journal))
	if err == nil {
		p.journaled = false
		p.claimed = nil
	}
	return failure(p.shown(p.journal), "cannot be removed", err)
}

// Intact compares the complete part with its blocks if another program may have written to it: if one has opened it, or
// bytes have been cut off. If a block differs, the next run resumes from the others.
func (p *Part) Intact(ctx context.Context) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	if !p.watch.Opened() && disk.Dense(p.f, p.Snapshot().Done.End()) {
		return nil
	}
	good, err := p.blocks.sound(disk.Reader{Ctx: ctx, F: p.f})
	switch {
	case err != nil:
		return cmp.Or(context.Cause(ctx), failure(p.Name(), "cannot be read", err))
	case len(good) < len(p.blocks):
		return changed(p.Name(), "no longer holds what was written")
	}
	return nil
}

// minBlock is the minimum size of a block, in bytes. Damage costs only the damaged blocks, and few blocks make a small
// journal.
const minBlock = 4 << 20

// blockFor returns the block size for a file of size bytes. It keeps the number of blocks to about 4096.
func blockFor(size int64) int64 { return max(minBlock, size>>12) }

// castagnoli takes a tenth of a millisecond to make, which most runs do not need.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// block is a range of a part with the CRC-32C (Castagnoli) of its bytes.
type block struct {
	Span
	sum uint32
}

func (x block) MarshalJSON() ([]byte, error) {
	return json.Marshal([]int64{x.Start, x.End, int64(x.sum)})
}
func (x *block) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&x.Start, &x.End, &x.sum})
}

// blocks is sorted. No block is empty, and no two overlap.
type blocks []block

func (b blocks) spans() (out Spans) {
	for _, x := range b {
		if last := len(out) - 1; last >= 0 && out[last].End == x.Start {
			out[last].End = x.End
		} else {
			out = append(out, x.Span)
		}
	}
	return out
}

// cover returns blocks that cover exactly done and end at multiples of size where they can. It reads from r the bytes
// that b does not cover.
func (b blocks) cover(r io.ReaderAt, done Spans, size int64) (out blocks, err error) {
	known := make(map[int64]block, len(b))
	for _, x := range b {
		known[x.Start] = x
	}
	for _, x := range done {
		for at := x.Start; at < x.End; at = out[len(out)-1].End {
			end := min(x.End, at-at%size+size)
			next, ok := known[at]
			if !ok || next.End > end {
				next = block{Span: Span{at, at}}
			}
			if err := next.read(r, end); err != nil {
				return nil, err
			}
			out = append(out, next)
		}
	}
	return out, nil
}

var buffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

func (x *block) read(r io.ReaderAt, end int64) error {
	rest := io.NewSectionReader(r, x.End, end-x.End)
	buffer := buffers.Get().(*[256 << 10]byte)
	defer buffers.Put(buffer)
	buf := buffer[:]
	for x.End < end {
		n, err := io.ReadFull(rest, buf[:min(int64(len(buf)), end-x.End)])
		if err != nil {
			return err
		}
		x.sum = crc32.Update(x.sum, castagnoli(), buf[:n])
		x.End += int64(n)
	}
	return nil
}

// mostReaders bounds the goroutines that read blocks at the same time.
const mostReaders = 4

// sound returns the blocks whose checksums match the bytes of r. It reads several blocks at the same time. The error is
// a failure to read, other than the end of r.
func (b blocks) sound(r io.ReaderAt) (good blocks, err error) {
	failed := make([]error, len(b))
	var readers errgroup.Group
	readers.SetLimit(min(mostReaders, runtime.GOMAXPROCS(0)))
	for i, x := range b {
		readers.Go(func() error {
			failed[i] = x.matches(r)
			return nil
		})
	}
	_ = readers.Wait()
	for i, x := range b {
		switch failed[i] {
		case nil:
			good = append(good, x)
		case errOtherBytes, io.EOF, io.ErrUnexpectedEOF:
		default:
			err = cmp.Or(err, failed[i])
		}
	}
	return good, err
}

var errOtherBytes = errors.New("other bytes than those of the block")

// matches returns an error unless the bytes of r have the checksum of x.
func (x block) matches(r io.ReaderAt) error {
	now := block{Span: Span{x.Start, x.Start}}
	err := now.read(r, x.End)
	if err == nil && now != x {
		err = errOtherBytes
	}
	return err
}

// Span is the range of bytes [start, end).
type Span struct{ Start, End int64 }

// Len returns the number of bytes.
func (s Span) Len() int64 { return s.End - s.Start }

// Spans is sorted. No Span is empty, and no two touch or overlap.
type Spans []Span

// Octets returns how many bytes s covers.
func (s Spans) Octets() (n int64) {
	for _, x := range s {
		n += x.Len()
	}
	return n
}

// End returns the end of the last Span, or 0.
func (s Spans) End() int64 {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].End
}

// Head returns how many bytes from the start of the file s covers without a gap.
func (s Spans) Head() int64 {
	if len(s) == 0 || s[0].Start > 0 {
		return 0
	}
	return s[0].End
}

// Add returns the union of s and x. It does not change s.
func (s Spans) Add(x Span) Spans {
	if x.Len() <= 0 {
		return slices.Clone(s)
	}
	var out Spans
	for _, y := range s {
		switch {
		case y.End < x.Start:
			out = append(out, y)
		case x.End < y.Start:
			out = append(out, x)
			x = y
		default:
			x = Span{min(x.Start, y.Start), max(x.End, y.End)}
		}
	}
	return append(out, x)
}

// Without returns s without the bytes of x. It does not change s.
func (s Spans) Without(x Span) Spans {
	var out Spans
	for _, y := range s {
		for _, z := range []Span{{y.Start, min(y.End, x.Start)}, {max(y.Start, x.End), y.End}} {
			if z.Len() > 0 {
				out = append(out, z)
			}
		}
	}
	return out
}

// UpTo returns the part of s below n.
func (s Spans) UpTo(n int64) Spans {
	var out Spans
	for _, x := range s {
		if x.Start < n {
			out = append(out, Span{x.Start, min(x.End, n)})
		}
	}
	return out
}

// Missing returns the gaps that s leaves in a file of size bytes.
func (s Spans) Missing(size int64) Spans {
	var out Spans
	at := int64(0)
	for _, x := range append(slices.Clone(s), Span{size, size}) {
		if x.Start > at {
			out = append(out, Span{at, x.Start})
		}
		at = x.End
	}
	return out
}
