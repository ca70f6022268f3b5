package download

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// ledger knows which octets of a part are there and keeps its journal. It is
// safe for concurrent use.
type ledger struct {
	part *part
	path string // of the journal
	off  bool   // no journal can be kept: the name is too long

	mu      sync.Mutex
	state   state
	begun   bool // the journal is of this transfer: it may be written anew
	streams []*stream
	high    int64 // the most octets that were there at once
	failed  error // of bringing octets to the disk: the part cannot be trusted

	writing sync.Mutex // held while the journal is changed; taken before mu
}

// stream is one connection's way into the part. The offset of its own file
// handle says how far it came, whichever way the octets take.
type stream struct {
	f    *os.File
	span span // what it is to bring; end -1: to the end of the file
}

// at is the first octet that is not written yet.
func (s *stream) at() int64 {
	n, err := s.f.Seek(0, io.SeekCurrent)
	if err != nil {
		return s.span.start
	}
	return n
}

// brought is what s has written of what it is to bring.
func (s *stream) brought() span {
	at := s.at()
	if s.span.end >= 0 {
		at = min(at, s.span.end)
	}
	return span{s.span.start, at}
}

// open begins to write x.
func (l *ledger) open(x span) (*stream, error) {
	f, err := l.part.handle()
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(x.start, io.SeekStart); err != nil {
		f.Close()
		return nil, failure(l.part.path, "cannot be written", err)
	}
	s := &stream{f: f, span: x}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams = append(l.streams, s)
	return s, nil
}

// close ends s and counts what it brought. Where more came than the file has,
// nothing of the stream counts.
func (l *ledger) close(s *stream) (brought int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x, over := s.brought(), s.span.end >= 0 && s.at() > s.span.end
	l.streams = slices.DeleteFunc(l.streams, func(y *stream) bool { return y == s })
	err = s.f.Close()
	if over || err != nil {
		return 0, err
	}
	l.state.done = l.state.done.add(x)
	return x.len(), nil
}

// snapshot returns the state with what the streams have written so far.
func (l *ledger) snapshot() state {
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

// progressed reports whether more octets are there than ever before.
func (l *ledger) progressed() bool {
	n := l.snapshot().done.octets()
	l.mu.Lock()
	defer l.mu.Unlock()
	more := n > l.high
	l.high = max(l.high, n)
	return more
}

// know sets what the server told of the file. From here on the journal may be
// written anew.
func (l *ledger) know(size int64, modTime time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = true
	l.state.size = size
	if !modTime.IsZero() {
		l.state.modTime = modTime
	}
}

// disown takes the octets from n on out of what is done, so that they are
// fetched once more.
func (l *ledger) disown(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.done = l.state.done.upTo(n)
}

// reset forgets everything and empties the part. No stream may be open.
func (l *ledger) reset() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.done, l.state.size, l.state.modTime, l.state.adopted = nil, -1, time.Time{}, 0
	removeJournal(l.path)
	if err := syncDir(dirOf(l.part.path)); err != nil {
		return err
	}
	if err := l.part.f.Truncate(0); err != nil {
		return failure(l.part.path, "cannot be emptied", err)
	}
	return nil
}

// begin writes a first journal, which says whose the part is. It claims
// nothing new, and need not be on the disk.
func (l *ledger) begin() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	err := l.write(l.snapshot(), false)
	if errors.Is(err, syscall.ENAMETOOLONG) {
		l.off = true
		return nil
	}
	if err != nil {
		return failure(l.path, "cannot be written", err)
	}
	return nil
}

// write writes a journal for s, whose octets must be in the part.
func (l *ledger) write(s state, sync bool) (err error) {
	if s.tails, err = tailsOf(l.part.f, s.done); err != nil {
		return err
	}
	return writeJournal(l.path, s, sync)
}

// checkpoint brings what was written to the disk, and only then says so in the
// journal. That the journal cannot be written costs no more than octets to be
// fetched again; that octets do not reach the disk is final.
func (l *ledger) checkpoint() error {
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
	if !l.off {
		_ = l.write(s, true)
	}
	return nil
}

// mayWrite reports whether the journal on the disk is this transfer's. Until a
// response is there it may be one that is to be given up, but not before.
func (l *ledger) mayWrite() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun
}

// fail makes err the part's health: octets may be missing on the disk although
// they can be read. The system tells of that once, so that a later flush would
// succeed.
func (l *ledger) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = err
	}
}

// health returns why the part cannot be trusted, or nil.
func (l *ledger) health() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// keep makes a checkpoint now and then until the returned function is called.
func (l *ledger) keep(interval time.Duration) (stop func()) {
	return every(interval, func() { _ = l.checkpoint() })
}

// every calls f now and then from one goroutine until stop is called.
func every(interval time.Duration, f func()) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				f()
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-ended }
}
