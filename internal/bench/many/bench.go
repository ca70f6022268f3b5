//go:build linux

package many

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/internal/bench/lab"
)

// bench measures every job with every client.
type bench struct {
	settings *settings
	world    *world
	progress io.Writer
	rows     []*row
}

// row is one client at one job with one cap of connections.
type row struct {
	client      *client
	job         *job
	connections int // the cap
	samples     []sample
	installed   bool
}

// sample is one run of one command.
type sample struct {
	lab.Outcome
	found
	controls int // control connections; 0 on loopback, where nothing counts them
	err      error
}

// run measures the jobs one after the other. Each pass runs every command once,
// so that other work on the machine affects all alike.
func (b *bench) run(ctx context.Context) (*report, error) {
	for _, j := range b.world.jobs() {
		if lab.Wanted(b.settings.Cases, strconv.Itoa(j.number)) {
			if err := b.do(ctx, j); err != nil {
				return nil, err
			}
		}
	}
	if len(b.rows) == 0 {
		return nil, errors.New("nothing to measure: check -case and -clients")
	}
	return b.describe(ctx)
}

func (b *bench) do(ctx context.Context, j *job) error {
	rows := b.makeRows(j)
	b.rows = append(b.rows, rows...)
	for pass := range b.settings.runs {
		for _, w := range rows {
			if !w.installed || pass > 0 && !w.again(b.settings.once) {
				continue
			}
			if err := b.measure(ctx, pass, w); err != nil {
				return err
			}
		}
	}
	return b.world.site.Failed()
}

func (b *bench) makeRows(j *job) (rows []*row) {
	for _, n := range j.caps {
		for _, c := range clients {
			line, can := c.lines[j.form]
			if can && line.at(j, n) && lab.Wanted(b.settings.Only, c.program) {
				rows = append(rows, &row{client: c, job: j, connections: n, installed: c.installed()})
			}
		}
	}
	return rows
}

// again reports whether the row is worth another run: the last was not too long,
// and lost nothing.
func (w *row) again(once time.Duration) bool {
	last := w.samples[len(w.samples)-1]
	return last.Elapsed <= once && last.lost == 0
}

// measure runs the row's command in a directory of its own, and verifies what the
// command retrieved.
func (b *bench) measure(ctx context.Context, pass int, w *row) error {
	home, err := os.MkdirTemp(b.settings.Dir, "run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	work := filepath.Join(home, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		return err
	}
	if err := w.job.writeLists(home, w.connections); err != nil {
		return err
	}
	s, err := b.command(ctx, w, lab.Command{
		Words: w.job.words(w.client.lines[w.job.form].words, home, w.connections), Home: home, Work: work,
		Limit: w.limit(b.settings.timeout)})
	if err != nil {
		return err
	}
	w.samples = append(w.samples, s)
	fmt.Fprintf(b.progress, "case %d, %d at once, run %d: %s: %.2f s, %d lost, exit %d %v\n",
		w.job.number, w.connections, pass+1, w.client.name, s.Elapsed.Seconds(), s.lost, s.Code, orNothing(s.err))
	return ctx.Err()
}

// limit returns when the client counts as hanging: none needs as long for a file.
func (w *row) limit(more time.Duration) time.Duration {
	const trips, processing = 20, 100 * time.Millisecond
	each := processing
	if w.job.link != nil {
		each += trips * 2 * w.job.link.OneWay
	}
	return more + time.Duration(len(w.job.files.names))*each/time.Duration(w.connections)
}

// orNothing returns err, or an empty text in its place.
func orNothing(err error) any {
	if err == nil {
		return ""
	}
	return err
}

// command runs c in the conditions of the row's job.
func (b *bench) command(ctx context.Context, w *row, c lab.Command) (s sample, err error) {
	if err := w.job.awaitFree(ctx); err != nil {
		return s, err
	}
	if w.job.window > 0 {
		restore, err := lab.LimitReceiveBuffer(w.job.window)
		if err != nil {
			return s, err
		}
		defer func() { err = errors.Join(err, restore()) }()
	}
	if w.job.link != nil {
		w.job.link.Reset()
	}
	s.Outcome, s.err = c.Run(ctx)
	if w.job.link != nil {
		s.controls = w.job.link.Controls()
	}
	s.found, err = w.job.files.verify(c.Work, w.job.form == formTree)
	return s, err
}

// awaitFree waits until the server has noticed that the command before has gone,
// which is when it greets as many clients as it allows.
func (j *job) awaitFree(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := j.greets(ctx, max(j.allowed, 1))
		if err == nil {
			// These have to go as well.
			return sleep(ctx, tick.C)
		}
		if sleep(ctx, tick.C) != nil {
			return fmt.Errorf("the server does not become free: %w", err)
		}
	}
}

func sleep(ctx context.Context, tick <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-tick:
		return nil
	}
}

// greets returns an error unless the server greets n clients at once.
func (j *job) greets(ctx context.Context, n int) error {
	for range n {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp4", net.JoinHostPort(j.host(), strconv.Itoa(j.port)))
		if err != nil {
			return err
		}
		defer c.Close()
		if deadline, ok := ctx.Deadline(); ok {
			_ = c.SetDeadline(deadline)
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			return err
		}
		if !strings.HasPrefix(line, "220") {
			return errors.New(strings.TrimSpace(line))
		}
	}
	return nil
}
