//go:build linux

package latency

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"example.com/ftpfetch/internal/bench/lab"
)

// bench measures every job with every client.
type bench struct {
	settings *settings
	net      *network
	server   *servers
	tree     *tree
	progress io.Writer

	rows []*row
}

// row is one client at one job.
type row struct {
	client    *client
	job       *job
	note      string // why the command is not run; "" if it is
	near, far []sample
	tries     int // passes
	failures  int // of these, whatever the link
	err       error
}

// mostFailures is the number of failures, without a success, after which bench
// gives up a row's command.
const mostFailures = 3

// run makes a first pass over the near link, which only tries every command, and
// then the measured passes. Every pass runs each command once over each link,
// near and far in turn, so that other work on the machine affects all alike.
func (b *bench) run(ctx context.Context) (*report, error) {
	r, err := b.describe(ctx)
	if err != nil {
		return nil, err
	}
	if b.makeRows(ctx); len(b.rows) == 0 {
		return nil, errors.New("nothing to measure: check -case and -clients")
	}
	for pass := range b.settings.runs + 1 {
		for _, w := range b.rows {
			if err := b.pass(ctx, pass, w); err != nil {
				return nil, err
			}
		}
	}
	if err := b.server.Failed(); err != nil {
		return nil, err
	}
	r.rows, r.tls = b.rows, b.server.tlsVersion()
	return r, nil
}

func (b *bench) describe(ctx context.Context) (*report, error) {
	near, err := b.net.near.Calibrate(ctx)
	if err != nil {
		return nil, err
	}
	far, err := b.net.far.Calibrate(ctx)
	if err != nil {
		return nil, err
	}
	server, err := b.server.VsftpdVersion(ctx)
	if err != nil {
		return nil, err
	}
	return &report{settings: b.settings, near: near, far: far, congestion: b.net.Congestion,
		server: server, anonymousOnly: b.server.AnonymousOnly, versions: versions(ctx, b.settings.Only)}, nil
}

func (b *bench) makeRows(ctx context.Context) {
	for _, j := range jobs(b.tree, b.server.AnonymousOnly) {
		if !lab.Wanted(b.settings.Cases, strconv.Itoa(j.number)) {
			continue
		}
		for _, c := range clients {
			if w := makeRow(ctx, c, j); w != nil && lab.Wanted(b.settings.Only, c.program) {
				b.rows = append(b.rows, w)
			}
		}
	}
}

// makeRow returns nil if the table needs no row.
func makeRow(ctx context.Context, c *client, j *job) *row {
	program, option := c.installed(ctx)
	_, can := c.lines[j.form]
	why := c.cannot[j.form]
	switch {
	case !can && why == "", program && !option:
		return nil
	case !program && c.name != c.program && c.needs != "":
		return nil
	case !program:
		return &row{client: c, job: j, note: "not installed"}
	case !can:
		return &row{client: c, job: j, note: why}
	}
	return &row{client: c, job: j}
}

// pass runs the row's command over both links; pass 0 is the trial.
func (b *bench) pass(ctx context.Context, pass int, w *row) error {
	if w.note != "" || len(w.far) == 0 && w.failures >= mostFailures {
		return nil
	}
	fmt.Fprintf(b.progress, "run %d of %d, case %d: %s\n", pass, b.settings.runs, w.job.number, w.client.name)
	w.tries++
	if err := b.both(ctx, pass == 0, w); err != nil {
		w.failures, w.err = w.failures+1, err
		fmt.Fprintf(b.progress, "  failed: %v\n", err)
	}
	return ctx.Err()
}

// both measures the near link and then the far one. It keeps only pairs.
func (b *bench) both(ctx context.Context, trial bool, w *row) error {
	near, err := b.measure(ctx, w, b.net.near)
	if err != nil || trial {
		return err
	}
	far, err := b.measure(ctx, w, b.net.far)
	if err != nil {
		return err
	}
	w.near, w.far = append(w.near, near), append(w.far, far)
	return nil
}

// settle waits until what a finished command left on the link has arrived.
func settle(ctx context.Context, l *lab.Link) {
	timer := time.NewTimer(2*l.OneWay + 5*time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
