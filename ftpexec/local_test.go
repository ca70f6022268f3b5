package ftpexec_test

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// TestLocalBeforeRefusal checks that a server is neither blamed nor waited for if this machine could not open the data
// connection.
func TestLocalBeforeRefusal(t *testing.T) {
	for name, does := range map[string]testserver.Action{"425": testserver.Reply("425 No data connection."), "silence": testserver.Silence()} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, network *ftptest.Network) {
				s := network.NewScript(t, testserver.Honest("contents"), testserver.On("RETR", does))
				c := &ftpexec.Client{MaxIdle: -1, Dial: func(ctx context.Context, kind, address string) (net.Conn, error) {
					if address == s.Addr() {
						return network.Dial(ctx, kind, address)
					}
					return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}
				}}
				start := time.Now()
				_, err := read(t.Context(), c, parse(t, s.URL("/f")))
				var e *ftpexec.Error
				if !errors.As(err, &e) || !e.Local() || e.Temporary() || e.Reply != nil || !errors.Is(err, syscall.EMFILE) {
					t.Errorf("got %v", err)
				}
				if waited := time.Since(start); waited > 0 {
					t.Errorf("waited %v", waited)
				}
			})
		})
	}
}
