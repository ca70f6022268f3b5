package ftpexec

import (
	"context"
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

// List lists the directory that rawURL names: one that ends in "/" or in ;type=d. ctx covers the whole
// iteration. The iterator yields an error at most once, last; it is a *[urlparse.Error] or an *[Error]. A
// directory without entries yields nothing.
func (c *Client) List(ctx context.Context, rawURL string) iter.Seq2[Entry, error] {
	u, err := urlparse.Parse(rawURL)
	if err != nil {
		return func(yield func(Entry, error) bool) { yield(Entry{}, err) }
	}
	return c.ListURL(ctx, u)
}

// ListURL is [Client.List] for a parsed URL.
func (c *Client) ListURL(ctx context.Context, u *urlparse.URL) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s := &Session{client: c, once: true}
		defer s.Close()
		for e, err := range s.ListURL(ctx, u) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// ListURL lists the directory that u names; see [Client.List].
func (s *Session) ListURL(ctx context.Context, u *urlparse.URL) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if !u.IsDir() {
			yield(Entry{}, &Error{Op: "list", URL: u.Redacted(), Err: ErrNotDirectory, Hint: `end the URL in "/" or ";type=d"`})
			return
		}
		var names []string
		err := s.run(ctx, u, goal{}, func(end func()) (err error) {
			defer end()
			names, err = s.names(ctx)
			return err
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
func (s *Session) names(ctx context.Context) ([]string, error) {
	op := s.plan.final()
	names, err := s.conn.NameList(op.Arg)
	last, final := s.control.Last(), publicReply(s.control.Final())
	switch {
	case err != nil && final != nil && final.Code/100 == 5 && len(names) == 0: // refused, although 150 came first
		_, err = transferRefusal(op, final)
		return nil, s.listingError(final, err)
	case err != nil && final != nil && final.Code/100 != 2:
		return nil, s.listingError(final, ErrTruncated)
	case err != nil && s.control.Err() == nil && last.Verb == op.Verb && emptyListing(op, publicReply(last.Reply)):
		return nil, nil
	case err != nil:
		return nil, s.failure(ctx, op, err)
	case final != nil && strings.Contains(final.says(op.Arg), "failed to open directory"): // vsftpd's 226
		return nil, s.listingError(final, ErrNotFound)
	}
	names = slices.DeleteFunc(names, noEntry)
	if len(names) == 0 && op.HasArg {
		return nil, s.mustExist(ctx, op.Arg)
	}
	return names, nil
}

func (s *Session) listingError(r *Reply, err error) *Error {
	op := s.plan.final()
	e := &Error{Op: op.shown(), URL: s.url.Redacted(), Reply: r, Err: err}
	e.readLimits(op, s.control.Secure())
	return e
}

// noEntry reports lines that name no entry: the directory itself and its parent, which some servers list.
func noEntry(name string) bool {
	return slices.Contains([]string{"", ".", ".."}, base(name))
}

// base is the last component of a path; a "/" at its end, which marks a directory, belongs to none.
func base(name string) string {
	name = strings.TrimSuffix(name, "/")
	return name[strings.LastIndexByte(name, '/')+1:]
}

// mustExist tells an empty directory from none: there are servers (vsftpd) that answer NLST with the same
// empty listing for both. The CWD is the one command that is sent beyond the plan, and only then.
func (s *Session) mustExist(ctx context.Context, dir string) error {
	s.lost = true
	if err := s.conn.ChangeDir(dir); err != nil {
		e := s.failure(ctx, withArg("CWD", dir), err)
		if s.control.Err() == nil {
			e.Hint, e.Err = transferRefusal(withArg("NLST", dir), e.Reply)
			e.readLimits(withArg("NLST", dir), s.control.Secure())
		}
		return e
	}
	return nil
}

// emptyListing reports a 450 or 550 that says that there are no files, of a directory that exists: one that
// the server has just gone to, or one that it does not say is absent.
func emptyListing(op Command, r *Reply) bool {
	if r == nil || (r.Code != 450 && r.Code != 550) {
		return false
	}
	text := r.says(op.Arg)
	return strings.Contains(text, "no files") || strings.Contains(text, "empty") ||
		(!op.HasArg && strings.Contains(text, "no such file"))
}
