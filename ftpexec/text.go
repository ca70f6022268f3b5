package ftpexec

import (
	"bufio"
	"io"
	"runtime"
)

// text is a Body in ASCII type. On the wire lines end in CR LF and a bare CR is CR NUL (RFC 959 section
// 3.1.1.1, the NVT of RFC 854); here they end in the local line end. A bare LF, which servers without
// conversion send, is a line end too.
type text struct {
	src  *bufio.Reader
	from io.ReadCloser
	crlf bool // the local line end is CR LF
	lf   bool // is still to come after its CR
}

func newText(from io.ReadCloser) io.ReadCloser {
	return &text{src: bufio.NewReaderSize(from, 64<<10), from: from, crlf: runtime.GOOS == "windows"}
}

func (t *text) Close() error { return t.from.Close() }

// Read converts what is there; it blocks only where nothing is.
func (t *text) Read(p []byte) (n int, err error) {
	for n < len(p) && (n == 0 || t.ready()) {
		c, err := t.next()
		if err != nil {
			return n, err
		}
		p[n] = c
		n++
	}
	return n, nil
}

// ready reports whether next returns at once: what follows a CR decides what that is.
func (t *text) ready() bool {
	if n := t.src.Buffered(); n != 1 || t.lf {
		return n > 0 || t.lf
	}
	c, _ := t.src.Peek(1)
	return c[0] != '\r'
}

// next returns the next octet of the local text.
func (t *text) next() (byte, error) {
	if t.lf {
		t.lf = false
		return '\n', nil
	}
	c, err := t.src.ReadByte()
	if err != nil || (c != '\r' && c != '\n') {
		return c, err
	}
	if c == '\r' {
		// What follows a CR decides; at the end of the data it stands for itself, and the error comes next time.
		follow, err := t.src.Peek(1)
		if err != nil || follow[0] != '\n' && follow[0] != 0 {
			return '\r', nil
		}
		t.src.Discard(1)
		if follow[0] == 0 {
			return '\r', nil
		}
	}
	if t.lf = t.crlf; t.lf {
		return '\r', nil
	}
	return '\n', nil
}
