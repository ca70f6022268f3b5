package ftpexec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ftpfetch/ftpexec/internal/listing"
)

// errNextWay means that the connection broke with the refusal of a listing, and the next way needs a new connection.
var errNextWay = errors.New("listing refused")

// listBy makes ways[way] the last command of the plan.
func (g *goal) listBy(way int) {
	g.how = way
	g.op = ways[way]
}

// refusedWays records the results of the ways that did not list a directory.
type refusedWays struct {
	odd    listed // lines that cannot be read
	denied error  // why MLSD or LIST is refused, although the server knows it
	blank  bool   // LIST was empty, and nothing else says more
}

// clear reports whether the ways so far were unknown to the server or empty.
func (s *refusedWays) clear() bool { return s.denied == nil && s.odd.text.Len() == 0 }

// lister is a run whose plan ends in a listing.
type lister struct {
	*run
	before *refusedWays // the results of earlier connections too, if the ways need several
}

// goThroughWays runs the plan to its end, a listing. It tries one way after another until one lists the directory.
func (r *lister) goThroughWays() (listed, error) {
	before := r.before
	for {
		l, err := r.lines()
		if err == nil && r.settles(l, before.clear()) {
			return r.certain(l), nil
		}
		if err != nil && !unlisted(l.op, err) {
			return l, err
		}
		before.add(l, err)
		if r.goal.how == len(ways)-1 {
			return before.end(l, err)
		}
		r.refusal = err
		r.nextWay(err)
		if r.conn.Err() != nil {
			return l, fmt.Errorf("%w: %w", errNextWay, err)
		}
	}
}

// add records a way that did not list the directory.
func (s *refusedWays) add(l listed, err error) {
	switch list := l.op.line() == "LIST"; {
	case err == nil && l.text.Len() == 0:
		s.blank = list
	case err == nil && s.odd.text.Len() == 0:
		s.odd = l
	case err != nil && (l.op.Verb == "MLSD" || list) && !unknownCommand(err):
		s.denied = err
	}
}

// end returns the result when the last way has not listed the directory either.
func (s *refusedWays) end(l listed, err error) (listed, error) {
	switch {
	case !s.clear():
		return s.odd, s.denied
	case s.blank && (!errors.Is(err, errTransfer) || unknownCommand(err)):
		return l, nil
	}
	return s.odd, err
}

// settles reports whether l is what the directory holds, and remembers the way if it listed something. An empty LIST
// counts only if the same LIST has listed something before, because some servers treat "-a" as a name, and others run
// an ls that does not exist. clear means that the server did not know the ways before, or that they were empty.
// Otherwise an empty listing is wrong, even with a line such as "total 0", and the Client does not remember NLST for
// other directories.
func (r *lister) settles(l listed, clear bool) bool {
	switch {
	case l.text.Len() > 0:
		if !l.readable() || !clear && !l.shows() {
			return false
		}
		if clear || l.op.Verb != "NLST" {
			r.prefer(true)
		}
		return true
	case l.op.Arg != "", l.op.Verb == "LIST" && !l.none:
		h := r.known()
		return clear && h.how == r.goal.how && h.listed
	}
	return clear
}

// nextWay replaces the rest of the run by the next way to list. err is why the current way failed.
func (r *lister) nextWay(err error) {
	r.goal.listBy(r.goal.how + 1)
	if r.goal.how == 1 && unknownCommand(err) {
		r.prefer(false)
	}
	r.port = 0
	r.queue = steps(r.url, r.course(false))
}

// prefer remembers the way for the next listing. listed says whether it has listed something.
func (r *lister) prefer(listed bool) {
	r.learn(func(h *habits) {
		h.how = r.goal.how
		h.listed = listed
	})
}

// readable reports whether any line can be read. If "-a" is the only entry, the server took "-a" for the file to list.
func (l *listed) readable() bool {
	if l.op.Arg != "" && strings.HasSuffix(" "+l.text.Only(), " "+l.op.Arg) {
		return false
	}
	for _, err := range l.items(false) {
		if !errors.Is(err, listing.ErrUnknown) {
			return true
		}
	}
	return false
}

// shows reports whether l has an entry, or at least names the directory itself, as ls does for an empty directory.
func (l *listed) shows() bool {
	for _, err := range l.items(false) {
		if err == nil {
			return true
		}
	}
	itself := func(line string) bool { return strings.HasSuffix(strings.TrimRight(line, "\r"), " .") }
	return slices.ContainsFunc(l.text.Lines(), itself)
}
