package ftpexec_test

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// deafPort returns a port where connections are neither accepted nor refused: its queue is full.
func deafPort(t *testing.T) int {
	socket := func() int {
		fd := must.Get(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0))(t)
		t.Cleanup(func() { _ = unix.Close(fd) })
		return fd
	}
	l := socket()
	must.Do(t, unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	must.Do(t, unix.Listen(l, 0))
	address := must.Get(unix.Getsockname(l))(t).(*unix.SockaddrInet4)
	for range 4 {
		if err := unix.Connect(socket(), address); err != nil && !errors.Is(err, unix.EINPROGRESS) {
			t.Fatal(err)
		}
	}
	return address.Port
}

// TestRefusalWhileConnecting has a server that refuses a transfer, and that does not accept the data connection: the
// refusal counts at once.
func TestRefusalWhileConnecting(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("contents"),
		testserver.On("EPSV", testserver.Reply(fmt.Sprintf("229 Entering (|||%d|)", deafPort(t)))),
		testserver.On("RETR", testserver.Reply("550 No such file.")))
	c := new(ftpexec.Client)
	defer c.CloseIdleConnections()
	for range 2 { // the second time on the same connection, which is in order
		_, err := c.Get(t.Context(), s.URL("/f"))
		if !errors.Is(err, ftpexec.ErrRefused) {
			t.Errorf("got %v, want ErrRefused", err)
		}
	}
}
