package ftpexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/internal/network/tcp"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Request says what [Client.Do] retrieves.
type Request struct {
	URL *urlparse.URL
	// Offset is the position in the file, from 0, at which a transfer in image type begins (REST, RFC 3659 section 5).
	// The caller should compare the Response's Size and ModTime with earlier ones before it reads Body, because the
	// file may have changed on the server.
	//
	// Some servers accept an offset, and send the file from its start all the same. To detect that, the first request
	// with an offset on a connection first retrieves the file's last byte alone. This costs four round trips, or five
	// under TLS. Without the file's size there is no such proof, and the request fails with [ErrNoRestart]. It does so
	// too if the file is shorter than Offset. If Offset is just the size, Body is empty.
	Offset int64
	// Size is the size of the file, if the caller knows it from a listing; the proof needs it. If the server gives
	// another size, the request fails with [ErrChanged]. 0 means that the caller does not know it.
	Size int64
	// Unproven leaves out the proof that the server begins at Offset. It is for callers that compare the bytes from
	// Offset on with what they know, as package download does.
	Unproven bool
	// More, if not nil, reports whether another file will be retrieved after this one on the same connection. That saves
	// a round trip: when the last byte has come and More returns true, the Client prepares the next data connection (EPSV
	// or PASV) at once, instead of after the reply that the transfer is complete. More is called at most once, by Read or
	// WriteTo of Body; it should be quick, and must not use Body. If no transfer follows, no harm is done.
	More func() bool
}

// Response is a file that is being retrieved.
type Response struct {
	// Body is the file's contents: the bytes as stored in image type, the text with local line ends in ASCII type (RFC
	// 959 section 3.1.1). Read returns io.EOF only after the server has confirmed that the transfer is complete and, if
	// Size is known, exactly the bytes from the offset on have come. Otherwise it returns an *[Error]. In image type
	// Body is also an io.WriterTo, which copies many bytes to an *os.File without a buffer if the system can; its
	// method CopyTo(*os.File, int64) (int64, error) does so for some of the bytes. The caller must close Body. Read
	// returns an [fs.ErrClosed] after Close.
	//
	// Close before the end tries to keep the connection for a later call. It reads what is left if that is at most 256 KiB
	// and comes within a second, and otherwise closes the data connection. The later call reads the server's reply. If
	// the reply does not come within two seconds, or is not clear, that call opens a new connection, and from then on
	// Close before the end closes the whole connection to this server. Close does so too while another goroutine is in a
	// Read, which it ends, and if MaxIdle is negative.
	Body io.ReadCloser

	// the size of the whole file in bytes; -1 if the server did not give it, and in ASCII type
	Size int64
	// the modification time (MDTM, RFC 3659 section 3) in UTC; zero if the server did not give it
	ModTime time.Time
}

// body is a Response's Body in image type, and the source of one in ASCII type.
type body struct {
	response Response // whose Body it is
	run      *run
	conn     *wire.Conn // of run
	data     io.Reader
	dataConn *wire.Data
	size     int64 // bytes expected, from the offset on; -1 if unknown
	text     bool  // ASCII type: the server's file may have another number of bytes
	n        int64 // bytes so far
	open     bool  // the server has not closed the data connection after the last of them

	progress time.Time    // when a copy without a buffer last brought bytes
	gathered *net.TCPConn // from which CopyTo waits for small bytes at a time; nil if it does not

	busy sync.Mutex  // held while a call reads
	over atomic.Bool // err is set

	closing atomic.Bool                        // Close has been called before the end
	asking  atomic.Pointer[context.CancelFunc] // ends the question of sentNothing
	mu      sync.Mutex                         // guards err against Close
	err     error                              // how the body ended: io.EOF or an *Error; nil if it has not
}

func (b *body) Read(p []byte) (int, error) {
	if err := b.ended(); err != nil || len(p) == 0 {
		return 0, err
	}
	b.busy.Lock()
	defer b.busy.Unlock()
	if b.gathered != nil {
		tcp.Gather(b.gathered, 1)
		b.gathered = nil
	}
	n, err := b.data.Read(p)
	err = b.advance(n, err)
	if b.size == 0 && b.run.goal.offset > 0 { // bytes of another place in the file
		n = 0
	}
	return n, err
}

