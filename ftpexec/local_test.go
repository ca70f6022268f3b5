package ftpexec_test

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// TestLocalBeforeRefusal checks that a server which refuses a transfer because no data connection came is not blamed if this
// machine could not open one.
func TestLocalBeforeRefusal(t *testing.T) {
	inMemory(t, func(t *testing.T, network *testserver.Network) {
		s := network.NewScript(t, testserver.Honest("contents"), testserver.On("RETR", testserver.Reply("425 No data connection.")))
		c := &ftpexec.Client{MaxIdle: -1, Dial: func(ctx context.Context, kind, address string) (net.Conn, error) {
			if address == s.Addr() {
				return network.Dial(ctx, kind, address)
			}
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}
		}}
		_, err := read(t.Context(), c, parse(t, s.URL("/f")))
		var e *ftpexec.Error
		if !errors.As(err, &e) || !e.Local() || e.Temporary() || e.Reply != nil || !errors.Is(err, syscall.EMFILE) {
			t.Errorf("got %v", err)
		}
	})
}
