package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"gocloud.dev/blob"

	"example.com/ftpfetch/cmd/internal/cli/certs"
	"example.com/ftpfetch/cmd/internal/cli/netrc"
	"example.com/ftpfetch/cmd/internal/cli/show"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/network/proxy"
)

// worker fetches chunks in several lanes.
type worker struct {
	*fleet
	ctx          context.Context
	stop         context.CancelCauseFunc
	name, egress string
	root         *os.Root
	sink         *blob.Bucket // replaces root, if not nil
	ledger       string
	shared       bool   // other workers use the directory too
	where        string // prefix of paths in the report: DIR/, NAME:DIR/ if no other worker can see it, or s3://BUCKET/
	line         func(string, ...any)
	log          *slog.Logger // events of chunks and files, for programs
	json         bool         // line writes to log
	netrc        kept[netrc.File]
	cacert       kept[certs.Trusted] // whose certificates FTP servers may have beside those of the system's authorities
	via          *proxy.Proxy

	hosts, caps   *cache
	lists, queued *cache       // jobs, and their queues
	dry           sync.Map     // when a queue was empty, by key
	files         atomic.Int64 // number of files with an outcome
	bytes         atomic.Int64
	busy          atomic.Int64 // number of lanes that have a chunk
	last          atomic.Int64 // when the worker was last not idle, in Unix nanoseconds
	lanes         int
	guessed       bool       // the egress is the default
	me            string     // a nonce that identifies the worker
	mine          sync.Map   // nonces of slots that may have a connection
	asked         sync.Map   // when the worker of a lapsed slot was asked, by key
	full, freed   sync.Map   // by host: when no slot was found, and which slot was released
	changed       *broadcast // rings when a copy changes, or a slot is released: a lane may have work then
	began         held       // a time on the server's clock, and when it was read
	gates         *gates
	doubt         time.Duration // until the files of a host that no worker can use fail
	// fetch is try, except in tests without FTP.
	fetch    func(*lease, *chunk, *outcome) error
	born     time.Time
	refused  time.Time // since when the server refuses the token; zero: it does not
	patience time.Duration
	has      having
	total    struct { // the slots of all hosts that are in use
		sync.Mutex
		recent
	}
}

// having counts the chunks that the lanes have, by job.
type having struct {
	mu sync.Mutex
	n  map[string]int
}

func (h *having) add(job string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.n == nil {
		h.n = make(map[string]int)
	}
	if h.n[job] += n; h.n[job] == 0 {
		delete(h.n, job)
	}
}

func (h *having) names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.n))
}

// work runs a worker until ctx ends, or until there was nothing to do for --idle.
func work(ctx context.Context, c *command) (err error) {
	if (c.dir == "") == (c.to == "") || c.to != "" && c.shared {
		return usage("work needs either -d DIR, where the files are saved, or --to URL, the store that they go to")
	}
	if c.tidy && (c.shared || c.to != "") {
		return usage("--tidy is for a directory of one machine: write it with -d DIR, without --shared")
	}
	w, err := newWorker(c)
	if err == nil && c.tidy {
		err = w.tidy()
	}
	if err == nil && c.to != "" {
		err = w.openSink(ctx, c)
	}
	if err != nil {
		return err
	}
	w.shared = c.shared
	w.guessed = c.egress == ""
	c.role = "work"
	reconnects := newBroadcast()
	if w.fleet, err = c.dial(ctx, "worker "+w.name, c.patience, reconnects.ring); err != nil {
		return err
	}
	defer w.Close()
	err = w.run(ctx, c.jobs, c.idle, reconnects)
	if ctx.Err() != nil {
		err = nil // the worker was told to end; its chunks go to others
	}
	return err
}

// newWorker returns a worker with the settings of the command line, not yet connected to the server.
func newWorker(c *command) (w *worker, err error) {
	hostname, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	w = &worker{
		name: cmp.Or(c.name, hostname+"-"+strings.ToLower(rand.Text()[:6])), egress: keyOf(cmp.Or(c.egress, hostname)),
		line: c.line, ledger: ledgerName + "-" + keyOf(hostname), me: rand.Text(), gates: newGates(),
		doubt: doubt, born: time.Now(), patience: c.patience,
		changed: newBroadcast(),
	}
	w.fetch = w.try
	w.log = slog.New(slog.DiscardHandler)
	w.json = c.json
	if w.json {
		w.log = slog.New(slog.NewJSONHandler(c.err, nil)).With("worker", w.name)
		w.line = func(format string, args ...any) {
			w.log.Warn(show.OneLine(fmt.Sprintf(format, args...)))
		}
	}
	if w.via, err = proxy.FromEnvironment(os.Getenv); err != nil {
		return nil, usage("malformed proxy URL: %v", err)
	}
	w.cacert.load, w.cacert.name = readTrusted, c.cacert
	w.netrc.load, w.netrc.name = readLogins, os.Getenv("NETRC")
	if home, err := os.UserHomeDir(); w.netrc.name == "" && err == nil {
		w.netrc.name = filepath.Join(home, ".netrc")
	}
	if err = w.reread(); err != nil {
		return nil, err
	}
	if c.to == "" {
		err = w.openDir(c)
	}
	return w, err
}

