package gateway

import (
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"example.com/ftpfetch/urlparse"
)

// part is the value of Content-Range (RFC 9110 section 14.4).
type part struct {
	first, last int64 // 0 and -1 in "bytes */size"
	size        int64 // of the whole file; -1 if it is not told
}

var contentRange = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^bytes (?:(\d{1,18})-(\d{1,18})|\*)/(?:(\d{1,18})|\*)$`)
}) // when it is first needed

// parsePart parses the value of Content-Range.
func parsePart(s string) (part, bool) {
	m := contentRange().FindStringSubmatch(s)
	if m == nil {
		return part{}, false
	}
	p := part{last: -1, size: -1}
	if m[1] != "" {
		p.first, _ = strconv.ParseInt(m[1], 10, 64)
		p.last, _ = strconv.ParseInt(m[2], 10, 64)
	}
	if m[3] != "" {
		p.size, _ = strconv.ParseInt(m[3], 10, 64)
	}
	valid := m[1] == "" && m[3] != "" || m[1] != "" && p.first <= p.last && (p.size < 0 || p.last < p.size)
	return p, valid
}

func (p part) len() int64  { return p.last - p.first + 1 }
func (p part) empty() bool { return p.len() == 0 }

// toEnd reports whether the part is the end of the file.
func (p part) toEnd() bool { return p.last == p.size-1 }

// String returns the value of Content-Range.
func (p part) String() string {
	s := fmt.Sprintf("bytes %d-%d/", p.first, p.last)
	if p.empty() {
		s = "bytes */"
	}
	if p.size < 0 {
		return s + "*"
	}
	return s + strconv.FormatInt(p.size, 10)
}

// restarts remembers from which servers the proxy sends the rest of a file as it should.
type restarts struct {
	mu    sync.Mutex
	known map[string]bool // by address
}

// by returns what is known about u's server. If that is nothing, it asks first, once at a time.
func (r *restarts) by(u *urlparse.URL, ask func() (bool, error)) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ok, known := r.known[u.Address()]; known {
		return ok, nil
	}
	ok, err := ask()
	if err != nil {
		return false, err
	}
	if r.known == nil {
		r.known = make(map[string]bool)
	}
	r.known[u.Address()] = ok
	return ok, nil
}
