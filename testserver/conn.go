package testserver

import (
	"bytes"
	"crypto/tls"
	"net"
	"slices"
	"time"
)

// Conn is a control connection, and the command on it that the server is about to answer. Only the goroutine that runs
// [Options].Fault or an [Action] may use it.
type Conn struct {
	Num      int    // number of the connection, from 1
	Verb     string // in upper case; "" is the greeting, before any command
	Arg      string // everything after the verb's space, byte for byte
	Open     int    // control connections that are open now and came no later than this one, this one included
	Transfer int    // for RETR, NLST, LIST, MLSD, STOR, APPE: number of the transfer on this server, from 1; else 0

	*control
	wish
	srv      *Server
	private  bool // PROT P was accepted
	ready    bool // AUTH got 2yz
	answered bool // something was sent, or the connection was ended

	// Guarded by control.mu.
	listener net.Listener
	data     net.Conn
	below    *wire // data's TCP connection
}

func newConn(s *Server, num int, raw net.Conn) *Conn {
	c := &Conn{Num: num, control: newControl(newWire(raw, &s.recorder, num, false)), srv: s}
	c.latency = s.link.latency
	c.onEnd = c.dropData
	return c
}

// begin makes line the command to answer.
func (c *Conn) begin(line string) {
	c.Verb, c.Arg = splitCommand(line)
	c.wish, c.ready, c.answered = wish{}, false, false
	c.Open, c.Transfer = c.srv.count(c.Num, isTransfer(c.Verb))
}

// isTransfer reports whether verb uses a data connection.
func isTransfer(verb string) bool {
	return slices.Contains([]string{"RETR", "NLST", "LIST", "MLSD", "STOR", "APPE"}, verb)
}

// act runs actions up to the first error, which ends the connection.
func (c *Conn) act(actions []Action) error {
	for _, act := range actions {
		if act == nil {
			continue
		}
		if err := act(c); err != nil {
			c.answered = true
			return err
		}
	}
	return nil
}

// Write sends b on the control connection, in one write.
func (c *Conn) Write(b []byte) (int, error) {
	c.answered = true
	ok := bytes.HasPrefix(b, []byte("2"))
	c.ready = c.ready || ok
	if ok && c.Verb == "PROT" {
		c.private = c.Arg == "P" && c.overTLS()
	}
	c.srv.say(c.Num, "< ", string(b))
	if err := c.send(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Data waits for the data connection and returns it, or nil if no Reply has opened a port. The server closes the
// connection.
func (c *Conn) Data() net.Conn {
	data, _ := c.accept()
	return data
}

// Input returns the commands that have arrived after this one, and drops them.
func (c *Conn) Input() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue := c.queue
	c.queue = nil
	var lines []string
	for _, arrived := range queue {
		lines = append(lines, arrived.line)
		c.srv.say(c.Num, "> ", arrived.line)
	}
	return lines
}

// perform plays a dialogue until the connection is over.
func (c *Conn) perform(play *Dialogue) {
	c.pause(time.Now().Add(c.latency))
	err := c.handle("", play.greeting)
	for err == nil {
		line, ok := c.next()
		if !ok {
			return
		}
		c.srv.say(c.Num, "> ", line)
		err = c.handle(line, play.actionsFor(line))
		if isAuth(line) {
			if c.ready && err == nil {
				c.startTLS(c.srv.controlTLS)
			}
			c.resume()
		}
	}
}

// handle runs the Action that [Options].Fault returns for a command, and then actions unless that Action has answered.
func (c *Conn) handle(line string, actions []Action) error {
	c.begin(line)
	if fault := c.srv.opts.Fault; fault != nil {
		if err := c.act([]Action{fault(c)}); err != nil || c.answered {
			return err
		}
	}
	return c.act(actions)
}

// listen opens a listener for the data connection. It closes the previous one only then, so that the two ports differ.
func (c *Conn) listen() (*net.TCPAddr, error) {
	l, addr, err := c.srv.listen()
	c.dropData()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listener = l
	if c.ended || c.dead {
		_ = l.Close()
	}
	return addr, nil
}

// accept waits for the data connection and returns it with the TCP connection below it. It returns nil if no data
// connection can come.
func (c *Conn) accept() (net.Conn, *wire) {
	c.mu.Lock()
	l, data, below := c.listener, c.data, c.below
	c.mu.Unlock()
	if data != nil || l == nil {
		return data, below
	}
	raw, err := l.Accept()
	if err != nil {
		return nil, nil
	}
	w := newWire(raw, c.wire.rec, 0, true)
	w.pace = c.srv.link.pace()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.below, c.data = w, w
	if c.private {
		c.data = tls.Server(w, c.srv.dataTLS)
	}
	if c.ended || c.dead {
		_ = w.Close()
	}
	return c.data, w
}

// dropData closes the data connection and its listener at once.
func (c *Conn) dropData() {
	c.mu.Lock()
	l, w := c.listener, c.below
	c.listener, c.data, c.below = nil, nil, nil
	c.mu.Unlock()
	if l != nil {
		_ = l.Close()
	}
	if w != nil {
		_ = w.Close()
	}
}
