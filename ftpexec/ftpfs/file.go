package ftpfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"example.com/ftpfetch/ftpexec"
)

// file is an open file or directory.
type file struct {
	info   *info
	ctx    context.Context // Close ends it with fs.ErrClosed
	cancel context.CancelCauseFunc

	turn sync.Mutex // held by Read, Seek and ReadDir, which run one at a time
	next int64      // where the next Read begins
	rest []fs.DirEntry
	// listed means that rest was filled; then comes last
	listed bool
	last   error

	mu     sync.Mutex // guards the following, and transfers; held while nothing is sent
	some   sync.Cond  // of mu: a call or a transfer has ended
	calls  int        // under way
	closed bool
	transfers
	size   int64 // -1 if unknown
	first  *ftpexec.Response
	given  bool // bytes of first have been returned: another transfer must bring the same file
	joined bool // another transfer has begun after that
	// all bytes of a small file whose time the server does not give; nil before they have come
	whole []byte
	// what a Read at the end returns; nil if a transfer has to show it, as for an empty file
	end error
}

func newFile(ctx context.Context, i *info) *file {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &file{info: i, ctx: ctx, cancel: cancel, size: i.Size()}
	f.some.L = &f.mu
	f.most = cmp.Or(max(0, i.fsys.client.MaxConns), mostTransfers)
	return f
}

// call runs do, unless the file is closed. It returns errors as io/fs wants them.
func (f *file) call(op string, do func() error) error {
	f.mu.Lock()
	err := fs.ErrClosed
	if !f.closed {
		f.calls++
		f.mu.Unlock()
		err = do()
		f.mu.Lock()
		f.calls--
		f.some.Broadcast()
	}
	f.mu.Unlock()
	return failed(op, f.info.path, err)
}

// inTurn runs one do at a time.
func (f *file) inTurn(op string, do func() error) error {
	return f.call(op, func() error {
		f.turn.Lock()
		defer f.turn.Unlock()
		return do()
	})
}

func (f *file) Stat() (fs.FileInfo, error) {
	return f.info, f.call("stat", func() error { return nil })
}

// Close ends the calls that are under way.
func (f *file) Close() (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		err = failed("close", f.info.path, fs.ErrClosed)
	}
	f.closed = true
	if f.calls > 0 {
		f.cancel(fs.ErrClosed)
	}
	f.some.Broadcast()
	for f.calls > 0 {
		f.some.Wait()
	}
	for _, t := range f.all {
		t.giveUp()
	}
	f.all = nil
	f.cancel(fs.ErrClosed)
	return err
}

// ReadDir returns the next n entries, or all that are left. The first call lists the directory.
func (f *file) ReadDir(n int) (next []fs.DirEntry, err error) {
	err = f.inTurn("readdir", func() error {
		if !f.listed {
			f.rest, f.last = f.info.fsys.ReadDir(f.info.path)
			f.listed = f.last == nil || errors.Is(f.last, ftpexec.ErrLine)
		}
		if n > 0 && len(f.rest) > 0 {
			n = min(n, len(f.rest))
			next = f.rest[:n:n]
			f.rest = f.rest[n:]
			return nil
		}
		end := f.last
		next = f.rest
		f.rest = nil
		f.last = nil
		if n > 0 {
			end = cmp.Or(end, io.EOF)
		}
		return end
	})
	return next, err
}

func (f *file) Read(p []byte) (n int, err error) {
	err = f.inTurn("read", func() error {
		n, err = f.readFrom(p, f.next, false)
		f.next += int64(n)
		return err
	})
	return n, err
}

// ReadAt does not change where Read goes on, but it may use the same transfer.
func (f *file) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.call("readat", func() error {
		if off < 0 {
			return fs.ErrInvalid
		}
		n, err = f.readFrom(p, off, true)
		return err
	})
	return n, err
}

// Seek sends nothing. It fails with io.SeekEnd if the server has not given the size.
func (f *file) Seek(offset int64, whence int) (at int64, err error) {
	err = f.inTurn("seek", func() error {
		start := int64(-1)
		switch whence {
		case io.SeekStart:
			start = 0
		case io.SeekCurrent:
			start = f.next
		case io.SeekEnd:
			f.mu.Lock()
			start = f.size
			f.mu.Unlock()
		}
		if start < 0 || start+offset < 0 {
			return fs.ErrInvalid
		}
		at = start + offset
		f.next = at
		return nil
	})
	return at, err
}

// readFrom reads bytes at off: some, or all of p if full is set.
func (f *file) readFrom(p []byte, off int64, full bool) (n int, err error) {
	if f.info.IsDir() {
		return 0, ftpexec.ErrIsDirectory
	}
	goesOn := func() bool { return err == nil && n < len(p) && (n == 0 || full) }
	for goesOn() {
		var t *transfer
		t, err = f.take(off+int64(n), off+int64(len(p)))
		if t == nil {
			return n, err
		}
		for m := 1; m > 0 && goesOn(); n += m {
			m, err = f.fetch(t, p[n:], off+int64(n))
		}
		if f.put(t, err) {
			err = nil
		}
	}
	return n, err
}

// over returns what a call at off returns without a transfer; false if it needs one.
func (f *file) over(off int64) (error, bool) {
	// A transfer that begins beyond the end cannot show where the end is.
	if f.size >= 0 && off >= f.size && (off > 0 || f.end != nil) {
		return cmp.Or(f.end, io.EOF), true
	}
	return nil, false
}

