package manifest

import (
	"bufio"
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
}

// next reads a line. It returns false at the end of the text, or if r fails.
func (l *lines) next() bool {
	if len(l.back) > 0 {
		l.text, l.back, l.long = l.back[0], l.back[1:], false
		l.n++
		return true
	}
	l.buf, l.long = l.buf[:0], false
	for {
		piece, err := l.r.ReadSlice('\n')
		l.append(piece)
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

func (l *lines) append(piece []byte) {
	if len(l.buf)+len(piece) > maxLine {
		l.long = true
		return
	}
	l.buf = append(l.buf, piece...)
}

// unread makes next return the given lines again, which were the last.
func (l *lines) unread(again []string) {
	l.back = append(again, l.back...)
	l.n -= len(again)
}

// comment reports whether a line is empty or a comment.
func comment(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text[0] == '#'
}
