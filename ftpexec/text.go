package ftpexec

import (
	"bufio"
	"io"
	"runtime"
)

// textBody is a Body in ASCII type. It converts line ends from CR LF to the local ones, and CR NUL to CR (RFC 959 section
// 3.1.1.1, the NVT of RFC 854). A bare LF, which servers without conversion send, counts as a line end too.
type textBody struct {
	src  *bufio.Reader
	from io.ReadCloser
	crlf bool // the local line end is CR LF
	lf   bool // a CR was returned, and its LF comes next
}

func newText(from io.ReadCloser) io.ReadCloser {
	return &textBody{src: bufio.NewReaderSize(from, 64<<10), from: from, crlf: runtime.GOOS == "windows"}
}

func (t *textBody) Close() error { return t.from.Close() }

// Read converts the bytes that have come. It blocks only if there are none.
func (t *textBody) Read(p []byte) (n int, err error) {
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

// ready reports whether next returns without blocking. A CR cannot be judged before the byte after it.
func (t *textBody) ready() bool {
	if n := t.src.Buffered(); n != 1 || t.lf {
		return n > 0 || t.lf
	}
	c, _ := t.src.Peek(1)
	return c[0] != '\r'
}

// next returns the next byte of the local text.
func (t *textBody) next() (byte, error) {
	if t.lf {
		t.lf = false
		return '\n', nil
	}
	c, err := t.src.ReadByte()
	if err != nil || (c != '\r' && c != '\n') {
		return c, err
	}
	if c == '\r' {
		// The byte after a CR decides. At the end of the data a CR stands for itself, and the next call returns the error.
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
