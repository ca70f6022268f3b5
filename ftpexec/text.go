package ftpexec

import (
	"io"
	"runtime"
)

// textBody is a Body in ASCII type. It converts line ends from CR LF to the local ones, and CR NUL to CR (RFC 959 section
// 3.1.1.1, the NVT of RFC 854). A bare LF, which servers without conversion send, counts as a line end too.
type textBody struct {
	io.ReadCloser
	buf  []byte
	text []byte // converted and not yet returned
	cr   bool   // the last byte was a CR, which the next one decides
	err  error
}

func (t *textBody) Read(p []byte) (int, error) {
	for len(t.text) == 0 && len(p) > 0 {
		if t.err != nil {
			return 0, t.err
		}
		var n int
		n, t.err = t.ReadCloser.Read(t.buf)
		t.text = t.convert(t.text, t.buf[:n])
		if t.err != nil && t.cr { // at the end a CR stands for itself
			t.text = append(t.text, '\r')
		}
	}
	n := copy(p, t.text)
	t.text = t.text[n:]
	return n, nil
}

var lineEnd = map[bool]string{true: "\r\n", false: "\n"}[runtime.GOOS == "windows"]

// convert appends the local text of data to text.
func (t *textBody) convert(text, data []byte) []byte {
	for _, c := range data {
		after := t.cr
		t.cr = c == '\r'
		if after && c != '\n' {
			text = append(text, '\r')
		}
		switch {
		case c == '\n':
			text = append(text, lineEnd...)
		case c != '\r' && (c != 0 || !after):
			text = append(text, c)
		}
	}
	return text
}
