package download

import (
	"context"
	"errors"
	"io/fs"
	"sync/atomic"

	"example.com/ftpfetch/ftpexec"
)

// minSegment is the fewest bytes that are worth a connection of their own.
const minSegment = 1 << 20

// maxRestarts is how often a transfer starts over because the server's file has
// changed, before it fails with ftpexec.ErrChanged.
const maxRestarts = 3

// transfer fetches what is missing of a file into its part.
type transfer struct {
	*job
	arrivals *arrivals
	check    *digestCheck // the digest to compare; nil if there is none

	copied    bool         // this run has copied the target to the part
	since     fs.FileInfo  // of a part that another program left, or nil
	inherited bool         // the part is an earlier run's, and the server has not yet shown that its file is the same
	theirs    bool         // another program left the part, and it has no bytes from this run yet
	stale     string       // why to give up the part; "" means not to
	resumed   int64        // bytes from earlier runs
	confirmed atomic.Bool  // the server has confirmed the end of the file
	responses atomic.Int64 // how many brought bytes of the file, in this run and earlier ones
	noRestart noRestart    // why the server cannot start in the middle of a file; "" if it may
	untold    atomic.Bool  // the server once omitted something that it had reported before
	restarts  int          // how often the server's file has changed
	segments  int          // connections to use
}

func newTransfer(j *job, f *found) *transfer {
	t := &transfer{
		job: j, arrivals: newArrivals(f.part, f.state),
		copied: f.copied, since: f.since, theirs: f.theirs, stale: f.stale, inherited: len(f.state.done) > 0, segments: max(1, j.o.Segments),
	}
	return t
}

// count returns the numbers for Progress events.
func (t *transfer) count() (done, total int64) {
	s := t.arrivals.snapshot()
	return s.done.octets(), s.size
}

// errAgain asks for another try at once, which will use what was learned in this
// one.
var errAgain = errors.New("try again with what is known now")

// forgo says why the transfer cannot resume from the part, or "".
func (t *transfer) forgo() (why string, err error) {
	s := t.arrivals.snapshot()
	switch {
	case t.stale != "":
		return t.stale, nil
	case len(s.done) == 0:
		return "", nil
	case t.text():
		why = cannotResumeText
	case t.noRestart != "":
		why = string(t.noRestart)
	case t.theirs:
		return "", nil // request and accept decide
	case s.size < 0:
		why = "the server does not report the file's size"
	case t.dated(s.modTime):
		return "", nil
	default:
		why = undated
	}
	return why, t.mayForget(t.arrivals.part.path, s.adopted, why)
}

// restart gives up what the part holds, and reports it.
func (t *transfer) restart(why string) error {
	if err := t.mayForget(t.arrivals.part.path, t.arrivals.snapshot().adopted, why); err != nil {
		return err
	}
	t.o.notify(Event{Kind: Restarted, Text: why + ": starting over"})
	if t.check != nil {
		t.check.reset()
	}
	t.confirmed.Store(false)
	t.responses.Store(0)
	t.inherited, t.theirs, t.copied, t.since, t.stale, t.resumed = false, false, false, nil, "", 0
	return t.arrivals.reset()
}

// next returns the first gap; its end is -1 if the size is unknown. If all bytes
// are there but the server never confirmed the end, the last byte is the gap.
func (t *transfer) next() (gap span, complete bool) {
	s := t.arrivals.snapshot()
	if s.size < 0 {
		return span{s.done.end(), -1}, t.confirmed.Load()
	}
	missing := s.done.missing(s.size)
	switch {
	case len(missing) > 0:
		return missing[0], false
	case t.confirmed.Load():
		return span{}, true
	case s.size == 0:
		return span{}, false
	}
	t.arrivals.disown(s.size - 1)
	return span{s.size - 1, s.size}, false
}

// request asks src for the file from the lap before offset on.
func (t *transfer) request(ctx context.Context, src Source, offset int64) (*ftpexec.Response, error) {
	from := before(offset).start
	resp, err := src.Do(ctx, &ftpexec.Request{URL: t.u, Offset: from})
	var e *ftpexec.Error
	switch {
	case err == nil:
		return resp, nil
	case from == 0 || !errors.Is(err, ftpexec.ErrNoRestart):
		return nil, err
	case errors.As(err, &e) && e.Reply != nil && e.Reply.Code/100 == 4:
		return nil, err // the server may still support REST
	}
	return nil, errNoRestart
}

// leave ends the run. Unless the part got its final name, leave keeps what a
// later run can resume from and restores what belongs to another program. It
// returns how many bytes the next run resumes from.
func (t *transfer) leave() (kept int64) {
	l := t.arrivals
	s := l.snapshot()
	switch {
	case t.copied && !l.part.placed && s.done.octets() <= s.adopted:
		l.part.discard() // the target still has them
	case l.part.placed, t.stale != "", t.theirs && t.since != nil:
		l.part.close() // the part has no bytes from this run, or is the target now
	case t.since != nil && s.done.octets() == s.adopted && l.part.resize(s.adopted, false) == nil:
		_ = l.part.removeJournal()
		l.part.close()
	case !t.theirs && s.size >= 0 && len(s.done) > 0 && !t.text():
		if l.health() == nil {
			kept = l.keep()
		}
		l.part.close()
	default:
		l.part.discard()
	}
	return kept
}
