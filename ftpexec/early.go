package ftpexec

import (
	"bytes"
	"context"
	"iter"
	"net"
	"strings"

	"example.com/ftpfetch/ftpexec/internal/listing"
	"example.com/ftpfetch/urlparse"
)

// Early is who is told what shows of a listing before it is whole. A nil function is not called.
type Early struct {
	// Entry is told each entry as it comes, in every try: the listing may fail later. It is not told an entry about which
	// the other lines may decide.
	Entry func(Entry)
	// Login is told, when a listing begins, the directory after the login as PWD names it; "" if the server does not tell.
	// It is not told of a directory that is refused.
	Login func(dir string)
}

// EntriesEarly is [Client.Entries], and tells o what shows before the listing is whole.
func (c *Client) EntriesEarly(ctx context.Context, u *urlparse.URL, o Early) iter.Seq2[Entry, error] {
	return c.listing(ctx, u, func(s *session, ctx context.Context, u *urlparse.URL) (listed, error) {
		return s.entries(ctx, u, o)
	})
}

// watched is a data connection that tells the entries of the lines that are read from it.
type watched struct {
	net.Conn
	rest []byte // of a line
	line func(string)
}

// watch returns a connection that tells the entries of the listing that is read from conn, if anybody wants to know.
func (r *run) watch(conn net.Conn) net.Conn {
	tell := r.goal.early.Entry
	if tell == nil {
		return conn
	}
	l := r.listed()
	l.reader = listing.NewReader(nil, "", l.now)
	l.exact = map[string][]string{} // so that a name in doubt is none
	return &watched{Conn: conn, line: func(line string) {
		l.lines = []string{line}
		for e, err := range l.entries(r.url) {
			// Only the whole listing shows which spaces belong to a name.
			spaced := strings.HasSuffix(line, "  "+e.Name) || strings.TrimSpace(e.Name) != e.Name
			if err == nil && !spaced {
				tell(e)
			}
		}
	}}
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.rest = append(w.rest, p[:n]...)
	for {
		line, rest, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			return n, err
		}
		w.rest = rest
		w.line(string(bytes.TrimSuffix(line, []byte("\r"))))
	}
}
