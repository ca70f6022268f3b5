package urlparse

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"strings"
)

// maxFound bounds the octets of one URL in free text, wrapper and white space
// included, and so the memory that Find uses.
const maxFound = 64 << 10

// Found is what Find has found.
type Found struct {
	URL  *URL   // nil if the text is malformed
	Text string // the URL's text without wrapper and white space, with the password masked
	Line int    // 1-based line of the text where the wrapper or URL begins
}

// Find finds FTP URLs in free text, in order, while it reads r.
//
// Wrapped URLs, "<URL:ftp://host/path>" (RFC 1738, Appendix; in any letter
// case), may span several lines: Find removes white space in the wrapper and
// keeps a hyphen before a line break. A wrapper without ">" ends before the next
// "<".
//
// Bare URLs, "ftp://host/path" with or without "URL:" before it, start at the
// beginning of the text or after white space, a quote (" ' `), an angle bracket,
// "(", "[", "{" or a character that is not ASCII. They end before white space,
// '"', a backquote or an angle bracket. There are three kinds:
//
//   - A URL alone on its line is taken whole.
//   - A URL after "<" or a quote is taken whole, and must end before ">" or the
//     same quote. White space in it is an error, since the rest would be lost.
//   - Any other URL ends before a typographic quote, and loses punctuation at
//     its end: . , ; : ! ? ' and a closing bracket that was not opened in it.
//     If only a scheme is left, Find skips it.
//
// A malformed URL, or one of more than 64 KiB, yields a Found with Text and Line
// and an [*Error], whose column counts from the wrapper's "<" or the start of
// the URL. The search then continues. Find skips wrapped URLs of other schemes.
// An error of r comes last, unchanged. To refuse spaces in a list of one URL per
// line, parse it line by line instead.
func Find(r io.Reader) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		f := &finder{r: bufio.NewReader(&sticky{r: r}), line: 1, lineBlank: true, prev: ' '}
		for {
			found, err := f.next()
			if errors.Is(err, io.EOF) {
				return
			}
			var refusal *Error
			goesOn := err == nil || errors.As(err, &refusal)
			if !yield(found, err) || !goesOn {
				return
			}
		}
	}
}

// finder reads the text once, octet by octet.
type finder struct {
	r         *bufio.Reader
	line      int
	lineBlank bool // only white space (and "URL:") on this line so far
	prev      byte
}

// next returns the next URL. The error is io.EOF at the end of the text.
func (f *finder) next() (Found, error) {
	for {
		var found Found
		var err error
		switch {
		case f.ahead("<URL:"):
			found, err = f.wrapped()
		case f.boundary() && f.ahead("URL:"):
			f.r.Discard(len("URL:"))
		case f.boundary() && (f.ahead("ftp://") || f.ahead("ftps://") || f.ahead("ftpes://")):
			found, err = f.bare()
		default:
			_, err = f.read()
		}
		if err != nil || found.URL != nil {
			return found, err
		}
	}
}

// boundary reports whether a bare URL may start here.
func (f *finder) boundary() bool {
	return f.prev >= 0x80 || strings.IndexByte(space+"\"'`<>([{", f.prev) >= 0
}

// ahead reports whether the text continues with word, in any letter case.
func (f *finder) ahead(word string) bool {
	first, err := f.r.Peek(1)
	if err != nil || first[0]|0x20 != word[0]|0x20 {
		return false
	}
	next, _ := f.r.Peek(len(word))
	return strings.EqualFold(string(next), word)
}

func (f *finder) read() (byte, error) {
	c, err := f.r.ReadByte()
	if err != nil {
		return 0, err
	}
	f.prev = c
	switch {
	case c == '\n':
		f.line++
		f.lineBlank = true
	case strings.IndexByte(space, c) < 0:
		f.lineBlank = false
	}
	return c, nil
}

// until reads up to the first octet that is in stops, returns that as stop, and
// leaves it to be read; stop is 0 at the end of the text. If the text is longer
// than maxFound, until leaves the rest too, and stop is 0.
func (f *finder) until(stops string) (text string, stop byte, err error) {
	var b strings.Builder
	for b.Len() <= maxFound {
		next, err := f.r.Peek(1)
		if errors.Is(err, io.EOF) {
			return b.String(), 0, nil
		}
		if err != nil {
			return b.String(), 0, err
		}
		if strings.IndexByte(stops, next[0]) >= 0 {
			return b.String(), next[0], nil
		}
		c, _ := f.read()
		b.WriteByte(c)
	}
	return b.String(), 0, nil
}

// sticky repeats the error of a reader, which bufio.Reader.Peek would lose.
type sticky struct {
	r   io.Reader
	err error
}

func (s *sticky) Read(p []byte) (n int, err error) {
	if s.err == nil {
		n, s.err = s.r.Read(p)
	}
	return n, s.err
}
