package testserver

import (
	"crypto/tls"
	"fmt"
	"net"
	"testing"
)

// script plays a dialogue from a table, for replies that no honest server sends.
type script struct {
	*Server
	steps  []Step
	listen func() (net.Listener, error) // for control and for data connections
	config *tls.Config
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
	s := &script{Server: &Server{id: id, listener: l}, steps: steps, listen: listen, config: config}
	s.address = address{tcp: l.Addr().(*net.TCPAddr), scheme: "ftp"}
	s.running.Go(s.serve)
	return s.Server, nil
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
	sc, closed := enter(s.Server, raw, func(w *wire) *Conn { return newConn(w, newDialogue(w.num, s.steps), s.config, s.listen) })
	s.running.Go(sc.run)
	s.running.Go(func() {
		sc.perform()
		sc.waitEnd() // the connection stays until the client is gone
		s.leave(sc.wire.num)
	})
	if closed {
		sc.abort()
	}
}
