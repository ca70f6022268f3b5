package download

import (
	"errors"
	"io"
	"os"

	"example.com/ftpfetch/download/internal/partfile"
)

// pump copies a response to a stream whose end may move meanwhile.
type pump struct {
	sink
	stream *partfile.Stream
	// extend is called at the end of the stream. It returns true if it has moved the end.
	extend func() bool
	body   io.Reader
	rest   []byte // bytes of body behind the end of the stream
}

// Between leastStraight and mostStraight bytes are copied at a time if the kernel copies from the socket to the file: few
// if a connection is slow, because the end of the stream cannot move to before them.
const (
	leastStraight = 64 << 10
	mostStraight  = 1 << 20
)

// run copies to the end of the stream or, if the stream ends with the file, until the server confirms the end.
func (p *pump) run() error {
	err := p.straight()
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	some := buffer[:]
	if p.limit != nil { // small reads make the data flow evenly
		some = buffer[:max(512, mostAtOnce(p.limit))]
	}
	for p.room(1) > 0 {
		n, err := p.body.Read(some)
		for some := some[:n]; len(some) > 0; {
			fits := int(p.room(int64(len(some))))
			if fits == 0 {
				p.rest = append(p.rest, some...)
				return nil
			}
			if _, failed := p.Write(some[:fits]); failed != nil {
				return failed
			}
			some = some[fits:]
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// room returns how many of the next n bytes belong to the stream; 0 at its end.
func (p *pump) room(n int64) int64 {
	for {
		if fits := p.stream.Reserve(n); fits > 0 || !p.extend() {
			return fits
		}
	}
}

// straight lets the kernel copy from the socket to the file, as far as it can. The error is [errors.ErrUnsupported] if
// the rest must be copied otherwise.
func (p *pump) straight() error {
	from, ok := p.body.(interface {
		CopyTo(file *os.File, n int64) (int64, error)
	})
	to, isFile := p.to.(*os.File)
	if !ok || !isFile || p.limit != nil {
		return errors.ErrUnsupported
	}
	for some := int64(leastStraight); ; {
		fits := p.room(some)
		if fits == 0 {
			return nil
		}
		n, err := from.CopyTo(to, fits)
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return p.local(err)
		}
		some = max(leastStraight, min(2*n, mostStraight))
	}
}
