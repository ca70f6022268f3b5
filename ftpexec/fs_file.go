package ftpexec

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"example.com/ftpfetch/urlparse"
)

// readOver is how many bytes are read and dropped, rather than giving up a transfer and its connection: a new connection
// takes some six round trips.
const readOver = 256 << 10

// openFile is a file that FS.Open has opened.
type openFile struct {
	fsys   *FS
	name   string
	url    *urlparse.URL
	info   *fileInfo
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	closed atomic.Bool

	mu    sync.Mutex // held during a Read
	next  int64      // where the next Read begins
	body  io.ReadCloser
	at    int64  // where body is in the file
	known *Entry // what the first transfer told; nil if there was none
	size  int64  // -1 if unknown
	err   error  // how the last transfer failed; nil if it did not
	whole bool   // a transfer has been confirmed, so an empty file is one
}

var _ interface {
	io.ReadSeeker
	io.ReaderAt
} = (*openFile)(nil)

func (d *FS) newFile(name string, info *fileInfo) *openFile {
	f := &openFile{fsys: d, name: name, url: info.URL, info: info, size: info.Size()}
	f.ctx, f.cancel = context.WithCancel(d.ctx)
	return f
}

func (f *openFile) Stat() (fs.FileInfo, error) {
	if f.closed.Load() {
		return nil, f.failed("stat", fs.ErrClosed)
	}
	return f.info, nil
}

// failed returns err as an error of io/fs. io.EOF stays as it is.
func (f *openFile) failed(op string, err error) error {
	switch {
	case err == nil || err == io.EOF:
		return err
	case f.closed.Load():
		err = fs.ErrClosed
	}
	return failed(op, f.name, err)
}

// Close ends a Read that is under way.
func (f *openFile) Close() error {
	if f.closed.Swap(true) {
		return failed("close", f.name, fs.ErrClosed)
	}
	f.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.giveUp()
	return nil
}

func (f *openFile) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.readFrom(p, f.next)
	f.next += int64(n)
	return n, f.failed("read", err)
}

// ReadAt does not change where Read goes on, but the two share one transfer.
func (f *openFile) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, f.failed("readat", fmt.Errorf("%w: negative offset", fs.ErrInvalid))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for n < len(p) && err == nil {
		var m int
		m, err = f.readFrom(p[n:], off+int64(n))
		n += m
	}
	return n, f.failed("readat", err)
}

// Seek sends nothing. It fails with io.SeekEnd if the server has not told the size.
func (f *openFile) Seek(offset int64, whence int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	to := map[int]int64{io.SeekStart: 0, io.SeekCurrent: f.next, io.SeekEnd: f.size}
	start, ok := to[whence]
	switch {
	case f.closed.Load():
		return 0, f.failed("seek", fs.ErrClosed)
	case !ok || start+offset < 0 && start >= 0:
		return 0, f.failed("seek", fs.ErrInvalid)
	case start < 0:
		return 0, f.failed("seek", fmt.Errorf("%w: the server has not told the size", fs.ErrInvalid))
	}
	f.next = start + offset
	return f.next, nil
}

// readFrom reads at off. The caller holds mu.
func (f *openFile) readFrom(p []byte, off int64) (int, error) {
	switch {
	case f.closed.Load():
		return 0, fs.ErrClosed
	case len(p) == 0:
		return 0, nil
	case f.size >= 0 && off >= f.size && (off > 0 || f.whole): // REST beyond the end is no way to learn about the end
		return 0, cmp.Or(f.err, io.EOF)
	}
	err := f.moveTo(off)
	n := 0
	if err == nil {
		n, err = f.body.Read(p)
		f.at += int64(n)
	}
	if err == nil && f.at == f.size { // Read again, so that the server's confirmation comes with the last bytes
		more := 0
		more, err = io.ReadFull(f.body, make([]byte, 1))
		f.at += int64(more)
	}
	switch {
	case f.size >= 0 && f.at > f.size && (err == nil || err == io.EOF):
		f.err = f.wrong(ErrChanged)
		err = f.err
	case err == io.EOF && f.at < f.size:
		f.err = f.wrong(ErrTruncated)
		err = f.err
	case err == nil:
		f.hold()
		f.err = nil
		return n, nil
	case err == io.EOF:
		f.err, f.whole = nil, true
	default:
		f.err = err
	}
	f.giveUp()
	if n > 0 && err == io.EOF {
		return n, nil
	}
	return n, err
}

// moveTo makes body one that is at off.
func (f *openFile) moveTo(off int64) error {
	if gap := off - f.at; f.body != nil && gap > 0 && gap <= readOver {
		n, err := io.CopyN(io.Discard, f.body, gap)
		f.at += n
		if err != nil { // io.EOF: the file ends before off
			return err
		}
	}
	if f.body != nil && f.at == off {
		return nil
	}
	f.leave()
	return f.fsys.client.uncrowded(f.ctx, f.url, func() error { return f.open(off) })
}

// leave ends the transfer in favour of another one. It reads what is left if that is little.
func (f *openFile) leave() {
	if f.body != nil && f.size >= 0 && f.size-f.at <= readOver {
		_, _ = io.Copy(io.Discard, f.body) // if it fails, the next transfer has a new connection
	}
	f.giveUp()
}

// open starts a transfer at off, if the file is the one of the transfers before.
func (f *openFile) open(off int64) error {
	r, err := f.fsys.client.Do(f.ctx, &Request{URL: f.url, Offset: off})
	if err != nil {
		return err
	}
	now := Entry{Size: r.Size, ModTime: r.ModTime}
	if f.known == nil {
		f.known = &Entry{Size: f.size, ModTime: now.ModTime}
		if f.size < 0 {
			f.size = now.Size
		}
	}
	if now.Size >= 0 && now.Size != f.size || !now.ModTime.Equal(f.known.ModTime) {
		r.Body.Close()
		return f.wrong(ErrChanged)
	}
	f.body, f.at = r.Body, off
	f.hold()
	return nil
}

// wrong returns why as an error of a transfer.
func (f *openFile) wrong(why error) error {
	return &Error{Stage: StageTransfer, Op: withArg("RETR", f.url.Name).shown(), URL: f.url.Redacted(), Err: why}
}

// hold offers the connection to calls that wait for one. Without a size nothing would tell a changed file.
func (f *openFile) hold() {
	if f.size >= 0 {
		f.fsys.client.pool.holds(f)
	}
}

// giveUp ends the transfer. The connection goes with it, unless the transfer is over.
func (f *openFile) giveUp() {
	if f.body != nil {
		f.body.Close()
		f.body = nil
		f.fsys.client.pool.freed(f)
	}
}

// yield gives the connection up for another call, unless f is being read. It reports whether it did.
func (f *openFile) yield() bool {
	if !f.mu.TryLock() {
		return false
	}
	defer f.mu.Unlock()
	held := f.body != nil
	f.giveUp()
	return held
}
