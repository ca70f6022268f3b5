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

// early has functions that get parts of a listing before it is whole. A nil function is not called.
type early struct {
	entry func(Entry)
	login func(dir string)
}

// EntriesEarly is like [Client.Entries], but also calls entry and login before the listing is whole. A nil function is
// not called.
//
// EntriesEarly calls entry for each entry as it arrives, in every try, although the listing may fail later. It leaves
// out an entry whose name may depend on other lines. It calls login when a listing begins, with the directory after the
// login as PWD names it, or "" if the server does not name it. It does not call login if the server refuses the
// directory.
func (c *Client) EntriesEarly(
	ctx context.Context, u *urlparse.URL, entry func(Entry), login func(dir string),
) iter.Seq2[Entry, error] {
	ask := func(s *session, ctx context.Context, u *urlparse.URL) (listed, error) {
		return s.entries(ctx, u, early{entry, login})
	}
	return c.listing(ctx, u, ask)
}

// watched is a data connection that passes on each line that is read from it.
type watched struct {
	net.Conn
	rest []byte // of a line
	line func(string)
}

// watch returns a connection that passes on the entries of the listing that is read from conn, or conn if nothing wants
// them.
func (r *run) watch(conn net.Conn) net.Conn {
	tell := r.goal.early.entry
	if tell == nil {
		return conn
	}
	l := r.listed()
	l.reader = listing.NewReader(nil, "", l.now)
	l.exact = map[string][]string{} // so that a name in doubt is not yielded
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
