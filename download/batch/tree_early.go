package batch

import (
	"context"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/early"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/schedule"
)

// many is how many entries a directory has when its files do not wait for the end of the listing.
const many = 1000

// begin returns a context for the listing of a tree's own directory, which queues files as they come: it may take minutes.
// The others may be circles, and files whose times must be asked for wait too. Everything else is judged at the end.
func (b *engine) begin(ctx context.Context, t *schedule.Turn[*job]) context.Context {
	j, seen := t.Value, 0
	if j.dir.up != nil || b.Each.Newer || b.teller != nil {
		return ctx
	}
	if j.dir.ahead == nil {
		j.dir.ahead = make(map[uint64]bool)
	}
	return early.With(ctx, func(x ftpexec.Entry) {
		seen++
		e := entryOf(x)
		if _, begun := j.dir.ahead[e.key()]; seen <= many || begun || ctx.Err() != nil || e.mode != 0 ||
			localfile.Unusable(e.name) != "" || !j.Tree.wants(e.name, false) || b.create(j) != nil {
			return
		}
		j.dir.ahead[e.key()] = true
		b.queue(t, j.file(e))
	})
}
