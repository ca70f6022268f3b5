package ftpexec

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec/internal/listing"
	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/internal/lazy"
	"example.com/ftpfetch/urlparse"
)

// Entry is one entry of a directory: a file, a directory, a symbolic link or something else. [Client.Entries] fills the
// fields with what the server tells; [Client.List] knows only the first two.
type Entry struct {
	Name string        // as the server sent it: a name, or from NLST a path such as "dir/name"; a directory's may end in "/"
	URL  *urlparse.URL // the URL of the entry in the listed directory; it ends in "/" if the entry is a directory

	// Mode has the type, and the permissions if HasPerm is set. The type is fs.ModeIrregular if it is unknown, because
	// the server did not tell it or this package does not know it.
	Mode    fs.FileMode
	HasPerm bool

	Size      int64         // of a file, in bytes; -1 if not told, and for everything but a file
	ModTime   time.Time     // zero if not told
	Precision time.Duration // the unit in which ModTime was told, from a nanosecond to 24 hours; 0 if it was not
	Local     bool          // ModTime is in the server's local time, which is written here as UTC: only a hint

	Target string // of a symbolic link, as the server sent it; "" if not told
	Unique string // the same for two entries that are the same file on the server; "" if not told
}

// List returns an iterator over the names in the directory that u names; u must end in "/" or ";type=d". The iteration
// retrieves the whole listing, and gives its connection back (see MaxIdle), before it yields the first entry, and yields
// nothing for an empty directory. If it fails it yields a zero Entry with the error and stops. The error is an *[Error],
// or a *[urlparse.Error] if u is not valid. ctx covers the whole iteration.
func (c *Client) List(ctx context.Context, u *urlparse.URL) iter.Seq2[Entry, error] {
	return c.listing(ctx, u, (*session).list)
}

func (c *Client) listing(ctx context.Context, dir *urlparse.URL, list func(*session, context.Context, *urlparse.URL) (listed, error)) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var l listed
		s, err := c.take(ctx, dir)
		if err == nil {
			l, err = list(s, ctx, dir)
			c.put(s)
		}
		if err != nil {
			yield(Entry{}, err)
			return
		}
		l.entries(dir)(yield)
	}
}

func (s *session) list(ctx context.Context, u *urlparse.URL) (l listed, err error) {
	err = s.run(ctx, u, goal{listing: true}, func(r *run) error {
		l, err = r.lines()
		return err
	})
	if e := (*Error)(nil); errors.As(err, &e) && strings.HasPrefix(e.Op, "NLST") && (unknownCommand(err) || u.Name == "" && e.Code != 0 && e.answer.means(absent)) {
		return s.entryNames(ctx, u)
	}
	l.names, l.lines = true, slices.DeleteFunc(l.lines, func(name string) bool { return !isEntry(name) })
	if err == nil && (len(l.lines) == 0 || u.Name != "" && len(l.lines) == 1 && base(l.lines[0]) == u.Name) {
		return s.confirm(ctx, u, l)
	}
	return l, err
}

// confirm asks once more, by the commands of Entries, about a directory of which NLST has told no name, or only its own.
// That is also what some servers answer if it does not exist or cannot be read. An entry that NLST leaves out is not
// added if its name begins with a dot.
func (s *session) confirm(ctx context.Context, u *urlparse.URL, l listed) (listed, error) {
	more, err := s.entryNames(ctx, u)
	if err == nil {
		err = more.broken
	}
	more.lines = slices.DeleteFunc(more.lines, func(name string) bool { return name[0] == '.' })
	switch e := (*Error)(nil); {
	case err == nil && (len(more.lines) > len(l.lines) || len(more.lines) == 1 && more.lines[0] != u.Name):
		return more, nil
	case err == nil, unknownCommand(err):
		return l, nil
	case errors.As(err, &e) && errors.Is(e.Err, errDirectory) && !e.general(): // there is no such directory
		op := withArg("NLST", u.Name)
		e.refuse(op)
		s.readLimits(e, op)
	}
	return listed{}, err
}

// entryNames asks for the entries of the directory that u names, and returns their names as those of NLST. It is for
// servers that do not know NLST, or only with an argument, or say of the working directory that there is no such file.
func (s *session) entryNames(ctx context.Context, u *urlparse.URL) (names listed, err error) {
	l, err := s.entries(ctx, u)
	if err != nil {
		return listed{}, err
	}
	names.op = Command{Verb: "NLST"}
	for e, err := range l.entries(u) {
		if err != nil {
			names.broken = err
			break
		}
		names.lines = append(names.lines, base(e.Name))
	}
	return names, nil
}

