package download

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// arrivals records which bytes of a part have arrived and writes its journal. It
// is safe for concurrent use.
type arrivals struct {
	part *part

	mu      sync.Mutex
	state   state
	claimed spans // by the journal on the disk
	begun   bool  // the journal is about this transfer and may be written
	streams []*stream
	high    int64 // the most bytes that the part has ever had
	failed  error // why bytes did not reach the disk: the part cannot be trusted
	laps    []lap // what other responses had of bytes that are not all there yet

	writing sync.Mutex // held while blocks and the journal change; lock it before mu
	blocks  blocks
}

func newArrivals(p *part, s state) *arrivals {
	return &arrivals{part: p, state: s, blocks: s.blocks, high: s.done.octets(), claimed: s.done}
}

// stream writes one connection's bytes into the part. The offset of its own file
// handle tells how far it is, even if the bytes go straight from the socket.
type stream struct {
	f     *os.File // the part's own, or one of its own while that is in use
	span  span     // the bytes to write; an end of -1 means the end of the file
	whole bool     // the span has arrived and nothing contradicts it
}

// at returns the position of the first byte not written yet.
func (s *stream) at() int64 {
	n, err := s.f.Seek(0, io.SeekCurrent)
	if err != nil {
		return s.span.start
	}
	return n
}

// brought returns the bytes of s.span that s has written, but not the last one
// before the span is known to be whole: no run may take it for that.
func (s *stream) brought() span {
	at := s.at()
	switch {
	case s.whole && s.span.end >= 0:
		at = min(at, s.span.end)
	case s.span.end >= 0:
		at = min(at, s.span.end-1)
	}
	return span{s.span.start, at}
}

// open returns a stream that writes x. The first of several at a time uses the
// part's own file.
func (l *arrivals) open(x span) (*stream, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.part.f, error(nil)
	switch {
	case slices.ContainsFunc(l.streams, func(y *stream) bool { return y.f == f }):
		f, err = l.part.handle()
	case !l.part.ours():
		err = replaced(l.part.partial)
	}
	if err != nil {
		return nil, err
	}
	s := &stream{f: f, span: x}
	if _, err := f.Seek(x.start, io.SeekStart); err != nil {
		_ = l.end(s)
		return nil, failure(l.part.partial, "cannot be written", err)
	}
	l.streams = append(l.streams, s)
	return s, nil
}

// end closes the file of s, unless it is the part's own.
func (l *arrivals) end(s *stream) error {
	if s.f == l.part.f {
		return nil
	}
	return failure(l.part.partial, "cannot be closed", closing(s.f))
}

// close ends s and counts its bytes. If it wrote more than its span, none of them
// count: if it began in the middle of the file, that was not where it should have.
func (l *arrivals) close(s *stream, whole bool) (brought int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.whole = whole
	x, over := s.brought(), s.span.end >= 0 && s.at() > s.span.end
	l.streams = slices.DeleteFunc(l.streams, func(y *stream) bool { return y == s })
	err = l.end(s)
	switch {
	case over && x.start > 0:
		return 0, errBeyond
	case over || err != nil:
		return 0, err
	}
	if err := l.agree(l.part.f, l.state.done.add(x)); err != nil {
		return 0, err
	}
	l.state.done = l.state.done.add(x)
	return x.len(), nil
}

// snapshot returns the state, including what the streams have written so far.
func (l *arrivals) snapshot() state {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.state
	for _, x := range l.streams {
		s.done = s.done.add(x.brought())
	}
	if s.size >= 0 {
		s.done = s.done.upTo(s.size)
	}
	s.adopted = min(s.adopted, s.done.head())
	return s
}

// progressed reports whether the part has more bytes than ever before.
func (l *arrivals) progressed() bool {
	n := l.snapshot().done.octets()
	l.mu.Lock()
	defer l.mu.Unlock()
	more := n > l.high
	l.high = max(l.high, n)
	return more
}

// know sets what the server said about the file. From now on the journal may be
// written.
func (l *arrivals) know(size int64, modTime time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = true
	l.state.size = size
	if !modTime.IsZero() {
		l.state.modTime = modTime
	}
}

// disown drops the bytes from n on, so that they are fetched again.
func (l *arrivals) disown(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.done = l.state.done.upTo(n)
}

// reset forgets everything and empties the part. No stream may be open.
func (l *arrivals) reset() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	l.state, l.claimed, l.laps = state{url: l.state.url, size: -1}, nil, nil
	l.mu.Unlock()
	l.blocks = nil
	if err := l.part.write(l.state, false); err != nil {
		return err
	}
	if err := l.part.syncDir(filepath.Dir(l.part.partial)); err != nil {
		return err
	}
	return l.part.empty()
}

// begin writes the first journal of this transfer before its first byte, to mark
// the part as this package's. The journal claims nothing new, so it need not be
// flushed.
func (l *arrivals) begin() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.write(l.snapshot(), false)
}

// checkpoint flushes the part to disk, and only then claims its bytes in the
// journal. If the journal cannot be written, the next run merely fetches those
// bytes again. If the bytes do not reach the disk, the run ends: see health.
func (l *arrivals) checkpoint() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if !l.mayWrite() {
		return nil
	}
	s := l.snapshot()
	if err := l.part.sync(); err != nil {
		l.fail(err)
		return err
	}
	return l.write(s, true)
}

// room is how many bytes of the part keep gives up for the journal on a full disk.
const room = 64 << 10

// keep makes a checkpoint at the end of a run. If the disk is full, it gives up
// the last bytes of the part to make room for the journal. It returns how many
// bytes the journal claims.
func (l *arrivals) keep() int64 {
	err := l.checkpoint()
	if errors.Is(err, syscall.ENOSPC) && l.health() == nil {
		s := l.snapshot()
		l.disown(max(l.claimed.end(), s.done.end()-room))
		if l.part.resize(l.snapshot().done.end(), false) == nil {
			_ = l.checkpoint()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claimed.octets()
}

// complete writes the journal of a part that lacks only its final name. If the
// run is killed while it names the part, the next run knows that the file is
// complete. Failing to write the journal has no other cost.
func (l *arrivals) complete(size int64) {
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.snapshot()
	s.size, s.done, s.complete = size, spans{}.add(span{0, size}), true
	_ = l.write(s, false)
}

// write writes a journal for s, whose bytes must be in the part. The caller must
// hold writing, so that no bytes are given up between the snapshot and the
// journal.
func (l *arrivals) write(s state, sync bool) error {
	if s.size < 0 {
		s.done = nil // a journal without a size claims nothing
	}
	var err error
	if s.blocks, err = l.blocks.cover(diskReader{context.Background(), l.part.f}, s.done, blockFor(s.size)); err != nil {
		return failure(l.part.partial, "cannot be read", err)
	}
	l.blocks = s.blocks
	if err := l.part.write(s, sync); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claimed = s.done
	return nil
}

// mayWrite reports whether the journal may be written. Until the server has
// opened the transfer, the journal on the disk must stay: it may be an earlier
// one that is about to be given up.
func (l *arrivals) mayWrite() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun
}

// fail makes err the part's health. Bytes may be missing on the disk although
// they can still be read, and the system reports that only once: a later flush
// would succeed.
func (l *arrivals) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = err
	}
}

// health returns why the part cannot be trusted, or nil.
func (l *arrivals) health() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// checkpoints makes a checkpoint at each interval until stop is called.
func (l *arrivals) checkpoints(interval time.Duration) (stop func()) {
	return every(interval, func() { _ = l.checkpoint() })
}
