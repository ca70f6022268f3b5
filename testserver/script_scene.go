package testserver

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
)

// Conn is one connection of a scripted server, for an [Action]. Only the goroutine that
// runs the Action may call its methods.
type Conn struct {
	*control
	play    *Dialogue
	config  *tls.Config
	open    func() (net.Listener, error) // for data connections
	line    string                       // the command being answered
	private bool                         // PROT P was given
	ready   bool                         // AUTH got 2yz

	// Guarded by control.mu.
	listener net.Listener
	data     net.Conn
	below    *wire // data's TCP connection
}

// Line returns the command being answered, byte for byte, without CRLF; "" for
// the greeting.
func (sc *Conn) Line() string { return sc.line }

// Write sends b on the control connection, in one write.
func (sc *Conn) Write(b []byte) (int, error) {
	if err := sc.send(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Data waits for the data connection and returns it; nil if no port is open.
// The server closes it.
func (sc *Conn) Data() net.Conn {
	data, _ := sc.accept()
	return data
}

// Input returns the commands that have arrived after the one being answered, and
// drops them.
func (sc *Conn) Input() []string {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	queue := sc.queue
	sc.queue = nil
	return queue
}

func newConn(w *wire, play *Dialogue, config *tls.Config, open func() (net.Listener, error)) *Conn {
	sc := &Conn{control: newControl(w), play: play, config: config, open: open}
	sc.onEnd = sc.dropData
	return sc
}

// errOver ends the dialogue.
var errOver = errors.New("the connection is over")

// perform plays the dialogue until the connection is over.
func (sc *Conn) perform() {
	if sc.act(sc.play.greeting) != nil {
		return
	}
	for {
		line, ok := sc.next()
		if !ok {
			return
		}
		sc.line = line
		sc.ready = false
		if arg, ok := strings.CutPrefix(line, "PROT "); ok {
			sc.private = arg == "P"
		}
		err := sc.act(sc.play.actionsFor(line))
		if isAuth(line) {
			if sc.ready && err == nil {
				sc.startTLS(sc.config)
			}
			sc.resume()
		}
		if err != nil {
			return
		}
	}
}

func (sc *Conn) act(actions []Action) error {
	for _, act := range actions {
		if err := act(sc); err != nil {
			return err
		}
	}
	return nil
}

// listen opens a listener for data and then closes the one before it, so that the
// port is another one.
func (sc *Conn) listen() (*net.TCPAddr, error) {
	l, err := sc.open()
	sc.dropData()
	if err != nil {
		return nil, err
	}
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.listener = l
	if sc.ended || sc.dead {
		_ = l.Close()
	}
	return l.Addr().(*net.TCPAddr), nil
}

// accept waits for the data connection, and returns it with the TCP connection
// below it; nil if there is none and none will come.
func (sc *Conn) accept() (net.Conn, *wire) {
	sc.mu.Lock()
	l, data, below := sc.listener, sc.data, sc.below
	sc.mu.Unlock()
	if data != nil || l == nil {
		return data, below
	}
	raw, err := l.Accept()
	if err != nil {
		return nil, nil
	}
	return sc.hold(newWire(raw, sc.wire.rec, 0, true))
}

func (sc *Conn) hold(w *wire) (net.Conn, *wire) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.below, sc.data = w, w
	if sc.private {
		sc.data = tls.Server(w, sc.config)
	}
	if sc.ended || sc.dead {
		_ = w.Close()
	}
	return sc.data, w
}

// dropData closes the data connection and its listener at once.
func (sc *Conn) dropData() {
	sc.mu.Lock()
	l, w := sc.listener, sc.below
	sc.listener, sc.data, sc.below = nil, nil, nil
	sc.mu.Unlock()
	if l != nil {
		_ = l.Close()
	}
	if w != nil {
		_ = w.Close()
	}
}
