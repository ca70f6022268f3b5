package main

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/ftpfetch/internal/printable"
)

//go:embed page
var pages embed.FS

// board serves over HTTP what status prints: a page, its events, metrics and reports.
type board struct {
	f     *fleet
	hub   *hub
	local bool // only this machine can connect; otherwise a request needs a token

	mu     sync.Mutex
	sums   map[string]*sum // by job
	states []*state
	at     time.Time // time of states
}

const (
	mostShown = 50 // number of jobs
	glance    = time.Second
)

// serveBoard serves a board until ctx ends. On any address but loopback it uses TLS and requires the token.
func (h *hub) serveBoard(ctx context.Context, address string) (stop func(), at string, err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, "", usage("--http %s: %v", shown(address), err)
	}
	b := &board{hub: h, local: l.Addr().(*net.TCPAddr).IP.IsLoopback(), sums: make(map[string]*sum)}
	scheme := "http"
	if !b.local {
		scheme = "https"
		l = tls.NewListener(l,
			&tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{h.identity}})
	}
	if b.f, err = h.join.open(ctx, "board", 0, func() {}); err != nil {
		l.Close()
		return nil, "", err
	}
	s := &http.Server{
		Handler: b.handler(), ReadHeaderTimeout: asking,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l) // until it is closed
	}()
	return func() {
		s.Close()
		<-served
		b.f.Close()
	}, scheme + "://" + l.Addr().String() + "/", nil
}

func (b *board) handler() http.Handler {
	files, _ := fs.Sub(pages, "page")
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /events", b.events)
	mux.HandleFunc("GET /metrics", b.metrics)
	mux.HandleFunc("GET /report/{job}", b.report)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if b.admits(r) {
			mux.ServeHTTP(w, r)
		} else {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "the password is the token of the JOIN file", http.StatusUnauthorized)
		}
	})
}

// admits reports whether a request may be answered. On loopback it must name this machine by its address: a page
// elsewhere whose name resolves to this machine does not.
func (b *board) admits(r *http.Request) bool {
	if b.local {
		host, _, err := net.SplitHostPort(r.Host)
		return err == nil && isLoopback(host)
	}
	_, given, _ := r.BasicAuth() // browsers ask for a login
	return slices.ContainsFunc(roles, func(role string) bool {
		return subtle.ConstantTimeCompare([]byte(given), []byte(b.hub.as(role).Token)) == 1
	})
}

// look returns the states of the last jobs, the newest first. They are at most a moment old.
func (b *board) look(ctx context.Context) ([]*state, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.at) < glance {
		return b.states, nil
	}
	jobs, err := b.f.jobsNow(ctx)
	if err != nil {
		return nil, err
	}
	states, err := b.f.states(ctx, jobs[:min(len(jobs), mostShown)], b.sums)
	if err != nil {
		return nil, err
	}
	b.states = states
	b.at = time.Now()
	return states, nil
}

// events sends the states as server-sent events, whenever they may have changed.
func (b *board) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	for {
		states, err := b.look(r.Context())
		if err == nil {
			_, err = fmt.Fprintf(w, "data: %s\n", printable.JSON(states)) // the JSON ends in a line end
		}
		if err = errors.Join(err, out.Flush()); err != nil || !wait(r.Context(), glance) {
			return // the page reconnects
		}
	}
}

// metrics writes the states for Prometheus.
func (b *board) metrics(w http.ResponseWriter, r *http.Request) {
	states, err := b.look(r.Context())
	if err != nil {
		http.Error(w, "the fleet's server does not answer", http.StatusServiceUnavailable)
		return
	}
	registry := prometheus.NewRegistry()
	gauge := func(name, help string, labels ...string) func(value int64, labels ...string) {
		vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ftpfetch_fleet_" + name, Help: help}, labels)
		registry.MustRegister(vec)
		return func(value int64, labels ...string) { vec.WithLabelValues(labels...).Set(float64(value)) }
	}
	files := gauge("files", "The files of a job, by what became of them.", "job", "outcome")
	bytes := gauge("bytes", "The bytes of the complete files of a job.", "job")
	for _, s := range states {
		files(s.Files, s.ID, "all")
		files(s.Complete, s.ID, "complete")
		files(s.Failed, s.ID, "failed")
		bytes(s.Bytes, s.ID)
	}
	if len(states) > 0 {
		now := states[0]
		gauge("workers", "The workers that there are.")(int64(now.Workers))
		gauge("bytes_per_second", "What all workers receive together.")(now.Rate)
		slots := gauge("slots", "The connections to a host that are in use.", "host", "egress")
		most := gauge("cap", "The connections that a host bears.", "host", "egress")
		for _, h := range now.Hosts {
			slots(int64(h.Slots), h.Host, h.Egress)
			most(int64(h.Cap), h.Host, h.Egress)
		}
	}
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// report sends the report of a job, one JSON object per line.
func (b *board) report(w http.ResponseWriter, r *http.Request) {
	j, err := b.f.find(r.Context(), r.PathValue("job"))
	if err != nil {
		http.Error(w, "there is no such job", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Content-Disposition", `attachment; filename="`+j.ID+`.ndjson"`)
	err = b.f.outcomes(r.Context(), j.ID, func(s stored) error {
		_, err := w.Write(printable.JSON(s.Row))
		return err
	})
	if err != nil {
		panic(http.ErrAbortHandler) // so that a part is not taken for the whole report
	}
}