// lines runs the plan to its end, a listing. A refusal that stands for an empty directory is none. In MLSD every line must
// have its end: a name without one may be the start of another (RFC 3659 section 7.2). Another listing without it counts if
// it comes twice, as does one that ends in the midst of TLS.
func (r *run) lines() (l listed, err error) {
	l = r.listed()
	l.lines, err = r.library.list(r, func() error {
		_, err := r.finish(r.library.data.Received(), true)
		return err
	})
	if errors.Is(err, errNoEntries) {
		return listed{op: l.op, none: true}, r.conn.Ended()
	}
	if single := func(line string) bool { return !strings.HasSuffix(line, "\r") }; !slices.ContainsFunc(l.lines, single) {
		for i, line := range l.lines { // the server has ended lines that had their CR LF already
			l.lines[i] = line[:len(line)-1]
		}
	}
	if err == nil && l.op.Verb == "MLSD" && r.library.data.InLine() {
		err = r.failure(step{Command: l.op}, errUnended)
	}
	if err == nil {
		n := r.library.data.Received() + 1
		switch {
		case r.library.data.Abrupt():
			err = r.abrupt(n == r.goal.doubtful)
		case r.library.data.InLine() && n != r.goal.doubtful:
			err = errUnended
		}
		if err != nil {
			r.goal.doubtful = n
			r.conn.Abandon(err)
		}
	}
	if errors.Is(err, bufio.ErrTooLong) {
		r.conn.Abandon(wire.ErrListing)
		err = errors.Join(r.conn.Err(), err)
	}
	return l, err
}

