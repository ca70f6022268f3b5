package testserver

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"sync"
	"testing"
)

// Script is a server that plays a dialogue from a table, for replies that no
// honest server sends. All methods may be used concurrently.
type Script struct {
	Recorder
	address

	steps    []Step
	listen   func() (net.Listener, error) // for control and for data connections
	listener net.Listener
	roots    *x509.CertPool
	config   *tls.Config

	running sync.WaitGroup // everything that Close waits for

	state  sync.Mutex
	scenes map[*Conn]struct{}
	conns  int
	closed bool
}

// StartScript starts a scripted server on 127.0.0.1. The steps apply in order:
// if two match a command, the later one plays. Without steps the server accepts
// connections, sends no greeting and answers every command with 502; most
// scripts begin with [Honest]. The caller must close the server.
func StartScript(steps ...Step) (*Script, error) {
	return startScript(listenLoopback, steps)
}

func listenLoopback() (net.Listener, error) { return listen("tcp4") }

func startScript(listen func() (net.Listener, error), steps []Step) (*Script, error) {
	id, err := newIdentity()
	if err != nil {
		return nil, fmt.Errorf("testserver: %w", err)
	}
	config, _, err := tlsConfigs(id, &Options{})
	if err != nil {
		return nil, err
	}
	l, err := listen()
	if err != nil {
		return nil, fmt.Errorf("testserver: %w", err)
	}
	s := &Script{steps: steps, listen: listen, listener: l, roots: id.Roots, config: config, scenes: map[*Conn]struct{}{}}
	s.address = address{tcp: l.Addr().(*net.TCPAddr), scheme: "ftp"}
	s.running.Go(s.serve)
	return s, nil
}

// NewScript is StartScript for a test: it closes the server when the test ends,
// and fails tb if the server does not start or close.
func NewScript(tb testing.TB, steps ...Step) *Script {
	tb.Helper()
	return scriptFor(tb, listenLoopback, steps)
}

func scriptFor(tb testing.TB, listen func() (net.Listener, error), steps []Step) *Script {
	tb.Helper()
	s, err := startScript(listen, steps)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// RootCAs returns a pool with the authority of the server's certificate, which
// is valid for 127.0.0.1, ::1 and localhost.
func (s *Script) RootCAs() *x509.CertPool { return s.roots }

// Close stops the server, closes every connection and waits for the server's
// goroutines. It returns an error if they do not end, because a function given
// to Call does not return.
func (s *Script) Close() error {
	_ = s.listener.Close()
	s.state.Lock()
	s.closed = true
	var scenes []*Conn
	for sc := range s.scenes {
		scenes = append(scenes, sc)
	}
	s.state.Unlock()
	for _, sc := range scenes {
		sc.abort()
	}
	s.stop()
	return waitFor(&s.running)
}

func (s *Script) serve() {
	for {
		raw, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.admit(raw)
	}
}

// admit plays the dialogue for a connection.
func (s *Script) admit(raw net.Conn) {
	sc, closed := s.register(raw)
	if sc.play.implicit {
		sc.startTLS(s.config)
	}
	s.running.Go(sc.run)
	s.running.Go(func() {
		sc.perform()
		sc.waitEnd() // the connection stays until the client is gone
		s.forget(sc)
	})
	if closed {
		sc.abort()
	}
}

func (s *Script) register(raw net.Conn) (sc *Conn, closed bool) {
	s.state.Lock()
	defer s.state.Unlock()
	s.conns++
	w := newWire(raw, &s.Recorder, s.conns, false)
	sc = newConn(w, newDialogue(s.conns, s.steps), s.config, s.listen)
	s.scenes[sc] = struct{}{}
	return sc, s.closed
}

func (s *Script) forget(sc *Conn) {
	s.state.Lock()
	defer s.state.Unlock()
	delete(s.scenes, sc)
}
