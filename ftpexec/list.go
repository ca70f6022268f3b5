package ftpexec

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/urlparse"
)

// List returns an iterator over the names in the directory that u names; u must end in "/" or ";type=d". The iteration
// retrieves the whole listing, and gives its connection back (see MaxIdle), before it yields the first entry, and yields
// nothing for an empty directory. If it fails it yields a zero Entry with the error and stops. The error is an *[Error],
// or a *[urlparse.Error] if u is not valid. ctx covers the whole iteration.
func (c *Client) List(ctx context.Context, u *urlparse.URL) iter.Seq2[Entry, error] {
	return byName(u, func() ([]string, error) {
		s, err := c.take(ctx, u)
		if err != nil {
			return nil, err
		}
		defer c.put(s)
		return s.list(ctx, u)
	})
}

// List returns an iterator over the names in the directory that u names, on the session's connection; see
// [Client.List].
func (s *session) List(ctx context.Context, u *urlparse.URL) iter.Seq2[Entry, error] {
	return byName(u, func() ([]string, error) { return s.list(ctx, u) })
}

// list returns the names in the directory that u names.
func (s *session) list(ctx context.Context, u *urlparse.URL) (names []string, err error) {
	err = s.run(ctx, u, goal{list: true}, func(func()) (_ bool, err error) {
		names, err = s.names()
		return false, err
	})
	if e := (*Error)(nil); errors.As(err, &e) && strings.HasPrefix(e.Op, "NLST") && (unknownCommand(err) || u.Name == "" && e.Reply != nil && e.Reply.means(absent)) {
		return s.entryNames(ctx, u)
	}
	if err == nil && (len(names) == 0 || u.Name != "" && len(names) == 1 && base(names[0]) == u.Name) {
		return s.confirm(ctx, u, names)
	}
	return names, err
}

// confirm asks once more, by the commands of Entries, about a directory of which NLST has told no name, or only its own.
// That is also what some servers answer if it does not exist or cannot be read. An entry that NLST leaves out is not
// added if its name begins with a dot.
func (s *session) confirm(ctx context.Context, u *urlparse.URL, names []string) ([]string, error) {
	shown, err := s.entryNames(ctx, u)
	if shown = slices.DeleteFunc(shown, func(name string) bool { return name[0] == '.' }); err == nil && len(shown) > len(names) {
		return shown, nil
	}
	if err == nil || unknownCommand(err) {
		return names, nil
	}
	if e := (*Error)(nil); errors.As(err, &e) && e.Err == errDirectory { // there is no such directory
		_, e.Err = transferRefusal(withArg("NLST", u.Name), e.Reply)
		e.Hint = ""
	}
	return nil, err
}

// entryNames returns the names in the directory that u names, for servers that do not know NLST, or only with an
// argument, or say of the working directory that there is no such file.
func (s *session) entryNames(ctx context.Context, u *urlparse.URL) (names []string, err error) {
	l, err := s.listEntries(ctx, u)
	if err != nil {
		return nil, err
	}
	for e, err := range l.entries(u) {
		if err != nil {
			return names, err
		}
		names = append(names, e.Base)
	}
	return names, nil
}

// byName returns an iterator over the entries with the names in dir.
func byName(dir *urlparse.URL, list func() (names []string, err error)) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		names, err := list()
		for _, name := range names {
			if !yield(nameOnly(dir, name), nil) {
				return
			}
		}
		if err != nil {
			yield(Entry{}, err)
		}
	}
}

// names runs the plan to its end, an NLST, and returns the names.
func (s *session) names() ([]string, error) {
	names, err := s.lines()
	if errors.Is(err, errNoEntries) {
		names, err = nil, s.conn.Ended()
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool { return !isEntry(name) }), nil
}

// lines runs the plan to its end, a listing, and returns its lines. The error is errNoEntries if the server refuses it
// because the directory is empty. In MLSD every line must have its end: a name without one may be the start of another (RFC
// 3659 section 7.2). Another listing without it counts if it comes twice, as does one that ends in the midst of TLS.
func (s *session) lines() ([]string, error) {
	op := s.plan.final()
	lines, err := s.library.list(op.Arg, func() error {
		if _, e := finish(s.conn, s.url, op, s.library.data.Received(), true); e != nil {
			return e
		}
		return nil
	})
	if single := func(line string) bool { return !strings.HasSuffix(line, "\r") }; !slices.ContainsFunc(lines, single) {
		for i, line := range lines { // the server has ended lines that had their CR LF already
			lines[i] = line[:len(line)-1]
		}
	}
	if err == nil && op.Verb == "MLSD" && s.library.data.InLine() {
		err = s.failure(op, fmt.Errorf("%w: its last line has no end", ErrTruncated))
	}
	if err == nil {
		n := s.library.data.Received() + 1
		switch {
		case s.library.data.Abrupt():
			err = s.client.abrupt(s.conn, s.url, n == s.goal.doubtful)
		case s.library.data.InLine() && n != s.goal.doubtful:
			err = errUnended
		}
		if err != nil {
			s.goal.doubtful = n
			s.conn.Abandon(err)
		}
	}
	if errors.Is(err, bufio.ErrTooLong) {
		s.conn.Abandon(wire.ErrListing)
		err = errors.Join(s.conn.Err(), err)
	}
	return lines, err
}

// isEntry reports whether a line names an entry, not the directory itself or its parent, which some servers list.
func isEntry(name string) bool {
	return !slices.Contains([]string{"", ".", ".."}, base(name))
}

// base returns the last component of a path, without the "/" at its end that marks a directory.
func base(name string) string {
	name = strings.TrimSuffix(name, "/")
	return name[strings.LastIndexByte(name, '/')+1:]
}
