//go:build linux

package latency

import (
	"context"
	"os"
	"time"

	"example.com/ftpfetch/internal/bench/lab"
)

// sample is one run of one command.
type sample struct {
	exit     time.Duration // from its start to its exit
	last     time.Duration // from its start to the last byte of a data connection
	controls int           // control connections
}

// measure runs the row's command over l in a directory of its own, and verifies
// what the command retrieved.
func (b *bench) measure(ctx context.Context, w *row, l *lab.Link) (sample, error) {
	home, work, err := b.server.WorkDir(b.settings.Dir)
	if err != nil {
		return sample{}, err
	}
	defer os.RemoveAll(home)
	l.Reset()
	words := w.job.words(w.client.lines[w.job.form], l.Host())
	start := time.Now()
	o, err := lab.Command{Words: words, Home: home, Work: work, Limit: b.limit(w.job)}.Run(ctx)
	s := sample{exit: o.Elapsed, controls: l.Controls()}
	if err != nil {
		return s, err
	}
	s.last = l.LastData().Sub(start)
	if w.job.form == formList {
		err = b.tree.verifyList(work, o.Stdout)
	} else {
		err = b.tree.verifyFiles(work, w.job.paths)
	}
	settle(ctx, l)
	return s, err
}

// limit returns when a client counts as hanging: none needs that many round trips.
func (b *bench) limit(j *job) time.Duration {
	const trips, tripsPerFile = 60, 20
	return b.settings.timeout + time.Duration(trips+tripsPerFile*len(j.paths))*b.settings.rtt
}
