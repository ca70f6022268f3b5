package ftpexec

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
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
// fields with what the server says; [Client.List] knows only the first two.
type Entry struct {
	// as the server sent it: a name, or from NLST a path such as "dir/name"; a directory's may end in "/"
	Name string
	// the URL of the entry; it ends in "/" if the entry is a directory
	URL *urlparse.URL

	// Mode has the type, and the permissions if HasPerm is set. The type is fs.ModeIrregular if it is unknown, because
	// the server did not give it or this package does not know it.
	Mode    fs.FileMode
	HasPerm bool

	// of a file, in bytes; -1 if unknown, and for everything but a file
	Size int64
	// zero if unknown
	ModTime time.Time
	// the unit in which the server gave ModTime, from a nanosecond to 24 hours; 0 if it did not
	Precision time.Duration
	// ModTime is in the server's local time, which is written here as UTC: only a hint
	Local bool

	// YearGuessed says that the server gave a day and a time without a year, so that ModTime, the last such day before
	// now, is a guess. It is set if that day is more than half a year ago, because servers usually write the year for
	// such a day: perhaps a day to come is meant. [Client.Stat] asks for the time.
	YearGuessed bool

	Target string // of a symbolic link, as the server sent it; "" if unknown
	Unique string // the same for two entries that are the same file on the server; "" if unknown
}

// List returns an iterator over the names in the directory that u names; u must end in "/" or ";type=d". The iteration
// retrieves the whole listing, and leaves its connection to other calls, before it yields the first entry, and
// yields nothing for an empty directory. If it fails it yields a zero Entry with the error and stops. The error is an
// *[Error], or a *[urlparse.Error] if u is not valid. ctx covers the whole iteration.
func (c *Client) List(ctx context.Context, u *urlparse.URL) iter.Seq2[Entry, error] {
	return c.listing(ctx, u, (*session).list)
}

