package manifest

import (
	"errors"
	"fmt"
	"strings"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/urlparse"
)

// readSums reads a list of digests of files below Base.
func (r *reader) readSums() {
	if r.Base == nil {
		r.fail(1, fmt.Errorf("a list of digests names files without their directory: %w", ErrBase))
		return
	}
	for r.next() {
		if !comment(r.in.text) {
			d := draft{line: r.in.n}
			r.finish(&d, r.sumLine(&d))
		}
	}
}

func (r *reader) sumLine(d *draft) error {
	name, sum, ok := digest.ParseLine(r.in.text)
	if !ok || name == "" {
		return errors.New("is not a digest and a name: write the digest, two spaces and the name")
	}
	name = strings.TrimPrefix(name, "./")
	path, err := givenPath(name)
	if err != nil {
		return inField("the name", err)
	}
	u, segments := r.Base, strings.Split(name, "/")
	for _, segment := range segments {
		u = u.Child(segment, urlparse.TypeNone)
	}
	if err := r.Parser.Check(u); err != nil {
		return err
	}
	d.path, d.sum = path, sum
	return d.addURL(u)
}
