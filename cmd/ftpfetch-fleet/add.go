package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/cli"
)

// add adds a list, which ftpfetch itself reads and completes. The chunks take the place of its run.
func add(ctx context.Context, c *command, f *fleet) (err error) {
	args, list := withList(c.args)
	debug.SetGCPercent(20) // while a list is checked nearly all of a large heap is its paths, which stay
	var added *job
	stdio := cli.IO{In: c.in, Out: c.out, Err: c.err}
	stdio.Batch = func(
		ctx context.Context, _ download.Source, tasks iter.Seq[batch.Task], o *batch.Options,
	) (batch.Totals, error) {
		debug.FreeOSMemory()
		debug.SetGCPercent(400) // from now on nearly all is soon garbage
		f.expire(ctx)
		if added, err = f.add(ctx, shown(list), tasks, o, &c.wishes); err != nil {
			return batch.Totals{}, fmt.Errorf("%w%.0w", err, download.ErrLocal) // it is no failure of a file
		}
		return batch.Totals{Files: added.Files, Complete: added.Files}, nil
	}
	if code := cli.Run(ctx, append(args, "--quiet"), stdio); code != 0 || added == nil { // such as --dry-run
		return exit(code) // it has said why
	}
	if added.Unasked > 0 {
		c.line("warning: the passwords of %d URLs stay here: the workers take those from their netrc files",
			added.Unasked)
	}
	if c.json {
		return json.NewEncoder(c.out).Encode(added)
	}
	_, err = fmt.Fprintln(c.out, added.ID)
	return err
}

// withList returns a command line of ftpfetch for one of the fleet, whose last word is the list, and the list.
func withList(args []string) (line []string, list string) {
	named := slices.ContainsFunc(args, func(a string) bool {
		flag, _, _ := strings.Cut(a, "=")
		return a == "-i" || flag == "--input" || flag == "--manifest"
	})
	n := len(args) - 1
	if n < 0 || named || strings.HasPrefix(args[n], "-") && args[n] != "-" {
		return slices.Clone(args), "a list"
	}
	return append(slices.Clone(args[:n]), "--manifest", args[n]), args[n]
}

// errCancelled is the cause of the end of an add whose job was cancelled meanwhile.
var errCancelled = usage("the job was cancelled while its list was added")

// add adds the tasks as a job. Nothing is sent of a list that cannot be. The job is there before its first chunk, so that it
// can be cancelled, and cancels itself if not all of its chunks are.
func (f *fleet) add(
	ctx context.Context, list string, tasks iter.Seq[batch.Task], o *batch.Options, wishes *wishes,
) (*job, error) {
	if o.Each.Root == nil {
		return nil, usage("-I fetches nothing: ftpfetch -I asks about the files of a list")
	}
	j := &job{
		ID: strings.ToLower(rand.Text()[:8]), State: "adding", Added: time.Now().UTC(), List: list,
		Terms: termsOf(o), bounds: bounds{PerHost: max(1, o.PerHost)},
		Priority: wishes.priority, Expire: wishes.expire,
	}
	if err := wishes.apply(&j.bounds); err != nil {
		return nil, err
	}
	p, err := j.measure(tasks, max(8, o.PerHost, f.lanes(ctx)))
	if err != nil {
		return nil, err
	}
	defer p.close()
	rev, err := f.jobs.Create(ctx, j.ID, j.text())
	if err != nil {
		return nil, err
	}
	if j.Chunks, err = f.sendAll(ctx, j, p, ""); err == nil {
		j.State = "ready"
		_, err = f.jobs.Update(ctx, j.ID, j.text(), rev)
		if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			err = errCancelled
		}
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), asking)
		defer cancel()
		if f.cancel(ctx, j.ID) != nil {
			err = fmt.Errorf("%w; some of its chunks are there: run ftpfetch-fleet cancel %s",
				err, j.ID)
		}
		return nil, err
	}
	return j, nil
}

// untilCancelled returns a context that ends when a job is cancelled.
func (f *fleet) untilCancelled(
	ctx context.Context, id string,
) (context.Context, context.CancelCauseFunc, error) {
	ctx, end := context.WithCancelCause(ctx)
	changes, err := f.jobs.Watch(ctx, id, jetstream.UpdatesOnly())
	if err != nil {
		return ctx, end, err
	}
	go func() {
		for e := range changes.Updates() {
			var now job
			if e != nil && (json.Unmarshal(e.Value(), &now) != nil || now.State == "cancelled") {
				end(errCancelled)
			}
		}
	}()
	return ctx, end, nil
}

// sendAll sends the chunks of a job until it is cancelled, and returns how many they are.
func (f *fleet) sendAll(ctx context.Context, j *job, p *plan, prefix string) (sent int, err error) {
	ctx, end, err := f.untilCancelled(ctx, j.ID)
	defer end(nil)
	if err != nil {
		return 0, err
	}
	flying, inner := errgroup.WithContext(ctx)
	flying.SetLimit(16)
	meet := func() {
		for at := range p.addresses {
			flying.Go(func() error { return f.meet(inner, j, at) })
		}
	}
	meet()
	for c, err := range p.chunks(j, prefix) {
		flying.Go(func() error {
			if err != nil {
				return err
			}
			return f.send(inner, &c)
		})
		if inner.Err() != nil {
			break
		}
		sent++
	}
	meet() // again: a queue may have seemed to be empty for long
	err = flying.Wait()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return sent, err
}

// lanes returns how many lanes there are now.
func (f *fleet) lanes(ctx context.Context) (n int) {
	pulses, _ := f.pulses(ctx) // without them chunks are a little larger
	for _, p := range pulses {
		n += p.Lanes
	}
	return min(n, mostLanes)
}

// meet tells the workers of a host of a job.
func (f *fleet) meet(ctx context.Context, j *job, address string) error {
	if err := f.putHost(ctx, host{address, j.bounds}); err != nil {
		return err
	}
	_, err := f.queues.PutString(ctx, hostKey(address)+"."+j.ID, address)
	return err
}

func (f *fleet) putHost(ctx context.Context, h host) error {
	text, _ := json.Marshal(h)
	_, err := f.hosts.Put(ctx, hostKey(h.Address), text)
	return err
}

func (j *job) text() []byte {
	text, _ := json.Marshal(j)
	return text
}

// send gives the server a chunk, again if the answer is lost. The server takes it once in two minutes. If it is there twice all
// the same, it has one result.
func (f *fleet) send(ctx context.Context, c *chunk) error {
	msg, err := c.message()
	if err != nil {
		return err
	}
	for range 5 {
		_, err = f.js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(5),
			jetstream.WithMsgID(c.id()))
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return err
}
