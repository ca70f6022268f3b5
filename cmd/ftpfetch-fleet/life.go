package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/pflag"

	"example.com/ftpfetch/internal/cli/config"
)

// bounds are what one host bears from each egress.
type bounds struct {
	PerHost int    `json:"per_host"`             // connections
	Rate    int64  `json:"limit_rate,omitempty"` // bytes a second; 0: as many as there are
	Hours   string `json:"hours,omitempty"`      // in which it may be asked: "20-06"; "": always
}

// wishes are what add and cap say of a job, as they were written.
type wishes struct {
	rate, hours string
	perHost     int
	priority    int
	expire      time.Duration
}

// flags are those that add and cap both have.
func (w *wishes) flags(fs *pflag.FlagSet) {
	fs.StringVar(&w.rate, "limit-rate", "", "")
	fs.StringVar(&w.hours, "hours", "", "")
}

// apply changes bounds as far as something was written.
func (w *wishes) apply(b *bounds) (err error) {
	if w.perHost < 0 || w.perHost > config.MostJobs {
		return usage("--per-host %d: write a whole number from 1 to %d", w.perHost, config.MostJobs)
	}
	if w.perHost > 0 {
		b.PerHost = w.perHost
	}
	if w.rate != "" {
		if b.Rate, err = config.ReadSize(w.rate); err != nil {
			return usage("--limit-rate %s: %v", w.rate, err)
		}
	}
	if w.hours != "" {
		from, to, ok := readHours(w.hours)
		if !ok {
			return usage("--hours %s: write two hours of the workers' clocks, such as 20-06; 00-24 is always", w.hours)
		}
		b.Hours = fmt.Sprintf("%02d-%02d", from, to)
	}
	return nil
}

func readHours(text string) (from, to int, ok bool) {
	n, err := fmt.Sscanf(text, "%d-%d", &from, &to)
	ok = err == nil && n == 2 && 0 <= from && from < 24 && 0 <= to && to <= 24 && from != to
	return from, to, ok
}

// open reports whether the host may be asked at t.
func (b bounds) open(t time.Time) bool {
	from, to, ok := readHours(b.Hours)
	if !ok {
		return true
	}
	if from < to {
		return from <= t.Hour() && t.Hour() < to
	}
	return from <= t.Hour() || t.Hour() < to
}

// change changes what a bucket holds under a key, as if nobody else did so at the same time. If it holds nothing there it is
// first, or an error if that is nil.
func change[T any](
	ctx context.Context, kv jetstream.KeyValue, key string, first *T, how func(*T) error,
) (to T, err error) {
	for {
		rev := uint64(0)
		e, err := kv.Get(ctx, key)
		switch {
		case err == nil:
			to = *new(T)
			rev = e.Revision()
			err = json.Unmarshal(e.Value(), &to)
		case first != nil && errors.Is(err, jetstream.ErrKeyNotFound):
			to = *first
			err = nil
		}
		if err == nil {
			err = how(&to)
		}
		if err != nil {
			return to, err
		}
		text, _ := json.Marshal(to)
		_, err = kv.Update(ctx, key, text, rev)
		if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return to, err
		}
	}
}

// turn is a command that takes a job from one state to another.
func turn(from, to string) func(context.Context, *command, *fleet, job) error {
	return func(ctx context.Context, c *command, f *fleet, j job) error {
		_, err := change(ctx, f.jobs, j.ID, nil, func(j *job) error {
			if j.State != from && j.State != to {
				return usage("job %s is %s", j.ID, j.State)
			}
			j.State = to
			return nil
		})
		return err
	}
}

// setCap changes what the hosts of a job bear.
func setCap(ctx context.Context, c *command, f *fleet, j job) error {
	j, err := change(ctx, f.jobs, j.ID, nil, func(j *job) error {
		if j.State == "adding" {
			return usage("job %s is still being added", j.ID)
		}
		return c.wishes.apply(&j.bounds)
	})
	if err != nil {
		return err
	}
	queues, err := readAll(ctx, f.queues, "*."+j.ID)
	if err != nil {
		return err
	}
	for _, e := range queues {
		if err = f.putHost(ctx, host{string(e.Value()), j.bounds}); err != nil {
			return err
		}
	}
	return nil
}

// deleteJob removes a job with its results.
func deleteJob(ctx context.Context, c *command, f *fleet, j job) error {
	if len(c.args) == 0 {
		return usage("delete needs the JOB")
	}
	over, err := f.over(ctx, j)
	if err == nil && !over {
		err = usage("job %s is not done: wait for it, or run ftpfetch-fleet cancel %s", j.ID, j.ID)
	}
	if err != nil {
		return err
	}
	return f.remove(ctx, j.ID)
}

// over reports whether nothing more will come of a job.
func (f *fleet) over(ctx context.Context, j job) (bool, error) {
	s := new(sum)
	err := s.read(ctx, f, j.ID)
	return s.over(j), err
}

// remove removes all that the server holds of a job, and its entry late: until then it can be said again.
func (f *fleet) remove(ctx context.Context, id string) error {
	queues, err := readAll(ctx, f.queues, "*."+id)
	for key, e := range queues {
		err = errors.Join(err, f.forget(ctx, key, e.Revision()))
	}
	attempts, aerr := readAll(ctx, f.attempts, id+".>")
	err = errors.Join(err, aerr)
	for key := range attempts {
		err = errors.Join(err, f.attempts.Purge(ctx, key))
	}
	results := jetstream.WithPurgeSubject("results." + id + ".>")
	chunks := jetstream.WithPurgeSubject("work." + id + ".>")
	err = errors.Join(err, f.work.Purge(ctx, chunks), f.results.Purge(ctx, results))
	if err == nil {
		err = f.jobs.Purge(ctx, id) // from now on no worker brings a result
	}
	return errors.Join(err, f.results.Purge(ctx, results))
}

// expire removes the jobs that have ended and were added long enough ago. It is no matter if that fails: it is tried with
// each job that is added.
func (f *fleet) expire(ctx context.Context) {
	jobs, _ := f.jobsNow(ctx)
	for _, j := range jobs {
		if j.Expire == 0 || time.Since(j.Added) < j.Expire {
			continue
		}
		if over, err := f.over(ctx, j); over && err == nil {
			_ = f.remove(ctx, j.ID)
		}
	}
}
