package manifest

import (
	"errors"
	"strings"

	"example.com/ftpfetch/urlparse"
)

// readList reads a URL from each line. A "#" within a line is not a comment: the
// parser says that it must be encoded.
func (r *reader) readList() {
	for r.next() {
		if comment(r.in.text) {
			continue
		}
		u, err := r.Parser.Parse(strings.TrimSpace(r.in.text))
		r.single(r.in.n, u, err)
	}
}

// readText finds URLs in free text.
func (r *reader) readText() {
	for found, err := range r.Parser.Find(r.in.r) {
		var refusal *urlparse.Error
		if err != nil && !errors.As(err, &refusal) {
			r.in.err = err
			return
		}
		if r.single(found.Line, found.URL, err); r.done {
			return
		}
	}
}

// single yields the file of a URL that stands alone.
func (r *reader) single(line int, u *urlparse.URL, err error) {
	d := draft{line: line}
	if err == nil {
		err = d.addURL(u)
	}
	r.finish(&d, err)
}