// reread reads the netrc file and the file of authorities, if they have changed.
func (w *worker) reread() error {
	logins, err := w.netrc.read()
	roots, rerr := w.cacert.read()
	if logins || roots {
		w.gates.forgive(roots)
	}
	return errors.Join(err, rerr)
}

// openDir creates and opens the directory for the files.
func (w *worker) openDir(c *command) error {
	dir, err := filepath.Abs(c.dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return localfile.Failure(c.dir, "cannot be created", err)
	}
	w.where = strings.TrimSuffix(dir, "/") + "/"
	if !c.shared {
		w.where = w.name + ":" + w.where
	}
	w.root, err = os.OpenRoot(dir)
	return localfile.Failure(c.dir, "cannot be opened", err)
}

func (w *worker) client() *ftpexec.Client {
	dial := new(net.Dialer).DialContext
	trusted := w.cacert.Load()
	return &ftpexec.Client{
		MaxConns: 1, MaxIdle: 1,
		Credentials: func(_ context.Context, host, user, what string) (string, error) {
			file := w.netrc.Load()
			text, ok := file.Secret(host, user, what)
			if !ok {
				return "", ftpexec.ErrNoCredentials
			}
			return text, file.Private()
		},
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted.Roots},
		Pinned:    trusted.Pinned,
		Proxy: func(address string) func(context.Context, string, string) (net.Conn, error) {
			if !w.via.For(address) {
				return nil
			}
			return w.via.Dialer(dial)
		},
	}
}

func (w *worker) run(ctx context.Context, lanes int, idle time.Duration, r *broadcast) error {
	w.ctx, w.stop = context.WithCancelCause(ctx)
	defer w.stop(nil)
	w.lanes = lanes
	var all sync.WaitGroup
	w.watch(&all, r)
	all.Go(w.presence)
	w.last.Store(time.Now().UnixNano())
	for range lanes {
		all.Go(w.lane)
	}
	var keep keeper
	defer func() { keep.hold(w, false) }()
	for wait(w.ctx, slotTTL/20) {
		// A worker that has not begun has to know first whether there is something to do.
		if !w.IsConnected() || !w.queued.whole() || !w.lists.whole() || !w.hosts.whole() || !w.caps.whole() {
			w.last.Store(time.Now().UnixNano())
		}
		quiet := time.Since(time.Unix(0, w.last.Load()))
		keep.hold(w, w.busy.Load() > 0 || quiet < slotTTL)
		if idle > 0 && w.busy.Load() == 0 && quiet > idle {
			break
		}
		if err := w.reread(); err != nil {
			w.line("%v: those of before go on", err)
		}
		w.endIfShutOut()
	}
	err := context.Cause(w.ctx)
	w.stop(nil)
	all.Wait()
	return err
}

// keeper keeps the ledger open between the chunks, which share it: otherwise each would read it from its beginning. It
// closes the ledger while the worker has nothing to do, so that the next chunk can rewrite one most of whose records
// are superseded.
type keeper struct{ held *ledger.Ledger }

// hold opens the ledger of a worker if the worker is at work, and closes it otherwise. If the ledger cannot be opened,
// the chunk says so.
func (k *keeper) hold(w *worker, atWork bool) {
	switch {
	case w.root == nil || atWork == (k.held != nil):
	case atWork:
		k.held, _ = ledger.Open(w.root, w.ledger)
	default:
		k.held.Close()
		k.held = nil
	}
}

// endIfShutOut ends the worker if its connection is closed for good, or the server refuses the token that it accepted
// before, and the JOIN file gets no other one in time.
func (w *worker) endIfShutOut() {
	switch refused := w.LastError(); {
	case w.IsClosed(): // the library does not connect again after an error that it does not know
		cause := cmp.Or(refused, nats.ErrConnectionClosed)
		w.stop(fmt.Errorf("the server has closed the connection for good: %w", cause))
	case w.IsConnected() || !errors.Is(refused, nats.ErrAuthorization):
		w.refused = time.Time{}
	case w.refused.IsZero():
		w.refused = time.Now()
		w.line("the server refuses the token of the JOIN file: waiting %v for another one in the file", w.patience)
	case time.Since(w.refused) > w.patience:
		w.stop(refused)
	}
}

