package ftpexec

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec/internal/listing"
	"example.com/ftpfetch/urlparse"
)

// Entries returns an iterator over the entries of the directory that u names; u must end in "/" or ";type=d". It enters
// the directory with CWD and lists it with MLSD (RFC 3659 section 7). If the server does not know MLSD, it sends LIST -a,
// then LIST, then NLST, which tells only names. The Client remembers for each host which of them works. The entries "."
// and ".." are left out.
//
// The iteration retrieves the whole listing, and gives its connection back (see MaxIdle), before it yields the first entry. If that
// fails it yields a zero Entry with the error and stops, so the entries of a directory are never mistaken for all of
// them. A line that names no entry that this package understands, or a name that no FTP command can contain, yields a zero Entry
// with an [ErrLine] that shows the line, and the iteration goes on: the directory has an entry that is not listed. Every
// error is an *[Error], or a *[urlparse.Error] if u is not valid. ctx covers the whole iteration.
//
// Names are bytes as the server sent them, and so are those in the URLs. Entries asks for UTF-8 (OPTS UTF8 ON) only if
// a name in u needs it, as Open does.
func (c *Client) Entries(ctx context.Context, u *urlparse.URL) iter.Seq2[Entry, error] {
	return inDir(u, func() (listed, error) {
		s, err := c.take(ctx, u)
		if err != nil {
			return listed{}, err
		}
		defer c.put(s)
		return s.listEntries(ctx, u)
	})
}

// Entries returns an iterator over the entries of the directory that u names, on the session's connection; see
// [Client.Entries].
func (s *session) Entries(ctx context.Context, u *urlparse.URL) iter.Seq2[Entry, error] {
	return inDir(u, func() (listed, error) { return s.listEntries(ctx, u) })
}

// listEntries lists the directory that u names.
func (s *session) listEntries(ctx context.Context, u *urlparse.URL) (l listed, err error) {
	err = s.run(ctx, u, goal{list: true, entries: true}, func(func()) (_ bool, err error) {
		l, err = s.entries()
		return false, err
	})
	l.mask = s.client.secrets.Mask
	return l, err
}

// inDir returns an iterator over the entries of a directory.
func inDir(dir *urlparse.URL, list func() (listed, error)) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		l, err := list()
		if err != nil {
			yield(Entry{}, err)
			return
		}
		l.entries(dir)(yield)
	}
}

// listed is what a server has listed.
type listed struct {
	op    Command // one of ways
	lines []string
	now   time.Time           // the time of the listing
	mask  func(string) string // hides secrets
}

// errNextWay means that the connection broke with the refusal of a listing, and the next way is to be tried on a new one.
var errNextWay = errors.New("listing refused")

// listBy makes the plan end in the way to list that has this number.
func (s *session) listBy(way int) { s.goal.how, s.plan = way, s.plan.listing(ways[way]) }

// entries runs the plan to its end, a listing, and goes through the ways until one lists the directory.
func (s *session) entries() (listed, error) {
	var odd listed   // lines that cannot be read
	var denied error // why MLSD or LIST is refused, although the server knows it
	blank := false   // LIST was empty, and nothing else tells more
	for {
		l := listed{op: s.plan.final(), now: time.Now()}
		lines, err := s.lines()
		none := errors.Is(err, errNoEntries)
		if none {
			err = s.conn.Ended()
		}
		l.lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
		switch {
		case err == nil && s.settles(l, denied == nil && len(odd.lines) == 0, none):
			return l, nil
		case err == nil && len(l.lines) == 0:
			blank = l.op.Line() == "LIST"
		case err == nil && len(odd.lines) == 0:
			odd = l
		case err != nil && !unlisted(l.op, err):
			return l, err
		case (l.op.Verb == "MLSD" || l.op.Line() == "LIST") && !unknownCommand(err):
			denied = err
		}
		if blank && s.goal.how == len(ways)-1 && denied == nil && len(odd.lines) == 0 && (!errors.Is(err, errTransfer) || unknownCommand(err)) {
			return l, nil
		}
		if s.goal.how == len(ways)-1 {
			if denied == nil && err != nil && len(odd.lines) == 0 {
				denied = err
			}
			return odd, denied
		}
		if s.nextWay(err); s.conn.Err() != nil {
			return l, fmt.Errorf("%w: %w", errNextWay, err)
		}
	}
}

// settles reports whether l is what the directory holds, and remembers the way if it listed something. An empty LIST
// counts only if the same LIST has listed something before, because some servers take "-a" for a name, and others run a
// program ls that is not there. clear means that the ways before were unknown to the server or empty; otherwise an empty
// listing is wrong, and NLST is for this directory alone. none means that the server says that there is no entry.
func (s *session) settles(l listed, clear, none bool) bool {
	way, names := s.goal.how, l.op.Verb == "NLST"
	switch {
	case len(l.lines) > 0:
		if !l.readable() {
			return false
		}
		if clear || !names {
			s.client.learnWay(s.url, way, true)
		}
		return true
	case l.op.HasArg, l.op.Verb == "LIST" && !none:
		h := s.client.habits(s.url)
		return clear && h.how == way && h.listed
	}
	return clear
}

// nextWay replaces what is left of the run by the next way to list. err is why this way did not.
func (s *session) nextWay(err error) {
	s.listBy(s.goal.how + 1)
	if s.goal.how == 1 && unknownCommand(err) {
		s.client.learnWay(s.url, s.goal.how, false)
	}
	s.port, s.queue = 0, s.plan.steps(s.course(false))
}

// learnWay remembers the first way that u's server may give, and whether it has listed something.
func (c *Client) learnWay(u *urlparse.URL, way int, listed bool) {
	c.learn(u, func(h *habits) { h.how, h.listed = way, listed })
}

// readable reports whether any line can be read. "-a" alone is a file that a server took for what to list.
func (l listed) readable() bool {
	if l.op.HasArg && len(l.lines) == 1 && strings.HasSuffix(l.lines[0], " "+l.op.Arg) {
		return false
	}
	for _, err := range l.items() {
		if !errors.Is(err, listing.ErrUnknown) {
			return true
		}
	}
	return false
}

// items yields what the lines of MLSD or LIST tell. It yields the names of NLST as they are.
func (l listed) items() iter.Seq2[listing.Item, error] {
	lines, parse := slices.Values(l.lines), listing.MLSD
	switch l.op.Verb {
	case "LIST":
		lines, parse = listing.Lines(l.lines), func(line string) (listing.Item, error) { return listing.LIST(line, l.now) }
	case "NLST":
		parse = func(line string) (listing.Item, error) { return listing.Item{Name: line}, nil }
	}
	return func(yield func(listing.Item, error) bool) {
		for line := range lines {
			item, err := parse(line)
			if err != nil {
				item.Name = line
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// entries yields the entries of the directory dir, and the lines that are not understood as errors.
func (l listed) entries(dir *urlparse.URL) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for item, err := range l.items() {
			var e Entry
			switch names := l.op.Verb == "NLST"; {
			case errors.Is(err, listing.ErrNoEntry) || names && !isEntry(item.Name):
				continue
			case err == nil && names:
				e = nameOnly(dir, item.Name)
			case err == nil:
				e = entryOf(dir, item)
			}
			if err != nil || strings.ContainsAny(e.Base, "/\r\n\x00") {
				bad := &Error{Stage: "transfer", Op: l.op.shown(), URL: dir.Redacted(), Err: fmt.Errorf("%w: %s", ErrLine, cut(l.mask(item.Name)))}
				if !yield(Entry{}, bad) {
					return
				}
			} else if !yield(e, nil) {
				return
			}
		}
	}
}
