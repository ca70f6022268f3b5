package testserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// ErrClosed is returned by WaitCommand if the server is closed first.
var ErrClosed = errors.New("testserver: server closed")

// Flight is everything that arrived on one control connection between two
// sends of the server: what a client sent without waiting for a round trip.
type Flight struct {
	Conn     int      // number of the control connection, from 1
	Commands []string // the lines that ended in this flight; none for a part of a TLS handshake
	Octets   int64    // bytes received, under TLS those of its records
}

// String shows the flight on one line, for the messages of failing tests.
func (f Flight) String() string {
	if len(f.Commands) == 0 {
		return fmt.Sprintf("#%d (%d bytes)", f.Conn, f.Octets)
	}
	return fmt.Sprintf("#%d %s", f.Conn, strings.Join(f.Commands, " | "))
}

// Stats holds the counts since the start or the last ResetCommands. ControlIn
// to DataOut count bytes on the wire, under TLS those of its records. The
// embedded server does not count active data connections (PORT, EPRT).
type Stats struct {
	Connections     int // control connections accepted
	DataConnections int // data connections accepted
	Flights         int // flights on control connections
	DataFlights     int // flights on data connections: 0 for an unencrypted download
	ControlIn       int64
	ControlOut      int64
	DataIn          int64
	DataOut         int64
}

type received struct {
	conn int
	line string
}

// Recorder keeps what a server received on all connections. Server and Script have one.
type Recorder struct {
	mu       sync.Mutex
	commands []received
	flights  []*Flight
	epoch    int // grows with every reset, which ends the flights under way
	stats    Stats
	changed  chan struct{} // closed and replaced when a command arrives
	closed   bool
}

// Commands returns the lines received on all control connections, in order of
// arrival, byte for byte, without CRLF. They include passwords.
func (r *Recorder) Commands() []string {
	return r.filter(func(received) bool { return true })
}

// CommandsFor is like Commands, for control connection conn, counted from 1.
func (r *Recorder) CommandsFor(conn int) []string {
	return r.filter(func(c received) bool { return c.conn == conn })
}

func (r *Recorder) filter(keep func(received) bool) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, c := range r.commands {
		if keep(c) {
			lines = append(lines, c.line)
		}
	}
	return lines
}

// ResetCommands forgets everything recorded so far: commands, flights and
// counts. The numbering of control connections and transfers continues.
func (r *Recorder) ResetCommands() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commands, r.flights, r.stats = nil, nil, Stats{}
	r.epoch++
}

// WaitCommand returns nil as soon as a command that starts with prefix has
// been received, even if that was before the call. Otherwise it returns ctx's
// error or ErrClosed. The server may not have handled the command yet.
func (r *Recorder) WaitCommand(ctx context.Context, prefix string) error {
	for {
		found, closed, changed := r.look(prefix)
		switch {
		case found:
			return nil
		case closed:
			return ErrClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("testserver: waiting for %q: %w", prefix, ctx.Err())
		}
	}
}

func (r *Recorder) look(prefix string) (found, closed bool, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found = slices.ContainsFunc(r.commands, func(c received) bool {
		return strings.HasPrefix(c.line, prefix)
	})
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return found, r.closed, r.changed
}

// Flights returns the number of flights on all control connections; see the
// package comment for what they say about round trips.
func (r *Recorder) Flights() int { return r.Stats().Flights }

// FlightLog returns the flights in order of arrival.
func (r *Recorder) FlightLog() []Flight {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := make([]Flight, len(r.flights))
	for i, f := range r.flights {
		log[i] = *f
		log[i].Commands = slices.Clone(f.Commands)
	}
	return log
}

// Connections returns the number of control connections accepted.
func (r *Recorder) Connections() int { return r.Stats().Connections }

// DataConnections returns the number of data connections accepted.
func (r *Recorder) DataConnections() int { return r.Stats().DataConnections }

// Stats returns all counts at once.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// add records command lines that arrived together.
func (r *Recorder) add(w *wire, lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range lines {
		r.commands = append(r.commands, received{w.num, line})
	}
	if w.flight != nil {
		w.flight.Commands = append(w.flight.Commands, lines...)
	}
	r.wake()
}

// stop ends every WaitCommand.
func (r *Recorder) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.wake()
}

func (r *Recorder) wake() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}