// fetch reads bytes at off from t, or from memory if the whole file is there. It returns 0 bytes and no error at the end
// of the file.
func (f *file) fetch(t *transfer, p []byte, off int64) (n int, err error) {
	f.mu.Lock()
	_, over := f.over(off)
	f.mu.Unlock()
	if over {
		return 0, nil
	}
	err = f.moveTo(t, off)
	f.mu.Lock()
	whole := f.whole
	if err == nil && whole != nil {
		f.end = nil
	}
	f.mu.Unlock()
	if err == nil && whole != nil {
		return copy(p, whole[off:]), nil
	}
	if err == nil {
		n, err = t.body.Read(p)
		t.at += int64(n)
	}
	if err = f.confirmed(t, err); err != nil {
		t.giveUp()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.given = f.given || n > 0
	f.end = nil
	if err == io.EOF || f.size > 0 {
		f.end = err
	}
	if n > 0 && err == io.EOF {
		return n, nil
	}
	return f.returned(n, off, err), err
}

// returned returns how many of n bytes at off Read returns with err. It holds back the last byte of the file, because a
// caller that gets all bytes, such as io.ReadFull, may ignore err.
func (f *file) returned(n int, off int64, err error) int {
	if err == nil || err == io.EOF || f.size < 0 {
		return n
	}
	return int(min(int64(n), max(0, f.size-1-off)))
}

// confirmed returns what err, which a Read of t has returned, means. At the end of the file it reads again, so that the
// server's confirmation comes with the last bytes.
func (f *file) confirmed(t *transfer, err error) error {
	f.mu.Lock()
	size := f.size
	joined := f.joined
	f.mu.Unlock()
	if err == nil && t.at == size {
		more := 0
		more, err = io.ReadFull(t.body, make([]byte, 1))
		t.at += int64(more)
	}
	switch {
	case size >= 0 && t.at > size && (err == nil || err == io.EOF):
		return ftpexec.ErrChanged
	case err == io.EOF && t.at < size:
		return ftpexec.ErrTruncated
	case err == io.EOF && joined:
		return f.same()
	}
	return err
}

// moveTo makes t a transfer that is at off. It reads and drops the bytes before off if they are few.
func (f *file) moveTo(t *transfer, off int64) error {
	if gap := off - t.at; t.body != nil && gap > 0 && gap <= near {
		n, err := io.CopyN(io.Discard, t.body, gap)
		t.at += n
		if err != nil { // io.EOF: the file ends before off
			return err
		}
	}
	f.mu.Lock()
	here := f.whole != nil || t.body != nil && t.at == off
	small := f.small()
	f.mu.Unlock()
	if here {
		return nil
	}
	t.giveUp()
	if small && !f.info.exact() {
		return f.keep()
	}
	return f.begin(t, off)
}

// small reports whether the file can still be kept as a whole.
func (f *file) small() bool { return !f.given && f.size > 0 && f.size <= near }

// errUndated means that nothing would show whether another transfer brings the same file: that takes a size and a time,
// as in package download.
var errUndated = fmt.Errorf("the server does not give the file's size and time, "+
	"so another transfer may bring another file%.0w: "+
	"read it once, from its beginning to its end", ftpexec.ErrChanged)

// begin starts t at off. It fails if the file is not the one whose bytes have been returned.
func (f *file) begin(t *transfer, off int64) error {
	f.mu.Lock()
	undated := f.given && (f.size < 0 || f.first.ModTime.IsZero())
	size := f.size
	f.mu.Unlock()
	if undated {
		return errUndated
	}
	req := &ftpexec.Request{URL: f.info.e.URL, Offset: off, Size: max(0, size)}
	r, err := f.info.fsys.client.Do(f.ctx, req)
	if err != nil {
		return err
	}
	t.body = r.Body
	t.at = off
	f.mu.Lock()
	f.joined = f.joined || f.given
	small := f.small()
	if !f.given {
		f.first = r
	}
	if f.size < 0 {
		f.size = r.Size
	}
	f.mu.Unlock()
	if small && r.ModTime.IsZero() { // MLST gives the time, but no transfer does
		t.giveUp()
		return f.keep()
	}
	return f.unlike(r.Size, r.ModTime)
}

// unlike returns an error if a file of this size and time is not the one whose bytes have been returned.
func (f *file) unlike(size int64, modTime time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if size >= 0 && size != f.size || !modTime.Equal(f.first.ModTime) {
		return ftpexec.ErrChanged
	}
	return nil
}

// keep reads all of a small file whose time Open did not learn, so that no second transfer is needed.
func (f *file) keep() error {
	all, err := f.info.fsys.read(f.ctx, f.info.path)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
		return err
	case int64(len(all)) != f.size:
		return ftpexec.ErrChanged
	}
	f.whole = all
	return nil
}

// same returns io.EOF if the file on the server has not changed. It is for a file that took several transfers, because
// the file may be replaced between MDTM and the data.
func (f *file) same() error {
	now, err := f.info.fsys.client.Stat(f.ctx, f.info.e.URL)
	if err == nil {
		err = f.unlike(now.Size, now.ModTime)
	}
	return cmp.Or(err, io.EOF)
}
