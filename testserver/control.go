package testserver

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// lingerTime is how long a closing control connection is drained: closing it with unread bytes would make the kernel
// send RST, and the client could lose the last reply.
const lingerTime = 2 * time.Second

// control is the server's side of a control connection. A goroutine (run) reads eagerly, so that commands are recorded
// when they arrive and a client that sends ahead is never blocked; the goroutine that answers calls next.
type control struct {
	wire    *wire
	onEnd   func()        // called once when nothing more can arrive
	latency time.Duration // from the arrival of a command until it is handled

	mu     sync.Mutex
	cond   *sync.Cond // signals every change of the fields below
	queue  []arrival  // not yet handled
	stream net.Conn   // wire, or TLS on it
	lines  *bufio.Reader
	paused bool // run waits after AUTH until resume
	ended  bool // run is done
	dead   bool // aborted: do not even handle what is queued
	mute   bool // nothing more is sent

	sending sync.Mutex
}

// arrival is a command that has come.
type arrival struct {
	line string
	due  time.Time // when it may be handled
}

func newControl(w *wire) *control {
	c := &control{wire: w, stream: w, lines: bufio.NewReaderSize(w, bufferSize)}
	c.cond = sync.NewCond(&c.mu)
	return c
}

// run reads until the client is gone or the connection is closed.
func (c *control) run() {
	defer c.finish()
	for {
		lines, err := c.readLines()
		if err != nil {
			return
		}
		c.wire.rec.add(c.wire, lines)
		if !c.push(lines) {
			return
		}
	}
}

func (c *control) finish() {
	_ = c.wire.Close()
	c.mu.Lock()
	c.ended = true
	c.cond.Broadcast()
	c.mu.Unlock()
	if c.onEnd != nil {
		c.onEnd()
	}
}

// readLines returns every whole line that has arrived, at least one. It stops after AUTH, which only TLS may follow.
func (c *control) readLines() ([]string, error) {
	var lines []string
	for len(lines) == 0 || c.wholeLine() {
		raw, err := c.lines.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		line := strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
		lines = append(lines, line)
		if isAuth(line) {
			break
		}
	}
	return lines, nil
}

func (c *control) wholeLine() bool {
	b, _ := c.lines.Peek(c.lines.Buffered())
	return bytes.IndexByte(b, '\n') >= 0
}

// push queues lines and, after AUTH, waits for resume. It reports whether to keep reading.
func (c *control) push(lines []string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	due := time.Now().Add(c.latency)
	for _, line := range lines {
		c.queue = append(c.queue, arrival{line, due})
	}
	c.paused = isAuth(lines[len(lines)-1])
	c.cond.Broadcast()
	for c.paused && !c.dead {
		c.cond.Wait()
	}
	return !c.dead
}

func isAuth(line string) bool {
	verb, _ := splitCommand(line)
	return verb == "AUTH"
}

// splitCommand splits a line at its first space, with the verb in upper case.
func splitCommand(line string) (verb, arg string) {
	verb, arg, _ = strings.Cut(line, " ")
	return strings.ToUpper(verb), arg
}

// next waits for a line. It returns false if none will come.
func (c *control) next() (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) == 0 && !c.ended && !c.dead {
		c.cond.Wait()
	}
	if len(c.queue) == 0 || c.dead {
		return "", false
	}
	first := c.queue[0]
	c.queue = c.queue[1:]
	c.sleep(first.due)
	return first.line, !c.dead
}

// pause returns at due, or when the connection is aborted.
func (c *control) pause(due time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sleep(due)
}

// sleep is pause for a caller that holds mu.
func (c *control) sleep(due time.Time) {
	if !time.Now().Before(due) {
		return
	}
	timer := time.AfterFunc(time.Until(due), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.cond.Broadcast()
	})
	defer timer.Stop()
	for !c.dead && time.Now().Before(due) {
		c.cond.Wait()
	}
}

// resume lets run continue after AUTH.
func (c *control) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = false
	c.cond.Broadcast()
}

// startTLS starts TLS on the connection. Bytes that have already arrived belong to the handshake; plaintext commands
// among them make it fail, as they must. Call startTLS only before run starts or while it is paused.
func (c *control) startTLS(config *tls.Config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	early, _ := c.lines.Peek(c.lines.Buffered())
	below := &prefixed{Conn: c.wire, Reader: io.MultiReader(bytes.NewReader(bytes.Clone(early)), c.wire)}
	c.stream = tls.Server(below, config)
	c.lines = bufio.NewReaderSize(c.stream, bufferSize)
}

// prefixed is a Conn whose first bytes have already been read.
type prefixed struct {
	net.Conn
	io.Reader
}

func (p *prefixed) Read(b []byte) (int, error) { return p.Reader.Read(b) }

// overTLS reports whether TLS was started.
func (c *control) overTLS() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.stream.(*tls.Conn)
	return ok
}

// send writes b with one call.
func (c *control) send(b []byte) error {
	c.mu.Lock()
	stream := c.stream
	c.mu.Unlock()
	c.sending.Lock()
	defer c.sending.Unlock()
	_, err := stream.Write(b)
	return err
}

// end ends the connection in the way of e.
func (c *control) end(e Ending) {
	c.mu.Lock()
	c.mute = true
	c.cond.Broadcast()
	c.mu.Unlock()
	switch e {
	case Closed:
		c.hangUp()
	case Reset:
		c.wire.reset()
		c.kill()
	}
}

// hangUp sends FIN, under TLS after close_notify, and lets run drain what the client still sends.
func (c *control) hangUp() {
	c.mu.Lock()
	stream := c.stream
	c.mu.Unlock()
	_ = c.wire.SetDeadline(time.Now().Add(lingerTime))
	if t, ok := stream.(*tls.Conn); ok {
		_ = t.CloseWrite()
	}
	c.wire.closeWrite()
	c.resume()
}

// abort closes the connection at once.
func (c *control) abort() {
	_ = c.wire.Close()
	c.kill()
}

func (c *control) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	c.cond.Broadcast()
}

// waitEnd returns when the client is gone or the connection was closed.
func (c *control) waitEnd() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.ended && !c.dead {
		c.cond.Wait()
	}
}
