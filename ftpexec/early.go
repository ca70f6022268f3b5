package ftpexec

import (
	"bytes"
	"context"
	"iter"
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
// EntriesEarly calls entry for each entry as it arrives. It may do so again for the same entry after a retry, and the
// listing may still fail. It leaves out entries whose names cannot be known before the whole listing is read. It calls
// login when a listing begins, with the directory after the
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

// early returns a function that passes on the entry of the last line of text, before the listing is whole. It returns
// nil if nothing wants the entries.
func (r *lister) early(l listed, text *listing.Text) func(line []byte, plain bool) {
	tell := r.goal.early.entry
	if tell == nil {
		return nil
	}
	l.reader = listing.NewReader(nil, "", l.now)
	l.exact = map[string][]string{} // so that a name in doubt is not yielded
	in := children{dir: r.url, inside: r.url.Child("", "")}
	return func(line []byte, plain bool) {
		if plain {
			if l.reader.Passed() {
				item := text.Last()
				tell(in.entry(item.Name, item))
			}
			return
		}
		l.text = listing.NewText("", l.now)
		l.text.Add(line)
		for e, err := range l.entries(r.url) {
			// Only the whole listing shows which spaces belong to a name.
			spaced := bytes.HasSuffix(line, []byte("  "+e.Name)) || strings.TrimSpace(e.Name) != e.Name
			if err == nil && !spaced {
				tell(e)
			}
		}
	}
}
