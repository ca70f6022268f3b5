package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync/atomic"
	"syscall"
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
	beat   = 4 * time.Second // interval between two presences of a worker
)

// fleet is everything that the server holds.
type fleet struct {
	*nats.Conn
	space
	user     string // as which the connection has logged in
	api      string // begins the subjects of requests to JetStream
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
	workers  jetstream.KeyValue // NAME: a presence
	// JOB.CHUNK.NONCE: an attempt whose parts may be in the directory that all share
	attempts jetstream.KeyValue
}

// readJoin reads the JOIN file, which must be sufficient for the command's role.
func (c *command) readJoin() (*join, error) {
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
	j.as = c.role
	j.refused = c.refused
	j.reread = func() (*join, error) { return readJoin(c.join, c.insecure) }
	j.Namespace = cmp.Or(c.namespace, j.Namespace)
	return j, nil
}

// dial reads the JOIN file and opens what the server holds. It waits for the server for up to patience.
func (c *command) dial(
	ctx context.Context, name string, patience time.Duration, again func(),
) (*fleet, error) {
	j, err := c.readJoin()
	if err != nil {
		return nil, err
	}
	return j.open(ctx, name, patience, again)
}

// errNoLeader means that the server answers, but cannot do what it is asked: a cluster has no leader for a while.
var errNoLeader = fmt.Errorf("%w: JetStream does not answer at the address of the JOIN file", nats.ErrNoServers)

// open connects. It tries again for up to patience, because the server may start later than a worker, and for at least
// a minute if the server has only no leader.
func (j *join) open(
	ctx context.Context, name string, patience time.Duration, again func(),
) (f *fleet, err error) {
	begun := time.Now()
	for {
		f, err = j.openOnce(ctx, name, again)
		most := patience
		if errors.Is(err, errNoLeader) {
			most = cmp.Or(patience, time.Minute)
		}
		if !isAbsent(err) || time.Since(begun) > most {
			return f, err
		}
		if !wait(ctx, time.Second/4) {
			return nil, context.Cause(ctx)
		}
	}
}

// isAbsent reports whether an error says that no server is there, or that one ends or begins just now.
func isAbsent(err error) bool {
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
}

func (j *join) openOnce(ctx context.Context, name string, again func()) (*fleet, error) {
	s, err := spaceOf(j.Namespace)
	if err != nil {
		return nil, err
	}
	conn, err := j.connect(name, again)
	if err != nil {
		return nil, err
	}
	f := &fleet{Conn: conn, space: s, replicas: j.replicas}
	f.user, _ = j.login()
	if f.replicas == 0 && conn.ConnectedClusterName() != "" {
		f.replicas = 3
	}
	ctx, cancel := context.WithTimeout(ctx, 2*asking) // a cluster without a leader does not answer
	defer cancel()
	f.api = jsAPI
	if f.user == "work" {
		f.api = s.api()
	}
	f.js, err = jetstream.NewWithAPIPrefix(conn, f.api, jetstream.WithDefaultTimeout(asking))
	if err == nil {
		err = f.prepare(ctx)
	}
	if err != nil {
		if full := f.room(context.WithoutCancel(ctx)).err(); full != nil && isAway(err) {
			err = full
		}
		conn.Close()
		if isAway(err) {
			return nil, errNoLeader
		}
		if _, ok := errors.AsType[*jetstream.APIError](err); ok && f.replicas > 1 {
			err = usage("the server cannot hold all %d times, write another --replicas N: %v",
				f.replicas, err)
		}
		return nil, err
	}
	return f, nil
}

// isAway reports whether an error says that a server does not answer a request. JetStream of a server that has just
// started does not listen yet.
func isAway(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) || ok && api.Code == 503
}

// unanswered returns an error that says so if a server does not answer.
func unanswered(err error) error {
	if isAway(err) {
		return fmt.Errorf("the server at the address of the JOIN file does not answer: %w", err)
	}
	return err
}

// patiently calls do again while the server does not answer, for up to most or, if that is 0, a minute: a cluster elects
// a leader for each stream.
func patiently(ctx context.Context, most time.Duration, do func() error) error {
	for begun := time.Now(); ; {
		err := do()
		if !isAway(err) || time.Since(begun) > cmp.Or(most, time.Minute) || !wait(ctx, time.Second/4) {
			return err
		}
	}
}

// storage is a stream, or a bucket, of a fleet.
type storage struct {
	name   string // with that of the namespace
	stream *jetstream.Stream
	bucket *jetstream.KeyValue
	config jetstream.StreamConfig // what matters of it
}

