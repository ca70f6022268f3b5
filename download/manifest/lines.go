package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// lines reads lines of bounded length.
type lines struct {
	r    *bufio.Reader
	buf  []byte
	back []string // lines to read again

	n    int    // number of the current line, from 1
	text string // the current line without its end
	long bool   // the current line is too long, and text is not all of it
	err  error  // of r

	idle  int  // bytes of lines since the last file
	held  int  // bytes that Read returned since held was reset
	ended bool // Read returned the end of the current line
}

// next reads a line. It returns false at the end of the text, or if r fails.
func (l *lines) next() bool {
	if len(l.back) > 0 {
		l.text = l.back[0]
		l.back = l.back[1:]
		l.long = false
		l.n++
		return true
	}
	l.buf = l.buf[:0]
	l.long = false
	for {
		piece, err := l.r.ReadSlice('\n')
		l.idle += len(piece)
		l.long = l.long || len(l.buf)+len(piece) > maxLine
		if !l.long {
			l.buf = append(l.buf, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			l.err = err
			return false
		case err != nil && len(l.buf) == 0 && !l.long:
			return false
		}
		l.n++
		l.text = strings.TrimSuffix(strings.TrimSuffix(string(l.buf), "\n"), "\r")
		return true
	}
}

// Read returns no more than the next line, so that n is the line at which the decoder is. It returns the blank lines
// before that with it, because a JSON decoder scans all blanks before a value again at each read. Read also bounds how
// much the decoder holds in memory.
func (l *lines) Read(b []byte) (int, error) {
	if l.held > maxLine {
		return 0, errTooMuch
	}
	_, err := l.r.Peek(1)
	if err != nil {
		if !errors.Is(err, io.EOF) {
			l.err = err
		}
		return 0, err
	}
	if l.ended || l.n == 0 {
		l.n++
	}
	text, _ := l.r.Peek(min(len(b), l.r.Buffered()))
	rest := bytes.TrimLeft(text, " \t\r\n")
	blank := text[:len(text)-len(rest)]
	l.n += bytes.Count(blank, []byte("\n"))
	size := len(text)
	if end := bytes.IndexByte(rest, '\n') + 1; end > 0 {
		size = len(blank) + end
	}
	l.ended = text[size-1] == '\n'
	if l.ended && len(rest) == 0 {
		l.n--
	}
	l.held += size
	return l.r.Read(b[:size])
}
