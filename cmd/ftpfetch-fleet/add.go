package main

import (
	"cmp"
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

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"example.com/ftpfetch/cmd/internal/cli"
	"example.com/ftpfetch/download"
)

// add adds a list. ftpfetch reads and completes the list, and the engine sends it as chunks in place of a run.
func add(ctx context.Context, c *command, f *fleet) (err error) {
	args, list := withList(c.args)
	debug.SetGCPercent(20) // while a list is checked, nearly all of a large heap is its paths, which stay
	var added *job
	stdio := cli.IO{In: c.in, Out: c.out, Err: c.err}
	engine := func(
		ctx context.Context, _ download.Source, tasks iter.Seq[download.Task], o *download.RunOptions,
	) (download.Totals, error) {
		debug.FreeOSMemory()
		debug.SetGCPercent(400) // from now on most of the heap soon becomes garbage
		f.expire(ctx)
		_ = f.retire(ctx, make(map[string]*sum)) // the next add tries again
		if err = f.room(ctx).err(); err != nil {
			return download.Totals{}, fmt.Errorf("%w%.0w", err, download.ErrLocal)
		}
		if added, err = f.add(ctx, shown(list), tasks, o, &c.wishes); err != nil {
			return download.Totals{}, fmt.Errorf("%w%.0w", unanswered(err), download.ErrLocal) // not the failure of a file
		}
		c.about = added.ID + " from " + added.List + c.wishes.text()
		return download.Totals{Files: added.Files, Complete: added.Files}, nil
	}
	if code := cli.RunWith(ctx, append(args, "--quiet"), stdio, engine); code != 0 || added == nil { // such as --dry-run
		return exit(code) // cli.RunWith has printed the reason
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

// withList turns the arguments of add into arguments of ftpfetch: the last operand becomes the list. It also returns
// the list.
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

// errCancelled means that the job was cancelled while its list was being added.
var errCancelled = usage("the job was cancelled while its list was added")

// add adds the tasks as a job. It sends nothing of a list that cannot be sent. It creates the job before the first
// chunk, so that the job can be cancelled, and cancels the job if it cannot send all chunks.
func (f *fleet) add(
	ctx context.Context, list string, tasks iter.Seq[download.Task], o *download.RunOptions, wishes *wishes,
) (*job, error) {
	if o.Each.Root == nil || o.Dry {
		return nil, usage("-I, --dry-run and --check fetch nothing: give them to ftpfetch, with the list")
	}
	j := &job{
		ID: strings.ToLower(rand.Text()[:8]), State: "adding", Added: time.Now().UTC(), List: list,
		Terms: termsOf(o), bounds: bounds{PerHost: cmp.Or(o.PerHost, max(1, o.Jobs))},
		Priority: wishes.priority, Expire: wishes.expire, given: wishes, GiveUp: wishes.giveUp,
	}
	wishes.perHost = o.PerHost
	if err := wishes.applyJob(j); err != nil {
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

// untilCancelled returns a context that ends when a job is cancelled. What is sent by somebody who misses that,
// because the connection was lost, retire removes.
func (f *fleet) untilCancelled(ctx context.Context, id string) (context.Context, func(), error) {
	ctx, cancel := context.WithCancelCause(ctx)
	sub, err := f.hear(f.jobs, id, func(_ string, h held) {
		var now job
		if h.gone || json.Unmarshal(h.value, &now) != nil || now.State == "cancelled" {
			cancel(errCancelled)
		}
	})
	if err != nil {
		return ctx, func() { cancel(nil) }, err
	}
	return ctx, func() { _ = sub.Unsubscribe(); cancel(nil) }, nil
}

// sendAll sends the chunks of a job until the job is cancelled, and returns their number.
func (f *fleet) sendAll(ctx context.Context, j *job, p *plan, prefix string) (sent int, err error) {
	ctx, full := f.whileRoom(ctx)
	defer full(nil)
	ctx, end, err := f.untilCancelled(ctx, j.ID)
	defer end()
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
			msg, err := f.messageOf(&c.chunk, c, len(c.Items))
			if err != nil {
				return err
			}
			return f.deliver(inner, c.id(), msg)
		})
		if inner.Err() != nil {
			break
		}
		sent++
	}
	meet() // again: meanwhile a queue may have been retired as empty
	err = flying.Wait()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return sent, err
}

// lanes returns the current number of lanes.
func (f *fleet) lanes(ctx context.Context) (n int) {
	presences, _ := f.presences(ctx) // without them chunks are a little larger
	for _, p := range presences {
		n += p.Lanes
	}
	return min(n, mostLanes)
}

// meet tells the workers that a job has files of a host.
func (f *fleet) meet(ctx context.Context, j *job, address string) error {
	first := host{Address: address, bounds: j.bounds}
	if err := f.bound(ctx, first, j.given, "add "+j.ID); err != nil {
		return err
	}
	key := hostKey(address) + "." + j.ID
	if _, err := f.queues.PutString(ctx, key, address); err != nil {
		return err
	}
	return f.createConsumer(ctx, key)
}

// bound changes the bounds of a host that the flags of a command set, and no others: they may be those of another job. A
// new host starts from first.
func (f *fleet) bound(ctx context.Context, first host, given *wishes, by string) error {
	_, err := change(ctx, f.hosts, hostKey(first.Address), new(host), func(h *host) error {
		was := *h
		if h.Address == "" {
			*h = first
		}
		if given != nil {
			if err := given.apply(&h.bounds); err != nil {
				return err
			}
		}
		if h.bounds == was.bounds && h.Address == was.Address {
			return errAsItIs
		}
		h.Since = time.Now().UTC()
		h.By = by
		return nil
	})
	if errors.Is(err, errAsItIs) {
		return nil
	}
	return err
}

func (j *job) text() []byte {
	text, _ := json.Marshal(j)
	return text
}

// send gives the server a chunk.
func (f *fleet) send(ctx context.Context, c *chunk) error {
	msg, err := f.message(c)
	if err != nil {
		return err
	}
	return f.deliver(ctx, c.id(), msg)
}

// deliver gives the server the message of the chunk with this id, and repeats that if the answer is lost. The server
// ignores copies for two minutes. A chunk that is nevertheless there twice gets one result.
func (f *fleet) deliver(ctx context.Context, id string, msg *nats.Msg) (err error) {
	for range 5 {
		_, err = f.js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(5), jetstream.WithMsgID(id))
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return err
}
