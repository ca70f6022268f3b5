package gateway

import (
	"bytes"
	"net"
	"sync/atomic"
)

// watched is a connection to the proxy that counts the bytes that have come after the header of the last answer.
// net/http stops at the announced length, and what comes beyond it would go unseen.
type watched struct {
	net.Conn
	buffer  []byte // to read into
	pending []byte // read, and not yet taken
	header  []byte // of the answer, until it has come
	inBody  bool
	came    atomic.Int64
}

// watchedBuffer is how many bytes a watched connection reads at once.
const watchedBuffer = 32 << 10

// Write begins the next request.
func (w *watched) Write(p []byte) (int, error) {
	w.header = nil
	w.inBody = false
	w.came.Store(0)
	return w.Conn.Write(p)
}

func (w *watched) Read(p []byte) (int, error) {
	if len(w.pending) == 0 {
		if w.buffer == nil {
			w.buffer = make([]byte, watchedBuffer)
		}
		n, err := w.Conn.Read(w.buffer)
		if n == 0 {
			return 0, err
		}
		w.pending = w.buffer[:n]
		w.note(w.pending)
	}
	n := copy(p, w.pending)
	w.pending = w.pending[n:]
	return n, nil
}

// note counts bytes of an answer. Answers such as 100 Continue have no body, and another header follows.
func (w *watched) note(p []byte) {
	if !w.inBody {
		w.header = append(w.header, p...)
		p = nil
	}
	for !w.inBody {
		header, rest, ok := bytes.Cut(w.header, []byte("\r\n\r\n"))
		if !ok {
			return
		}
		w.inBody = len(header) < len("HTTP/1.1 1") || header[len("HTTP/1.1 ")] != '1'
		w.header = rest
		if w.inBody {
			p = rest
			w.header = nil
		}
	}
	w.came.Add(int64(len(p)))
}
