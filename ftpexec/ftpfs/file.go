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
	"example.com/ftpfetch/ftpexec/internal/drain"
)

// file is an open file or directory.
type file struct {
	info   *info
	ctx    context.Context // Close ends it with fs.ErrClosed
	cancel context.CancelCauseFunc

	mu     sync.Mutex // held during a call
	closed bool
	next   int64 // where the next Read begins
	size   int64 // -1 if unknown
	first  *ftpexec.Response
	given  bool // bytes of first have been returned: another transfer must bring the same file
	joined bool // bytes of another transfer have been returned, too
	// all bytes of a small file whose time the server does not give; nil before they have come
	whole []byte
	body  io.ReadCloser // the transfer, if one is under way
	at    int64         // where body is in the file
	// what a Read at the end returns; nil if a transfer has to show it, as for an empty file
	end error

	listed bool
	rest   []fs.DirEntry // not read yet; then comes end
}

// call runs one do at a time, and none after Close. It returns errors as io/fs wants them.
func (f *file) call(op string, do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := fs.ErrClosed
	if !f.closed {
		err = do()
	}
	return failed(op, f.info.path, err)
}

func (f *file) Stat() (fs.FileInfo, error) {
	return f.info, f.call("stat", func() error { return nil })
}

// Close ends a call that is under way.
func (f *file) Close() (err error) {
	if !f.mu.TryLock() {
		f.cancel(fs.ErrClosed)
		f.mu.Lock()
	}
	defer f.mu.Unlock()
	if f.closed {
		err = failed("close", f.info.path, fs.ErrClosed)
	}
	f.closed = true
	f.giveUp()
	f.cancel(fs.ErrClosed)
	return err
}

// ReadDir returns the next n entries, or all that are left. The first call lists the directory.
func (f *file) ReadDir(n int) (next []fs.DirEntry, err error) {
	err = f.call("readdir", func() error {
		if !f.listed {
			f.rest, f.end = f.info.fsys.ReadDir(f.info.path)
			f.listed = f.end == nil || errors.Is(f.end, ftpexec.ErrLine)
		}
		if n > 0 && len(f.rest) > 0 {
			n = min(n, len(f.rest))
			next = f.rest[:n:n]
			f.rest = f.rest[n:]
			return nil
		}
		end := f.end
		next = f.rest
		f.rest = nil
		f.end = nil
		if n > 0 {
			end = cmp.Or(end, io.EOF)
		}
		return end
	})
	return next, err
}

func (f *file) Read(p []byte) (n int, err error) {
	err = f.call("read", func() error {
		n, err = f.readFrom(p, f.next)
		f.next += int64(n)
		return err
	})
	return n, err
}

// ReadAt does not change where Read goes on, but the two share one transfer.
func (f *file) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.call("readat", func() error {
		if off < 0 {
			return fs.ErrInvalid
		}
		for m := 0; n < len(p) && err == nil; n += m {
			m, err = f.readFrom(p[n:], off+int64(n))
		}
		return err
	})
	return n, err
}

