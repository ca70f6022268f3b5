package urlparse

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"strings"
)

// maxFound bounds the octets of one URL in free text, wrapper and white space
// included, and with it the memory that Find takes.
const maxFound = 64 << 10

// Found is what Find came upon.
type Found struct {
	URL  *URL   // nil where the text is malformed
	Text string // the URL's text without wrapper and white space, the password masked
	Line int    // 1-based line of the text where the wrapper or URL begins
}

// Find finds FTP URLs in free text, with the zero Parser; see [Parser.Find].
func Find(r io.Reader) iter.Seq2[Found, error] { return Parser{}.Find(r) }

// Find finds FTP URLs in free text, in order, while it reads r.
//
// Wrapped URLs, "<URL:ftp://host/path>" (RFC 1738, Appendix; any case of
// letters), may run over several lines: white space in the wrapper is removed,
// a hyphen before a line break stays. A wrapper without ">" ends before the
// next "<".
//
// Bare URLs, "ftp://host/path" with or without "URL:" before it, start at the
// beginning of the text or behind white space, a quote (" ' `), an angle
// bracket, "(", "[", "{" or a character that is not ASCII. They end before white space, '"', a
// backquote or an angle bracket. Three kinds are told apart. A URL alone on its
// line is taken whole. Behind "<" or a quote it must be closed by the same, and
// is taken whole; white space in it is an error, since the rest of it would be
// lost. All others are cut before a typographic quote, and lose punctuation
// at the end: . , ; : ! ? ' and a closing bracket that was not opened in them;
// what is then only a scheme is passed over.
//
// A malformed URL yields a Found with Text and Line and an [*Error], whose
// column counts in the text from the wrapper's "<" or the URL on, and the search
// goes on. So does a URL of more than 64 KiB. Wrapped URLs of other schemes are
// passed over. An error of r comes last, as it is. A list of one URL a line,
// in which spaces are to be refused, is better parsed line by line.
func (p Parser) Find(r io.Reader) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		f := &finder{parser: p, r: bufio.NewReader(&sticky{r: r}), line: 1, lineBlank: true, prev: ' '}
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
	parser    Parser
	r         *bufio.Reader
	line      int
	lineBlank bool // only white space (and "URL:") on this line so far
	prev      byte
}

// next looks for the next URL. The error is io.EOF at the end of the text.
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

// ahead reports whether the text goes on with word, in any case of letters.
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

// until collects what stands before the first octet of stop, and leaves that
// to be read; stop is 0 at the end of the text. Of a longer text than maxFound
// the rest is left too, and stop is its first octet.
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
