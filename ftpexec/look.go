package ftpexec

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"example.com/ftpfetch/ftpexec/internal/listing"
	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/urlparse"
)

// look returns what the server tells about the last segment of u, whose way must be that of a directory, or about that
// directory itself if the segment is empty. It follows links.
//
// MLST (RFC 3659 section 7) tells everything in one round trip. If the server does not know it, or names a link, SIZE,
// MDTM and a CWD to the name travel together: a directory is what CWD enters, whatever the server answers to SIZE. The
// type of the entry is fs.ModeIrregular if that says neither what u is nor that it is missing.
func (s *session) look(ctx context.Context, u *urlparse.URL) (Entry, error) {
	if u = u.Child("", urlparse.TypeNone); len(u.Dirs) > 0 {
		last := len(u.Dirs) - 1
		u.Dirs, u.Name = u.Dirs[:last], u.Dirs[last]
		if u.Name == "" {
			u.Dirs = u.Dirs[:last+1]
		}
	}
	name := Command{Arg: u.Name, HasArg: !u.IsDir()}
	if !s.client.habits(u).noMLST {
		name.Verb = "MLST"
		q, err := s.question(ctx, u, name)
		switch {
		case err != nil:
			return Entry{}, err
		case q.facts.Code == 500 || q.facts.Code == 502:
			s.client.learn(u, hasNoMLST)
		case q.err != nil && !u.IsDir():
			return Entry{}, q.err
		}
		if e := q.entry(); e.Mode.IsDir() || e.Mode.IsRegular() && e.Size >= 0 {
			return e, nil
		}
	}
	if u.IsDir() {
		_, err := s.question(ctx, u)
		return Entry{URL: u, Mode: fs.ModeDir, Size: -1}, err
	}
	q, err := s.question(ctx, u, withArg("SIZE", u.Name), withArg("MDTM", u.Name), withArg("CWD", u.Name))
	if err != nil {
		return Entry{}, err
	}
	return q.verdict()
}

// question asks about u with facts. The error is one that concerns the connection or the directory of u.
func (s *session) question(ctx context.Context, u *urlparse.URL, facts ...Command) (*question, error) {
	plan, err := NewPlan(u)
	if err != nil {
		return nil, err
	}
	q := &question{Plan: plan, asks: facts, url: u}
	err = s.run(ctx, u, goal{batch: []*question{q}}, func(func()) (bool, error) { return false, s.runTo("") })
	if err == nil && q.gone != nil {
		err = q.err
	}
	return q, err
}

// entry returns what the reply to MLST tells. The facts are on the line between the first and the last.
func (q *question) entry() Entry {
	lines := strings.Split(q.facts.raw(), "\n")
	if q.facts.Code/100 != 2 || len(lines) != 3 {
		return Entry{Mode: fs.ModeIrregular}
	}
	item, err := listing.MLSD(strings.TrimPrefix(lines[1], " "))
	if err != nil {
		return Entry{Mode: fs.ModeIrregular}
	}
	e := entryOf(q.url, item)
	e.Name, e.Base, e.URL = q.url.Name, q.url.Name, q.url
	return e
}

// verdict returns what the replies to SIZE, MDTM and CWD tell.
func (q *question) verdict() (Entry, error) {
	e := q.info
	switch {
	case q.dir:
		e.Mode, e.Size = fs.ModeDir, -1
	case e.Size >= 0:
	case q.absent == 2 && errors.Is(q.noDir, fs.ErrPermission): // a directory that may not be entered
		return Entry{}, q.noDir
	case q.absent == 2:
		return Entry{}, q.err
	}
	return e, nil
}

// probed records whether a CWD entered the directory that it asked about. A refused one leaves the working directory as
// it was.
func (s *session) probed(st step, r wire.Reply) error {
	q := s.goal.batch[st.file]
	q.told++
	if r.OK() {
		q.dir = q.gone == nil
		s.dirs = append(s.dirs, st.Arg)
		return nil
	}
	q.noDir = s.refused(st.Command, r)
	if errors.Is(q.noDir, errUnexpected) {
		return q.noDir
	}
	return nil
}
