package ftpexec_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// Bytes are gathered on their way into a file, unless it is known to be small. On their way into a pipe they are not.
func TestStraightGathers(t *testing.T) {
	for name, gathered := range map[string]int{"file": 16 << 10, "pipe": 1} {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			must.Do(t, err)
			defer r.Close()
			defer w.Close()
			if name == "file" {
				if w, err = os.Create(filepath.Join(t.TempDir(), "f")); err != nil {
					t.Fatal(err)
				}
				defer w.Close()
			}
			dialled, got := make(chan net.Conn, 2), make(chan int, 1)
			dial := func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				dialled <- conn
				return conn, err
			}
			under := func() {
				if name == "pipe" {
					_, _ = r.Read(make([]byte, 1))
				} else {
					waitForSize(t, w, 1)
				}
				<-dialled // the control connection
				got <- lowWater(t, (<-dialled).(*net.TCPConn))
			}
			s := testserver.New(t, nil, testserver.Honest("xy").With("SIZE", testserver.Reply("500 x")), testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("x"),
				ftptest.Call(under), testserver.Data("y", testserver.Closed), testserver.Reply("226 x")))
			c := ftpexec.Client{Dial: dial, MaxIdle: -1}
			response := must.Get(c.Get(t.Context(), s.URL("/f")))(t)
			defer response.Body.Close()
			must.Get(io.Copy(w, response.Body))(t)
			if n := <-got; n != gathered {
				t.Errorf("woke for %d bytes, want %d", n, gathered)
			}
		})
	}
}

// A transfer into a file stalls if no byte comes for the timeout, also if bytes have come before.
func TestStraightStalls(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), ample)
	defer cancel()
	s := testserver.New(t, nil, testserver.Honest(strings.Repeat("x", 64<<10)),
		testserver.On("RETR", testserver.Reply("150 x"), testserver.Data(strings.Repeat("x", 32<<10), testserver.Stalled)))
	c := &ftpexec.Client{MaxIdle: -1, Timeout: 500 * time.Millisecond}
	response := must.Get(c.Do(ctx, &ftpexec.Request{URL: parse(t, s.URL("/f"))}))(t)
	defer response.Body.Close()
	file := must.Get(os.Create(filepath.Join(t.TempDir(), "f")))(t)
	defer file.Close()
	n, err := io.Copy(file, response.Body)
	if n != 32<<10 || !errors.Is(err, ftpexec.ErrTimeout) {
		t.Errorf("got %d bytes, %v, want half and ErrTimeout", n, err)
	}
}

// lowWater returns how many bytes a read of c waits for.
func lowWater(t *testing.T, c *net.TCPConn) (n int) {
	raw, err := c.SyscallConn()
	if err != nil {
		t.Error(err)
		return 0
	}
	err = raw.Control(func(fd uintptr) {
		if n, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Error(err)
	}
	return n
}

// TestStrangerInActiveMode checks that data from another host (127.0.0.2) is not taken for the file, if it connects to
// the port of active mode before the server does.
func TestStrangerInActiveMode(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: tree})
	strangers := 0
	c := &ftpexec.Client{MaxIdle: -1, Active: true, Trace: &ftpexec.Trace{Command: func(e ftpexec.CommandInfo) {
		if e.Joined || e.Verb != "EPRT" {
			return
		}
		fields := strings.Split(e.Text, "|") // EPRT |1|127.0.0.1|port|
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
		conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(fields[2], fields[3]))
		if err != nil {
			t.Errorf("the stranger cannot connect: %v", err)
			return
		}
		strangers++
		_, _ = io.WriteString(conn, "forged contents")
		t.Cleanup(func() { conn.Close() })
	}}}
	if got, err := read(t.Context(), c, parse(t, s.URL("/a/f"))); err != nil || got != "contents" || strangers != 1 {
		t.Errorf("got %q, %v, with %d strangers", got, err, strangers)
	}
}
