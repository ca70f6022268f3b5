package ftpexec

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"example.com/ftpfetch/urlparse"
)

// Entry is one name of a directory listing (NLST).
type Entry struct {
	Name string        // the line that the server sent, octets: a name, or a path ("dir/name")
	Base string        // the last component of Name
	URL  *urlparse.URL // the entry as a file in the directory listed
}

// List lists the directory that u names: its URL ends in "/" or in ;type=d. ctx covers the whole iteration. The
// iterator yields an error at most once, last; it is an *[Error]. A directory without entries yields nothing.
func (c *Client) List(ctx context.Context, u *urlparse.URL) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s := &Session{client: c, once: true}
		defer s.Close()
		s.List(ctx, u)(yield)
	}
}

// List lists the directory that u names; see [Client.List].
func (s *Session) List(ctx context.Context, u *urlparse.URL) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var names []string
		err := s.run(ctx, u, goal{list: true}, func(func()) (_ bool, err error) {
			names, err = s.names()
			return false, err
		})
		for _, name := range names {
			if !yield(entry(u, name), nil) {
				return
			}
		}
		if err != nil {
			yield(Entry{}, err)
		}
	}
}

func entry(dir *urlparse.URL, name string) Entry {
	base := base(name)
	return Entry{Name: name, Base: base, URL: dir.Child(base, urlparse.TypeNone)}
}

// names is the end of a plan: NLST.
func (s *Session) names() ([]string, error) {
	op := s.plan.final()
	names, err := s.library.list(op.Arg, func() error {
		if _, e := finish(s.conn, s.url, op, s.library.data.Octets()); e != nil {
			return e
		}
		return nil
	})
	if errors.Is(err, errNoEntries) {
		names, err = nil, s.conn.Ended()
	} else if err == nil && op.HasArg && !slices.ContainsFunc(names, isEntry) {
		err = s.mustExist(op.Arg)
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool { return !isEntry(name) }), nil
}

// isEntry reports a line that names an entry: not the directory itself nor its parent, which some servers list.
func isEntry(name string) bool {
	return !slices.Contains([]string{"", ".", ".."}, base(name))
}

// base is the last component of a path; a "/" at its end, which marks a directory, belongs to none.
func base(name string) string {
	name = strings.TrimSuffix(name, "/")
	return name[strings.LastIndexByte(name, '/')+1:]
}

// mustExist tells an empty directory from none: there are servers (vsftpd) that answer NLST with the same
// empty listing for both. The CWD is the one command that is sent beyond the plan, and only then.
func (s *Session) mustExist(dir string) error {
	s.lost = true
	r, err := s.conn.Ask("CWD "+dir, false)
	switch {
	case err != nil:
		return s.failure(withArg("CWD", dir), err)
	case r.OK():
		return s.conn.Ended()
	}
	e := s.refused(withArg("CWD", dir), r)
	if e.Err == ErrDirectory {
		_, e.Err = transferRefusal(withArg("NLST", dir), e.Reply)
		e.Hint = ""
	}
	return e
}

// emptyListing reports a 450 or 550 that says that there are no files, of a directory that exists: one that
// the server has just gone to, or one that it does not say is absent.
func emptyListing(op Command, r *Reply) bool {
	if r.Code != 450 && r.Code != 550 {
		return false
	}
	text := says(r, op.Arg)
	return strings.Contains(text, "no files") || strings.Contains(text, "empty") ||
		(!op.HasArg && strings.Contains(text, "no such file"))
}
