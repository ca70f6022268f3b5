package testserver

import (
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"testing"
)

// script plays a dialogue from a table, for replies that no honest server sends.
type script struct {
	*Server
	steps    []Step
	listen   func() (net.Listener, error) // for control and for data connections
	listener net.Listener
	config   *tls.Config

	running sync.WaitGroup // everything that Close waits for

	state  sync.Mutex
	scenes map[*Conn]struct{}
	conns  int
	closed bool
}

// NewScript starts a scripted server on 127.0.0.1, and closes it when the test
// ends; it fails tb if the server does not start or close. The steps apply in
// order: if two match a command, the later one plays. Without steps the server
// accepts connections, sends no greeting and answers every command with 502;
// most scripts begin with [Honest].
func NewScript(tb testing.TB, steps ...Step) *Server {
	tb.Helper()
	return NewScriptOn(tb, func() (net.Listener, error) { return listen("tcp4") }, steps...)
}

// NewScriptOn is NewScript for a network of the caller: listen returns the
// listener for control connections, and one for each data connection. Their
// addresses are [*net.TCPAddr].
func NewScriptOn(tb testing.TB, listen func() (net.Listener, error), steps ...Step) *Server {
	tb.Helper()
	s, err := startScript(listen, steps)
	return closing(tb, s, err)
}

func startScript(listen func() (net.Listener, error), steps []Step) (*Server, error) {
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
	s := &script{Server: &Server{id: id}, steps: steps, listen: listen, listener: l, config: config, scenes: map[*Conn]struct{}{}}
	s.address, s.close = address{tcp: l.Addr().(*net.TCPAddr), scheme: "ftp"}, s.end
	s.running.Go(s.serve)
	return s.Server, nil
}

func (s *script) end() error {
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

func (s *script) serve() {
	for {
		raw, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.admit(raw)
	}
}

// admit plays the dialogue for a connection.
func (s *script) admit(raw net.Conn) {
	sc, closed := s.register(raw)
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

func (s *script) register(raw net.Conn) (sc *Conn, closed bool) {
	s.state.Lock()
	defer s.state.Unlock()
	s.conns++
	w := newWire(raw, &s.recorder, s.conns, false)
	sc = newConn(w, newDialogue(s.conns, s.steps), s.config, s.listen)
	s.scenes[sc] = struct{}{}
	return sc, s.closed
}

func (s *script) forget(sc *Conn) {
	s.state.Lock()
	defer s.state.Unlock()
	delete(s.scenes, sc)
}
