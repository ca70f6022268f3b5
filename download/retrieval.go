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
	retry  *retrier // its reached is set before other goroutines begin
	ledger *ledger
	check  *check // the digest to come out; nil: none

	inherited bool  // what is there comes from an earlier run, and nothing shows yet that it is the same file
	adopted   bool  // the part is no work of ours: Continue
	borrowed  int64 // octets of the target that became the part; 0: it did not
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
func (r *retrieval) file(ctx context.Context) (Result, error) {
	skip, err := r.decide(ctx)
	if err != nil {
		return Result{}, err
	}
	if skip {
		return r.leaveTarget(ctx)
	}
	if err := r.takePart(); err != nil {
		return Result{}, err
	}
	defer r.leave()
	err = r.expect(ctx)
	if err == nil {
		err = r.transfer(ctx)
	}
	if err != nil {
		return Result{}, r.giveBack(err)
	}
	return r.finish()
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
	if err := r.prepare(); err != nil {
		return err
	}
	for {
		gap, complete := r.next()
		if complete {
			return r.same(ctx)
		}
		resp, err := r.open(ctx, r.src, gap.start)
		if err != nil {
			return err
		}
		r.retry.reached = true
		gap, err = r.accept(resp, gap)
		if err == nil {
			opened()
			err = r.bring(ctx, cancel, resp, gap)
		}
		resp.Body.Close()
		if err != nil {
			return err
		}
	}
}

// bring fetches gap, over several connections where that is asked for and worth it.
func (r *retrieval) bring(ctx context.Context, cancel context.CancelCauseFunc, resp *ftpexec.Response, gap span) error {
	if r.segments > 1 && !r.noRestart && !r.text() && resp.Size >= 2*minSegment {
		return r.parallel(ctx, cancel, resp)
	}
	_, err := r.fetch(ctx, resp, gap, true)
	return err
}

// prepare begins anew where a try has left something that cannot be gone on
// with.
func (r *retrieval) prepare() error {
	s := r.ledger.snapshot()
	if len(s.done) == 0 || s.size >= 0 && !r.noRestart && !r.text() {
		return nil
	}
	if r.adopted && r.inherited {
		return nil // open and accept decide
	}
	why := "the server does not tell the file's size"
	switch {
	case r.text():
		why = "a text transfer (;type=a) cannot be resumed"
	case r.noRestart:
		why = "the server cannot begin in the middle of a file"
	}
	return r.anew(why)
}

// anew gives up what is there, and says so.
func (r *retrieval) anew(why string) error {
	r.o.notify(Event{Kind: Restarted, Text: why + ": beginning anew"})
	r.confirmed.Store(false)
	r.responses.Store(0)
	r.inherited, r.adopted, r.borrowed, r.resumed = false, false, 0, 0
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
	case errors.As(err, &e) && e.Reply != nil && e.Reply.Code == 421:
		return nil, err // not about REST
	}
	if r.adopted {
		return nil, &refusal{ErrResume, r.t.path + ": the server cannot begin in the middle of a file"}
	}
	return nil, errNoRestart
}
