package ftpexec

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/urlparse"
)

// Stat asks the server about the file or directory that u names, without a data connection. A field of the entry that
// the server does not give, because it does not know the command or for another reason, is unknown: see [Entry].
//
// If u is the URL of a file, Stat asks for its size and time (SIZE and MDTM, RFC 3659 sections 4 and 3), and in another
// way (MLST, section 7) if they do not give the size. If the server gives nothing and refuses one of them with 550, the
// error is [ErrNotFound], or [ErrRefused] if the reply mentions permissions. That does not prove that there is no file:
// u may name a directory, and some servers refuse SIZE and MDTM for a file that they send. A file with a Size counts as
// regular.
//
// If u ends in "/" or ";type=d", its last name may be a directory, a file or a link. Stat asks which it is (MLST, or
// SIZE, MDTM and CWD together), and follows links. Mode says whether it is a directory or a file. The URL of the entry
// ends in "/" if it is a directory, and otherwise does not.
func (c *Client) Stat(ctx context.Context, u *urlparse.URL) (e Entry, err error) {
	s, err := c.take(ctx, u)
	if err != nil {
		return Entry{}, err
	}
	defer c.put(s)
	if !u.IsDir() {
		for e, err = range s.statAll(ctx, []*urlparse.URL{u}) {
		}
		return e, err
	}
	e, err = s.look(ctx, u)
	if e.Mode.IsDir() {
		e.URL = u
	}
	return e, err
}

// StatAll returns an iterator over the sizes and modification times of the files that urls name. It asks for many of
// them in one round trip, without a data connection. It yields one Entry or error for each URL, in their order. All
// URLs must have the scheme, server and login of the first; for any other it yields an error. Sort the
// URLs by directory: each change of directory costs commands.
//
// StatAll asks for the size and the time of a file (SIZE and MDTM), or only for the time of a text (";type=a"). It then
// asks with MLST about the files for which that was too little, as [Client.Stat] does, unless the server does not know
// MLST. If the server gives nothing about a file and refuses with 550, StatAll yields [ErrNotFound] or [ErrRefused], as
// Stat does; the URL may also name a directory. Otherwise a field that the server does not give is unknown. If the
// server does not let the client enter a directory, StatAll yields [ErrRefused] for each of its files. A nil URL yields
// an error. After all these errors the iteration goes on. Any other error, such as a lost connection, ends it: the URLs
// after that one were not asked about, and may be passed to another StatAll. With an error the Entry is zero.
func (c *Client) StatAll(ctx context.Context, urls []*urlparse.URL) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for len(urls) > 0 && urls[0] == nil {
			if !yield(Entry{}, errNoURL) {
				return
			}
			urls = urls[1:]
		}
		if len(urls) == 0 {
			return
		}
		s, err := c.take(ctx, urls[0])
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer c.put(s)
		s.once = false // it may have to find the way back
		s.statAll(ctx, urls)(yield)
	}
}

// statAll asks about the files in batches, each in one run.
func (s *session) statAll(ctx context.Context, urls []*urlparse.URL) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var last *question
		for rest := urls; len(rest) > 0; {
			asks, err := inquire(urls[0], rest, last)
			if err == nil {
				err = s.run(ctx, rest[0], goal{asks: asks}, nil)
			}
			if err == nil {
				err = s.askMore(ctx, asks)
			}
			for _, q := range asks {
				if q.gone == nil && q.answered < len(q.asks) {
					break
				}
				last = q
				rest = rest[1:]
				if !yield(q.answer()) {
					return
				}
			}
			if err != nil && len(rest) > 0 {
				if !yield(Entry{}, about(rest[0], err)) || asks != nil {
					return
				}
				rest = rest[1:]
			}
		}
	}
}

// question is a file that the server is asked about, and what it has answered.
type question struct {
	url  *urlparse.URL
	typ  string    // the type in which it is asked; "" if any will do
	asks []Command // SIZE and MDTM, or others

	info     Entry
	by150    bool        // the size in info is that of the reply to RETR, not to SIZE
	other    int64       // what the other of the two replies says, if it differs; else -1
	noSize   *wire.Reply // the refusal of SIZE
	answered int         // of asks
	absent   int         // how many of them are 550
	gone     []string    // the CWDs to the file's directory, up to one that is refused; nil if none is
	err      *Error      // for that CWD, or the first 550
	facts    wire.Reply  // to MLST
	dir      bool        // a CWD to it worked
	noDir    *Error      // for that CWD if it was refused
}

