package download

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/retry"
)

// maxRestarts is how often a transfer starts over because the server's file has changed, before it fails with
// ftpexec.ErrChanged.
const maxRestarts = 3

// lapSize is how many bytes a response brings before its own, to compare them with what is there: a server that does not
// start where it is asked to sends others.
const lapSize = 512

// before returns where the lap of a response begins whose own bytes begin at start.
func before(start int64) int64 { return max(0, start-lapSize) }

// transfer fetches what is missing of a file into its part.
type transfer struct {
	*job
	part  *partfile.Part
	check *digestCheck // the digest to compare; nil if there is none

	stale     string       // why to give up the part; "" means not to
	resumed   int64        // bytes from earlier runs
	confirmed atomic.Bool  // the server has confirmed the end of the file
	responses atomic.Int64 // how many brought bytes of the file, in this run and earlier ones
	noRestart noRestart    // why the server cannot start in the middle of a file; "" if it may
	untold    atomic.Bool  // the server once omitted something that it had reported before
	restarts  int          // how often the server's file has changed
	opened    func()       // data is about to flow
	segments  int          // connections to use
}

// errAgain asks for another try at once, which will use what was learned in this one.
var errAgain = errors.New("try again with what is known now")

// noRestart says why a transfer can only begin with a file's first byte. It is errAgain too.
type noRestart string

func (n noRestart) Error() string     { return string(n) }
func (n noRestart) Is(err error) bool { return err == errAgain }

const (
	// errNoRestart means that the server turned out not to support REST.
	errNoRestart noRestart = "the server cannot start in the middle of a file"
	// errMisplaced means that two responses differ about the same bytes.
	errMisplaced noRestart = "the server does not start where it is asked to, or its file has changed"
	// errBeyond means that a response from the middle went on after the file's end: what came like it cannot be trusted,
	// not even if all bytes are the same.
	errBeyond noRestart = "the server does not start where it is asked to"
)

// run retries until every byte is there and the server has confirmed the end.
func (t *transfer) run(ctx context.Context) error {
	end := retry.Every(t.o.checkpoint, func() { _ = t.part.Checkpoint() })
	defer end()
	stop := func() {}
	defer func() { stop() }()
	t.opened = sync.OnceFunc(func() { stop = t.o.report(t.count) })
	high, _ := t.count()
	for {
		err := t.try(ctx)
		if failed := t.part.Health(); failed != nil {
			return failed
		}
		if err == nil {
			return nil
		}
		n, _ := t.count()
		progress := n > high
		high = max(high, n)
		if errors.As(err, &t.noRestart) {
			t.segments = 1
		}
		if errors.Is(err, errBeyond) { // not later: the journal vouches for bytes that may be wrong
			t.part.Disown(t.part.Snapshot().Adopted)
			if err := t.restart(string(errBeyond)); err != nil {
				return err
			}
		}
		if errors.Is(err, errAgain) {
			continue
		}
		if err := t.retry.Again(ctx, err, progress); err != nil {
			return err
		}
	}
}

// count returns the numbers for Progress events.
func (t *transfer) count() (done, total int64) {
	s := t.part.Snapshot()
	return s.Done.Octets(), s.Size
}

// try fetches the gaps in the part, in order.
func (t *transfer) try(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	why, err := t.forgo()
	for err == nil {
		var complete bool
		if complete, err = t.step(ctx, cancel, why); complete {
			return t.same(ctx)
		}
		why = ""
	}
	return err
}

// step fetches the first gap, over several connections if that was asked for and worth it. If why is not "", the gap is
// the whole file, and step gives up the part once the server has opened the transfer.
func (t *transfer) step(ctx context.Context, cancel context.CancelCauseFunc, why string) (complete bool, err error) {
	gap := partfile.Span{Start: 0, End: -1}
	if why == "" {
		if gap, complete = t.next(); complete {
			return true, nil
		}
	}
	resp, err := t.request(ctx, t.src, gap.Start)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	t.retry.Reached.Store(true)
	if err := t.rightSize(resp); err != nil {
		return false, err
	}
	if why != "" {
		if err := t.restart(why); err != nil {
			return false, err
		}
	}
	if gap, err = t.accept(resp, gap); err != nil {
		return false, err
	}
	t.opened()
	if t.segments > 1 && t.noRestart == "" && !t.text() && resp.Size >= 2*minSegment && t.dated(resp.ModTime) {
		return false, t.parallel(ctx, cancel, resp)
	}
	_, err = t.fetch(ctx, resp, gap, true)
	return false, err
}

// forgo says why the transfer cannot resume from the part, or "".
func (t *transfer) forgo() (why string, err error) {
	s := t.part.Snapshot()
	switch {
	case t.stale != "":
		return t.stale, nil
	case len(s.Done) == 0:
		return "", nil
	case t.text():
		why = cannotResumeText
	case t.noRestart != "":
		why = string(t.noRestart)
	case s.Size < 0 && !t.part.Known():
		return "", nil // another program's part: request and accept decide
	case s.Size < 0:
		why = "the server does not report the file's size"
	case t.dated(s.ModTime):
		return "", nil
	default:
		why = undated
	}
	return why, t.mayForget(s.Adopted, why)
}

// restart gives up what the part holds, and reports it.
func (t *transfer) restart(why string) error {
	if err := t.mayForget(t.part.Snapshot().Adopted, why); err != nil {
		return err
	}
	t.o.note(why + ": starting over")
	if t.check != nil {
		t.check.reset()
	}
	t.confirmed.Store(false)
	t.responses.Store(0)
	t.stale, t.resumed = "", 0
	return t.part.Reset()
}

// next returns the first gap; its end is -1 if the size is unknown. If all bytes are there but the server never confirmed
// the end, the last byte is the gap.
func (t *transfer) next() (gap partfile.Span, complete bool) {
	s := t.part.Snapshot()
	if s.Size < 0 {
		return partfile.Span{Start: s.Done.End(), End: -1}, t.confirmed.Load()
	}
	missing := s.Done.Missing(s.Size)
	switch {
	case len(missing) > 0:
		return missing[0], false
	case t.confirmed.Load():
		return partfile.Span{}, true
	case s.Size == 0:
		return partfile.Span{}, false
	}
	t.part.Disown(s.Size - 1)
	return partfile.Span{Start: s.Size - 1, End: s.Size}, false
}

// request asks src for the file from the lap before offset on.
func (t *transfer) request(ctx context.Context, src Source, offset int64) (*ftpexec.Response, error) {
	from := before(offset)
	resp, err := src.Do(ctx, &ftpexec.Request{URL: t.u, Offset: from})
	var e *ftpexec.Error
	switch {
	case err == nil:
		return resp, nil
	case from == 0 || !errors.Is(err, ftpexec.ErrNoRestart):
		return nil, err
	case errors.As(err, &e) && e.Code/100 == 4:
		return nil, err // the server may still support REST
	}
	return nil, errNoRestart
}
