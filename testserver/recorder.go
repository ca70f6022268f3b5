package testserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// errClosed is returned by WaitCommand if the server is closed first.
var errClosed = errors.New("testserver: server closed")

// flight is everything that arrived on one connection between two sends of the server.
type flight struct {
	conn     int // number of the control connection, from 1; 0 for a data connection
	commands []string
}

// received is a line on a control connection, received or sent.
type received struct {
	conn int
	line string
}

// recorder keeps what a server received on all connections.
type recorder struct {
	mu       sync.Mutex
	commands []received
	dialogue []received // commands when they are handled, and replies, as Transcript shows them
	flights  []*flight
	control  int // connections accepted since the last reset
	data     int
	epoch    int           // grows with every reset, which ends the flights under way
	changed  chan struct{} // closed and replaced when a command arrives
	closed   bool
}

// Commands returns the lines received on all control connections, or only on conns, which count from 1. The lines are
// in order of arrival, byte for byte, without CRLF. They include passwords.
func (r *recorder) Commands(conns ...int) (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.commands {
		if len(conns) == 0 || slices.Contains(conns, c.conn) {
			lines = append(lines, c.line)
		}
	}
	return lines
}

// Args returns the arguments of all commands with a verb, such as "CWD", in order of arrival, on all control
// connections or only on conns. The argument of a command that has none is "".
func (r *recorder) Args(verb string, conns ...int) (args []string) {
	for _, line := range r.Commands(conns...) {
		if v, arg := splitCommand(line); v == strings.ToUpper(verb) {
			args = append(args, arg)
		}
	}
	return args
}

// AfterQuit returns the commands that have come after a QUIT on the same connection. There should be none.
func (r *recorder) AfterQuit() (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	quit := make(map[int]bool)
	for _, c := range r.commands {
		if quit[c.conn] {
			lines = append(lines, c.line)
		}
		verb, _ := splitCommand(c.line)
		quit[c.conn] = quit[c.conn] || verb == "QUIT"
	}
	return lines
}

// ResetCommands forgets everything recorded so far: commands, replies, flights and counts. The numbering of control
// connections and transfers continues.
func (r *recorder) ResetCommands() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commands = nil
	r.dialogue = nil
	r.flights = nil
	r.control = 0
	r.data = 0
	r.epoch++
}

// WaitCommand returns nil as soon as a command that starts with prefix has been received, even if that was before the
// call. Otherwise it returns ctx's error or errClosed. The server may not have handled the command yet.
func (r *recorder) WaitCommand(ctx context.Context, prefix string) error {
	for {
		found, closed, changed := r.look(prefix)
		switch {
		case found:
			return nil
		case closed:
			return errClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("testserver: waiting for %q: %w", prefix, ctx.Err())
		}
	}
}

func (r *recorder) look(prefix string) (found, closed bool, changed <-chan struct{}) {
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

// Flights returns the flights on all connections, or only on the control connections conns, where 0 means the data
// connections. A flight is returned as the lines that ended in it; one that is only a part of a TLS handshake has no
// lines.
//
// A flight is everything that arrives from the client on a connection between two sends of the server, counted below
// TLS. Bytes that have already arrived when the server sends do not start a new flight. If a client writes commands one
// by one without waiting, a reply that the server sends in between may still split them; a client that wants one flight
// must use one write. An unencrypted download on a new connection takes, to its last byte,
//
//	1 (TCP) + 1 (greeting) + flights + 1 (data connection)
//
// round trips, if the client opens the data connection while its RETR is under way and Flights is read before QUIT is
// sent. The flights of the control connection include those of a TLS handshake. On a protected data connection the last
// term is its own flights: 2 for a TLS 1.3 handshake. The next file on the same connection has no greeting to wait for
// and takes flights + 1, counted from ResetCommands.
func (r *recorder) Flights(conns ...int) (log [][]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.flights {
		if len(conns) == 0 || slices.Contains(conns, f.conn) {
			log = append(log, slices.Clone(f.commands))
		}
	}
	return log
}

// Connections returns the number of control connections accepted.
func (r *recorder) Connections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.control
}

// DataConnections returns the number of data connections.
func (r *recorder) DataConnections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.data
}

// ports matches the port for data in a command or reply, and what comes before it.
var ports = regexp.MustCompile(`(?m)^(< 229 .*\|\|\||> EPRT \|\d\|[^|]*\||(?:< 227 .*?|> PORT )\d+,\d+,\d+,\d+,)\d+(?:,\d+)?`)

// Transcript returns the dialogues on all control connections, or only on conns, one after another with an empty line
// between them. "> " precedes each command, and "< " each line of a reply. A command stands where the server handled
// it, even if it arrived earlier. PORT replaces the ports of data connections, so that the text is the same in each run
// and can be compared with a file. Transcript omits QUIT and what follows, because a client need not wait for the
// reply.
func (r *recorder) Transcript(conns ...int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	texts := make(map[int]string)
	over := make(map[int]bool)
	for _, said := range r.dialogue {
		over[said.conn] = over[said.conn] || strings.EqualFold(said.line, "> QUIT")
		if !over[said.conn] && (len(conns) == 0 || slices.Contains(conns, said.conn)) {
			texts[said.conn] += said.line + "\n"
		}
	}
	var all []string
	for _, conn := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, texts[conn])
	}
	return ports.ReplaceAllString(strings.Join(all, "\n"), "${1}PORT")
}

// say records a command that is being handled ("> "), or a reply that is being sent ("< ").
func (r *recorder) say(conn int, mark, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\r\n"), "\r\n") {
		r.dialogue = append(r.dialogue, received{conn, mark + line})
	}
}

// add records command lines that arrived together.
func (r *recorder) add(w *wire, lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range lines {
		r.commands = append(r.commands, received{w.num, line})
	}
	if w.flight != nil {
		w.flight.commands = append(w.flight.commands, lines...)
	}
	r.wake()
}

// stop ends every WaitCommand.
func (r *recorder) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.wake()
}

func (r *recorder) wake() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}
