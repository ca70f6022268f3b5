package ftpexec

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Some servers reply 350 to REST and then send the file from its first byte. Behind one name there may be such servers
// and others, so each connection has to prove that its server begins where REST tells it to, before the caller gets a
// byte: see prove.

// ignored is how many bytes of a proof show that the server ignores REST, if the file has so many.
const ignored = 64 << 10

var (
	errIgnoresREST = fmt.Errorf("%w: it accepts REST and ignores it", ErrNoRestart)
	errElsewhere   = fmt.Errorf("%w: it begins elsewhere, or the file is changing", ErrNoRestart)
	errNoProof     = fmt.Errorf("%w: it does not give the file's size, so nothing shows where it begins", ErrNoRestart)
)

// noRestart returns the error for an offset.
func noRestart(u *urlparse.URL, offset int64, why error) *Error {
	return newError(restartAt(offset), u, why)
}

func restartAt(offset int64) Command { return withArg("REST", fmt.Sprint(offset)) }

// unproven reports whether a run has to prove that the server begins at its offset. A proof holds for all offsets up to
// the proven one; 0 if there is none. It also holds for those below 2 GiB: a server may honor these and read larger ones as 32-bit
// numbers.
func (g *goal) unproven(proven int64) bool {
	return g.offset > 0 && !g.compares && (proven == 0 || g.offset > max(proven, math.MaxInt32))
}

// prover is a run that begins at an offset.
type prover struct{ *run }

// prove shows that the server begins where REST tells it to. It asks for the last byte of the file, after which the file
// must end. That costs four round trips, once for each connection: for the port, for REST, and two for the data; under
// TLS one more for the handshake. The steps before them are those of the run.
func (r prover) prove() error {
	size, err := r.sizeFirst()
	wanted := r.goal.offset
	last := size - 1
	switch {
	case err != nil:
		return err
	case size < 0:
		return noRestart(r.url, wanted, errNoProof)
	case r.goal.size > 0 && r.goal.size != size:
		return noRestart(r.url, wanted, ErrChanged)
	case wanted > last: // no byte is due, so none can be wrong
		return nil
	}
	at := slices.IndexFunc(r.queue, func(st step) bool { return st.Verb == "REST" })
	r.queue[at].Command = restartAt(last)
	if err := r.readLast(last); err != nil {
		return err
	}
	r.begins = last
	r.port = 0
	r.advanced = false
	r.file = question{url: r.url, info: unknownEntry(r.url)}
	r.queue = steps(r.url, r.course(false))
	return nil
}

// beginsWithin returns an error if the offset is beyond the end of the file. What servers do then differs: some refuse
// REST or RETR, others send nothing, and say that this was all.
func (r prover) beginsWithin() error {
	at := r.goal.offset
	if at == 0 || r.goal.compares {
		return nil
	}
	if err := r.runTo("SIZE"); err != nil {
		return err
	}
	if size := r.file.info.Size; size >= 0 && at > size && r.known().counts != "150" {
		has := printable.Count(size, "byte", "bytes")
		return noRestart(r.url, at, fmt.Errorf("%w: the file has %s", ErrNoRestart, has))
	}
	return nil
}

// sizeFirst returns the size of the file, or -1. It comes from SIZE, or else from MLST or the caller.
func (r prover) sizeFirst() (int64, error) {
	err := r.runTo("SIZE")
	if err != nil || r.file.info.Size >= 0 {
		return r.file.info.Size, err
	}
	r.queue = slices.Insert(r.queue, 0, step{Command: withArg("MLST", r.goal.op.Arg)})
	err = r.runTo("MLST")
	if item, ok := factsIn(r.file.facts); ok && item.Size >= 0 {
		return item.Size, err
	}
	return cmp.Or(r.goal.size, -1), err
}

// readLast retrieves what the server sends from the last byte on. It must be one byte.
func (r prover) readLast(last int64) (err error) {
	data, conn, err := r.transfer()
	if err != nil {
		return err
	}
	n := int64(0)
	defer func() { r.transferred(n, err) }()
	n, err = io.Copy(io.Discard, io.LimitReader(data, ignored))
	conn.Close()
	switch {
	case err != nil:
		return err
	case n >= min(last+1, ignored) && n > 1:
		r.learn(func(h *habits) { h.ignoresREST = true })
		r.conn.Note("the server accepts REST and sends the file from its first byte: " +
			"not sending it REST again")
		err = errIgnoresREST
	case n > 1:
		err = errElsewhere
	}
	if err != nil {
		err = noRestart(r.url, last, err)
		r.conn.Abandon(err)
		return err
	}
	_, err = r.finish(n, false)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: 0 of 1 byte", ErrTruncated)
	}
	return err
}

// errNoOffset returns why the Client sends no REST for the offset of req, or nil.
func (c *Client) errNoOffset(req *Request) error {
	switch {
	case req.Offset == 0:
		return nil
	case req.Offset < 0 || req.URL.Type == urlparse.TypeASCII:
		return noRestart(req.URL, req.Offset, ErrNoRestart)
	}
	if c.server(req.URL).known().ignoresREST {
		return noRestart(req.URL, req.Offset, errIgnoresREST)
	}
	return nil
}