// Seek sends nothing. It fails with io.SeekEnd if the server has not given the size.
func (f *file) Seek(offset int64, whence int) (at int64, err error) {
	err = f.call("seek", func() error {
		start := int64(-1)
		switch whence {
		case io.SeekStart:
			start = 0
		case io.SeekCurrent:
			start = f.next
		case io.SeekEnd:
			start = f.size
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

func (f *file) readFrom(p []byte, off int64) (n int, err error) {
	switch {
	case f.info.IsDir():
		return 0, ftpexec.ErrIsDirectory
	case len(p) == 0:
		return 0, nil
	case f.size >= 0 && off >= f.size && (off > 0 || f.end != nil):
		// A transfer that begins beyond the end cannot show where the end is.
		return 0, cmp.Or(f.end, io.EOF)
	}
	return f.fetch(p, off)
}

// fetch reads bytes at off from a transfer, or from memory if the whole file is there.
func (f *file) fetch(p []byte, off int64) (n int, err error) {
	err = f.moveTo(off)
	if err == nil && f.whole != nil {
		f.end = nil
		return copy(p, f.whole[off:]), nil
	}
	if err == nil {
		n, err = f.body.Read(p)
		f.at += int64(n)
		f.given = f.given || n > 0
	}
	err = f.confirmed(err)
	f.end = nil
	if err == io.EOF || f.size > 0 {
		f.end = err
	}
	if err != nil {
		f.giveUp()
	}
	if n > 0 && err == io.EOF {
		return n, nil
	}
	return f.held(n, off, err), err
}

// held returns how many of n bytes at off Read returns with err. It holds back the last byte of the file, because a
// caller that gets all bytes, such as io.ReadFull, may ignore err.
func (f *file) held(n int, off int64, err error) int {
	if err == nil || err == io.EOF || f.size < 0 {
		return n
	}
	return int(min(int64(n), max(0, f.size-1-off)))
}

// confirmed returns what err, which a Read of body has returned, means. At the end of the file it reads again, so that
// the server's confirmation comes with the last bytes.
func (f *file) confirmed(err error) error {
	if err == nil && f.at == f.size {
		more := 0
		more, err = io.ReadFull(f.body, make([]byte, 1))
		f.at += int64(more)
	}
	switch {
	case f.size >= 0 && f.at > f.size && (err == nil || err == io.EOF):
		return ftpexec.ErrChanged
	case err == io.EOF && f.at < f.size:
		return ftpexec.ErrTruncated
	case err == io.EOF && f.joined:
		return f.same()
	}
	return err
}

// moveTo makes body a transfer that is at off. It reads and drops the bytes before off if they are few.
func (f *file) moveTo(off int64) error {
	if gap := off - f.at; f.body != nil && gap > 0 && gap <= drain.Over {
		n, err := io.CopyN(io.Discard, f.body, gap)
		f.at += n
		if err != nil { // io.EOF: the file ends before off
			return err
		}
	}
	if f.whole != nil || f.body != nil && f.at == off {
		return nil
	}
	f.giveUp()
	if f.small() && !f.info.exact() {
		return f.keep()
	}
	return f.begin(off)
}

// small reports whether the file can still be kept as a whole.
func (f *file) small() bool { return !f.given && f.size > 0 && f.size <= drain.Over }

// errUndated means that nothing would show whether another transfer brings the same file: that takes a size and a time,
// as in package download.
var errUndated = fmt.Errorf("the server does not give the file's size and time, "+
	"so another transfer may bring another file%.0w: "+
	"read it once, from its beginning to its end", ftpexec.ErrChanged)

// begin starts a transfer at off. It fails if the file is not the one whose bytes have been returned.
func (f *file) begin(off int64) error {
	if f.given && (f.size < 0 || f.first.ModTime.IsZero()) {
		return errUndated
	}
	req := &ftpexec.Request{URL: f.info.e.URL, Offset: off, Size: max(0, f.size)}
	r, err := f.info.fsys.client.Do(f.ctx, req)
	if err != nil {
		return err
	}
	f.body = r.Body
	f.at = off
	f.joined = f.given
	if f.small() && r.ModTime.IsZero() { // MLST gives the time, but no transfer does
		f.giveUp()
		return f.keep()
	}
	if !f.given {
		f.first = r
	}
	if f.size < 0 {
		f.size = r.Size
	}
	return f.unlike(r.Size, r.ModTime)
}

// unlike returns an error if a file of this size and time is not the one whose bytes have been returned.
func (f *file) unlike(size int64, modTime time.Time) error {
	if size >= 0 && size != f.size || !modTime.Equal(f.first.ModTime) {
		return ftpexec.ErrChanged
	}
	return nil
}

// keep reads all of a small file whose time Open did not learn, so that no second transfer is needed.
func (f *file) keep() error {
	all, err := f.info.fsys.read(f.ctx, f.info.path)
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

// giveUp ends the transfer. It also closes the connection, unless few bytes are left.
func (f *file) giveUp() {
	if f.body != nil {
		_ = drain.Short(f.body, f.size, f.at)
		f.body.Close()
		f.body = nil
	}
}
