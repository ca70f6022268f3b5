package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// held is a value that a bucket holds.
type held struct {
	value []byte
	rev   uint64
	seen  time.Time // on this machine's clock, so that no two clocks are compared
	made  time.Time // by the server's clock
	gone  bool      // the key was deleted

	decoded any // value in Go, as valueOf last returned it; nil: nobody has asked yet
}

// entryOf returns the entry of a bucket that is in a message of its stream.
func entryOf(m *nats.Msg) (key string, h held) {
	subject := strings.SplitN(m.Header.Get(jetstream.SubjectHeader), ".", 3) // $KV.BUCKET.KEY
	h = held{value: m.Data, seen: time.Now()}
	h.rev, _ = strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	h.made, _ = time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp"))
	h.gone = m.Header.Get("KV-Operation") != "" || m.Header.Get(jetstream.MarkerReasonHeader) != ""
	return subject[len(subject)-1], h
}

// mostScanned is the number of entries that a request asks for.
const mostScanned = 1000

// scan calls use with all entries of a bucket whose keys match a pattern, also the deleted ones. A watch would need a
// consumer, which a worker may not create.
func (f *fleet) scan(ctx context.Context, kv jetstream.KeyValue, keys string, use func(string, held)) error {
	for next := uint64(1); next != 0; {
		sub, err := f.SubscribeSync(f.NewInbox())
		if err != nil {
			return err
		}
		request := fmt.Sprintf(`{"seq":%d,"next_by_subj":"$KV.%s.%s","batch":%d}`, next, kv.Bucket(), keys, mostScanned)
		err = f.PublishRequest(f.api+"DIRECT.GET.KV_"+kv.Bucket(), sub.Subject, []byte(request))
		if err == nil {
			next, err = scanned(ctx, sub, use)
		}
		_ = sub.Unsubscribe()
		if err != nil {
			return err
		}
	}
	return nil
}

// scanned reads the answers to one request of scan, and returns where the next one begins; 0: there is none.
func scanned(ctx context.Context, sub *nats.Subscription, use func(string, held)) (next uint64, err error) {
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return 0, err
		}
		switch m.Header.Get("Status") {
		case "":
			key, h := entryOf(m)
			next = h.rev + 1
			use(key, h)
		case "404": // there are no more
			return 0, nil
		case "503":
			return 0, nats.ErrNoResponders
		default:
			if m.Header.Get("Nats-Num-Pending") == "0" {
				next = 0
			}
			return next, nil
		}
	}
}

// readAll returns the current entries of a bucket whose keys match a pattern.
func readAll(ctx context.Context, f *fleet, kv jetstream.KeyValue, keys string) (map[string]held, error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	all := make(map[string]held)
	err := f.scan(ctx, kv, keys, func(key string, h held) { all[key] = h })
	maps.DeleteFunc(all, func(_ string, h held) bool { return h.gone })
	return all, err
}

// values returns the values of all keys of a bucket. It leaves out those that it cannot decode.
func values[T any](ctx context.Context, f *fleet, kv jetstream.KeyValue) (map[string]T, error) {
	all, err := readAll(ctx, f, kv, jetstream.AllKeys)
	values := make(map[string]T)
	for key, h := range all {
		var v T
		if json.Unmarshal(h.value, &v) == nil {
			values[key] = v
		}
	}
	return values, err
}

// hear calls take with each change of a bucket whose key matches a pattern, until the caller ends the subscription. It
// misses those of while the connection is lost.
func (f *fleet) hear(kv jetstream.KeyValue, keys string, take func(string, held)) (*nats.Subscription, error) {
	_, kind, _ := strings.Cut(kv.Bucket(), f.named(""))
	sub, err := f.Subscribe(f.subject("told", kind, keys), func(m *nats.Msg) { take(entryOf(m)) })
	if err == nil {
		_ = sub.SetPendingLimits(-1, -1)
	}
	return sub, err
}

// cache is a copy of what a bucket holds under some keys: what a scan has found, and each change that it was told of.
type cache struct {
	f    *fleet
	kv   jetstream.KeyValue
	keys string // a pattern

	mu      sync.Mutex
	held    map[string]held
	fresh   map[string]held // of a scan; nil: there is none
	told    bool            // the copy was complete once
	changed *broadcast      // rings after each change
}

func (f *fleet) cache(kv jetstream.KeyValue, keys string, changed *broadcast) *cache {
	return &cache{f: f, kv: kv, keys: keys, held: make(map[string]held), changed: changed}
}

// How soon a bucket is scanned again although nothing seems wrong: after a reconnect, changes are missed for seconds.
// Each time the interval doubles, so that the workers of a large fleet do not read whole buckets all the time.
const (
	rescan     = 30 * time.Second
	mostRescan = 2 * time.Hour
)

// follow keeps m up to date until ctx ends. It scans again when reconnected rings, and regularly. Until a scan is
// complete, m keeps its values: a lane that saw no ceiling would exceed it.
func (m *cache) follow(ctx context.Context, reconnected *broadcast) {
	for pause := rescan; ctx.Err() == nil; {
		stale := reconnected.next()
		sub, err := m.f.hear(m.kv, m.keys, m.take)
		if err == nil {
			err = m.scan(ctx)
		}
		again := pause + rand.N(pause)
		if err != nil {
			again = time.Second
		}
		select {
		case <-stale:
			pause = rescan
		case <-time.After(again):
			pause = min(2*pause, mostRescan)
		case <-ctx.Done():
		}
		if sub != nil {
			_ = sub.Unsubscribe()
		}
	}
}

func (m *cache) scan(ctx context.Context) error {
	m.mu.Lock()
	m.fresh = make(map[string]held)
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 2*asking)
	defer cancel()
	err := m.f.scan(ctx, m.kv, m.keys, func(key string, h held) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.put(m.fresh, key, h)
	})
	m.mu.Lock()
	if err == nil {
		m.held = m.fresh
		m.told = true
	}
	m.fresh = nil
	m.mu.Unlock()
	m.changed.ring()
	return err
}

// take handles a change.
func (m *cache) take(key string, h held) {
	m.mu.Lock()
	m.put(m.held, key, h)
	if m.fresh != nil {
		m.put(m.fresh, key, h)
	}
	m.mu.Unlock()
	m.changed.ring()
}

// put puts an entry where an older one, or none, is.
func (m *cache) put(to map[string]held, key string, h held) {
	if was, ok := m.held[key]; ok && was.rev == h.rev {
		h = was // seen before
	}
	if to[key].rev < h.rev {
		to[key] = h
	}
}

// seen returns when the copy of a key was last changed; the zero time if it never had that key.
func (m *cache) seen(key string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held[key].seen
}

// valueOf returns the value of a key, and reports whether there is one. Lanes ask before each file, so each value is
// decoded once. The caller must not change what it refers to.
func valueOf[T any](m *cache, key string) (value T, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, ok := m.held[key]
	if !ok || h.gone {
		return value, false
	}
	if value, ok = h.decoded.(T); ok {
		return value, true
	}
	if err := json.Unmarshal(h.value, &value); err != nil {
		return value, false
	}
	h.decoded = value
	m.held[key] = h
	return value, true
}

// whole reports whether m was a complete copy at least once.
func (m *cache) whole() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told
}

func (m *cache) names() (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, h := range m.held {
		if !h.gone {
			names = append(names, key)
		}
	}
	return names
}
