package ftptest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"

	"example.com/ftpfetch/internal/testkit/must"
)

// connectInMemory returns the two ends of a connection.
func connectInMemory(t *testing.T) (near, far net.Conn) {
	t.Helper()
	network := NewNetwork()
	l := must.Get(network.Listen())(t)
	near = must.Get(network.Dial(t.Context(), "tcp", l.Addr().String()))(t)
	far = must.Get(l.Accept())(t)
	t.Cleanup(func() { l.Close(); near.Close(); far.Close() })
	return near, far
}

// TestMemoryConn checks that a connection in memory passes the standard library's test of connections.
func TestMemoryConn(t *testing.T) {
	nettest.TestConn(t, func() (near, far net.Conn, stop func(), err error) {
		near, far = connectInMemory(t)
		return near, far, func() { near.Close(); far.Close() }, nil
	})
}

// TestMemoryConnEnds checks that a connection in memory ends with the errors of TCP.
func TestMemoryConnEnds(t *testing.T) {
	tests := []struct {
		name        string
		end         func(far *memoryConn)
		read, write error // of the other end
	}{
		{"closed", func(far *memoryConn) { io.ReadFull(far, make([]byte, 4)); far.Close() }, io.EOF, syscall.EPIPE},
		{"closed with unread bytes", func(far *memoryConn) { far.Close() }, syscall.ECONNRESET, syscall.ECONNRESET},
		{"reset", func(far *memoryConn) { io.ReadFull(far, make([]byte, 4)); far.SetLinger(0); far.Close() }, syscall.ECONNRESET, syscall.ECONNRESET},
		{"sends no more", func(far *memoryConn) { far.CloseWrite() }, io.EOF, nil},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			near, far := connectInMemory(t)
			must.Get(io.WriteString(near, "NOOP"))(t)
			tt.end(far.(*memoryConn))
			if _, err := near.Read(make([]byte, 1)); !errors.Is(err, tt.read) {
				t.Errorf("%s: read: %v, want %v", tt.name, err, tt.read)
			}
			if _, err := near.Write([]byte{0}); !errors.Is(err, tt.write) {
				t.Errorf("%s: write: %v, want %v", tt.name, err, tt.write)
			}
		})
	}
}

// TestMemoryDeadlines checks that in a bubble a deadline expires at its exact moment, even for a Write that fills the
// buffer.
func TestMemoryDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, _ := connectInMemory(t)
		for name, wait := range map[string]func() error{
			"read":  func() error { _, err := near.Read(make([]byte, 1)); return err },
			"write": func() error { _, err := io.WriteString(near, strings.Repeat("x", 2*bufferSize)); return err },
		} {
			start := time.Now()
			near.SetDeadline(start.Add(time.Hour))
			if err := wait(); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Hour {
				t.Errorf("%s: %v after %v, want a timeout after an hour", name, err, time.Since(start))
			}
		}
	})
}

func TestMemoryDial(t *testing.T) {
	network := NewNetwork()
	l := must.Get(network.Listen())(t)
	waiting := must.Get(network.Dial(t.Context(), "tcp", l.Addr().String()))(t)
	defer waiting.Close()
	l.Close()
	if _, err := waiting.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("not accepted: %v, want ECONNRESET", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v, want ErrClosed", err)
	}
	if _, err := network.Dial(t.Context(), "tcp", l.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("no listener: %v, want ECONNREFUSED", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := network.Dial(ended, "tcp", l.Addr().String()); !errors.Is(err, context.Canceled) {
		t.Errorf("context ended: %v, want Canceled", err)
	}
}

// TestMemoryWritersWait checks that two writers that wait for readers do not wake each other: then the bubble's clock
// advances.
func TestMemoryWritersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 2 {
			near, far := connectInMemory(t)
			go func() { _, _ = near.Write(make([]byte, 2*bufferSize)) }()
			defer near.Close()
			defer far.Close()
		}
		<-time.After(time.Hour) // fires only when every goroutine waits
	})
}
