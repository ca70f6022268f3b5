package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/internal/timing"
)

// Tests change these variables.
var (
	slotTTL = 20 * time.Second // a slot has lapsed after so long without renewal
	grace   = 10 * time.Minute // a slot is free in any case after so long: servers end idle sessions
	ackWait = time.Minute      // another worker gets a chunk after so long without a sign
)

const (
	asking = 5 * time.Second // time to wait for an answer
	beat   = 4 * time.Second // interval between two pulses of a worker
)

// fleet is everything that the server holds.
type fleet struct {
	*nats.Conn
	js       jetstream.JetStream
	replicas int // of the streams and buckets that it creates; 0: one

	work    jetstream.Stream // work.JOB.HOST: chunks, until they are acknowledged
	results jetstream.Stream // results.JOB.CHUNK: what became of the chunks, kept until the job is deleted

	hosts    jetstream.KeyValue // HOST: a host
	queues   jetstream.KeyValue // HOST.JOB: the address of a host that may have chunks of a job
	jobs     jetstream.KeyValue // JOB: a job
	slots    jetstream.KeyValue // EGRESS.HOST.I: who has the slot
	caps     jetstream.KeyValue // EGRESS.HOST: a ceiling
	refusals jetstream.KeyValue // EGRESS.HOST, for seconds after a refusal
	workers  jetstream.KeyValue // NAME: a pulse
	// JOB.CHUNK.NONCE: an attempt whose parts may be in the directory that all share
	attempts jetstream.KeyValue
}

// dial reads the JOIN file and opens what the server holds. It waits for the server for up to patience.
func (c *command) dial(
	ctx context.Context, name string, patience time.Duration, again func(),
) (*fleet, error) {
	if c.join == "" {
		return nil, usage("write --join FILE: the file that ftpfetch-fleet serve has written")
	}
	j, err := readJoin(c.join, c.insecure)
	if err == nil {
		err = j.may(c.role)
	}
	if err != nil {
		return nil, err
	}
	j.replicas = c.replicas
	return j.open(ctx, name, patience, again)
}

// open connects, and retries for up to patience, because the server may start later than a worker.
func (j *join) open(
	ctx context.Context, name string, patience time.Duration, again func(),
) (f *fleet, err error) {
	for end := time.Now().Add(patience); ; {
		if f, err = j.openOnce(ctx, name, again); err == nil || time.Now().After(end) {
			return f, err
		}
		if !wait(ctx, time.Second/4) {
			return nil, context.Cause(ctx)
		}
	}
}

func (j *join) openOnce(ctx context.Context, name string, again func()) (*fleet, error) {
	conn, err := j.connect(name, again)
	if err != nil {
		return nil, err
	}
	f := &fleet{Conn: conn, replicas: j.replicas}
	if f.replicas == 0 && conn.ConnectedClusterName() != "" {
		f.replicas = 3
	}
	ctx, cancel := context.WithTimeout(ctx, 2*asking) // a cluster without a leader does not answer
	defer cancel()
	if f.js, err = jetstream.New(conn, jetstream.WithDefaultTimeout(asking)); err == nil {
		err = f.prepare(ctx)
	}
	if err != nil {
		conn.Close()
		if errors.Is(err, context.DeadlineExceeded) {
			err = nats.ErrNoServers
		}
		if _, ok := errors.AsType[*jetstream.APIError](err); ok && f.replicas > 1 {
			err = usage("the server cannot hold all %d times, write another --replicas N: %v",
				f.replicas, err)
		}
		return nil, err
	}
	return f, nil
}

// stream opens a stream, or creates it if it does not exist. It never changes an existing stream: nats-server v2.15.2
// may read the configuration of a stream for a consumer while changing it.
func (f *fleet) stream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := f.js.Stream(ctx, c.Name)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return s, err
	}
	c.Storage = jetstream.FileStorage
	c.Compression = jetstream.S2Compression
	c.MaxConsumers = -1
	c.Replicas = f.replicas
	return f.js.CreateOrUpdateStream(ctx, c)
}

// bucket does for a bucket what stream does for a stream.
func (f *fleet) bucket(
	ctx context.Context, name string, ttl time.Duration,
) (jetstream.KeyValue, error) {
	kv, err := f.js.KeyValue(ctx, name)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return kv, err
	}
	// With memory storage, a server that is killed would forget who has which slot, and grant it twice.
	c := jetstream.KeyValueConfig{
		Bucket: name, TTL: ttl, Storage: jetstream.FileStorage, Replicas: f.replicas,
	}
	if ttl > 0 {
		c.LimitMarkerTTL = max(ttl, time.Second) // so that a watch reports expired keys
	}
	return f.js.CreateOrUpdateKeyValue(ctx, c)
}

