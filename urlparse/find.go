package urlparse

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// maxFound bounds the octets of one URL in free text, wrapper and white space included, and so the memory that Find uses.
const maxFound = 64 << 10

// Find finds FTP URLs in free text, in order. It reads r in pieces.
//
// Wrapped URLs, "<URL:ftp://host/path>" (RFC 1738, Appendix; in any letter case), may span several lines: Find removes
// white space in the wrapper and keeps a hyphen before a line break. A wrapper without ">" ends before the next "<".
//
// Bare URLs, "ftp://host/path" with or without "URL:" before it, start at the beginning of the text or after white space,
// a quote (" ' `), an angle bracket, "(", "[", "{" or a character that is not ASCII. They end before white space, '"', a
// backquote or an angle bracket. There are three kinds:
//
//   - A URL alone on its line is taken whole.
//   - A URL after "<" or a quote is taken whole, and must end before ">" or the same quote. White space in it is an error,
//     since the rest would be lost.
//   - Any other URL ends before a typographic quote, and loses punctuation at its end: . , ; : ! ? ' and a closing bracket
//     that was not opened in it. If only a scheme is left, Find skips it.
//
// Find calls found with the 1-based line where the wrapper or URL begins, and the URL. For a malformed URL, or one of more
// than 64 KiB, it passes an [*Error] instead, whose column counts from the wrapper's "<" or the start of the URL. Find
// skips wrapped URLs of other schemes. It ends when found returns false, or with the error of r, unchanged. To refuse
// spaces in a list of one URL per line, parse it line by line instead.
func Find(r io.Reader, found func(line int, u *URL, err error) bool) error {
	f := &finder{r: r, line: 1, blank: true, prev: ' '}
	for f.fill(); f.text != ""; f.fill() {
		line := f.line
		if u, refusal := f.next(); (u != nil || refusal != nil) && !found(line, u, refusal) {
			return nil
		}
	}
	if errors.Is(f.err, io.EOF) {
		return nil
	}
	return f.err
}

// finder reads the text once.
type finder struct {
	r     io.Reader
	text  string // what comes next
	err   error  // of r, after text
	line  int
	blank bool // only white space (and "URL:") on this line so far
	prev  byte // before text
}

// fill makes text long enough for what a URL may be, if r is.
func (f *finder) fill() {
	if f.err != nil || len(f.text) > maxFound+len("ftpes://") {
		return
	}
	var b strings.Builder
	b.WriteString(f.text)
	_, f.err = io.CopyN(&b, f.r, 2*maxFound)
	f.text = b.String()
}

// next passes a URL, or an octet. It returns the URL, or its refusal.
func (f *finder) next() (u *URL, refusal error) {
	start := f.prev >= 0x80 || strings.IndexByte(space+"\"'`<>([{", f.prev) >= 0
	switch {
	case hasPrefixFold(f.text, "<URL:"):
		return f.wrapped()
	case start && hasPrefixFold(f.text, "URL:"):
		f.text = f.text[len("URL:"):] // nothing has begun yet
	case start && (hasPrefixFold(f.text, "ftp://") || hasPrefixFold(f.text, "ftps://") || hasPrefixFold(f.text, "ftpes://")):
		return f.bare()
	default:
		f.pass(1)
	}
	return nil, nil
}

// pass goes on by n octets and returns them.
func (f *finder) pass(n int) (passed string) {
	passed, f.text = f.text[:n], f.text[n:]
	for i := range n {
		if f.prev = passed[i]; f.prev == '\n' {
			f.line++
			f.blank = true
		} else if strings.IndexByte(space, f.prev) < 0 {
			f.blank = false
		}
	}
	return passed
}

// until passes what is before the first octet in stops, at most maxFound octets and
// one, and returns that octet, or 0. Not ok means that r failed within.
func (f *finder) until(stops string) (passed string, stop byte, ok bool) {
	end := strings.IndexAny(f.text, stops)
	if end < 0 {
		end = len(f.text)
	}
	if passed = f.pass(min(end, maxFound+1)); f.text == "" {
		return passed, 0, errors.Is(f.err, io.EOF)
	}
	if strings.IndexByte(stops, f.text[0]) >= 0 {
		stop = f.text[0]
	}
	return passed, stop, true
}

// wrapped passes a URL from "<URL:" to ">". It skips one of another scheme.
func (f *finder) wrapped() (u *URL, refusal error) {
	raw := f.pass(1)
	text, stop, ok := f.until("<>")
	if raw += text; stop == '>' {
		raw += f.pass(1)
	}
	_, _, other := scheme(part{s: inner(raw)})
	switch {
	case !ok, other != nil && other.kind == ErrScheme:
		return nil, nil
	case len(text) > maxFound:
		return nil, tooLong(raw)
	}
	return Parse(raw)
}

// bare passes a URL without a wrapper.
func (f *finder) bare() (u *URL, refusal error) {
	closer, first := closerOf(f.prev), f.blank
	text, stop, ok := f.until(space + "\"`<>" + strings.Trim(closer, ">"))
	switch rest := strings.TrimLeft(f.text, " \t\v\f\r"); {
	case !ok:
		return nil, nil
	case len(text) > maxFound:
		for rest := text; len(rest) > maxFound; { // skip all of it
			f.fill()
			rest, _, _ = f.until(space + "\"`<>")
		}
		return nil, tooLong(text)
	case first && (rest == "" || rest[0] == '\n'): // alone on its line
	case closer != "" && closer != string(stop):
		return nil, part{s: text}.fault(len(text), "the URL is not closed by "+closer, "write <URL:"+redact(text)+">").of(text)
	case closer == "":
		if text = trimProse(text); strings.Index(text, "://")+3 >= len(text) {
			return nil, nil
		}
	}
	return Parse(text)
}

func tooLong(raw string) error {
	return part{}.fault(maxFound, "the URL is longer than "+strconv.Itoa(maxFound)+" bytes", "").of(raw)
}

// closerOf returns what must follow a URL that comes after c; "" means anything.
func closerOf(c byte) string {
	switch c {
	case '<':
		return ">"
	case '"', '\'', '`':
		return string(rune(c))
	}
	return ""
}

// trimProse cuts off what belongs to the sentence, not to the URL in it.
func trimProse(s string) string {
	if i := strings.IndexFunc(s, func(r rune) bool { return unicode.In(r, unicode.Pi, unicode.Pf) }); i >= 0 {
		s = s[:i]
	}
	for s != "" {
		last := s[len(s)-1]
		opened := strings.IndexByte(")]}", last)
		switch {
		case strings.IndexByte(".,;:!?'", last) >= 0:
		case opened >= 0 && strings.Count(s, ")]}"[opened:opened+1]) > strings.Count(s, "([{"[opened:opened+1]):
		default:
			return s
		}
		s = s[:len(s)-1]
	}
	return s
}
