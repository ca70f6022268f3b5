package urlparse

import (
	"strconv"
	"strings"
	"unicode"
)

// wrapped reads a URL from "<URL:" to ">". It finds nothing if the scheme is
// another one.
func (f *finder) wrapped() (Found, error) {
	found := Found{Line: f.line}
	if _, err := f.read(); err != nil {
		return found, err
	}
	text, stop, err := f.until("<>")
	if err != nil {
		return found, err
	}
	raw := "<" + text
	if stop == '>' {
		raw += ">"
		f.read()
	}
	found.Text = redact(inner(raw))
	if _, _, flt := scheme(part{s: inner(raw)}); flt != nil && flt.kind == ErrScheme {
		return Found{}, nil
	}
	if len(text) > maxFound {
		return found, tooLong(raw)
	}
	return f.parse(found, raw)
}

// bare reads a URL without a wrapper.
func (f *finder) bare() (Found, error) {
	found := Found{Line: f.line}
	closer, first := closerOf(f.prev), f.lineBlank
	text, stop, err := f.until(space + "\"`<>" + strings.Trim(closer, ">"))
	if err != nil {
		return found, err
	}
	found.Text = redact(text)
	switch {
	case len(text) > maxFound:
		return found, f.skipToken(text)
	case first && f.restBlank():
	case closer != "" && closer != string(stop):
		flt := &fault{at: len(text), reason: "the URL is not closed by " + closer, hint: "write <URL:" + found.Text + ">"}
		return found, source{raw: text}.error(flt)
	case closer == "":
		if text = trimProse(text); strings.Index(text, "://")+3 >= len(text) {
			return Found{}, nil
		}
	}
	return f.parse(found, text)
}

func (f *finder) parse(found Found, raw string) (Found, error) {
	found.Text = redact(inner(raw))
	u, err := Parse(raw)
	if err != nil {
		return found, err
	}
	found.URL = u
	if u.withoutSlip() == u {
		found.Text = maskPassword(inner(raw))
	}
	return found, nil
}

func tooLong(raw string) *Error {
	f := &fault{at: maxFound, reason: "the URL is longer than " + strconv.Itoa(maxFound) + " bytes"}
	return source{raw: raw}.error(f)
}

// skipToken skips the rest of a token that is too long, and returns its refusal.
func (f *finder) skipToken(text string) error {
	for rest := text; len(rest) > maxFound; {
		var err error
		if rest, _, err = f.until(space + "\"`<>"); err != nil {
			return err
		}
	}
	return tooLong(text)
}

// restBlank skips white space and reports whether the line ends there.
func (f *finder) restBlank() bool {
	for {
		next, err := f.r.Peek(1)
		switch {
		case err != nil:
			return true
		case next[0] == '\n':
			return true
		case strings.IndexByte(space, next[0]) < 0:
			return false
		}
		f.read()
	}
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