// listing yields the entries of the listing that list retrieves.
func (c *Client) listing(
	ctx context.Context, dir *urlparse.URL,
	list func(*session, context.Context, *urlparse.URL) (listed, error),
) iter.Seq2[Entry, error] {
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

// list lists the names in the directory that u names.
func (s *session) list(ctx context.Context, u *urlparse.URL) (l listed, err error) {
	err = s.run(ctx, u, goal{listing: true}, func(r *run) error {
		l, err = (&lister{run: r}).lines()
		return err
	})
	e, _ := errors.AsType[*Error](err)
	if e != nil && strings.HasPrefix(e.Op, "NLST") &&
		(unknownCommand(err) || u.Name == "" && e.Code != 0 && e.answer.means(absent)) {
		return s.entryNames(ctx, u)
	}
	l.names = true
	l.delete(func(name string) bool { return !isEntry(name) })
	itself := u.Name != "" && base(l.text.Only()) == u.Name
	if err == nil && (l.text.Len() == 0 || itself) {
		return s.confirm(ctx, u, l)
	}
	return l, err
}

// confirm lists a directory again with the commands of Entries, because NLST has returned no name or only the
// directory's own. Some servers do that also if the directory does not exist or cannot be read. confirm adds no names
// that begin with a dot, because NLST may leave them out.
func (s *session) confirm(ctx context.Context, u *urlparse.URL, l listed) (listed, error) {
	more, err := s.entryNames(ctx, u)
	if err == nil {
		err = more.broken
	}
	more.delete(func(name string) bool { return name[0] == '.' })
	e, _ := errors.AsType[*Error](err)
	switch {
	case err == nil &&
		(more.text.Len() > l.text.Len() || more.text.Len() == 1 && more.text.Only() != u.Name):
		return more, nil
	case err == nil, unknownCommand(err):
		return l, nil
	case e != nil && errors.Is(e.Err, errDirectory) && !e.general(): // there is no such directory
		op := withArg("NLST", u.Name)
		e.refuse(op)
		e.readLimits(op, s.conn.Secure())
	}
	return listed{}, err
}

// entryNames asks for the entries of the directory that u names, and returns their names as NLST would. It is for
// servers that do not know NLST, or only with an argument, or say of the working directory that there is no such file.
func (s *session) entryNames(ctx context.Context, u *urlparse.URL) (names listed, err error) {
	l, err := s.entries(ctx, u, early{})
	if err != nil {
		return listed{}, err
	}
	names.op = Command{Verb: "NLST"}
	names.text = listing.NewText(names.op.Verb, l.now)
	for e, err := range l.entries(u) {
		if err != nil {
			names.broken = err
			break
		}
		names.text.Add([]byte(base(e.Name)))
	}
	return names, nil
}

// lines runs the plan to its end, a listing. A refusal that means an empty directory is not an error. The last line of
// MLSD must have a line end, because a name without one may be the start of a longer name (RFC 3659 section 7.2). Any
// other listing without a final line end counts as whole if a second try has the same length, and so does a listing
// that ends under TLS without close_notify.
func (r *lister) lines() (l listed, err error) {
	l = r.listed()
	data, err := r.open()
	if err == nil {
		l.text, err = r.receive(l, data)
	}
	if errors.Is(err, errNoEntries) {
		return listed{op: l.op, none: true}, r.conn.Ended()
	}
	if l.text.Len() > 0 {
		l.text.Once()
	}
	if err == nil {
		err = r.cutShort(data)
	}
	if errors.Is(err, bufio.ErrTooLong) {
		err = errors.Join(wire.ErrListing, err)
	}
	return l, err
}

// receive receives the lines of a listing, and the final reply.
func (r *lister) receive(l listed, data *wire.Data) (*listing.Text, error) {
	text := listing.NewText(l.op.Verb, l.now)
	lines := &receiver{Conn: data, text: text, tell: r.early(l, text), utf8: true, most: mostMemory}
	failed := r.library.list(l.op.Arg, r.port, lines)
	reply, err := r.finish(data.Received(), true)
	cut := data.Cut()
	if cut != nil && reply.Code != 0 && !errors.Is(err, errNoTicket) { // it may be empty, but nobody has said so
		err = &wire.ReplyError{Reply: reply, Err: cut}
		r.conn.Abandon(err)
	}
	if r.utf8 && !lines.utf8 {
		r.octets = true
		r.learn(func(h *habits) { h.octets = true })
	}
	err = errors.Join(failed, err)
	r.transferred(data.Received(), err)
	return text, err
}

// cutShort returns why the listing that came over data may have been cut, or nil.
func (r *lister) cutShort(data *wire.Data) error {
	if r.goal.op.Verb == "MLSD" && data.InLine() {
		return r.failure(step{Command: r.goal.op}, errUnended)
	}
	var err error
	n := data.Received() + 1
	switch {
	case data.Abrupt():
		err = r.abrupt(n == r.goal.doubtful)
	case data.InLine() && n != r.goal.doubtful:
		err = errUnended
	}
	if err != nil {
		r.goal.doubtful = n
		r.conn.Abandon(err)
	}
	return err
}

// listed returns the listing of a run without its lines.
func (r *lister) listed() listed {
	dir := path.Join(append(slices.Clone(r.url.Dirs), r.url.Name)...)
	return listed{op: r.goal.op, dir: dir, now: time.Now(), mask: r.client.secrets.Mask}
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
// the directory (CWD) and asks for a listing that is made for programs (MLSD, RFC 3659 section 7). If the server does not
// know that, it asks for one that is made for people, whose form differs between servers (LIST -a, then LIST), and at
// last for the names alone (NLST). The Client remembers for each host which of them works. The entries "." and ".." are
// left out.
//
// The iteration retrieves the whole listing first and may fail as List does, so some entries of a directory are never
// mistaken for all of them. A line that this package does not understand, or a name that no FTP command can contain,
// yields a zero Entry with an [ErrLine] that shows the line, and the iteration goes on: the directory has an entry that
// is not listed.
//
// Names are bytes as the server sent them, also in the URLs. Entries and List ask for UTF-8 (OPTS UTF8 ON) where FEAT
// offers it, unless a name in u is not UTF-8 or Octets is set.
func (c *Client) Entries(ctx context.Context, u *urlparse.URL) iter.Seq2[Entry, error] {
	return c.EntriesEarly(ctx, u, nil, nil)
}

// entries lists the directory that u names by the first of ways that works.
func (s *session) entries(ctx context.Context, u *urlparse.URL, o early) (l listed, err error) {
	var before refusedWays
	err = s.run(ctx, u, goal{listing: true, entries: true, early: o}, func(r *run) error {
		l, err = (&lister{r, &before}).goThroughWays()
		return err
	})
	return l, err
}

// listed is a listing as the server sent it.
type listed struct {
	op     Command             // NLST, or another of ways
	dir    string              // the path of the directory, from the one after the login
	text   *listing.Text       // nil if no line came
	none   bool                // the server says that there is no entry
	now    time.Time           // the time of the listing
	mask   func(string) string // hides secrets
	broken error               // why nothing follows the lines
	names  bool                // asked for by List: also names that no command can contain
	spaced                     // names of LIST
}

// delete removes the lines for which del returns true. They are names.
func (l listed) delete(del func(name string) bool) {
	if l.text.Len() > 0 {
		l.text.Delete(del)
	}
}

// items yields the items in the lines of MLSD or LIST, and the names of NLST unchanged. With take it removes each line
// from l, because there may be a million.
func (l *listed) items(take bool) iter.Seq2[listing.Item, error] {
	read := l.readMLSD
	switch l.op.Verb {
	case "LIST":
		if l.reader == nil {
			l.reader = listing.NewReader(nil, "", l.now)
		}
		read = l.readLIST
	case "NLST":
		read = l.readNLST
	}
	return l.text.Items(l.reader, read, take)
}

// otherDir is why a path is not the name of an entry. It is a [listing.ErrUnknown].
type otherDir struct{}

func (otherDir) Error() string        { return "a path that leads to another directory" }
func (otherDir) Is(target error) bool { return target == listing.ErrUnknown }

// readMLSD reads a line of MLSD. Some servers write the directory in front of a name.
func (l *listed) readMLSD(line string) (listing.Item, error) {
	item, err := listing.MLSD(line)
	switch {
	case err != nil || !strings.Contains(strings.TrimSuffix(item.Name, "/"), "/"):
		return item, err
	case !l.leadsHere(item.Name):
		return listing.Item{}, otherDir{}
	case !isEntry(item.Name):
		return listing.Item{}, listing.ErrNoEntry
	}
	item.Name = base(item.Name)
	return item, nil
}

// readNLST reads a line of NLST, a name or a path. For List, which shows paths, any path will do.
func (l *listed) readNLST(line string) (listing.Item, error) {
	if !l.names && strings.Contains(line, "/") && !l.leadsHere(line) {
		return listing.Item{}, otherDir{}
	}
	return listing.Item{Name: line, Mode: fs.ModeIrregular, Size: -1}, nil
}

// leadsHere reports whether a path may lead to an entry of the listed directory: what stands before its last component
// is the end of the directory's path or, if the path is absolute, ends in it. The directory after the login has a path
// that nothing tells for certain.
func (l *listed) leadsHere(name string) bool {
	name = path.Clean(name)
	dir := strings.FieldsFunc(path.Clean(l.dir), isSlash)
	above := strings.FieldsFunc(path.Dir(name), isSlash)
	if len(dir) > 0 && dir[0] == "." {
		dir = dir[1:]
	}
	if path.Dir(name) == "." {
		return true
	}
	n := min(len(above), len(dir))
	same := strings.EqualFold(strings.Join(above[len(above)-n:], "/"), strings.Join(dir[len(dir)-n:], "/"))
	if path.IsAbs(name) {
		return same && n == len(dir)
	}
	return same && n == len(above)
}

func isSlash(r rune) bool { return r == '/' }

// entries yields the entries of the directory dir, and the lines that are not understood as errors.
func (l *listed) entries(dir *urlparse.URL) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		in := children{dir: dir, inside: dir.Child("", "")}
		for item, err := range l.items(true) {
			name := strings.TrimSuffix(item.Name, "/")
			paths := l.op.Verb == "NLST"
			if paths {
				name = base(item.Name)
			}
			var e Entry
			switch {
			case errors.Is(err, listing.ErrNoEntry) || paths && !isEntry(item.Name):
				continue
			case err != nil || !l.names && strings.ContainsAny(name, "/\r\n\x00"):
				shown := cut(l.mask(item.Name))
				err = newError(l.op, dir, fmt.Errorf("%w: %s%s", ErrLine, shown, why(err)))
			default:
				e = in.entry(name, item)
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

// unknownEntry returns the entry for u before the server has said anything.
func unknownEntry(u *urlparse.URL) Entry {
	return Entry{Name: u.Name, URL: u, Mode: fs.ModeIrregular, Size: -1}
}

// learn records what a reply to SIZE or MDTM says.
func (e *Entry) learn(verb string, r wire.Reply) {
	if verb == "SIZE" {
		if n, ok := sizeIn(r); ok {
			e.Size = n
			e.Mode = 0
		}
	} else if t, ok := timeIn(r); ok && verb == "MDTM" {
		e.ModTime = t
		e.Precision = time.Second
	}
}

// announced finds the size in the preliminary reply to RETR, which most servers word "... file (1234 bytes)", and goftp
// "Data transfer starting 1234 bytes".
var announced = lazy.Regexp(`\((\d{1,18}) bytes\)|\bstarting (\d{1,18}) bytes`)

// announcedIn returns the size in the reply that starts a transfer; -1 if it has none.
func announcedIn(reply answer) int64 {
	all := announced().FindAllStringSubmatch(reply(), -1)
	if all == nil {
		return -1
	}
	last := all[len(all)-1]
	n, _ := strconv.ParseInt(last[1]+last[2], 10, 64)
	return n
}

// children makes the entries of a directory. The URLs of files that follow each other share their memory: there may be
// a million.
type children struct {
	dir, inside *urlparse.URL // the directory, and a file in it that has no name yet
	urls        []urlparse.URL
	dirs        []string
}

// together is how many URLs share their memory.
const together = 16

// entry returns the entry for an item that has this name in the directory.
func (c *children) entry(name string, item listing.Item) Entry {
	if item.Mode.IsDir() {
		return entryOf(c.dir.Child(name, urlparse.TypeDir), item)
	}
	return entryOf(c.url(name), item)
}

// url returns c.dir.Child(name, "").
func (c *children) url(name string) *urlparse.URL {
	n := len(c.inside.Dirs)
	if len(c.urls) == 0 {
		c.urls = make([]urlparse.URL, together)
		c.dirs = make([]string, together*n)
	}
	u := &c.urls[0]
	*u = *c.inside
	u.Name = name
	c.urls = c.urls[1:]
	if n > 0 {
		u.Dirs = c.dirs[:n:n]
		copy(u.Dirs, c.inside.Dirs)
		c.dirs = c.dirs[n:]
	}
	return u
}

// entryOf returns the entry for an item that has this URL.
func entryOf(u *urlparse.URL, item listing.Item) Entry {
	return Entry{
		Name:      item.Name,
		URL:       u,
		Mode:      item.Mode,
		HasPerm:   item.HasPerm,
		Size:      item.Size,
		ModTime:   item.Time,
		Precision: item.Precision,
		Local:     item.Precision > 0 && !item.UTC,

		YearGuessed: item.Guessed,
		Target:      item.Target,
		Unique:      item.Unique,
	}
}