// inquire returns questions about the first files of rest that one run may ask, on a connection that serves first. The
// error is about rest[0]: StatAll need not ask about it, but can go on. last is the previous question.
func inquire(
	first *urlparse.URL, rest []*urlparse.URL, last *question,
) (asks []*question, _ error) {
	for _, u := range rest[:min(len(rest), maxBatch)] {
		var err error = errNoURL
		if u != nil {
			err = u.Check()
		}
		switch {
		case err != nil:
		case !first.SameLogin(u):
			err = &Error{Op: "open", Err: errOtherServer}
		case u.IsDir():
			err = errIsDirectory
		case last != nil && last.gone != nil && within(u.Dirs, last.gone):
			err = last.err
		}
		switch {
		case err != nil && asks == nil:
			return nil, err
		case err != nil, asks != nil && needsUTF8(u) != needsUTF8(asks[0].url) && !isASCII(u):
			return asks, nil
		}
		q := &question{url: u, asks: facts(u)}
		if typeOf(u) == "I" {
			q.typ = "I"
		}
		asks = append(asks, q)
	}
	return asks, nil
}

// answer returns what StatAll yields for q. If one reply says that there is no such file, another must say something
// about it.
func (q *question) answer() (Entry, error) {
	if q.gone != nil || q.absent > 0 && q.info.Size < 0 && q.info.ModTime.IsZero() {
		return Entry{}, q.err
	}
	return q.info, nil
}

// vague reports whether SIZE and MDTM have been answered without the size, or in ASCII type without the time, and not
// both with 550.
func (q *question) vague() bool {
	return q.gone == nil && q.answered == len(q.asks) && q.absent < len(q.asks) && q.info.Size < 0 &&
		(q.typ == "I" || q.info.ModTime.IsZero())
}

// askMore asks with MLST about the files of asks of which SIZE and MDTM have said too little. A server that ends the
// connection at MLST is taken for one that does not know it.
func (s *session) askMore(ctx context.Context, asks []*question) error {
	vague := slices.DeleteFunc(slices.Clone(asks), func(q *question) bool { return !q.vague() })
	for len(vague) > 0 && !s.known().noMLST {
		more := make([]*question, len(vague))
		for i, q := range vague {
			more[i] = &question{url: q.url, asks: []Command{withArg("MLST", q.url.Name)}}
		}
		err := s.run(ctx, more[0].url, goal{asks: more}, nil)
		if ctx.Err() != nil {
			return err
		}
		for i, m := range more {
			if m.gone == nil && m.answered == 0 {
				more = more[:i]
				break
			}
			vague[i].also(m)
			s.learnMLST(m.facts)
		}
		if err != nil || len(more) == 0 {
			s.learn(func(h *habits) { h.noMLST = true })
		}
		vague = vague[len(more):]
	}
	return nil
}

// learnMLST records that the server does not know MLST, if its reply says so.
func (s *session) learnMLST(reply wire.Reply) {
	if reply.Code == 500 || reply.Code == 502 {
		s.learn(func(h *habits) { h.noMLST = true })
	}
}

// also adds to q what the reply to MLST says.
func (q *question) also(m *question) {
	item, ok := factsIn(m.facts)
	switch {
	case m.absent > 0 && q.absent == 0:
		q.absent = 1
		q.err = m.err
	case ok && item.Mode.IsDir():
		e := newError(m.asks[0], q.url, nil)
		e.take(m.facts, nil)
		e.isDirectory()
		q.absent = 1
		q.err = e
	case ok:
		e := entryOf(q.url, item)
		if q.typ == "I" && e.Size >= 0 {
			q.info.Size = e.Size
			q.info.Mode = 0
		}
		if q.info.ModTime.IsZero() && e.Precision > 0 {
			q.info.ModTime = e.ModTime
			q.info.Precision = e.Precision
		}
	}
}

// enters reports whether CWD enters name in the directory of the file u.
func (s *session) enters(ctx context.Context, u *urlparse.URL, name string) (bool, error) {
	q := &question{url: u, asks: []Command{withArg("CWD", name)}}
	err := s.ask(ctx, q, nil)
	return q.dir, err
}