func (f *fleet) stores() []storage {
	stream := func(to *jetstream.Stream, name, subjects string, keep jetstream.RetentionPolicy) storage {
		return storage{name: f.named(name), stream: to, config: jetstream.StreamConfig{
			Subjects: []string{f.subject(subjects)}, Retention: keep, MaxMsgsPerSubject: -1,
		}}
	}
	bucket := func(to *jetstream.KeyValue, name string, ttl time.Duration) storage {
		p := storage{name: f.named(name), bucket: to}
		p.config = jetstream.StreamConfig{
			Subjects: []string{"$KV." + p.name + ".>"}, MaxAge: ttl, MaxMsgsPerSubject: 1,
		}
		if ttl == 0 {
			told := f.subject("told", name, ">")
			p.config.RePublish = &jetstream.RePublish{Source: p.config.Subjects[0], Destination: told}
		}
		return p
	}
	return []storage{
		stream(&f.work, "WORK", "work.*.*", jetstream.WorkQueuePolicy),
		stream(&f.results, "RESULTS", "results.*.*", jetstream.LimitsPolicy),
		bucket(&f.hosts, "HOSTS", 0), bucket(&f.queues, "QUEUES", 0), bucket(&f.jobs, "JOBS", 0),
		bucket(&f.caps, "CAPS", 0), bucket(&f.attempts, "ATTEMPTS", 0),
		bucket(&f.slots, "SLOTS", grace), bucket(&f.refusals, "REFUSALS", settle),
		bucket(&f.workers, "WORKERS", 5*beat),
	}
}

// openOne opens a storage, and reports whether it exists. It refuses one of the same name that is not a fleet's.
func (f *fleet) openOne(ctx context.Context, p storage) (bool, error) {
	name := streamName(p)
	s, err := f.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	is := s.CachedInfo().Config
	same := jetstream.StreamConfig{
		Subjects: is.Subjects, Retention: is.Retention, MaxAge: is.MaxAge,
		MaxMsgsPerSubject: is.MaxMsgsPerSubject, RePublish: is.RePublish,
	}
	if !reflect.DeepEqual(same, p.config) {
		return false, fmt.Errorf("%w: the stream %s has other settings: write another --namespace", errNotOurs, name)
	}
	if p.stream != nil {
		*p.stream = s
		return true, nil
	}
	*p.bucket, err = f.js.KeyValue(ctx, p.name)
	return true, err
}

// errEmpty means that nobody has prepared a NATS.
var errEmpty = fmt.Errorf("%w: the server holds no fleet: run ftpfetch-fleet status with the JOIN file of role add",
	nats.ErrNoServers)

var errNotOurs = errors.New("the server holds what is not of a fleet of this version")

// create creates a storage. It never changes one that exists: nats-server v2.15.2 may read the configuration of a stream
// for a consumer while changing it.
func (f *fleet) create(ctx context.Context, p storage) (err error) {
	if p.stream != nil {
		c := p.config
		c.Name = p.name
		c.Storage = jetstream.FileStorage
		c.Compression = jetstream.S2Compression
		c.MaxConsumers = -1
		c.Replicas = f.replicas
		*p.stream, err = f.js.CreateStream(ctx, c)
		return err
	}
	// With memory storage, a server that is killed would forget who has which slot, and grant it twice.
	c := jetstream.KeyValueConfig{
		Bucket: p.name, TTL: p.config.MaxAge, Storage: jetstream.FileStorage, Replicas: f.replicas,
		RePublish: p.config.RePublish,
	}
	if c.TTL > 0 {
		c.LimitMarkerTTL = max(c.TTL, time.Second) // so that expired keys are not forgotten by a server that was away
	}
	*p.bucket, err = f.js.CreateKeyValue(ctx, c)
	return err
}

// prepare opens the streams and buckets, and creates those that do not exist. If it cannot create them all, it creates
// none.
func (f *fleet) prepare(ctx context.Context) error {
	var missing []storage
	for _, p := range f.stores() {
		is, err := f.openOne(ctx, p)
		if err != nil {
			return err
		}
		if !is {
			missing = append(missing, p)
		}
	}
	if f.user == "work" && len(missing) > 0 {
		return errEmpty
	}
	for i, p := range missing {
		err := f.create(ctx, p)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) || errors.Is(err, jetstream.ErrBucketExists) {
			_, err = f.openOne(ctx, p) // another command was faster
		}
		if err != nil {
			for _, p := range missing[:i] {
				_ = f.js.DeleteStream(ctx, streamName(p))
			}
			return err
		}
	}
	return nil
}

func streamName(p storage) string {
	if p.bucket != nil {
		return "KV_" + p.name
	}
	return p.name
}

// wait waits, and reports whether ctx has not ended.
func wait(ctx context.Context, d time.Duration) bool {
	_ = timing.Wait(ctx, d)
	return ctx.Err() == nil
}

// broadcast tells all waiters that something has happened.
type broadcast struct{ c atomic.Pointer[chan struct{}] }

func newBroadcast() *broadcast {
	b := new(broadcast)
	b.c.Store(new(make(chan struct{})))
	return b
}

func (b *broadcast) ring() { close(*b.c.Swap(new(make(chan struct{})))) }

// next returns a channel that is closed when the broadcast rings.
func (b *broadcast) next() <-chan struct{} { return *b.c.Load() }