func (r *run) listed(lines ...string) listed {
	return listed{op: r.goal.op, lines: lines, now: time.Now(), mask: r.client.secrets.Mask}
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

// Entries returns an iterator over the entries of the directory that u names; u must end in "/" or ";type=d". It enters
// the directory with CWD and lists it with MLSD (RFC 3659 section 7). If the server does not know MLSD, it sends LIST -a,
// then LIST, then NLST, which tells only names. The Client remembers for each host which of them works. The entries "."
// and ".." are left out.
//
// The iteration retrieves the whole listing first and may fail as that of List, so the entries of a directory are never
// mistaken for all of them. A line that names no entry that this package understands, or a name that no FTP command can
// contain, yields a zero Entry with an [ErrLine] that shows the line, and the iteration goes on: the directory has an
// entry that is not listed.
//
// Names are bytes as the server sent them, and so are those in the URLs. Entries asks for UTF-8 (OPTS UTF8 ON) only if
// a name in u needs it, as Do does.
func (c *Client) Entries(ctx context.Context, u *urlparse.URL) iter.Seq2[Entry, error] {
	return c.listing(ctx, u, (*session).entries)
}

func (s *session) entries(ctx context.Context, u *urlparse.URL) (l listed, err error) {
	err = s.run(ctx, u, goal{listing: true, entries: true}, func(r *run) error {
		l, err = r.goThroughWays()
		return err
	})
	return l, err
}

type listed struct {
	op     Command // NLST, or another of ways
	lines  []string
	none   bool                // the server says that there is no entry
	now    time.Time           // the time of the listing
	mask   func(string) string // hides secrets
	broken error               // why nothing follows the lines
	names  bool                // asked for by List: also names that no command can contain
	spaced                     // names of LIST
}

// errNextWay means that the connection broke with the refusal of a listing, and the next way is to be tried on a new one.
var errNextWay = errors.New("listing refused")

// listBy makes the plan end in the way to list that has this number.
func (r *run) listBy(way int) { r.goal.how, r.goal.op = way, ways[way] }

// goThroughWays runs the plan to its end, a listing, in one of the ways after another until one lists the directory.
func (r *run) goThroughWays() (listed, error) {
	var odd listed   // lines that cannot be read
	var denied error // why MLSD or LIST is refused, although the server knows it
	blank := false   // LIST was empty, and nothing else tells more
	for {
		l, err := r.lines()
		l.lines = slices.DeleteFunc(l.lines, func(line string) bool { return line == "" })
		clear := denied == nil && len(odd.lines) == 0
		switch {
		case err == nil && r.settles(l, clear):
			return r.certain(l), nil
		case err == nil && len(l.lines) == 0:
			blank = l.op.line() == "LIST"
		case err == nil && len(odd.lines) == 0:
			odd, clear = l, false
		case err != nil && !unlisted(l.op, err):
			return l, err
		case (l.op.Verb == "MLSD" || l.op.line() == "LIST") && !unknownCommand(err):
			denied, clear = err, false
		}
		if last := len(ways) - 1; r.goal.how == last {
			switch {
			case blank && clear && (!errors.Is(err, errTransfer) || unknownCommand(err)):
				return l, nil
			case clear:
				denied = err
			}
			return odd, denied
		}
		if r.nextWay(err); r.conn.Err() != nil {
			return l, fmt.Errorf("%w: %w", errNextWay, err)
		}
	}
}

// settles reports whether l is what the directory holds, and remembers the way if it listed something. An empty LIST
// counts only if the same LIST has listed something before, because some servers take "-a" for a name, and others run a
// program ls that is not there. clear means that the ways before were unknown to the server or empty; otherwise an empty
// listing is wrong, and NLST is for this directory alone.
func (r *run) settles(l listed, clear bool) bool {
	switch {
	case len(l.lines) > 0:
		if !l.readable() {
			return false
		}
		if clear || l.op.Verb != "NLST" {
			r.learn(func(h *habits) { h.how, h.listed = r.goal.how, true })
		}
		return true
	case l.op.Arg != "", l.op.Verb == "LIST" && !l.none:
		h := r.known()
		return clear && h.how == r.goal.how && h.listed
	}
	return clear
}

// nextWay replaces what is left of the run by the next way to list. err is why this way did not.
func (r *run) nextWay(err error) {
	r.listBy(r.goal.how + 1)
	if r.goal.how == 1 && unknownCommand(err) {
		r.learn(func(h *habits) { h.how, h.listed = r.goal.how, false })
	}
	r.port, r.queue = 0, steps(r.url, r.course(false))
}

// readable reports whether any line can be read. "-a" alone is a file that a server took for what to list.
func (l listed) readable() bool {
	if l.op.Arg != "" && len(l.lines) == 1 && strings.HasSuffix(l.lines[0], " "+l.op.Arg) {
		return false
	}
	for _, err := range l.items(false) {
		if !errors.Is(err, listing.ErrUnknown) {
			return true
		}
	}
	return false
}

// items yields what the lines of MLSD or LIST tell. It yields the names of NLST as they are. With take it takes the
// lines out of l: there may be a million.
func (l listed) items(take bool) iter.Seq2[listing.Item, error] {
	lines, parse := l.lines, listing.MLSD
	switch l.op.Verb {
	case "LIST":
		parse = l.readLIST
	case "NLST":
		parse = func(line string) (listing.Item, error) {
			return listing.Item{Name: line, Mode: fs.ModeIrregular, Size: -1}, nil
		}
	}
	return func(yield func(listing.Item, error) bool) {
		for i, line := range lines {
			if take {
				lines[i] = ""
			}
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
		for item, err := range l.items(true) {
			name, paths := strings.TrimSuffix(item.Name, "/"), l.op.Verb == "NLST"
			if paths {
				name = base(item.Name)
			}
			var e Entry
			switch {
			case errors.Is(err, listing.ErrNoEntry) || paths && !isEntry(item.Name):
				continue
			case err != nil || !l.names && strings.ContainsAny(name, "/\r\n\x00"):
				err = newError(l.op, dir, fmt.Errorf("%w: %s%s", ErrLine, cut(l.mask(item.Name)), why(err)))
			default:
				e = entryOf(dir, name, item)
			}
			if !yield(e, err) {
				return
			}
		}
		if l.broken != nil {
			yield(Entry{}, l.broken)
		}
	}
}

// untold returns the entry for u before the server has told anything.
func untold(u *urlparse.URL) Entry {
	return Entry{Name: u.Name, URL: u, Mode: fs.ModeIrregular, Size: -1}
}

func (e *Entry) learn(verb string, r wire.Reply) {
	if verb == "SIZE" {
		if n, ok := sizeIn(r); ok {
			e.Size, e.Mode = n, 0
		}
	} else if t, ok := timeIn(r); ok && verb == "MDTM" {
		e.ModTime, e.Precision = t, time.Second
	}
}

// announced finds the size in the preliminary reply to RETR, which most servers word "... file (1234 bytes)".
var announced = lazy.Regexp(`\((\d{1,18}) bytes\)`)

func (e *Entry) opened(reply answer) {
	if m := announced().FindAllStringSubmatch(reply(), -1); m != nil {
		e.Size, _ = strconv.ParseInt(m[len(m)-1][1], 10, 64)
	}
}

// entryOf returns the entry for an item that has this name in dir.
func entryOf(dir *urlparse.URL, name string, item listing.Item) Entry {
	kind := urlparse.Typecode("")
	if item.Mode.IsDir() {
		kind = urlparse.TypeDir
	}
	return Entry{Name: item.Name, URL: dir.Child(name, kind), Mode: item.Mode, HasPerm: item.HasPerm, Size: item.Size,
		ModTime: item.Time, Precision: item.Precision, Local: item.Precision > 0 && !item.UTC, Target: item.Target, Unique: item.Unique}
}
