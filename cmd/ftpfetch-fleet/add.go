package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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
	var added *job
	stdio := cli.IO{In: c.in, Out: c.out, Err: c.err, Batch: func(ctx context.Context, _ download.Source, tasks iter.Seq[batch.Task], o batch.Options) (batch.Totals, error) {
		if added, err = f.add(ctx, list, tasks, o); err != nil {
			return batch.Totals{}, errors.Join(err, download.ErrLocal) // it is no failure of a file
		}
		return batch.Totals{Files: added.Files, Complete: added.Files}, nil
	}}
	if code := cli.Run(ctx, append(args, "--quiet"), stdio); code != 0 || added == nil { // such as --dry-run
		return exit(code) // it has said why
	}
	if added.Unasked > 0 {
		c.line("warning: the passwords of %d URLs stay here: the workers take those from their netrc files", added.Unasked)
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
		return a == "-i" || a == "--input" || a == "--manifest" || strings.HasPrefix(a, "--input=") || strings.HasPrefix(a, "--manifest=")
	})
	n := len(args) - 1
	if n < 0 || named || strings.HasPrefix(args[n], "-") && args[n] != "-" {
		return slices.Clone(args), "a list"
	}
	return append(slices.Clone(args[:n]), "--manifest", args[n]), args[n]
}

// add adds the tasks as a job. It is there before its first chunk, so that one whose adding ends half-way can be cancelled.
func (f *fleet) add(ctx context.Context, list string, tasks iter.Seq[batch.Task], o batch.Options) (*job, error) {
	if o.Each.Root == nil {
		return nil, usage("-I fetches nothing: ftpfetch -I asks about the files of a list")
	}
	j := &job{ID: strings.ToLower(rand.Text()[:8]), State: "adding", Added: time.Now().UTC(), List: list}
	rev, err := f.jobs.Create(ctx, j.ID, j.text())
	if err != nil {
		return nil, err
	}
	flying, inner := errgroup.WithContext(ctx)
	flying.SetLimit(16)
	met := make(map[string]bool)
	meeting := func(yield func(batch.Task) bool) { // the hosts of all places of a file
		for t := range tasks {
			for _, u := range t.URLs {
				if at := u.Address(); !met[at] {
					met[at] = true
					flying.Go(func() error { return f.meet(inner, host{at, max(1, o.PerHost)}) })
				}
			}
			if !yield(t) {
				return
			}
		}
	}
	for c, err := range j.chunks(meeting, termsOf(o)) {
		text, merr := json.Marshal(c)
		flying.Go(func() error {
			if err := errors.Join(err, merr); err != nil {
				return err
			}
			return f.send(inner, "work."+j.ID+"."+hostKey(c.Host), text)
		})
		if inner.Err() != nil {
			break
		}
	}
	if err := cmp.Or(flying.Wait(), context.Cause(ctx)); err != nil {
		return nil, err
	}
	j.State = "ready"
	_, err = f.jobs.Update(ctx, j.ID, j.text(), rev)
	return j, err
}

// meet makes the queue of a host, and tells the workers of it.
func (f *fleet) meet(ctx context.Context, h host) error {
	key := hostKey(h.Address)
	_, err := f.work.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: key, FilterSubject: "work.*." + key, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait,
		MaxAckPending: 256, // chunks, whatever the egresses are
	})
	if err != nil {
		return err
	}
	text, _ := json.Marshal(h)
	_, err = f.hosts.Put(ctx, key, text)
	return err
}

func (j *job) text() []byte {
	text, _ := json.Marshal(j)
	return text
}

// send gives the server a chunk, again if the answer is lost. If it is there twice, it has one result all the same.
func (f *fleet) send(ctx context.Context, subject string, text []byte) (err error) {
	for range 5 {
		if _, err = f.js.Publish(ctx, subject, text, jetstream.WithRetryAttempts(5)); err == nil || ctx.Err() != nil {
			break
		}
	}
	return err
}
