package wire

import (
	"net"
	"syscall"
)

// gather makes the kernel report that c can be read only when n bytes are there, or its end. If that fails, only
// processor time is lost.
func gather(c *net.TCPConn, n int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, n)
	})
}