func (w *worker) watch(all *sync.WaitGroup, r *broadcast) {
	w.hosts = w.fleet.cache(w.fleet.hosts, jetstream.AllKeys, w.changed)
	w.lists = w.fleet.cache(w.fleet.jobs, jetstream.AllKeys, w.changed)
	w.queued = w.fleet.cache(w.fleet.queues, jetstream.AllKeys, w.changed)
	w.caps = w.fleet.cache(w.fleet.caps, w.egress+".>", w.changed)
	for _, m := range []*cache{w.hosts, w.lists, w.queued, w.caps} {
		all.Go(func() { m.follow(w.ctx, r) })
	}
	for err := w.setClock(); err != nil && w.ctx.Err() == nil; err = w.setClock() {
		w.line("cannot read the server's clock, trying again: %v", unanswered(err))
		wait(w.ctx, asking)
	}
	_, _ = w.answer() // fails only without a connection, which ends the worker anyway
}

// presence is a regular sign of life of a worker.
type presence struct {
	Egress string   `json:"egress"`
	From   string   `json:"from"`  // the address that the server sees
	Rate   int64    `json:"rate"`  // bytes per second
	Files  float64  `json:"files"` // per second
	Lanes  int      `json:"lanes"`
	Jobs   []string `json:"jobs,omitempty"`   // of which lanes have a chunk
	Served []string `json:"served,omitempty"` // keys of hosts that have accepted a login

	Troubles []trouble `json:"troubles,omitempty"` // one for each host, those that the worker leaves to others first
}

const mostLanes = 4096 // more lanes do not make chunks smaller

// pace measures how much is done in a second, over the last beats. What was faster before does not count: at the end of a
// job, when only a slow host is left, the time that is left would seem short for minutes.
type pace [5]struct {
	at           time.Time
	bytes, files int64
}

// add takes what was done until now, and returns how much that is in a second.
func (p *pace) add(now time.Time, bytes, files int64) (rate, perSec float64) {
	if p[0].at.IsZero() {
		for i := range p {
			p[i].at = now
		}
	}
	copy(p[:], p[1:])
	last := &p[len(p)-1]
	last.at = now
	last.bytes = bytes
	last.files = files
	took := max(time.Millisecond, now.Sub(p[0].at)).Seconds()
	return float64(bytes-p[0].bytes) / took, float64(files-p[0].files) / took
}

func (w *worker) presence() {
	var p presence
	var done pace
	if ip, err := w.GetClientIP(); err == nil {
		p.From = ip.String()
	}
	var warn sync.Once
	for {
		rate, files := done.add(time.Now(), w.bytes.Load(), w.files.Load())
		p = presence{Egress: w.egress, From: p.From, Rate: int64(rate), Files: files, Lanes: w.lanes}
		p.Jobs = w.has.names()
		w.gates.says(&p)
		text, _ := json.Marshal(p)
		ctx, cancel := context.WithTimeout(w.ctx, beat)
		_, _ = w.workers.Put(ctx, keyOf(w.name), text)
		cancel()
		warn.Do(func() { w.warnEgress(p.From) })
		if !wait(w.ctx, beat) {
			break
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), beat)
	defer cancel()
	_ = w.workers.Delete(ctx, keyOf(w.name))
}

// warnEgress warns that the default of --egress may be wrong, because another worker seems to have the same address.
func (w *worker) warnEgress(from string) {
	if !w.guessed || from == "" {
		return
	}
	presences, _ := w.presences(w.ctx)
	for name, p := range presences {
		if p.From == from && p.Egress != w.egress {
			w.line("worker %s has the same address as this one, %s: if FTP servers see them so too, write the same "+
				"--egress NAME for both, else they have twice the connections", name, from)
			return
		}
	}
}

// setClock reads the server's clock, and this machine's at the same time.
func (w *worker) setClock() error {
	ctx, cancel := context.WithTimeout(w.ctx, asking)
	defer cancel()
	now := time.Now()
	rev, err := w.workers.Put(ctx, keyOf(w.name), []byte("{}"))
	if err != nil {
		return err
	}
	e, err := w.workers.GetRevision(ctx, keyOf(w.name), rev)
	if err == nil {
		w.began = held{seen: now, made: e.Created()}
	}
	return err
}

var notInKey = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// keyOf turns a name into one that is valid in a key.
func keyOf(name string) string { return notInKey.ReplaceAllString(name, "-") }
