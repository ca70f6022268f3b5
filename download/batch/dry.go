package batch

import (
	"context"
	"errors"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/internal/fetch"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/schedule"
)

// unwritten returns the name of a ledger that does not exist, beside the ledgers that a dry run reads. A dry run opens
// that one, because it adds nothing to any ledger.
func unwritten(o Options) string {
	if o.Ledger == "" || o.Each.Root == nil {
		return ""
	}
	return o.Ledger + "-none"
}

// plan finds out and reports what a run would do with a file.
func (b *engine) plan(ctx context.Context, t *schedule.Turn[*job]) schedule.Verdict {
	j := t.Value
	p, err := b.would(ctx, t)
	switch {
	case b.freeFiles(t, err):
		return schedule.Short
	case b.freeConnections(t, err):
		return schedule.Full(err)
	case j.link != "" && errors.Is(err, ftpexec.ErrNotFound):
		b.leadsNowhere(j)
		return schedule.Done
	case err != nil:
		return b.next(ctx, j, download.Result{}, err, verdict(err))
	}
	e := j.failed(nil)
	e.Plan = p.Do
	e.Result = download.Result{Size: p.Size, Resumed: p.Here, Left: p.Why}
	b.ended(e)
	return schedule.Done
}

func (b *engine) would(ctx context.Context, t *schedule.Turn[*job]) (p fetch.Plan, err error) {
	j := t.Value
	ctx, cancel := b.bound(ctx)
	defer cancel()
	f := b.fetchOf(t, &meter{engine: b, sized: j.size() >= 0})
	f.Begin = func() error { return t.GivenUp }
	if b.root != nil && j.Writer == nil {
		f.Place, err = b.group.Find(b.root, j.Path)
		if err != nil {
			f.Place, err = b.findAgain(ctx, j, err)
		}
		if err != nil {
			return p, err
		}
	}
	if f.Place != nil {
		defer f.Place.Close(false)
		if err = localfile.IsReport(ctx, f.Place.Path, f.Place.Info); err != nil {
			return p, err
		}
	}
	return fetch.Would(ctx, f)
}
