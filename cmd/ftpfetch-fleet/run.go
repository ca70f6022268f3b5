package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/cli"
	"example.com/ftpfetch/internal/retry"
)

// run is a whole fleet in one process: its server and one worker. ftpfetch reads the line, and shows what happens.
func run(ctx context.Context, c *command) error {
	args, list := withList(c.args)
	stdio := cli.IO{In: c.in, Out: c.out, Err: c.err}
	stdio.Batch = func(
		ctx context.Context, _ download.Source, tasks iter.Seq[batch.Task], o *batch.Options,
	) (batch.Totals, error) {
		t, err := c.together(ctx, list, tasks, o)
		if t.Files == 0 && err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w%.0w", err, download.ErrLocal) // nothing was retrieved
		}
		return t, err
	}
	return exit(cli.Run(ctx, args, stdio))
}

func (c *command) together(
	ctx context.Context, list string, tasks iter.Seq[batch.Task], o *batch.Options,
) (t batch.Totals, err error) {
	dir, err := os.MkdirTemp("", "ftpfetch-fleet-")
	if err != nil {
		return t, err
	}
	defer os.RemoveAll(dir)
	h, err := startHub(dir, "127.0.0.1:0", c.line)
	if err != nil {
		return t, err
	}
	defer h.stop()
	r := newBell()
	f, err := h.join.open(ctx, "run", 0, r.ring)
	if err != nil {
		return t, err
	}
	defer f.Close()
	j, err := f.add(ctx, list, tasks, o, new(wishes))
	if err != nil {
		return t, err
	}
	lane := &command{dir: o.Each.Root.Name(), name: "run", egress: "run", shared: true, err: c.err}
	w, err := newWorker(lane)
	if err != nil {
		return t, err
	}
	defer w.root.Close()
	w.fleet = f
	w.events = o.Events
	w.doubt = 0 // there is no other worker
	working, end := context.WithCancel(ctx)
	defer end()
	worked := make(chan error, 1)
	go func() { worked <- w.run(working, max(1, o.Jobs), 0, r); end() }()
	totals := func() batch.Totals {
		files, failed := w.files.Load(), w.failed.Load()
		return batch.Totals{Files: max(files, j.Files), Complete: files - failed, Failed: failed}
	}
	stop := retry.Every(200*time.Millisecond, func() {
		far := download.Event{Kind: download.Progress, Done: w.bytes.Load(), Total: j.Size}
		w.tell(batch.Event{Event: far, Totals: totals()})
	})
	s, err := f.follow(working, j.ID, func(*state) {})
	end()
	werr := <-worked
	if err != nil {
		err = errors.Join(context.Cause(ctx), werr)
	}
	stop()
	t = totals()
	if err == nil {
		t.Files = s.Files
	}
	if err == nil && t.Complete < t.Files {
		err = fmt.Errorf("%d files failed", t.Failed)
	}
	return t, err
}
