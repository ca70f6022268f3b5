package main

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"example.com/ftpfetch/internal/printable"
)

//go:embed page
var pages embed.FS

// board serves over HTTP what status prints: a page, its events, metrics and reports.
type board struct {
	f   *fleet
	hub *hub

	mu     sync.Mutex
	sums   map[string]*sum // by job
	states []*state
	now    state     // of the fleet, without a job
	at     time.Time // time of states and now
}

const (
	mostShown = 50 // number of jobs
	glance    = time.Second
)

// newBoard returns a board. It opens what the server holds, and creates what does not exist.
func (h *hub) newBoard() (*board, error) {
	f, err := h.join.open(context.Background(), "board", asking, func() {})
	if err != nil {
		return nil, err
	}
	return &board{hub: h, f: f, sums: make(map[string]*sum)}, nil
}

// serve serves the board until stop is called. It uses TLS and requires a token, unless plain is set and the address is
// on loopback.
func (b *board) serve(address string, plain bool) (stop func(), at *net.TCPAddr, err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, err
	}
	at = l.Addr().(*net.TCPAddr)
	plain = plain && at.IP.IsLoopback()
	if !plain {
		l = tls.NewListener(l,
			&tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{b.hub.identity}})
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &http.Server{
		Handler: b.handler(plain), ReadHeaderTimeout: asking,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    log.New(io.Discard, "", 0), // who is refused knows that
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l) // until it is closed
	}()
	return func() {
		cancel()
		s.Close()
		<-served
	}, at, nil
}

// servePage serves the board for browsers.
func (h *hub) servePage(address string) (stop func(), at string, err error) {
	stop, where, err := h.board.serve(address, true)
	if err != nil {
		return nil, "", usage("--http %s: %v", shown(address), err)
	}
	scheme := "https"
	if where.IP.IsLoopback() {
		scheme = "http"
	}
	return stop, scheme + "://" + where.String() + "/", nil
}

func (b *board) handler(plain bool) http.Handler {
	files, _ := fs.Sub(pages, "page")
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /events", b.events)
	mux.HandleFunc("GET /metrics", b.metrics)
	mux.HandleFunc("GET /report/{job}", b.report(func(s stored) any { return s.Row }))
	mux.HandleFunc("GET /outcomes/{job}", b.report(func(s stored) any { return s }))
	mux.HandleFunc("GET /jobs", b.answer(func(r *http.Request) (any, error) { return b.f.jobsNow(r.Context()) }))
	mux.HandleFunc("GET /states", b.answer(b.ask))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if b.admits(r, plain) {
			mux.ServeHTTP(w, r)
		} else {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "the password is the token of the JOIN file", http.StatusUnauthorized)
		}
	})
}

// admits reports whether a request may be answered: if it has the token of any role, or, if plain, if it names this
// machine by its address. A page elsewhere whose name resolves to this machine does not.
func (b *board) admits(r *http.Request, plain bool) bool {
	if plain {
		host, _, err := net.SplitHostPort(r.Host)
		return err == nil && isLoopback(host)
	}
	_, given, _ := r.BasicAuth() // browsers ask for a login
	return slices.ContainsFunc(roles, func(role string) bool {
		return subtle.ConstantTimeCompare([]byte(given), []byte(b.hub.token(role))) == 1
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
	if b.now, err = b.f.look(ctx); err != nil {
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

// report sends what show returns of each outcome of a job, one JSON object per line.
func (b *board) report(show func(stored) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		j, err := find(r.Context(), b.f, r.PathValue("job"))
		if err != nil {
			http.Error(w, "there is no such job", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Header().Set("Content-Disposition", `attachment; filename="`+j.ID+`.ndjson"`)
		err = b.f.outcomes(r.Context(), j.ID, func(s stored) error {
			_, err := w.Write(printable.JSON(show(s)))
			return err
		})
		if err != nil {
			panic(http.ErrAbortHandler) // so that a part is not taken for the whole report
		}
	}
}

// ask returns the states of all jobs, or of the one that a request names.
func (b *board) ask(r *http.Request) (any, error) {
	jobs, err := b.f.jobsNow(r.Context())
	if id := r.FormValue("job"); id != "" {
		jobs = slices.DeleteFunc(jobs, func(j job) bool { return j.ID != id })
	}
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.f.states(r.Context(), jobs, b.sums)
}

// answer answers with a value in JSON.
func (b *board) answer(ask func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := ask(r)
		if err != nil {
			http.Error(w, "the fleet's server does not answer", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(printable.JSON(value))
	}
}
