package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// watched is a connection to the proxy that looks at the answers. net/http stops at the announced length, so that what
// comes beyond it would go unseen, and ignores the length of an answer in chunks.
type watched struct {
	net.Conn

	buffer  []byte                 // to read into
	pending []byte                 // read, and not yet taken
	answer  atomic.Pointer[answer] // to the last request
}

// answer is what a watched connection has seen of the answer to one request.
type answer struct {
	header []byte // until it has come
	inBody bool
	length int64        // announced in the header; -1 if it is not
	last   bool         // the proxy closes the connection after it
	came   atomic.Int64 // bytes after the header
}

// watchedBuffer is how many bytes a watched connection reads at once.
const watchedBuffer = 32 << 10

// closing is how long a proxy may take to close a connection after its last answer.
const closing = time.Second

func watch(conn net.Conn) *watched {
	w := &watched{Conn: conn, buffer: make([]byte, watchedBuffer)}
	w.answer.Store(new(answer))
	return w
}

// Write begins the next request.
func (w *watched) Write(p []byte) (int, error) {
	w.answer.Store(new(answer))
	return w.Conn.Write(p)
}

func (w *watched) Read(p []byte) (int, error) {
	if len(w.pending) == 0 {
		n, err := w.Conn.Read(w.buffer)
		if n == 0 {
			return 0, err
		}
		w.pending = w.buffer[:n]
		a := w.answer.Load()
		a.note(w.pending)
		if a.last && a.came.Load() == a.length {
			w.lookBeyond(a)
		}
	}
	n := copy(p, w.pending)
	w.pending = w.pending[n:]
	return n, nil
}

// lookBeyond waits for the end of the connection after all of its last answer a. A byte that comes instead shows that
// the length is too small.
func (w *watched) lookBeyond(a *answer) {
	_ = w.SetReadDeadline(time.Now().Add(closing))
	n, _ := w.Conn.Read(make([]byte, 1))
	_ = w.SetReadDeadline(time.Time{})
	a.came.Add(int64(n))
}

// note counts bytes of an answer. Answers such as 100 Continue have no body, and another header follows.
func (a *answer) note(p []byte) {
	if !a.inBody {
		a.header = append(a.header, p...)
		p = nil
	}
	for !a.inBody {
		header, rest, ok := bytes.Cut(a.header, []byte("\r\n\r\n"))
		if !ok {
			return
		}
		a.inBody = len(header) < len("HTTP/1.1 1") || header[len("HTTP/1.1 ")] != '1'
		a.header = rest
		if a.inBody {
			a.learn(header)
			p = rest
			a.header = nil
		}
	}
	a.came.Add(int64(len(p)))
}

// learn reads what a header says about the end of its answer.
func (a *answer) learn(header []byte) {
	status, fields, _ := bytes.Cut(header, []byte("\r\n"))
	fields = append(bytes.Clone(fields), "\r\n\r\n"...)
	lines := textproto.NewReader(bufio.NewReader(bytes.NewReader(fields)))
	h, _ := lines.ReadMIMEHeader() // net/http refuses what is malformed
	a.length = -1
	if n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64); err == nil {
		a.length = n
	}
	kept := strings.ToLower(cmp.Or(h.Get("Connection"), h.Get("Proxy-Connection")))
	ends := kept == "close" || kept == "" && bytes.HasPrefix(status, []byte("HTTP/1.0"))
	a.last = ends && h.Get("Transfer-Encoding") == ""
}
