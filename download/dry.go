package download

import (
	"context"
	"errors"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/schedule"
)

// unwritten returns the name of a ledger that does not exist, beside the ledgers that a dry run reads. A dry run opens
// that one, because it adds nothing to any ledger.
func unwritten(o RunOptions) string {
	if o.Ledger == "" || o.Each.Root == nil {
		return ""
	}
	return o.Ledger + "-none"
}

// plan finds out and reports what a run would do with a file.
func (b *engine) plan(ctx context.Context, t *schedule.Turn[*job]) schedule.Verdict {
	j := t.Value
	e, err := b.planOf(ctx, t)
	switch {
	case b.freeFiles(t, err):
		return schedule.Short
	case b.freeConnections(t, err):
		return schedule.Full(err)
	case j.link != "" && errors.Is(err, ftpexec.ErrNotFound):
		b.leadsNowhere(j)
		return schedule.Done
	case err != nil:
		return b.next(ctx, j, Result{}, err, verdict(err))
	}
	e.Task = j.Task
	b.ended(e)
	return schedule.Done
}

func (b *engine) planOf(ctx context.Context, t *schedule.Turn[*job]) (e Event, err error) {
	ctx, cancel := b.bound(ctx)
	defer cancel()
	m := b.member(ctx, t)
	f := &file{fetch: m.fetch(true)}
	if b.Check {
		if e, other := b.otherThanFile(t.Value); other {
			e.Result.Size, err = f.sizeThere(ctx)
			return e, err
		}
	}
	if b.root != nil && t.Value.Writer == nil {
		if f.to, err = b.find(ctx, t.Value); err != nil {
			return e, err
		}
	}
	if f.to != nil {
		defer f.to.Close(false)
	}
	if b.Check {
		return f.checkFile(ctx)
	}
	return f.plan(ctx)
}
