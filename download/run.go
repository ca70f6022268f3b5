package download

import (
	"context"
	"errors"

	"example.com/ftpfetch/ftpexec"
)

// run retries until every byte is there and the server has confirmed the end.
func (t *transfer) run(ctx context.Context) error {
	end := t.arrivals.checkpoints(t.o.checkpoint)
	defer end()
	stop := func() {}
	defer func() { stop() }()
	first := true
	for {
		err := t.try(ctx, func() {
			if first {
				stop, first = t.o.report(t.count), false
			}
		})
		if failed := t.arrivals.health(); failed != nil {
			return failed
		}
		if err == nil {
			return nil
		}
		progress := t.arrivals.progressed()
		if errors.As(err, &t.noRestart) {
			t.segments = 1
		}
		if errors.Is(err, errBeyond) { // not later: the journal vouches for bytes that may be wrong
			t.arrivals.disown(t.arrivals.snapshot().adopted)
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

// try fetches the gaps in the part, in order. It calls opened when data is about
// to flow.
func (t *transfer) try(ctx context.Context, opened func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	why, err := t.forgo()
	for err == nil {
		var complete bool
		if complete, err = t.step(ctx, cancel, why, opened); complete {
			return t.same(ctx)
		}
		why = ""
	}
	return err
}

// step fetches the first gap. If why is not "", the gap is the whole file, and
// step gives up the part once the server has opened the transfer.
func (t *transfer) step(ctx context.Context, cancel context.CancelCauseFunc, why string, opened func()) (complete bool, err error) {
	gap := span{0, -1}
	if why == "" {
		if gap, complete = t.next(); complete {
			return true, nil
		}
	}
	resp, err := t.request(ctx, t.src, gap.start)
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
	opened()
	return false, t.bring(ctx, cancel, resp, gap)
}

// bring fetches gap, over several connections if that was asked for and worth it.
func (t *transfer) bring(ctx context.Context, cancel context.CancelCauseFunc, resp *ftpexec.Response, gap span) error {
	if t.segments > 1 && t.noRestart == "" && !t.text() && resp.Size >= 2*minSegment && t.dated(resp.ModTime) {
		return t.parallel(ctx, cancel, resp)
	}
	_, err := t.fetch(ctx, resp, gap, true)
	return err
}