// prepare opens the streams and buckets, and creates those that do not exist.
func (f *fleet) prepare(ctx context.Context) (err error) {
	stream := func(c jetstream.StreamConfig) (s jetstream.Stream) {
		if err == nil {
			s, err = f.stream(ctx, c)
		}
		return s
	}
	bucket := func(name string, ttl time.Duration) (kv jetstream.KeyValue) {
		if err == nil {
			kv, err = f.bucket(ctx, name, ttl)
		}
		return kv
	}
	f.work = stream(jetstream.StreamConfig{
		Name: "WORK", Subjects: []string{"work.*.*"}, Retention: jetstream.WorkQueuePolicy,
	})
	f.results = stream(jetstream.StreamConfig{Name: "RESULTS", Subjects: []string{"results.*.*"}})
	f.hosts, f.queues, f.jobs = bucket("HOSTS", 0), bucket("QUEUES", 0), bucket("JOBS", 0)
	f.caps, f.attempts = bucket("CAPS", 0), bucket("ATTEMPTS", 0)
	f.slots, f.refusals = bucket("SLOTS", grace), bucket("REFUSALS", settle)
	f.workers = bucket("WORKERS", 5*beat)
	return err
}

// wait waits, and reports whether ctx has not ended.
func wait(ctx context.Context, d time.Duration) bool {
	_ = timing.Wait(ctx, d)
	return ctx.Err() == nil
}

// bell tells all waiters that something has happened.
type bell struct{ c atomic.Pointer[chan struct{}] }

func newBell() *bell {
	b := new(bell)
	b.c.Store(new(make(chan struct{})))
	return b
}

func (b *bell) ring() { close(*b.c.Swap(new(make(chan struct{})))) }

// next returns a channel that is closed when the bell rings.
func (b *bell) next() <-chan struct{} { return *b.c.Load() }

// mirror is a copy of what a bucket holds under some keys, as reported by a watch.
type mirror struct {
	kv   jetstream.KeyValue
	keys string // a pattern

	mu      sync.Mutex
	held    map[string]held
	told    bool // the copy was complete once
	changed *bell
}

// held is a value that a bucket holds.
type held struct {
	value []byte
	rev   uint64
	seen  time.Time // on this machine's clock, so that no two clocks are compared
	made  time.Time // by the server's clock
}

func newMirror(kv jetstream.KeyValue, keys string) *mirror {
	return &mirror{kv: kv, keys: keys, held: make(map[string]held), changed: newBell()}
}

// How soon a watch is restarted although nothing seems wrong: after a reconnect, it misses changes for seconds. Each
// time the interval doubles, so that the workers of a large fleet do not read whole buckets all the time.
const (
	rewatch     = 30 * time.Second
	mostRewatch = 2 * time.Hour
)

// follow keeps m up to date until ctx ends. It restarts the watch when reconnected rings, and regularly. Until the new
// watch has reported everything, m keeps its values: a lane that saw no ceiling would exceed it.
func (m *mirror) follow(ctx context.Context, reconnected *bell) {
	pause := rewatch
	for ctx.Err() == nil {
		stale, fresh := reconnected.next(), make(map[string]held)
		w, err := m.kv.Watch(ctx, m.keys)
		if err != nil {
			wait(ctx, time.Second)
			continue
		}
		for poll, going := time.After(pause+rand.N(pause)), true; going; {
			going = false
			select {
			case e, ok := <-w.Updates():
				going = ok
				m.take(e, &fresh)
			case <-stale:
				pause = rewatch
			case <-poll:
				pause = min(2*pause, mostRewatch)
			case <-ctx.Done():
			}
		}
		_ = w.Stop()
	}
}

// take handles an entry from a watch. The first nil means that everything was reported.
func (m *mirror) take(e jetstream.KeyValueEntry, fresh *map[string]held) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to := m.held
	if *fresh != nil {
		to = *fresh
	}
	switch {
	case e == nil:
		m.held, m.told, *fresh = to, true, nil
	case e.Operation() != jetstream.KeyValuePut:
		delete(to, e.Key())
	case m.held[e.Key()].rev == e.Revision():
		to[e.Key()] = m.held[e.Key()]
	default:
		to[e.Key()] = held{e.Value(), e.Revision(), time.Now(), e.Created()}
	}
	m.changed.ring()
}

// get reads the value of a key into *to, if that is not nil, and reports whether there is one.
func (m *mirror) get(key string, to any) (held, bool) {
	m.mu.Lock()
	h, ok := m.held[key]
	m.mu.Unlock()
	return h, ok && (to == nil || json.Unmarshal(h.value, to) == nil)
}

// whole reports whether m was a complete copy at least once.
func (m *mirror) whole() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told
}

func (m *mirror) names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.held))
}
