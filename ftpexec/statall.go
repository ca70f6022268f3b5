package ftpexec

import (
	"context"
	"errors"
	"iter"
	"slices"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/urlparse"
)

// StatAll asks the server for the sizes and modification times of the files that urls name (SIZE and MDTM), many in
// one round trip and without a data connection; see [Client.StatAll].
func (c *Client) StatAll(ctx context.Context, urls []*urlparse.URL) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
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
		s.StatAll(ctx, urls)(yield)
	}
}

// StatAll returns an iterator over the sizes and modification times of the files that urls name. It yields one Entry or
// error for each URL, in their order. All URLs must have the scheme, server and login of the first; for any other it
// yields an error. The way from one directory to the next is short if the URLs are in the order of their
// directories.
//
// A file in image type is asked for with SIZE and MDTM, a file in ASCII type with MDTM alone. If the server refuses all
// that is asked about a file with 550, StatAll yields an error as for a refused RETR, [ErrNotFound] or [ErrRefused]; the
// URL may also name a directory. Otherwise a field that the server does not tell is unknown, as with [Session.Stat]. A
// refused CWD yields [ErrRefused] for the files of that directory. After all these errors the iteration goes on. Any
// other error ends it. With an error the Entry is zero.
func (s *session) StatAll(ctx context.Context, urls []*urlparse.URL) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var last *question
		for rest := urls; len(rest) > 0; {
			batch, err := newBatch(urls[0], rest, last)
			if err == nil {
				err = s.run(ctx, rest[0], goal{batch: batch}, func(func()) (bool, error) { return false, s.runTo("") })
			}
			for _, q := range answered(batch) {
				last, rest = q, rest[1:]
				if info, err := q.answer(); !yield(info, err) {
					return
				}
			}
			if err != nil && len(rest) > 0 {
				if !yield(Entry{}, about(rest[0], err)) || batch != nil {
					return
				}
				rest = rest[1:]
			}
		}
	}
}

// question is a file that StatAll asks about, and what the server has answered.
type question struct {
	*Plan
	asks []Command // SIZE and MDTM, or others
	url  *urlparse.URL

	info   Entry
	told   int      // replies to asks
	absent int      // those of them that are 550
	gone   []string // the CWDs to the file's directory, up to one that is refused; nil if none is
	err    *Error   // for that CWD, or the first 550
	facts  *Reply   // to MLST
	dir    bool     // a CWD to it worked
	noDir  *Error   // for that CWD if it was refused
}

// newBatch returns questions about the first files of rest that one run may ask: those that a connection for the first
// can serve. The error is about rest[0]: StatAll need not ask about it, but can go on. last is the question before.
func newBatch(first *urlparse.URL, rest []*urlparse.URL, last *question) (batch []*question, err error) {
	for _, u := range rest[:min(len(rest), maxBatch)] {
		plan, err := NewPlan(u)
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
		case err != nil && len(batch) == 0:
			return nil, err
		case err != nil, len(batch) > 0 && plan.needsUTF8() != batch[0].needsUTF8() && !plan.ascii():
			return batch, nil
		}
		batch = append(batch, &question{Plan: plan, asks: plan.facts(), url: u})
	}
	return batch, nil
}

// answered returns the questions up to the first without an answer.
func answered(batch []*question) []*question {
	open := func(q *question) bool { return q.gone == nil && q.told < len(q.asks) }
	if i := slices.IndexFunc(batch, open); i >= 0 {
		return batch[:i]
	}
	return batch
}

// answer returns what StatAll yields about the file.
func (q *question) answer() (Entry, error) {
	if q.gone != nil || q.absent == len(q.asks) {
		return Entry{}, q.err
	}
	return q.info, nil
}

// tell records a reply to SIZE or MDTM.
func (s *session) tell(st step, r wire.Reply) {
	if s.goal.batch == nil {
		s.info.learn(st.Verb, r)
		return
	}
	q := s.goal.batch[st.file]
	q.told++
	q.info.learn(st.Verb, r)
	if st.Verb == "MLST" {
		q.facts = newReply(r, st.Command, q.url)
	}
	if r.Code != 550 {
		return
	}
	if q.absent++; q.err == nil {
		q.err = &Error{Stage: "transfer", Op: st.shown(), URL: q.url.Redacted(), Reply: newReply(r, st.Command, q.url, s.home)}
		q.err.Hint, q.err.Err = transferRefusal(withArg("RETR", st.Arg), q.err.Reply)
		q.err.readLimits(st.Command, s.conn.Secure())
	}
}

// lose records that a CWD of st's file was refused with e: for this file, and for those after it in the same directory.
// What has been asked about them already is answered in another directory, and does not count.
func (s *session) lose(st step, e *Error) {
	gone := append(slices.Clone(s.dirs), st.Arg)
	for i, q := range s.goal.batch[st.file:] {
		if !within(q.url.Dirs, gone) {
			return
		}
		if q.gone, q.err = gone, e; i > 0 {
			q.err = about(q.url, e).(*Error)
		}
	}
}

// within reports whether the CWDs dirs begin with those of outer.
func within(dirs, outer []string) bool {
	return len(dirs) >= len(outer) && slices.Equal(dirs[:len(outer)], outer)
}

// about returns err, an error about another file, as one about u.
func about(u *urlparse.URL, err error) error {
	e := (*Error)(nil)
	if !errors.As(err, &e) {
		return err
	}
	other := *e
	if other.URL = u.Redacted(); e.Stage == "directory" {
		other.Hint = "" // it names the other file
	}
	return &other
}