// ended returns how the body ended, or nil if it has not.
func (b *body) ended() error {
	if !b.over.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// advance counts n bytes. It ends the body if err is not nil or too many bytes have come.
func (b *body) advance(n int, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n += int64(n)
	switch {
	case b.err != nil: // Close was called
	case b.size >= 0 && b.n > b.size:
		b.weigh(max(b.n, b.run.file.other))
		b.fail(b.excess())
	case err == io.EOF:
		b.dataConn.Close()
		b.complete(b.sendInAdvance())
	case err == wire.ErrOpen:
		b.conn.Note("all bytes have come, but the server leaves the data connection open")
		b.open = true
		b.complete("")
	case err != nil:
		b.fail(err)
	default:
		b.dataConn.Whole(b.n == b.size)
		return nil
	}
	return b.err
}

// complete ends the body at the end of the data. It succeeds if the final reply is 2yz and the size is as announced.
// advance is what was sent for the next transfer.
func (b *body) complete(advance string) {
	final, e := b.run.finish(b.n, b.size < 0)
	b.run.advance = advance
	err := b.short(b.size)
	if err != nil && b.dataConn.Cut() != nil {
		err = b.dataConn.Cut()
	}
	switch {
	case e == nil:
		err = b.closed(err)
	case final.Code == 0, err == nil, wire.IsOneOf(e, ErrRefused, ErrNotFound, errNoTicket):
		err = b.refusal(e)
	}
	if err == nil {
		b.end(io.EOF)
		return
	}
	if advance != "" { // which may be the cause
		b.run.learn(isLate)
	}
	b.failAfter(final, err)
}

// closed ends the data connection after a positive final reply. short is why too few bytes have come, or nil.
func (b *body) closed(short error) error {
	if b.open {
		if b.dataConn.More() {
			return b.excess()
		}
		b.dataConn.Close()
	}
	b.weigh(b.n)
	if short != nil && b.dataConn.Cut() == nil && !b.dataConn.Abrupt() {
		return fmt.Errorf("%w, and the server says that this is all%.0w", short, ErrFewer)
	}
	if short != nil {
		return short
	}
	return b.confirm()
}

// excess returns the error for more bytes than announced.
func (b *body) excess() error {
	announced := printable.Count(b.size+b.run.goal.offset, "byte", "bytes")
	return fmt.Errorf("%w: more than the %s announced%.0w", ErrTruncated, announced, ErrMore)
}

// refusal returns the error of a final reply, after it has found out whether the URL names a directory.
func (b *body) refusal(err error) error {
	if e, ok := err.(*Error); ok && e.perhapsDirectory {
		b.run.find(b.run.ctx, b.run.url, e)
	}
	return err
}

// tell adds to the error of a transfer what its final reply says.
func (b *body) tell(e *Error, final wire.Reply) {
	if final.First() > 3 && b.n == 0 && errors.Is(e, ErrTruncated) {
		e.also(ErrNoData)
	}
	if e.Code == 0 {
		e.take(final, b.run.answer(step{Command: b.run.goal.op}, final))
		e.readLimits(b.run.goal.op, b.conn.Secure())
	}
}

// weigh records which of SIZE and the 150 is right, if they differ and one of them has the n bytes that came. If it is
// the one that was not believed, the next try believes it.
func (b *body) weigh(n int64) {
	r := b.run
	f := &r.file
	right := "SIZE"
	if f.by150 == (n == f.info.Size) {
		right = "150"
	}
	if f.other < 0 || n != f.info.Size && n != f.other || r.known().counts == right {
		return
	}
	r.learn(func(h *habits) { h.counts = right })
	r.conn.Note(fmt.Sprintf("SIZE and the reply to RETR have different sizes, %d and %d: %s is right",
		min(f.info.Size, f.other), max(f.info.Size, f.other), right))
}

// sendInAdvance sends the set-up of the next transfer, and returns it, if the data is whole and another transfer
// follows.
func (b *body) sendInAdvance() string {
	r := b.run
	whole := b.size >= 0 && b.n == b.size
	if !whole || r.sequential || r.once || r.client.Active || r.known().late {
		return ""
	}
	if r.goal.more == nil || !r.goal.more() {
		return ""
	}
	verb := r.setUp()[0]
	b.conn.Advance(wire.Line{Text: verb})
	return verb
}

// short returns an error if the body does not have size bytes. A size of -1 is unknown. The error counts from the start
// of the file, so that a try which begins later has the same error.
func (b *body) short(size int64) error {
	if size >= 0 && b.n != size {
		from := b.run.goal.offset
		return fmt.Errorf("%w: %d of %s", ErrTruncated, from+b.n, printable.Count(from+size, "byte", "bytes"))
	}
	return nil
}

// confirm asks for the size with MLST (RFC 3659 section 7) if nothing else has given it. Without a size only the final
// reply says that the file is complete. A reply other than 250 and 5yz does not answer MLST; it may be a second final
// reply.
func (b *body) confirm() error {
	if b.size < 0 && !b.text {
		r, err := b.conn.Ask("MLST "+b.run.goal.op.Arg, true)
		item, ok := factsIn(r)
		switch {
		case err != nil:
			return err
		case r.Code != 250 && r.First() != 5:
			return &wire.ReplyError{Reply: r, Err: ErrTruncated}
		case ok && item.Size >= 0:
			b.size = max(0, item.Size-b.run.goal.offset)
		}
	}
	if err := b.conn.Ended(); err != nil { // the connection may have ended during MLST
		return err
	}
	err := b.short(b.size)
	// in ASCII type SIZE is not sent, but the 150 may have said that the file is empty
	empty := b.size == 0 || b.text && b.run.file.info.Size == 0
	switch {
	case b.dataConn.Cut() != nil && !empty:
		err = b.dataConn.Cut()
	case err == nil && b.dataConn.Abrupt():
		err = b.run.abrupt(b.size >= 0)
	}
	return err
}

// end ends the body, and gives its session back.
func (b *body) end(err error) {
	if err == io.EOF {
		b.run.transferred(b.n, nil)
	} else {
		b.run.transferred(b.n, err)
	}
	b.err = err
	b.over.Store(true) // first, because Close must not touch what another call may use then
	b.run.stop()
	b.run.client.put(b.run.session)
}

// fail ends the transfer and closes the connection, on which data may still be coming.
func (b *body) fail(err error) { b.failAfter(wire.Reply{}, err) }

// failAfter is fail after the final reply, if there was one.
func (b *body) failAfter(final wire.Reply, err error) {
	b.conn.Abandon(err)
	e := b.run.failure(step{Command: b.run.goal.op}, err).unless(b.run.ctx)
	if final.Code != 0 && !errors.Is(e, ErrIsDirectory) {
		b.tell(e, final)
	}
	explained := errors.Is(e, ErrTooMany) || errors.Is(e, ErrTLSRequired)
	if b.n == 0 && b.run.goal.offset == 0 && wire.IsOneOf(e, ErrTimeout, ErrTruncated) && !explained {
		b.sentNothing(e)
	}
	b.end(e)
}

// sentNothing finds out whether the URL names a directory, after a transfer that the server began and for which it sent
// nothing. npm's ftpd says 213 4096 and 150 for a directory, and then neither sends nor says anything more. The
// question goes over a new connection, which the next try uses. A gateway to a store without directories may enter
// every name: then that says nothing.
func (b *body) sentNothing(e *Error) {
	ctx, cancel := context.WithCancel(b.run.ctx)
	defer cancel()
	b.asking.Store(&cancel)
	if b.closing.Load() {
		return
	}
	u := b.run.url
	is, err := b.run.enters(ctx, u, u.Name)
	if !is || err != nil {
		return
	}
	if all, err := b.run.enters(ctx, u, u.Name+".none"); !all && err == nil {
		e.isDirectory()
		e.Err = errSendsNothing
	}
}

// errSendsNothing means that RETR of a directory brought nothing, which is the server's way to refuse it.
var errSendsNothing = fmt.Errorf("the server sends nothing: %w%.0w", ErrIsDirectory, ErrRefused)

// Close ends the transfer, if it is not complete. Any goroutine may call it.
func (b *body) Close() error {
	if !b.over.Load() && !b.leave() {
		b.closing.Store(true)
		b.conn.Abandon(errClosed) // makes a Read that holds the lock return
		if cancel := b.asking.Load(); cancel != nil {
			(*cancel)()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.err {
	case nil:
		b.fail(errClosed)
	case io.EOF:
		b.err = fs.ErrClosed
	}
	return nil
}

// leave ends the transfer, if that may keep the connection, and gives the session back. Another call receives the final
// reply.
func (b *body) leave() bool {
	if !b.busy.TryLock() { // a Read waits for data
		return false
	}
	defer b.busy.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.run
	if b.err != nil || r.once || r.ctx.Err() != nil || r.conn.Err() != nil || r.known().unsettled {
		return false
	}
	left := int64(-1)
	if b.size >= 0 {
		left = b.size - b.n
	}
	r.conn.Leave(left)
	b.end(r.failure(step{Command: r.goal.op}, errClosed))
	return true
}

var errClosed = fmt.Errorf("body closed before its end%.0w", fs.ErrClosed)

// chunk (in bytes) and slice bound one step of straight, which counts bytes between the steps. lastLook is the length
// of a step that only checks whether bytes have come since the step before. Up to small bytes, a copy through a buffer
// takes less time; small is also how many bytes a step waits for: ten packets of Ethernet, and a small part of a
// receive buffer.
const (
	small    = 16 << 10
	chunk    = 1 << 20
	slice    = 500 * time.Millisecond
	lastLook = time.Millisecond
)

// buffers holds the buffers of a WriteTo that cannot use splice.
var buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// WriteTo writes the rest of the body to w. Without TLS it copies straight from the socket (splice(2) on Linux) to an
// *os.File that is a regular file, unless only a few bytes are left. It returns an error of w unchanged.
func (b *body) WriteTo(w io.Writer) (int64, error) {
	if file, ok := w.(*os.File); ok {
		if conn := b.socketTo(file); conn != nil {
			return b.straight(file, conn)
		}
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	return b.copy(w, *buf)
}

// copy copies through a buffer. Unlike [io.CopyBuffer], it calls neither WriteTo nor ReadFrom.
func (b *body) copy(w io.Writer, buf []byte) (written int64, err error) {
	for {
		n, failed := b.Read(buf)
		if n > 0 {
			done, err := w.Write(buf[:n])
			written += int64(done)
			if err == nil && done < n {
				err = io.ErrShortWrite
			}
			if err != nil {
				return written, err
			}
		}
		switch failed {
		case nil:
		case io.EOF:
			return written, nil
		default:
			return written, failed
		}
	}
}

// straight copies without a buffer in this process, to the end of the body.
func (b *body) straight(file *os.File, conn *net.TCPConn) (written int64, err error) {
	tcp.Gather(conn, small) // fewer bytes stay unread until a deadline
	defer tcp.Gather(conn, 1)
	b.progress = time.Now()
	for !b.over.Load() {
		n, err := b.stride(file, conn, chunk)
		written += n
		if err != nil && err != b.ended() { // an error of the file
			return written, err
		}
	}
	if err := b.ended(); err != io.EOF {
		return written, err
	}
	return written, nil
}

// CopyTo copies at most n bytes to file, straight from the socket, and returns after half a second at the latest. It
// copies nothing and returns [errors.ErrUnsupported] if the system cannot do that; then Read must be used. Otherwise
// its results are those of a Read, or an error of file.
func (b *body) CopyTo(file *os.File, n int64) (int64, error) {
	if err := b.ended(); err != nil {
		return 0, err
	}
	conn := b.socketTo(file)
	if conn == nil || n <= 0 {
		return 0, errors.ErrUnsupported
	}
	if b.gathered == nil {
		tcp.Gather(conn, small)
		b.gathered = conn
		b.progress = time.Now()
	}
	return b.stride(file, conn, min(n, chunk))
}

// socketTo returns the socket of b if the system may copy from it to file, else nil.
func (b *body) socketTo(file *os.File) *net.TCPConn {
	if b.over.Load() || b.size >= 0 && b.size-b.n <= small {
		return nil
	}
	// a device refuses bytes only after they have left the socket, and then they are lost
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return b.dataConn.TCP()
}

// stride is one step of a copy: it takes the bytes that have come before it waits for more. The transfer has stalled if
// no byte has come by the end of a stride that began after the stall timeout.
func (b *body) stride(file *os.File, conn *net.TCPConn, most int64) (int64, error) {
	b.busy.Lock()
	defer b.busy.Unlock()
	left := b.dataConn.Patience() - time.Since(b.progress)
	b.dataConn.ExtendBy(min(slice, max(left, lastLook)))
	began := time.Now()
	n, err := file.ReadFrom(&io.LimitedReader{R: conn, N: most})
	if n > 0 {
		b.progress = time.Now()
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && (n > 0 || left > 0):
		err = b.dataConn.Slow(n, min(slice, time.Since(began)))
	case err == nil && n < most:
		err = io.EOF
	case err == nil:
		err = b.dataConn.Slow(n, 0)
	case err != nil:
		socket := socketError(err)
		if socket == nil {
			return n, err
		}
		err = socket
	}
	return n, b.advance(int(n), b.dataConn.Reason(err))
}

// connectionErrors are the errors that the system reports for a broken connection.
var connectionErrors = []syscall.Errno{
	syscall.ECONNRESET, syscall.ETIMEDOUT, syscall.ECONNABORTED,
	syscall.ENETDOWN, syscall.ENETUNREACH, syscall.ENETRESET,
	syscall.EHOSTUNREACH, syscall.EHOSTDOWN, syscall.ENOTCONN,
}

// socketError returns err as an error of the socket, or nil if it is an error of the file. A splice reports both in the
// same way.
func socketError(err error) error {
	var op *net.OpError
	if wire.IsOneOf(err, os.ErrDeadlineExceeded, net.ErrClosed) || errors.As(err, &op) {
		return err
	}
	errno, ok := errors.AsType[syscall.Errno](err)
	if ok && slices.Contains(connectionErrors, errno) {
		return &net.OpError{Op: "read", Net: "tcp", Err: errno}
	}
	return nil
}

// textBody is a Body in ASCII type. It converts line ends from CR LF to the local ones, and CR NUL to CR (RFC 959
// section 3.1.1.1, the NVT of RFC 854). A bare LF, which servers without conversion send, counts as a line end too.
type textBody struct {
	io.ReadCloser
	buf  []byte // if cr is set, its first byte is that CR
	cr   bool   // the last byte was a CR, whose meaning the next byte decides
	text string // converted and not yet returned
	err  error
}

func (t *textBody) Read(p []byte) (int, error) {
	if _, err := t.ReadCloser.Read(nil); errors.Is(err, fs.ErrClosed) {
		return 0, err
	}
	for t.text == "" && len(p) > 0 {
		if t.err != nil {
			return t.ReadCloser.Read(nil) // which has the same error, or the error of Close
		}
		held := 0
		if t.cr {
			held = 1
		}
		var n int
		n, t.err = t.ReadCloser.Read(t.buf[held:])
		var data []byte
		data, t.cr = bytes.CutSuffix(t.buf[:held+n], []byte("\r"))
		t.text = lineEnds().Replace(string(data))
		if t.cr && t.err != nil { // at the end a CR stands for itself
			t.text += "\r"
		}
		t.buf[0] = '\r'
	}
	n := copy(p, t.text)
	t.text = t.text[n:]
	return n, nil
}

// lineEnds converts line ends to the local ones.
var lineEnds = sync.OnceValue(func() *strings.Replacer {
	local := "\n"
	if runtime.GOOS == "windows" {
		local = "\r\n"
	}
	return strings.NewReplacer("\r\n", local, "\r\x00", "\r", "\n", local)
})
