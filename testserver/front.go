package testserver

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// front is the control connection that ftpserverlib sees. It stands between the client and the library: it speaks TLS,
// hands the library one command at a time, and passes its replies on one at a time. This way it can answer commands and
// replace replies without the library knowing.
type front struct {
	*Conn

	rest []byte // what the library has not yet read of a command; owned by Read

	// Guarded by control.mu.
	inject    *exchange              // a PASS for the library that the client did not send
	exchanges []*exchange            // handed to the library, final reply not yet seen
	gone      bool                   // the library is done with the connection
	done      bool                   // Server.running knows that this connection is over
	held      map[io.Closer]struct{} // data connections and their listeners

	writing sync.Mutex
	partial []byte // an incomplete reply; guarded by writing

	// Owned by Read's goroutine.
	name  string // USER's argument
	named bool   // USER was given
}

// exchange is a command and the replies to it. It has a Conn of its own, for what happens when the next command has begun.
type exchange struct {
	Conn
	hidden  bool // a USER without a password: its 331 is dropped
	passive bool // holds Server.passive

	startTLS bool // AUTH: the handshake follows the reply
}

func newFront(c *Conn) *front {
	f := &front{Conn: c, held: map[io.Closer]struct{}{}}
	c.front = f
	c.onEnd = func() {
		f.dropData()
		f.closeData()
		f.maybeDone()
	}
	f.exchanges = []*exchange{{}} // the greeting
	return f
}

// greet applies the greeting's fault, before the library sends the greeting.
func (f *front) greet() {
	ex := f.exchange("")
	if f.answered {
		ex.final = []Action{} // in place of the library's
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.exchanges[0] = ex
}

// Read returns at most one command line.
func (f *front) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		line, ok := f.nextForLibrary()
		if !ok {
			f.closeData() // let a transfer under way end
			return 0, io.EOF
		}
		f.rest = []byte(line + "\r\n")
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// nextForLibrary handles commands until one is for the library.
func (f *front) nextForLibrary() (string, bool) {
	for {
		line, injected, ok := f.take()
		if !ok {
			return "", false
		}
		if injected {
			return line, true
		}
		if f.handle(line) {
			return line, true
		}
	}
}

// take waits for the next command. Commands run one at a time, but ABOR may overtake the transfer that it aborts.
func (f *front) take() (line string, injected, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		switch {
		case f.dead:
			return "", false, false
		case f.inject != nil && len(f.exchanges) == 0:
			f.exchanges = append(f.exchanges, f.inject)
			f.inject = nil
			return "PASS", true, true
		case f.mute || len(f.queue) == 0:
			if f.ended {
				return "", false, false
			}
		case f.inject == nil && (len(f.exchanges) == 0 || isAbort(f.queue[0])):
			return f.pop(), false, true
		}
		f.cond.Wait()
	}
}

// isAbort reports whether line is ABOR, also after the Telnet signals of RFC 959 section 4.1.3.
func isAbort(line string) bool {
	verb, _ := splitCommand(line)
	return strings.HasSuffix(verb, "ABOR")
}

// Write receives the library's replies.
func (f *front) Write(p []byte) (int, error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	f.partial = append(f.partial, p...)
	for {
		n := replyLen(f.partial)
		if n == 0 {
			return len(p), nil
		}
		f.replied(string(f.partial[:n]))
		f.partial = f.partial[n:]
	}
}

// replyLen returns the length of the reply at the start of b, with all its lines (RFC 959 section 4.2), or 0 if it is
// incomplete.
func replyLen(b []byte) int {
	n := bytes.IndexByte(b, '\n') + 1
	if n < 5 || b[3] != '-' {
		return n
	}
	last := append([]byte("\n"), b[:3]...)
	last = append(last, ' ')
	start := bytes.Index(b, last)
	if start < 0 {
		return 0
	}
	end := bytes.IndexByte(b[start+1:], '\n') + 1
	if end == 0 {
		return 0
	}
	return start + 1 + end
}

// replied passes on a reply of the library, unless it is hidden.
func (f *front) replied(reply string) {
	ex := f.current()
	switch {
	case ex == nil || reply[0] == '1':
		f.say(reply)
		return
	case ex.passive:
		f.srv.passive.Unlock()
		f.answer(ex, reply)
	case ex.hidden:
		f.mu.Lock()
		f.inject = &exchange{Conn: ex.Conn}
		f.mu.Unlock()
	default:
		f.answer(ex, reply)
	}
	f.settle(strings.HasPrefix(reply, "226 ABOR "))
}

func (f *front) current() *exchange {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.exchanges) == 0 {
		return nil
	}
	return f.exchanges[0]
}

// settle ends the exchange under way. The library may not reply to an aborted transfer, so ABOR's own reply ends all
// exchanges.
func (f *front) settle(all bool) {
	f.mu.Lock()
	f.exchanges = f.exchanges[1:]
	if all {
		f.exchanges = nil
	}
	f.cond.Broadcast()
	f.mu.Unlock()
	f.maybeDone()
}

// answer sends a final reply, or does what the fault wants in its place.
func (f *front) answer(ex *exchange, reply string) {
	if ex.final == nil {
		f.say(reply)
		return
	}
	_ = ex.act(ex.final)
}

func withCRLF(s string) string { return strings.TrimSuffix(s, "\r\n") + "\r\n" }

// say sends reply unless the connection was ended. It ignores errors: Read notices that the client is gone.
func (f *front) say(reply string) {
	f.mu.Lock()
	mute := f.mute
	f.mu.Unlock()
	if !mute {
		_ = f.send([]byte(reply))
	}
}

// libraryGone is called when the library is done with the connection.
func (f *front) libraryGone() {
	f.mu.Lock()
	f.gone = true
	f.mu.Unlock()
	f.closeData()
	f.maybeDone()
}

// maybeDone tells the server once the library's command loop and its transfers are over, and has it forget the connection
// once the reader is done too.
func (f *front) maybeDone() {
	f.mu.Lock()
	first := f.gone && len(f.exchanges) == 0 && !f.done
	f.done = f.done || first
	over := f.done && f.ended
	f.mu.Unlock()
	if over {
		f.srv.leave(f.Num)
	}
	if first {
		f.srv.running.Done()
	}
}

// Close hangs up; the library calls it after its last reply. It does nothing to a connection that a fault has already
// ended.
func (f *front) Close() error {
	f.mu.Lock()
	mute := f.mute
	f.mu.Unlock()
	if !mute {
		f.end(Closed)
	}
	return nil
}

func (f *front) LocalAddr() net.Addr  { return f.wire.LocalAddr() }
func (f *front) RemoteAddr() net.Addr { return f.wire.RemoteAddr() }

// Tests do not want the library's idle timeout.
func (f *front) SetDeadline(time.Time) error      { return nil }
func (f *front) SetReadDeadline(time.Time) error  { return nil }
func (f *front) SetWriteDeadline(time.Time) error { return nil }
