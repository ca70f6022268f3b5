package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"
)

// queue is the chunks of a job at a host. Each queue has its own consumer.
type queue struct {
	host     string // its key
	job      string
	bounded  bool // the job has bounds
	priority int
	added    time.Time
}

func (q queue) key() string { return q.host + "." + q.job }

// jobKey is where keys of slots of the job have the host.
func (q queue) jobKey() string { return jobPrefix + q.job }

func consumerName(key string) string { return strings.Replace(key, ".", "-", 1) }

// createConsumer creates the consumer that delivers the chunks of a queue, if it does not exist.
func (f *fleet) createConsumer(ctx context.Context, key string) error {
	host, job, _ := strings.Cut(key, ".")
	_, err := f.work.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumerName(key), FilterSubject: f.subject("work", job, host), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: ackWait, MaxAckPending: 4 * mostLanes, // chunks, of all egresses together
	})
	return err
}

// queues returns the queues that may have chunks for this worker now. The most urgent come first. Hosts come in random
// order, so that lanes spread; at one host the oldest job comes first.
func (w *worker) queues() []queue {
	keys := w.queued.names()
	rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	var all []queue
	rank := make(map[string]int)
	for i, key := range keys {
		host, id, _ := strings.Cut(key, ".")
		rank[host] = i
		j, ok := valueOf[job](w.lists, id)
		if !ok || !w.may(queue{host: host, job: id}) || w.isDry(key) {
			continue
		}
		if _, away := w.gates.away(host); !away || w.hopeless(host) {
			all = append(all, queue{host, id, j.bounded(), j.Priority, j.Added})
		}
	}
	slices.SortFunc(all, func(a, b queue) int {
		return cmp.Or(
			cmp.Compare(b.priority, a.priority), cmp.Compare(rank[a.host], rank[b.host]),
			a.added.Compare(b.added),
		)
	})
	return all
}

// may reports whether a host may be asked for files of a job now. Chunks of a cancelled or deleted job may be taken, so
// that they are refused.
func (w *worker) may(q queue) bool {
	j, _ := valueOf[job](w.lists, q.job)
	h, ok := valueOf[host](w.hosts, q.host)
	return ok && j.State != "paused" && h.open(time.Now())
}

// first reports whether a lane that has a slot should continue with the queue.
func (w *worker) first(q queue) bool {
	return w.may(q) && !slices.ContainsFunc(w.queues(), func(other queue) bool {
		lacks := w.lacks(other)
		return other.priority > q.priority && (lacks == "" || lacks == q.host)
	})
}

// isDry reports whether a queue was empty a moment ago. Chunks that other workers have now may come back later.
func (w *worker) isDry(key string) bool {
	dry, ok := w.dry.Load(key)
	// The queue's key changes when something is added.
	return ok && time.Since(dry.(time.Time)) < slotTTL/6 && w.queued.seen(key).Before(dry.(time.Time))
}

// consumer returns the consumer of a queue, or nil if the queue has no chunks, or the server cannot tell now.
func (w *worker) consumer(q queue) jetstream.Consumer {
	ctx, cancel := context.WithTimeout(w.ctx, asking)
	defer cancel()
	c, err := w.js.Consumer(ctx, w.named("WORK"), consumerName(q.key()))
	if err != nil {
		return nil
	}
	if info := c.CachedInfo(); info.NumPending > 0 || info.NumAckPending > 0 {
		return c
	}
	w.dry.Store(q.key(), time.Now())
	return nil
}

// retire removes the queues of jobs that are over. sums has what earlier calls have read of their results.
func (f *fleet) retire(ctx context.Context, sums map[string]*sum) error {
	queues, err := readAll(ctx, f, f.queues, jetstream.AllKeys)
	if err != nil {
		return err
	}
	jobs, err := values[job](ctx, f, f.jobs)
	if err != nil {
		return err
	}
	for key, e := range queues {
		_, id, _ := strings.Cut(key, ".")
		j, ok := jobs[id]
		if sums[id] == nil {
			sums[id] = new(sum)
		}
		if ok {
			err = sums[id].read(ctx, f, id)
		}
		if err == nil && (!ok || j.State == "cancelled") { // a chunk may have been sent after cancel removed all
			err = f.work.Purge(ctx, jetstream.WithPurgeSubject(f.subject("work", id, ">")))
		}
		if err == nil && (!ok || sums[id].over(j)) {
			err = f.forget(ctx, key, e.rev)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forget removes a queue if nothing was added after rev.
func (f *fleet) forget(ctx context.Context, key string, rev uint64) error {
	err := f.queues.Purge(ctx, key, jetstream.LastRevision(rev))
	if err != nil {
		if _, gerr := f.queues.Get(ctx, key); errors.Is(gerr, jetstream.ErrKeyNotFound) { // another was faster
			err = nil
		}
	}
	if err == nil {
		err = f.work.DeleteConsumer(ctx, consumerName(key))
	}
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		err = nil
	}
	if err != nil {
		return err
	}
	if _, err = f.queues.Get(ctx, key); err == nil { // it was added again meanwhile
		return f.createConsumer(ctx, key)
	}
	return nil
}

// burst is the number of bytes that a connection may receive at once after a pause.
const burst = 4096

// rate returns how many bytes per second the connection may receive: its share of what its host, its job and all hosts
// together may send.
func (h *lease) rate() rate.Limit {
	at, _ := valueOf[host](h.w.hosts, h.host)
	all, _ := valueOf[host](h.w.hosts, hostKey(allHosts))
	j, _ := valueOf[job](h.w.lists, h.queue.job)
	least := rate.Inf
	for _, of := range []struct {
		rate int64
		used func() (int, error)
		most int // if the server does not say how many are used
	}{
		{at.Rate, func() (int, error) { return h.w.used(h.ctx, h.host) }, at.PerHost},
		{j.JobRate, func() (int, error) { return h.w.used(h.ctx, h.queue.jobKey()) }, cmp.Or(j.PerJob, mostLanes)},
		{all.Rate, h.w.usedInAll, mostLanes},
	} {
		if of.rate == 0 {
			continue
		}
		used, err := of.used()
		if err != nil {
			used = of.most
		}
		least = min(least, rate.Limit(of.rate)/rate.Limit(max(1, used)))
	}
	return least
}

// usedInAll returns how many slots of hosts are in use. With many of them, it asks rarely.
func (w *worker) usedInAll() (int, error) {
	w.total.Lock()
	defer w.total.Unlock()
	if time.Since(w.total.at) < slotTTL/10+time.Duration(w.total.n)*slotTTL/1000 {
		return w.total.n, nil
	}
	all, err := readAll(w.ctx, w.fleet, w.fleet.slots, w.egress+".*.*")
	if err != nil {
		return 0, err
	}
	maps.DeleteFunc(all, func(key string, _ held) bool { return strings.Contains(key, "."+jobPrefix) })
	w.total.recent = recent{len(all), time.Now()}
	return len(all), nil
}
