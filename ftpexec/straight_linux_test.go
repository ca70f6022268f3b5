package ftpexec_test

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// Bytes are gathered on their way into a file. Through a pipe each goes as it comes.
func TestStraightGathers(t *testing.T) {
	for name, gathered := range map[string]int{"file": 16 << 10, "pipe": 1} {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
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
			s := testserver.NewScript(t, testserver.Honest("xy"), testserver.On("RETR", testserver.Reply("150 x"), testserver.SendData("x"),
				testserver.Call(under), testserver.SendData("y"), testserver.CloseData(), testserver.Reply("226 x")))
			c := ftpexec.Client{Dial: dial, MaxIdle: -1}
			response, err := c.Get(t.Context(), s.URL("/f"))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if _, err := io.Copy(w, response.Body); err != nil {
				t.Fatal(err)
			}
			if n := <-got; n != gathered {
				t.Errorf("woke for %d bytes, want %d", n, gathered)
			}
		})
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
