package download

import (
	"context"
	"errors"
	"sync/atomic"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// minSegment is the least that is worth a connection of its own, in octets.
const minSegment = 1 << 20

// maxRestarts is how often a transfer begins anew because the server's file is
// another one, before it counts as one that cannot be read.
const maxRestarts = 3

// retrieval brings one file to one part.
type retrieval struct {
	src    Source
	u      *urlparse.URL
	t      target
	o      *Options
	retry  *retrier
	ledger *ledger
	check  *check // the digest to come out; nil: none

	inherited bool   // what is there comes from an earlier run, and nothing shows yet that it is the same file
	untouched bool   // nothing of ours is in the part yet: Continue
	stale     string // why the part that is there is to be given up; "" it is not
	moved     bool   // the target became the part
	borrowed  int64  // octets of the target that became the part; 0: it did not
	resumed   int64
	confirmed atomic.Bool  // the server has confirmed the end of the file
	responses atomic.Int64 // how many brought something of the file, in this run and earlier ones
	noRestart bool         // the server cannot begin in the middle
	restarts  int          // for another file on the server
	segments  int          // connections to use
}

func newRetrieval(src Source, u *urlparse.URL, t target, o *Options) *retrieval {
	r := &retrieval{src: src, u: u, t: t, o: o, retry: newRetrier(o), segments: 1}
	if o.Parallel != nil && o.Segments > 1 {
		r.segments = o.Segments
	}
	return r
}

// text reports a transfer in ASCII type: no size, no offset.
func (r *retrieval) text() bool { return r.u.Type == urlparse.TypeASCII }

// file is [File] for a target that is a regular file or not there.
func (r *retrieval) file(ctx context.Context) (result Result, err error) {
	reason, err := r.decide(ctx)
	if err != nil {
		return Result{}, err
	}
	if reason != 0 {
		return r.leaveTarget(ctx, reason)
	}
	if err := r.takePart(); err != nil {
		return Result{}, r.unadopt(err)
	}
	defer func() {
		if kept := r.leave(); err != nil {
			result = Result{Path: r.t.path, Kept: kept}
		}
	}()
	err = r.expect(ctx)
	if err == nil {
		err = r.transfer(ctx)
	}
	if err != nil {
		return Result{}, r.giveBack(err)
	}
	return r.finish(ctx)
}

// transfer tries until every octet is there and the server has confirmed it.
func (r *retrieval) transfer(ctx context.Context) error {
	end := r.ledger.keep(r.o.checkpoint)
	defer end()
	stop := func() {}
	defer func() { stop() }()
	first := true
	for {
		err := r.try(ctx, func() {
			if first {
				stop, first = r.o.report(r.count), false
			}
		})
		if failed := r.ledger.health(); failed != nil {
			return failed
		}
		if err == nil {
			return nil
		}
		progress := r.ledger.progressed()
		if errors.Is(err, errNoRestart) {
			r.noRestart, r.segments = true, 1
		}
		if errors.Is(err, errAnew) {
			continue
		}
		if err := r.retry.again(ctx, err, progress); err != nil {
			return err
		}
	}
}

// count is for Options.Progress.
func (r *retrieval) count() (done, total int64) {
	s := r.ledger.snapshot()
	return s.done.octets(), s.size
}

// errAnew asks for another try at once: something was learned that makes it a
// different one.
var errAnew = errors.New("try anew")

// try goes over the gaps in the part, in order. opened is called when data is
// about to flow.
func (r *retrieval) try(ctx context.Context, opened func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	why, err := r.forgo()
	for err == nil {
		var complete bool
		if complete, err = r.step(ctx, cancel, why, opened); complete {
			return r.same(ctx)
		}
		why = ""
	}
	return err
}

// step fetches the first gap. With why all is one, once the server has opened
// the transfer that makes good for what is given up.
func (r *retrieval) step(ctx context.Context, cancel context.CancelCauseFunc, why string, opened func()) (complete bool, err error) {
	gap := span{0, -1}
	if why == "" {
		if gap, complete = r.next(); complete {
			return true, nil
		}
	}
	resp, err := r.open(ctx, r.src, gap.start)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	r.retry.reached.Store(true)
	if err := r.rightSize(resp); err != nil {
		return false, err
	}
	if why != "" {
		if err := r.anew(why); err != nil {
			return false, err
		}
	}
	if gap, err = r.accept(resp, gap); err != nil {
		return false, err
	}
	opened()
	return false, r.bring(ctx, cancel, resp, gap)
}

// bring fetches gap, over several connections where that is asked for and worth it.
func (r *retrieval) bring(ctx context.Context, cancel context.CancelCauseFunc, resp *ftpexec.Response, gap span) error {
	if r.segments > 1 && !r.noRestart && !r.text() && resp.Size >= 2*minSegment {
		return r.parallel(ctx, cancel, resp)
	}
	_, err := r.fetch(ctx, resp, gap, true)
	return err
}

// forgo says why what is there cannot be gone on with, or "".
func (r *retrieval) forgo() (why string, err error) {
	s := r.ledger.snapshot()
	switch {
	case r.stale != "":
		return r.stale, nil
	case len(s.done) == 0:
		return "", nil
	case r.text():
		why = "a text transfer (;type=a) cannot be resumed"
	case r.noRestart:
		why = "the server cannot begin in the middle of a file"
	case s.size >= 0, r.untouched:
		return "", nil // open and accept decide
	default:
		why = "the server does not tell the file's size"
	}
	return why, r.mayForget(s.adopted, why)
}

// anew gives up what is there, and says so.
func (r *retrieval) anew(why string) error {
	if err := r.mayForget(r.ledger.snapshot().adopted, why); err != nil {
		return err
	}
	r.o.notify(Event{Kind: Restarted, Text: why + ": beginning anew"})
	if r.check != nil {
		r.check.reset()
	}
	r.confirmed.Store(false)
	r.responses.Store(0)
	r.inherited, r.untouched, r.moved, r.stale, r.borrowed, r.resumed = false, false, false, "", 0, 0
	return r.ledger.reset()
}

// next returns the first gap; its end is -1 where the size is unknown. A file
// whose octets are all there but whose end was never confirmed lacks its last
// one.
func (r *retrieval) next() (gap span, complete bool) {
	s := r.ledger.snapshot()
	if s.size < 0 {
		return span{s.done.end(), -1}, r.confirmed.Load()
	}
	missing := s.done.missing(s.size)
	switch {
	case len(missing) > 0:
		return missing[0], false
	case r.confirmed.Load():
		return span{}, true
	case s.size == 0:
		return span{}, false
	}
	r.ledger.disown(s.size - 1)
	return span{s.size - 1, s.size}, false
}

// open asks src for the file from offset on.
func (r *retrieval) open(ctx context.Context, src Source, offset int64) (*ftpexec.Response, error) {
	resp, err := src.OpenFrom(ctx, r.u, offset)
	var e *ftpexec.Error
	switch {
	case err == nil:
		return resp, nil
	case offset == 0 || !errors.Is(err, ftpexec.ErrNoRestart):
		return nil, err
	case errors.As(err, &e) && e.Reply != nil && e.Reply.Code/100 == 4:
		return nil, err // it may pass, and says nothing of what the server can
	}
	return nil, errNoRestart
}