// find makes e, a refused RETR of the file u, an [ErrIsDirectory] if CWD enters what u names.
func (s *session) find(ctx context.Context, u *urlparse.URL, e *Error) {
	if is, err := s.enters(ctx, u, u.Name); is && err == nil {
		e.isDirectory()
	}
}

// about returns the question that a step belongs to.
func (r *run) about(st step) *question { return cmp.Or(st.about, &r.file) }

// lose records that the CWD to the directory gone, on the way to q's file, was refused with e: for this file, and for
// those after it in the same directory. Commands about these files that were sent already take effect in another
// directory, and their replies do not count.
func (g *goal) lose(q *question, gone []string, e *Error) {
	for _, other := range g.asks[slices.Index(g.asks, q):] {
		if !within(other.url.Dirs, gone) {
			return
		}
		other.gone = gone
		other.err = e
		if other != q {
			other.err = about(other.url, e).(*Error)
		}
	}
}

func within(dirs, outer []string) bool {
	return len(dirs) >= len(outer) && slices.Equal(dirs[:len(outer)], outer)
}

// about returns err, an error about another file, as one about u.
func about(u *urlparse.URL, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	other := *e
	if u != nil {
		other.URL = u.Redacted()
	}
	if e.Stage == StageDirectory {
		other.Hint = "" // it names the other file
	}
	return &other
}

// look returns what the server says about the last segment of u, or about the directory itself if that segment is
// empty. u must be the URL of a directory. look follows links.
//
// MLST (RFC 3659 section 7) gives everything in one round trip. If the server does not know it, or names a link, SIZE,
// MDTM and a CWD to the name are sent together. What CWD enters is a directory, whatever the server replies to SIZE.
// The type of the entry is fs.ModeIrregular if the replies say neither what u is nor that it is missing.
func (s *session) look(ctx context.Context, u *urlparse.URL) (Entry, error) {
	u = u.Child("", "")
	if last := len(u.Dirs) - 1; last >= 0 && u.Dirs[last] != "" {
		u.Name = u.Dirs[last]
		u.Dirs = u.Dirs[:last]
	}
	if !s.known().noMLST {
		q := &question{url: u, asks: []Command{withArg("MLST", u.Name)}}
		err := s.ask(ctx, q, nil)
		s.learnMLST(q.facts)
		switch {
		case err != nil:
			return Entry{}, err
		case q.err != nil && !u.IsDir():
			return Entry{}, q.err
		}
		if e := q.entry(); e.Mode.IsDir() || e.Mode.IsRegular() && e.Size >= 0 {
			return e, nil
		}
	}
	if u.IsDir() {
		return Entry{URL: u, Mode: fs.ModeDir, Size: -1}, s.ask(ctx, &question{url: u}, nil)
	}
	q := &question{url: u, typ: "I", asks: append(facts(u), withArg("CWD", u.Name))}
	if err := s.ask(ctx, q, nil); err != nil {
		return Entry{}, err
	}
	return q.verdict()
}

// ask asks a question and then calls work. An error is about the connection or the directory of the file, or comes from
// work.
func (s *session) ask(ctx context.Context, q *question, work func(*run) error) error {
	err := s.run(ctx, q.url, goal{asks: []*question{q}}, work)
	if err == nil && q.gone != nil {
		err = q.err
	}
	return err
}

// entry returns what the reply to MLST says; the type is fs.ModeIrregular if the reply says nothing.
func (q *question) entry() Entry {
	item, ok := factsIn(q.facts)
	if !ok {
		return Entry{Mode: fs.ModeIrregular}
	}
	e := entryOf(q.url, item)
	e.Name = q.url.Name
	return e
}

// verdict returns what SIZE, MDTM and CWD together say.
func (q *question) verdict() (Entry, error) {
	e := q.info
	switch {
	case q.dir:
		e.Mode = fs.ModeDir
		e.Size = -1
	case e.Size >= 0:
	// a directory that may not be entered, or not now
	case q.absent == 2 && (errors.Is(q.noDir, fs.ErrPermission) || q.noDir.retryable()):
		return Entry{}, q.noDir
	// with the reply to CWD, because to SIZE some servers reply of every directory that it is not a file
	case q.absent == 2:
		missing := *q.noDir
		missing.Err = q.err.Err
		missing.Hint = q.err.Hint
		return Entry{}, &missing
	}
	return e, nil
}
