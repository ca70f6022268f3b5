package download

import (
	"context"
	"time"

	"example.com/ftpfetch/internal/local/ledger"
)

// done calls RunOptions.Done with a file that has its name and is on the disk, if that is to be done or an earlier run
// has left it to do. The ledger says so from before the file has its name until Done has succeeded, so that a killed
// run forgets no file.
func (b *engine) done(ctx context.Context, m *member, r Result) error {
	if b.Done == nil || m.job.Writer != nil || m.todo == nil && (b.ledger != nil || r.Left != "") {
		return nil
	}
	m.arrived() // another file may have the connection
	if err := b.call(ctx, m.job.Task, r); err != nil || m.todo == nil {
		return err
	}
	m.todo.Todo = false
	return b.group.Record(func() error { return b.record(*m.todo) })
}

// call calls RunOptions.Done, at most Jobs times at once, or four if Jobs is 0.
func (b *engine) call(ctx context.Context, t *Task, r Result) error {
	select {
	case b.doing <- struct{}{}:
		defer func() { <-b.doing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return b.Done(ctx, t, r)
}

// undone reports whether an earlier run has fetched the file of j, and has not succeeded with Done.
func (b *engine) undone(j *job) bool {
	if b.Done == nil {
		return false
	}
	r, ok := b.ledger.Last(j.Path)
	return ok && r.Todo && (fits(r, j.Task, time.Time{}) || r.Size < 0 && cameFrom(r, j.Task))
}

// todo returns the record that says that Done is to be called with the file of j, but not what the file is: it is for a
// file that would have the record of the one that it replaces.
func (b *engine) todo(j *job) ledger.Record {
	r := b.recordOf(j, Result{Size: -1}, time.Time{})
	r.Todo = true
	return r
}
