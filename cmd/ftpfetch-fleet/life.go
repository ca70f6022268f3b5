package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/pflag"

	"example.com/ftpfetch/cmd/internal/cli/config"
)

// bounds are the limits of one host, for each egress.
type bounds struct {
	PerHost int    `json:"per_host"`             // connections
	Rate    int64  `json:"limit_rate,omitempty"` // bytes per second; 0: no limit
	Hours   string `json:"hours,omitempty"`      // hours in which the host may be asked: "20-06"; "": always
}

// wishes are the flags of add and cap about a job, as written.
type wishes struct {
	rate, hours     string
	perJob, jobRate string
	perHost         int
	all             bool // they are about all hosts together
	priority        int
	expire          time.Duration
	giveUp          time.Duration
}

// flags declares the flags that add and cap have in common.
func (w *wishes) flags(fs *pflag.FlagSet) {
	fs.StringVar(&w.rate, "limit-rate", "", "")
	fs.StringVar(&w.hours, "hours", "", "")
	fs.StringVar(&w.perJob, "per-job", "", "")
	fs.StringVar(&w.jobRate, "job-rate", "", "")
}

// text is for a log.
func (w *wishes) text() (text string) {
	if w.perHost > 0 {
		text += fmt.Sprintf(" --per-host %d", w.perHost)
	}
	for _, flag := range [][2]string{
		{"limit-rate", w.rate}, {"hours", w.hours}, {"per-job", w.perJob}, {"job-rate", w.jobRate},
	} {
		if flag[1] != "" {
			text += " --" + flag[0] + " " + flag[1]
		}
	}
	return text
}

// apply changes the bounds that the flags set.
func (w *wishes) apply(b *bounds) (err error) {
	if w.perHost < 0 || w.perHost > config.MostJobs {
		return usage("--per-host %d: write a whole number from 1 to %d", w.perHost, config.MostJobs)
	}
	if w.perHost > 0 {
		b.PerHost = w.perHost
	}
	if w.rate != "" {
		if b.Rate, err = readRate("--limit-rate", w.rate); err != nil {
			return err
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

// applyJob changes the bounds of a job that the flags set, and those for its hosts.
func (w *wishes) applyJob(j *job) (err error) {
	if w.perJob != "" {
		if j.PerJob, err = strconv.Atoi(w.perJob); err != nil || j.PerJob < 0 || j.PerJob > mostLanes {
			return usage("--per-job %s: write a whole number from 1 to %d, or 0 for no limit", w.perJob, mostLanes)
		}
	}
	if w.jobRate != "" {
		if j.JobRate, err = readRate("--job-rate", w.jobRate); err != nil {
			return err
		}
	}
	return w.apply(&j.bounds)
}

// readRate reads bytes per second; 0 is no limit.
func readRate(flag, text string) (int64, error) {
	if text == "0" {
		return 0, nil
	}
	n, err := config.ReadSize(text)
	if err != nil {
		err = usage("%s %s: write bytes per second such as 500K, 1.5M or 2G, or 0 for no limit", flag, text)
	}
	return n, err
}

func readHours(text string) (from, to int, ok bool) {
	if text == "" {
		return 0, 0, false
	}
	n, err := fmt.Sscanf(text, "%d-%d", &from, &to)
	ok = err == nil && n == 2 && 0 <= from && from < 24 && 0 <= to && to <= 24 && from != to
	return from, to, ok
}

// open reports whether the host may be asked at time t.
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

// change changes the value of a key atomically: it repeats how if another process was faster. If there is no value, it
// starts from first, or returns an error if first is nil.
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

// turn returns a command that takes a job from one state to another.
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

// allHosts stands in the bucket of hosts for all of them together.
const allHosts = "all hosts"

// setCaps changes the bounds of a job and its hosts, or the rate of all hosts together.
func setCaps(ctx context.Context, c *command) error {
	if !c.wishes.all {
		return ofJob("add", setCap)(ctx, c)
	}
	rate := c.wishes.rate
	if rate == "" || len(c.args) > 0 || c.wishes != (wishes{all: true, rate: rate}) {
		return usage("cap --all limits the rate of all hosts together: " +
			"write cap --all --limit-rate BYTES, without a JOB")
	}
	return joined("add", func(ctx context.Context, c *command, f *fleet) error {
		c.about = "--all" + c.wishes.text()
		return f.bound(ctx, host{Address: allHosts}, &c.wishes, "cap --all")
	})(ctx, c)
}

// setCap changes the bounds of a job and its hosts.
func setCap(ctx context.Context, c *command, f *fleet, j job) error {
	j, err := change(ctx, f.jobs, j.ID, nil, func(j *job) error {
		if j.State == "adding" {
			return usage("job %s is still being added", j.ID)
		}
		return c.wishes.applyJob(j)
	})
	if err != nil {
		return err
	}
	queues, err := readAll(ctx, f, f.queues, "*."+j.ID)
	if err != nil {
		return err
	}
	for _, e := range queues {
		first := host{Address: string(e.value), bounds: j.bounds}
		if err = f.bound(ctx, first, &c.wishes, "cap "+j.ID); err != nil {
			return err
		}
	}
	return nil
}

// deleteJob removes a job and its results.
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

// over reports whether a job has no more results to come.
func (f *fleet) over(ctx context.Context, j job) (bool, error) {
	s := new(sum)
	err := s.read(ctx, f, j.ID)
	return s.over(j), err
}

// remove removes everything that the server holds of a job. It removes the job's entry last, so that a failed removal
// can be repeated.
func (f *fleet) remove(ctx context.Context, id string) error {
	queues, err := readAll(ctx, f, f.queues, "*."+id)
	for key, e := range queues {
		err = errors.Join(err, f.forget(ctx, key, e.rev))
	}
	attempts, aerr := readAll(ctx, f, f.attempts, id+".>")
	err = errors.Join(err, aerr)
	for key := range attempts {
		err = errors.Join(err, f.attempts.Purge(ctx, key))
	}
	results := jetstream.WithPurgeSubject(f.subject("results", id, ">"))
	chunks := jetstream.WithPurgeSubject(f.subject("work", id, ">"))
	if err = errors.Join(err, f.work.Purge(ctx, chunks)); err != nil {
		return err // its results stay too: without them, a job would never be over
	}
	if err = f.results.Purge(ctx, results); err != nil {
		return err
	}
	if err = f.jobs.Purge(ctx, id); err != nil { // from here on no worker can add a result
		return err
	}
	return f.results.Purge(ctx, results)
}

// expire removes the jobs that are over and were added long enough ago. Errors do not matter, because each add tries
// again.
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
